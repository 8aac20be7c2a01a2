//! The socket beside the store: where it lies, who may listen on it and who may connect.
//!
//! Only the process that holds the store's file lock makes the socket, so one that is there when
//! the lock is taken was left behind by a process that died.

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use events::Hash;
use tokio::net::{UnixListener, UnixStream};

/// Bytes of a socket's path that the system takes, without the closing NUL.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Digits of the store's hash in the short path of its socket.
const SHORT_NAME_DIGITS: usize = 16;

/// Who may read, write and list: the person who owns it.
const OWNER_ONLY: u32 = 0o600;
const OWNER_ONLY_DIRECTORY: u32 = 0o700;

/// Where a store's socket lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SocketPath {
    path: PathBuf,
    /// A directory of ours that must be made first.
    directory: Option<PathBuf>,
}

impl SocketPath {
    /// The socket of this store: `PATH.sock`, or a short path where that is too long for a socket.
    pub(crate) fn of(store: &Path) -> Self {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        Self::choose(store, runtime.filter(|path| path.is_absolute()))
    }

    fn choose(store: &Path, runtime: Option<PathBuf>) -> Self {
        let store = one_name(store);
        let mut beside = store.clone().into_os_string();
        beside.push(".sock");
        if beside.len() <= SOCKET_PATH_BYTES_MAX {
            return Self { path: beside.into(), directory: None };
        }
        let user = rustix::process::geteuid().as_raw();
        let directory = match runtime {
            Some(runtime) => runtime.join("podwork"),
            None => PathBuf::from(format!("/tmp/podwork-{user}")),
        };
        let hash = Hash::of(store.as_os_str().as_encoded_bytes()).to_string();
        let name = format!("{}.sock", &hash[..SHORT_NAME_DIGITS]);
        Self { path: directory.join(name), directory: Some(directory) }
    }

    /// The path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Listens. The caller holds the store, so whatever is there is a dead process's.
    pub(crate) fn listen(&self) -> io::Result<UnixListener> {
        if let Some(directory) = &self.directory {
            own_directory(directory)?;
        }
        self.remove()?;
        let listener = UnixListener::bind(&self.path)?;
        std::fs::set_permissions(&self.path, std::fs::Permissions::from_mode(OWNER_ONLY))?;
        Ok(listener)
    }

    /// Connects to whoever listens.
    pub(crate) async fn connect(&self) -> io::Result<UnixStream> {
        let stream = UnixStream::connect(&self.path).await?;
        check_peer(&stream)?;
        Ok(stream)
    }

    /// Takes the socket away.
    pub(crate) fn remove(&self) -> io::Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Refuses to talk to another user's process, whatever the file's mode allows.
pub(crate) fn check_peer(stream: &UnixStream) -> io::Result<()> {
    let peer = stream.peer_cred()?.uid();
    let us = rustix::process::geteuid().as_raw();
    // Root may reach every store, and is not kept from it here.
    if peer == us || peer == 0 || us == 0 {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("the other side is user {peer}")))
}

/// The same name for a store however its path was written.
fn one_name(store: &Path) -> PathBuf {
    if let Ok(path) = store.canonicalize() {
        return path;
    }
    match (store.parent().map(Path::canonicalize), store.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => store.to_owned(),
    }
}

/// A directory that only we can write to, made when it is not there.
fn own_directory(directory: &Path) -> io::Result<()> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(OWNER_ONLY_DIRECTORY).create(directory);
    made?;
    let metadata = std::fs::symlink_metadata(directory)?;
    let is_ours = metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw();
    let others_rights = metadata.mode() & 0o777 & !OWNER_ONLY_DIRECTORY;
    if is_ours && others_rights == 0 {
        return Ok(());
    }
    let text = format!("{} belongs to somebody else or others may write to it", directory.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_lies_beside_the_store_however_the_store_was_named() {
        let home = tempfile::tempdir().expect("a directory");
        let home_path = home.path().canonicalize().expect("a real path");
        std::fs::create_dir(home_path.join("a")).expect("made");
        let straight = SocketPath::choose(&home_path.join("s.redb"), None);
        assert_eq!(straight.path(), home_path.join("s.redb.sock"));
        assert_eq!(SocketPath::choose(&home_path.join("a/../s.redb"), None), straight);
        std::fs::write(home_path.join("s.redb"), "").expect("written");
        std::os::unix::fs::symlink(home_path.join("s.redb"), home_path.join("link")).expect("linked");
        assert_eq!(SocketPath::choose(&home_path.join("link"), None), straight);
    }

    #[test]
    fn a_path_that_is_too_long_for_a_socket_gets_a_short_one_of_its_own() {
        let long = |name: &str| PathBuf::from(format!("/{}/{name}", "d".repeat(120)));
        let one = SocketPath::choose(&long("one"), Some("/run/user/1".into()));
        let other = SocketPath::choose(&long("other"), Some("/run/user/1".into()));
        assert!(one.path().starts_with("/run/user/1/podwork"));
        assert_ne!(one, other);
        let without = SocketPath::choose(&long("one"), None);
        assert!(without.path().starts_with("/tmp"));
        for socket in [one, other, without] {
            assert!(socket.path().as_os_str().len() <= SOCKET_PATH_BYTES_MAX);
        }
    }

    #[tokio::test]
    async fn only_its_owner_can_use_the_socket_and_a_dead_one_is_replaced() {
        let home = tempfile::tempdir().expect("a directory");
        let socket = SocketPath::choose(&home.path().join("s.redb"), None);
        let first = socket.listen().expect("listens");
        let mode = std::fs::metadata(socket.path()).expect("is there").mode();
        assert_eq!(mode & 0o777, OWNER_ONLY);
        drop(first);
        assert!(socket.connect().await.is_err(), "nobody listens any more");
        let second = socket.listen().expect("listens again");
        let (asked, accepted) = tokio::join!(socket.connect(), second.accept());
        assert!(asked.is_ok() && accepted.is_ok());
        socket.remove().expect("removed");
        socket.remove().expect("removing it twice is nothing");
    }
}
