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
#[derive(Clone, Debug)]
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
        if kept > 0 {
            self.0.file.read(offset, &mut out[..kept])?;
        }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use redb::backends::InMemoryBackend;

    use super::*;

    const FILE_BYTES: u64 = 64;

    /// A file in memory with something in it. Clones are the same file.
    #[derive(Clone, Debug)]
    struct Memory(Arc<InMemoryBackend>);

    impl Memory {
        fn new() -> Self {
            let file = InMemoryBackend::new();
            file.set_len(FILE_BYTES).expect("grows");
            let bytes: Vec<u8> = (1..).take(64).collect();
            file.write(0, &bytes).expect("writes");
            Self(Arc::new(file))
        }
    }

    impl StorageBackend for Memory {
        fn len(&self) -> io::Result<u64> {
            self.0.len()
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            self.0.read(offset, out)
        }

        fn set_len(&self, len: u64) -> io::Result<()> {
            self.0.set_len(len)
        }

        fn sync_data(&self) -> io::Result<()> {
            self.0.sync_data()
        }

        fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
            self.0.write(offset, data)
        }
    }

    fn all(file: &impl StorageBackend) -> Vec<u8> {
        let mut bytes = vec![0; index(file.len().expect("has a length"))];
        file.read(0, &mut bytes).expect("reads");
        bytes
    }

    fn carry_out(deed: &Deed, on: &impl StorageBackend) {
        match deed {
            Deed::Write { offset, bytes } => on.write(*offset, bytes).expect("writes"),
            Deed::SetLen(len) => on.set_len(*len).expect("sets the length"),
            Deed::Sync => on.sync_data().expect("syncs"),
        }
    }

    /// A deed, of places anywhere; the test moves writes to where the file is.
    fn deed() -> impl Strategy<Value = Deed> {
        prop_oneof![
            4 => (0..200_u64, prop::collection::vec(any::<u8>(), 1..40))
                .prop_map(|(offset, bytes)| Deed::Write { offset, bytes }),
            2 => (40..200_u64).prop_map(Deed::SetLen),
            1 => Just(Deed::Sync),
        ]
    }

    proptest! {
        #[test]
        fn a_shut_gate_shows_what_was_written_and_changes_nothing(deeds in prop::collection::vec(deed(), 0..20)) {
            let (behind, beside) = (Memory::new(), Memory::new());
            let gate = Gate::shut(behind.clone());
            for mut deed in deeds {
                if let Deed::Write { offset, bytes } = &mut deed {
                    let len = beside.len().expect("has a length");
                    *offset %= len - bytes.len() as u64 + 1;
                }
                carry_out(&deed, &gate);
                carry_out(&deed, &beside);
                let len = beside.len().expect("has a length");
                prop_assert_eq!(gate.len().expect("has a length"), len);
                prop_assert_eq!(all(&gate), all(&beside));
                let mut middle = [0; 7];
                gate.read(len / 2, &mut middle).expect("reads");
                let start = index(len / 2);
                prop_assert_eq!(&middle[..], &all(&beside)[start..start + 7]);
                prop_assert!(gate.read(len - 3, &mut middle).is_err());
                prop_assert_eq!(all(&behind), all(&Memory::new()));
            }
            gate.open().expect("opens");
            prop_assert_eq!(all(&behind), all(&beside));
            gate.write(0, &[9]).expect("writes");
            prop_assert_eq!(all(&behind)[0], 9);
        }
    }
}
