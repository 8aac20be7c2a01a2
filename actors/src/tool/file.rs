//! Files, opened so that nothing hangs and replaced so that nobody sees half of one.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::OFlags;

/// Why a file is not used. The texts follow the file's name and a colon.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    /// Nothing is there.
    #[error("there is no such file")]
    Missing,
    /// It is no file with content that ends.
    #[error("this is {0}, not a file")]
    Kind(&'static str),
    /// Its owner does not want it to be changed.
    #[error("the file is read-only (mode {0:03o})")]
    ReadOnly(u32),
    /// The system says no.
    #[error("{0}")]
    System(io::Error),
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Self::Missing } else { Self::System(error) }
    }
}

/// Opens a regular file for reading. A pipe without a writer, a device or a folder is refused
/// before it is opened, and once more by what was opened; opening never waits.
pub(crate) fn open(path: &Path) -> Result<(File, Metadata), FileError> {
    check_kind(&path.symlink_metadata()?)?;
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let metadata = file.metadata()?;
    check_kind(&metadata)?;
    Ok((file, metadata))
}

/// Refuses everything that is not a regular file, by name.
pub(crate) fn check_kind(metadata: &Metadata) -> Result<(), FileError> {
    let kind = metadata.file_type();
    let name = if kind.is_file() {
        return Ok(());
    } else if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_symlink() {
        "a symbolic link"
    } else {
        "a device"
    };
    Err(FileError::Kind(name))
}

/// Changes of one file by this process, one after the other: of two edits that a model asks for at
/// once, neither may undo the other. Files share a few locks, so that the number of files does
/// not matter; nothing is awaited while one is held.
pub(crate) fn hold(path: &Path) -> MutexGuard<'static, ()> {
    static LOCKS: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(path);
    let place = usize::try_from(hash % LOCKS.len() as u64).expect("less than the number of locks");
    // It guards no data that a panic could have left half changed.
    LOCKS[place].lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is to be replaced: `None` when there is nothing yet. A file that may not be written is
/// refused here, since a rename would not ask.
pub(crate) fn replaceable(path: &Path) -> Result<Option<Metadata>, FileError> {
    match path.symlink_metadata() {
        Ok(metadata) => {
            check_kind(&metadata)?;
            if metadata.permissions().readonly() {
                return Err(FileError::ReadOnly(metadata.mode() & 0o7777));
            }
            Ok(Some(metadata))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Puts a file with this content in the place of what is there. It is written beside its place,
/// synced and renamed, so that at no moment there is half a file. The mode is kept, and the owner
/// where that is possible; a hard link to the old file keeps the old content.
pub(crate) fn replace(path: &Path, content: &[u8], old: Option<&Metadata>) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let beside = folder.join(format!(".podwork-{}", uuid::Uuid::now_v7().simple()));
    let written = write_new(&beside, content, old).and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        // The error that counts is the first one; the file may not even have been made.
        drop(std::fs::remove_file(&beside));
    }
    written
}

fn write_new(path: &Path, content: &[u8], old: Option<&Metadata>) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    if let Some(old) = old {
        keep_owner_and_mode(&file, old)?;
    }
    file.write_all(content)?;
    file.sync_all()
}

/// The owner first: changing it takes away some bits of the mode. Giving a file away is a right
/// of root alone; anyone else goes on as the owner of the new file.
fn keep_owner_and_mode(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        drop(std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid())));
    }
    file.set_permissions(Permissions::from_mode(old.mode() & 0o7777))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_keeps_its_mode() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("script.sh");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o750)).unwrap();
        let old = replaceable(&path).unwrap();
        replace(&path, b"new", old.as_ref()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o750);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_replacement_that_fails_leaves_nothing_behind() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("taken");
        fs::create_dir_all(path.join("by a folder")).unwrap();
        replace(&path, b"new", None).expect_err("a folder is not replaced");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_not_a_regular_file_is_refused_by_name_and_without_waiting() {
        let folder = TempDir::new().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
        let cases = [
            (pipe, "this is a named pipe, not a file"),
            (folder.path().join("socket"), "this is a socket, not a file"),
            (folder.path().to_owned(), "this is a folder, not a file"),
            ("/dev/null".into(), "this is a device, not a file"),
            (folder.path().join("none"), "there is no such file"),
        ];
        for (path, error) in cases {
            assert_eq!(open(&path).expect_err(error).to_string(), error);
        }
    }
}
