//! Bytes change on the disk: what is read is what was written, or an error.

use std::sync::Arc;

use events::envelope::Place;
use events::hash::Hasher;
use events::{Envelope, Hash, PodId, Seq, codec};
use kit::conformance::{ended, forked, opened, pod, said};
use kit::fault::{Dice, FaultyDisk};
use redb::{Database, ReadableTable, TableDefinition, WriteTransaction};
use store::{Append, AppendLog, Clock, DiskStore, ReadError, ReadLog};

/// Files that one run of the test tries.
const FILES: u64 = 800;

type Logs = Vec<(PodId, Vec<Arc<Envelope>>)>;

async fn write(disk: &FaultyDisk) {
    let store = DiskStore::with_backend(disk.clone(), Clock::system()).expect("makes a store");
    for number in 0..8 {
        let drafts = std::iter::once(opened())
            .chain((2..=20).map(said))
            .chain([ended(&"c".repeat(200)), ended(&format!("{number}").repeat(40_000))]);
        let append = Append { pod: pod(number), expected: Seq(0), drafts: drafts.collect() };
        store.append(vec![append], Vec::new()).await.expect("taken");
    }
    let fork = Append { pod: pod(9), expected: Seq(5), drafts: vec![forked(pod(3), 5), said(7)] };
    store.append(vec![fork], Vec::new()).await.expect("taken");
    store.close();
}

/// All that the store holds, or the first error.
fn read(disk: &FaultyDisk) -> Result<Logs, String> {
    let store = DiskStore::with_backend(disk.clone(), Clock::system()).map_err(|error| error.to_string())?;
    let pods = store.pods().map_err(|error| error.to_string())?;
    pods.into_iter()
        .map(|head| {
            let log = store.read(head.pod, Seq(1), usize::MAX).map_err(|error| error.to_string())?;
            Ok((head.pod, log))
        })
        .collect()
}

#[tokio::test]
async fn a_changed_byte_is_an_error_or_changes_nothing_that_is_read() {
    let disk = FaultyDisk::default();
    write(&disk).await;
    let whole = disk.bytes();
    let truth = read(&FaultyDisk::with_bytes(whole.clone())).expect("reads");
    assert_eq!(truth.len(), 9);
    let mut errors = 0;
    for seed in 0..FILES {
        let mut dice = Dice::new(seed);
        let mut bytes = whole.clone();
        let place = usize::try_from(dice.below(bytes.len() as u64)).expect("fits");
        bytes[place] ^= 1 << dice.below(8);
        match read(&FaultyDisk::with_bytes(bytes)) {
            Ok(logs) => assert!(logs == truth, "byte {place}, seed {seed}: something else is read"),
            Err(_) => errors += 1,
        }
    }
    assert!(errors > FILES / 50, "the test changes bytes that matter, but only {errors} did");
}

const LOG: TableDefinition<u64, &[u8]> = TableDefinition::new("log");
const INDEX: TableDefinition<(u64, u64), u64> = TableDefinition::new("index");
const PODS: TableDefinition<&[u8; 16], u64> = TableDefinition::new("pods");
const STREAMS: TableDefinition<u64, &[u8]> = TableDefinition::new("streams");
const CONTENTS: TableDefinition<(&[u8; 32], u32), &[u8]> = TableDefinition::new("contents");

/// The table of events in a transaction.
type Log<'txn> = redb::Table<'txn, u64, &'static [u8]>;

/// Changes the tables behind the store's back.
fn change(disk: &FaultyDisk, change: impl FnOnce(&WriteTransaction)) {
    let database = Database::builder().create_with_backend(disk.clone()).expect("opens");
    let txn = database.begin_write().expect("begins");
    change(&txn);
    txn.commit().expect("commits");
}

/// Reads the first pod's log, whose events have the positions 1 to 22, and says which is damaged.
fn damaged(disk: &FaultyDisk) -> u64 {
    let store = DiskStore::with_backend(disk.clone(), Clock::system()).expect("opens");
    for number in 1..8 {
        store.read(pod(number), Seq(1), usize::MAX).expect("the other pods are whole");
    }
    match store.read(pod(0), Seq(1), usize::MAX) {
        Err(ReadError::Damaged { pod: of, seq, .. }) => {
            assert_eq!(of, pod(0));
            seq.0
        }
        other => panic!("the log is damaged, but: {other:?}"),
    }
}

#[tokio::test]
async fn an_event_that_is_missing_changed_or_exchanged_is_named() {
    let whole = FaultyDisk::default();
    write(&whole).await;
    let copy = || FaultyDisk::with_bytes(whole.bytes());
    let with_log = |change_log: &dyn Fn(&mut Log<'_>)| {
        let disk = copy();
        change(&disk, |txn| change_log(&mut txn.open_table(LOG).expect("opens")));
        damaged(&disk)
    };
    let entry =
        |log: &Log<'_>, position| log.get(position).expect("reads").expect("is there").value().to_vec();
    for position in [1, 10, 22] {
        let changed = with_log(&|log| {
            let mut bytes = entry(log, position);
            *bytes.last_mut().expect("has bytes") ^= 1;
            log.insert(position, bytes.as_slice()).expect("inserts");
        });
        assert_eq!(changed, position);
        let cut = with_log(&|log| {
            let bytes = entry(log, position);
            log.insert(position, &bytes[..20]).expect("inserts");
        });
        assert_eq!(cut, position);
        let missing = with_log(&|log| drop(log.remove(position).expect("removes")));
        assert_eq!(missing, position);
        let disk = copy();
        change(&disk, |txn| {
            drop(txn.open_table(INDEX).expect("opens").remove((1, position)).expect("removes"));
        });
        assert_eq!(damaged(&disk), position);
    }
    let swapped = with_log(&|log| {
        let (left, right) = (entry(log, 5), entry(log, 6));
        log.insert(5, right.as_slice()).expect("inserts");
        log.insert(6, left.as_slice()).expect("inserts");
    });
    assert_eq!(swapped, 5);
}

#[tokio::test]
async fn an_end_that_somebody_wrote_again_does_not_fit_the_head() {
    let disk = FaultyDisk::default();
    write(&disk).await;
    let place = {
        let store = DiskStore::with_backend(disk.clone(), Clock::system()).expect("opens");
        let last = store.read(pod(0), Seq(22), 1).expect("reads").remove(0);
        Place { pod: last.pod(), seq: last.seq(), position: last.position(), at: last.at() }
    };
    change(&disk, |txn| {
        let mut log = txn.open_table(LOG).expect("opens");
        let before = log.get(21).expect("reads").expect("is there").value()[..32].to_vec();
        let record = codec::split(&Envelope::seal(said(22), place)).bytes;
        let mut hasher = Hasher::default();
        hasher.update(&before);
        hasher.update(&record);
        let entry = [hasher.finish().as_bytes(), record.as_slice()].concat();
        log.insert(22, entry.as_slice()).expect("inserts");
    });
    assert_eq!(damaged(&disk), 22);
}

#[tokio::test]
async fn a_content_that_was_changed_or_lost_is_an_error() {
    let whole = FaultyDisk::default();
    write(&whole).await;
    let hash = Hash::of("0".repeat(40_000).as_bytes());
    let key = (hash.as_bytes(), 0);
    for lost in [false, true] {
        let disk = FaultyDisk::with_bytes(whole.bytes());
        change(&disk, |txn| {
            let mut contents = txn.open_table(CONTENTS).expect("opens");
            let mut bytes = contents.remove(key).expect("removes").expect("is there").value().to_vec();
            bytes[17] ^= 1;
            if !lost {
                contents.insert(key, bytes.as_slice()).expect("inserts");
            }
        });
        assert_eq!(damaged(&disk), 22, "the event whose content it is");
        let store = DiskStore::with_backend(disk, Clock::system()).expect("opens");
        let read = store.content(hash);
        if lost {
            assert!(matches!(read, Ok(None)), "{read:?}");
        } else {
            assert!(matches!(read, Err(ReadError::Failed { .. })), "{read:?}");
        }
    }
}

#[tokio::test]
async fn the_head_of_another_pod_is_an_error() {
    let disk = FaultyDisk::default();
    write(&disk).await;
    change(&disk, |txn| {
        let mut streams = txn.open_table(STREAMS).expect("opens");
        let other = streams.get(2).expect("reads").expect("is there").value().to_vec();
        streams.insert(1, other.as_slice()).expect("inserts");
    });
    let store = DiskStore::with_backend(disk, Clock::system()).expect("opens");
    let read = store.read(pod(0), Seq(1), 1);
    assert!(matches!(read, Err(ReadError::Failed { .. })), "{read:?}");
    assert!(store.pods().is_err(), "no list is shown as whole");
}

#[tokio::test]
async fn a_name_that_leads_to_another_pods_log_is_an_error() {
    let disk = FaultyDisk::default();
    write(&disk).await;
    change(&disk, |txn| {
        txn.open_table(PODS).expect("opens").insert(pod(0).as_bytes(), 2).expect("inserts");
    });
    let store = DiskStore::with_backend(disk, Clock::system()).expect("opens");
    let read = store.read(pod(0), Seq(1), 1);
    assert!(matches!(read, Err(ReadError::Failed { .. })), "{read:?}");
}
