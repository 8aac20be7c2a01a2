//! Stops writing before the disk is full, while everything is still whole.
//!
//! A write that runs out of space in the middle of a commit costs the open store; an append that
//! is refused costs nothing and may be tried again when there is space.

use std::io;
use std::path::Path;

/// What stays free where the store lies: more than two ordinary commits take.
pub(super) const FREE_BYTES_MIN: u64 = 16 * 1024 * 1024;

/// Tells how many bytes are free.
pub(super) struct Space(Box<dyn Fn() -> io::Result<u64> + Send + Sync>);

impl Space {
    /// The space of the file system that holds this file.
    pub(super) fn around(path: &Path) -> Self {
        let path = path.to_path_buf();
        Self::new(move || {
            let found = rustix::fs::statvfs(&path)?;
            Ok(found.f_bavail.saturating_mul(found.f_frsize))
        })
    }

    /// Space that nobody can measure.
    pub(super) fn unknown() -> Self {
        Self::new(|| Ok(u64::MAX))
    }

    pub(super) fn new(free: impl Fn() -> io::Result<u64> + Send + Sync + 'static) -> Self {
        Self(Box::new(free))
    }

    /// Why nothing should be written now. A system that does not tell is not a reason: whether
    /// the write works will show.
    pub(super) fn shortage(&self) -> Option<String> {
        let free = (self.0)().unwrap_or(u64::MAX);
        (free < FREE_BYTES_MIN).then(|| {
            format!(
                "the disk is almost full: {} MiB are free where the store lies, and it stops at {} MiB \
                 so that the log stays whole. Make room and resume",
                free >> 20,
                FREE_BYTES_MIN >> 20
            )
        })
    }
}
