//! What can go wrong with the file.

use std::io;
use std::path::PathBuf;

/// Why a file could not be opened as a store. Whatever it is, the file was left as it was.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Something else than a store.
    #[error("{} is not a podwork store: {what}. It was left untouched; name another file for the store", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it seems to be.
        what: String,
    },
    /// A store of a newer version of podwork.
    #[error(
        "{} was written by a newer version of podwork ({what}). It was left untouched; open it with that version",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// What is newer about it.
        what: String,
    },
    /// A store that is not as it was written.
    #[error(
        "{} is a store, but it is damaged: {why}. It was left untouched; keep a copy of it, and restore a backup",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Somebody has the store open.
    #[error("{} is in use: another process has the store open", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The system said no.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl OpenError {
    /// For `map_err`: the system refused to do this with this path.
    pub(super) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, doing, source }
    }
}

/// Why the database inside the file could not be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum TableError {
    /// redb failed.
    #[error(transparent)]
    Redb(redb::Error),
    /// redb gave what this program never wrote.
    #[error("{0}")]
    Damaged(String),
}

impl TableError {
    /// For who makes a file: there, all errors come from the system in the end.
    pub(super) fn into_io(self) -> io::Error {
        if let Self::Redb(redb::Error::Io(source)) = self {
            return source;
        }
        io::Error::other(self.to_string())
    }
}

/// redb has an error type for each operation; whoever waits for an append wants one.
macro_rules! from_redb {
    ($($error:ty),*) => {
        $(impl From<$error> for TableError {
            fn from(error: $error) -> Self {
                Self::Redb(error.into())
            }
        })*
    };
}

from_redb!(
    redb::StorageError,
    redb::TableError,
    redb::TransactionError,
    redb::CommitError,
    redb::SetDurabilityError,
    redb::DatabaseError
);

/// Runs what may panic on a damaged file; the error is what the panic said.
///
/// Nothing is left half done by it: redb refuses to write after a panic, and reads change nothing.
pub(super) fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).map_err(|panic| {
        let why = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("it gave no reason");
        format!("the database gave up: {why}")
    })
}
