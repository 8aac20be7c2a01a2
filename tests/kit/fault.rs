//! A disk that fails and loses power on demand.
//!
//! It forgets what was not synced, as real ones do: after a loss of power each unsynced write is
//! there, or not, or torn between two sectors; and so is each change of the length. What happens
//! is drawn from a seed, so that a failure can be looked at again.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

/// What a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;

/// A disk in memory. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct FaultyDisk(Arc<Disk>);

#[derive(Debug, Default)]
struct Disk {
    platter: Mutex<Platter>,
    /// Told when deeds may go on.
    resumed: Condvar,
}

#[derive(Debug, Default)]
struct Platter {
    /// What reads see.
    current: Vec<u8>,
    /// What surely survives.
    synced: Vec<u8>,
    /// What was done since.
    unsynced: Vec<Deed>,
    /// Writes, syncs and changes of the length so far.
    deeds: u64,
    /// Syncs among them.
    syncs: u64,
    /// Bytes of all writes so far.
    written_bytes: u64,
    /// Deeds wait.
    paused: bool,
    /// The number of the deed that fails, and all after it.
    fails_at: Option<u64>,
}

#[derive(Clone, Debug)]
enum Deed {
    Write { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

impl Deed {
    fn carry_out(&self, on: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => {
                let end = offset + bytes.len();
                on.resize(on.len().max(end), 0);
                on[*offset..end].copy_from_slice(bytes);
            }
            Self::SetLen(len) => on.resize(*len, 0),
        }
    }
}

impl FaultyDisk {
    /// A disk with these bytes on it.
    pub fn with_bytes(bytes: Vec<u8>) -> Self {
        let platter = Platter { current: bytes.clone(), synced: bytes, ..Platter::default() };
        Self(Arc::new(Disk { platter: Mutex::new(platter), resumed: Condvar::new() }))
    }

    /// Lets `deeds` more writes, syncs and changes of the length succeed. All after them fail.
    pub fn fail_after(&self, deeds: u64) {
        let mut platter = self.platter();
        platter.fails_at = Some(platter.deeds + deeds);
    }

    /// Whether it has come to a deed that failed.
    pub fn has_failed(&self) -> bool {
        let platter = self.platter();
        platter.fails_at.is_some_and(|at| platter.deeds > at)
    }

    /// Lets every write, sync and change of the length wait until [`FaultyDisk::resume`].
    pub fn pause(&self) {
        self.platter().paused = true;
    }

    /// Lets what waits go on.
    pub fn resume(&self) {
        self.platter().paused = false;
        self.0.resumed.notify_all();
    }

    /// Syncs so far.
    pub fn syncs(&self) -> u64 {
        self.platter().syncs
    }

    /// Bytes of all writes so far.
    pub fn written_bytes(&self) -> u64 {
        self.platter().written_bytes
    }

    /// What the disk would hold if power went away now.
    pub fn after_power_loss(&self, seed: u64) -> Vec<u8> {
        let platter = self.platter();
        let mut dice = Dice::new(seed);
        let mut bytes = platter.synced.clone();
        for deed in &platter.unsynced {
            match (dice.below(3), deed) {
                (0, _) => {}
                (1, Deed::Write { offset, bytes: written }) => {
                    tear(&mut bytes, *offset, written, &mut dice);
                }
                (_, deed) => deed.carry_out(&mut bytes),
            }
        }
        bytes
    }

    /// What the disk holds when everything gets there.
    pub fn bytes(&self) -> Vec<u8> {
        self.platter().current.clone()
    }

    fn platter(&self) -> MutexGuard<'_, Platter> {
        self.0.platter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while the disk is paused, and fails when it was told to.
    fn begin(&self) -> io::Result<MutexGuard<'_, Platter>> {
        let mut platter = self.platter();
        while platter.paused {
            platter = self.0.resumed.wait(platter).unwrap_or_else(PoisonError::into_inner);
        }
        platter.deeds += 1;
        match platter.fails_at {
            Some(at) if platter.deeds > at => Err(io::Error::other("the disk is gone")),
            _ => Ok(platter),
        }
    }
}

/// Writes some sectors and others not.
fn tear(on: &mut Vec<u8>, offset: usize, written: &[u8], dice: &mut Dice) {
    for (number, sector) in written.chunks(SECTOR_BYTES).enumerate() {
        if dice.below(2) == 0 {
            let offset = offset + number * SECTOR_BYTES;
            Deed::Write { offset, bytes: sector.to_vec() }.carry_out(on);
        }
    }
}

impl Platter {
    fn carry_out(&mut self, deed: Deed) {
        deed.carry_out(&mut self.current);
        self.unsynced.push(deed);
    }
}

fn place(number: u64) -> usize {
    usize::try_from(number).expect("a disk in memory has places that memory has")
}

impl StorageBackend for FaultyDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.platter().current.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let platter = self.platter();
        let start = place(offset);
        let bytes = platter.current.get(start..start + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.begin()?.carry_out(Deed::SetLen(place(len)));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut platter = self.begin()?;
        platter.syncs += 1;
        let Platter { synced, unsynced, .. } = &mut *platter;
        unsynced.drain(..).for_each(|deed| deed.carry_out(synced));
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut platter = self.begin()?;
        platter.written_bytes += data.len() as u64;
        platter.carry_out(Deed::Write { offset: place(offset), bytes: data.to_vec() });
        Ok(())
    }
}

/// Numbers from a seed: splitmix64, the same on every machine.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The numbers of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number below `bound`, which is not zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (number ^ (number >> 31)) % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_synced_survives_and_what_was_not_may_be_lost() {
        let disk = FaultyDisk::default();
        disk.write(0, &[1; 2048]).expect("works");
        disk.sync_data().expect("works");
        disk.write(1024, &[2; 1024]).expect("works");
        disk.set_len(4096).expect("works");
        let losses: std::collections::BTreeSet<Vec<u8>> =
            (0..50).map(|seed| disk.after_power_loss(seed)).collect();
        assert!(losses.iter().all(|bytes| bytes[..1024] == [1; 1024]));
        let has = |wanted: &[u8]| losses.iter().any(|bytes| bytes == wanted);
        assert!(has(&[1; 2048]), "nothing of it got there");
        assert!(has(&disk.bytes()), "all of it got there");
        let torn = [vec![1; 1536], vec![2; 512]].concat();
        assert!(has(&torn), "a sector of it got there");
    }

    #[test]
    fn it_fails_when_it_was_told_to_and_from_then_on() {
        let disk = FaultyDisk::default();
        disk.fail_after(2);
        disk.write(0, &[1]).expect("the first");
        disk.sync_data().expect("the second");
        assert!(!disk.has_failed());
        disk.write(0, &[2]).expect_err("the third");
        disk.sync_data().expect_err("the fourth");
        assert!(disk.has_failed());
        assert_eq!(disk.bytes(), [1]);
    }
}
