//! Makes a new store: beside its place, complete and synced, and only then under its name. A crash
//! on the way leaves a file that nobody takes for a store.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use redb::backends::FileBackend;
use redb::{Builder, Database};
use rustix::fs::RenameFlags;
use rustix::io::Errno;

use super::error::{OpenError, TableError};
use super::table::{CONTENTS, CREATED_KEY, FORMAT, FORMAT_KEY, INDEX, LOG, META, PODS, STORE_KEY, STREAMS};
use crate::clock::Clock;

/// Only its owner reads a store: what tools print ends up in it.
const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// Makes a store at this path, unless somebody else was faster.
pub(super) fn create(path: &Path, clock: &Clock) -> Result<(), OpenError> {
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    create_directories(directory).map_err(OpenError::io("create the directory", directory))?;
    let unfinished = Unfinished(beside(path));
    let file = unfinished.create().map_err(OpenError::io("create", path))?;
    write(file, clock).map_err(|error| OpenError::io("create", path)(error.into_io()))?;
    unfinished.publish(path).map_err(OpenError::io("create", path))?;
    sync(directory).map_err(OpenError::io("sync the directory", directory))
}

/// Makes the directories that are missing, and their names durable.
fn create_directories(directory: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = directory
        .ancestors()
        .take_while(|ancestor| *ancestor != Path::new("") && !ancestor.exists())
        .collect();
    DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(directory)?;
    for made in missing {
        match made.parent() {
            Some(parent) if parent != Path::new("") => sync(parent)?,
            _ => sync(Path::new("."))?,
        }
    }
    Ok(())
}

fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// A name beside the path that nobody else uses: of this process, and of this call.
fn beside(path: &Path) -> PathBuf {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}-{call}.tmp", std::process::id()));
    name.into()
}

/// A store that does not have its name yet; removed if it never gets it.
struct Unfinished(PathBuf);

impl Unfinished {
    fn create(&self) -> io::Result<File> {
        match std::fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            // A process of the same number died here.
            Ok(()) | Err(_) => {}
        }
        OpenOptions::new().read(true).write(true).create_new(true).mode(FILE_MODE).open(&self.0)
    }

    /// Gives it its name. A file that has the name already stays: it may be a store in use.
    fn publish(&self, path: &Path) -> io::Result<()> {
        sync(&self.0)?;
        let renamed = rustix::fs::renameat_with(
            rustix::fs::CWD,
            &self.0,
            rustix::fs::CWD,
            path,
            RenameFlags::NOREPLACE,
        );
        let named = match renamed {
            // Not every file system can refuse to replace; a link refuses on those.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => std::fs::hard_link(&self.0, path),
            other => other.map_err(io::Error::from),
        };
        match named {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Renamed away, or of no use to anybody: that it cannot be removed changes nothing.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn write(file: File, clock: &Clock) -> Result<(), TableError> {
    let database = Builder::new().create_with_backend(FileBackend::new(file)?)?;
    initialise(&database, clock)?;
    database.close()?;
    Ok(())
}

/// Makes an empty database a store.
pub(super) fn initialise(database: &Database, clock: &Clock) -> Result<(), TableError> {
    let mut txn = database.begin_write()?;
    txn.set_quick_repair(true);
    {
        let mut meta = txn.open_table(META)?;
        meta.insert(FORMAT_KEY, FORMAT.to_le_bytes().as_slice())?;
        meta.insert(STORE_KEY, uuid::Uuid::now_v7().as_bytes().as_slice())?;
        meta.insert(CREATED_KEY, clock.now().as_micros().to_le_bytes().as_slice())?;
    }
    txn.open_table(LOG)?;
    txn.open_table(INDEX)?;
    txn.open_table(PODS)?;
    txn.open_table(STREAMS)?;
    txn.open_table(CONTENTS)?;
    txn.commit()?;
    Ok(())
}
