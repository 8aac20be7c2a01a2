//! Holds back what redb writes until it is known that the file is ours to write to.
//!
//! redb writes when it opens a file, be it only the mark that somebody has it open; a repair after
//! a crash writes more. So the database is opened on a gate: the writes stay in memory, reads see
//! them, and only when the file has turned out to be a store are they carried out, in their order.
//! Otherwise they are dropped, and the file is as it was.

use std::io;
use std::ops::{Bound, Range};
use std::sync::{Arc, PoisonError, RwLock};

use redb::{BackendError, StorageBackend};

/// What was asked of the file while the gate was shut.
#[derive(Debug)]
enum Deed {
    Write { offset: u64, bytes: Vec<u8> },
    SetLen(u64),
    Sync,
}

#[derive(Debug)]
struct Shared {
    file: Box<dyn StorageBackend>,
    /// The deeds held back; `None` when the gate is open.
    held: RwLock<Option<Vec<Deed>>>,
}

/// A backend behind a gate. Clones share the gate.
#[derive(Clone, Debug)]
pub(super) struct Gate(Arc<Shared>);

impl Gate {
    /// A gate that is shut.
    pub(super) fn shut(file: impl StorageBackend) -> Self {
        Self(Arc::new(Shared { file: Box::new(file), held: RwLock::new(Some(Vec::new())) }))
    }

    /// Carries out what was held back, and whatever comes from now on.
    pub(super) fn open(&self) -> io::Result<()> {
        let mut held = self.0.held.write().unwrap_or_else(PoisonError::into_inner);
        for deed in held.take().unwrap_or_default() {
            match deed {
                Deed::Write { offset, bytes } => self.0.file.write(offset, &bytes)?,
                Deed::SetLen(len) => self.0.file.set_len(len)?,
                Deed::Sync => self.0.file.sync_data()?,
            }
        }
        Ok(())
    }

    /// Holds the deed back if the gate is shut; otherwise carries it out.
    fn hold_or(
        &self,
        deed: impl FnOnce() -> Deed,
        carry_out: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        if self.0.held.read().unwrap_or_else(PoisonError::into_inner).is_none() {
            return carry_out();
        }
        match self.0.held.write().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(held) => {
                held.push(deed());
                Ok(())
            }
            None => carry_out(),
        }
    }
}

/// The part of `bytes`, which lie at `offset`, that overlaps with `out`, which shows `shown`.
fn overlay(out: &mut [u8], shown: &Range<u64>, offset: u64, bytes: &[u8]) {
    let start = shown.start.max(offset);
    let end = shown.end.min(offset + bytes.len() as u64);
    if start < end {
        out[index(start - shown.start)..index(end - shown.start)]
            .copy_from_slice(&bytes[index(start - offset)..index(end - offset)]);
    }
}

fn index(distance: u64) -> usize {
    usize::try_from(distance).expect("distances within a slice fit its index")
}

impl StorageBackend for Gate {
    fn len(&self) -> io::Result<u64> {
        let held = self.0.held.read().unwrap_or_else(PoisonError::into_inner);
        let mut len = self.0.file.len()?;
        for deed in held.iter().flatten() {
            match deed {
                Deed::Write { offset, bytes } => len = len.max(offset + bytes.len() as u64),
                Deed::SetLen(set) => len = *set,
                Deed::Sync => {}
            }
        }
        Ok(len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let held = self.0.held.read().unwrap_or_else(PoisonError::into_inner);
        let Some(deeds) = held.as_ref() else { return self.0.file.read(offset, out) };
        let shown = offset..offset + out.len() as u64;
        let mut len = self.0.file.len()?;
        let kept = index(len.clamp(shown.start, shown.end) - shown.start);
        self.0.file.read(offset, &mut out[..kept])?;
        out[kept..].fill(0);
        for deed in deeds {
            match deed {
                Deed::Write { offset, bytes } => {
                    len = len.max(offset + bytes.len() as u64);
                    overlay(out, &shown, *offset, bytes);
                }
                Deed::SetLen(set) => {
                    len = *set;
                    out[index(len.clamp(shown.start, shown.end) - shown.start)..].fill(0);
                }
                Deed::Sync => {}
            }
        }
        if shown.end > len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.hold_or(|| Deed::SetLen(len), || self.0.file.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.hold_or(|| Deed::Sync, || self.0.file.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.hold_or(|| Deed::Write { offset, bytes: data.to_vec() }, || self.0.file.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.0.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.file.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file.query_lock_range(start, end)
    }
}
