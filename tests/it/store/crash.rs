//! Power goes away at any moment.

use std::collections::BTreeMap;

use events::{PodId, Seq};
use kit::conformance::{assert_dense, opened, pod, said};
use kit::fault::{Dice, FaultyDisk};
use store::{Append, AppendError, AppendLog, Clock, DiskStore, ReadLog};

/// Losses of power that one run of the test tries.
const LOSSES: u64 = 200;
/// Deeds of the disk before power goes away, at most: some ten commits.
const DEEDS_MAX: u64 = 150;
/// Losses while the store is being opened again.
const LOSSES_AT_OPEN_MAX: u64 = 2;

fn open(disk: &FaultyDisk) -> Result<DiskStore, store::OpenError> {
    DiskStore::with_backend(disk.clone(), Clock::system())
}

/// What the writer knows: how far each log is surely durable, and the append that has no answer.
#[derive(Default)]
struct Known {
    durable: BTreeMap<PodId, u64>,
    unknown: Vec<(PodId, u64)>,
}

/// Appends to one or two of four pods until the disk fails.
async fn write_until_it_fails(store: &DiskStore, known: &mut Known, dice: &mut Dice) {
    loop {
        let first = u8::try_from(dice.below(4)).expect("small");
        let count = 1 + u8::try_from(dice.below(2)).expect("small");
        let mut parts = Vec::new();
        let mut heads = Vec::new();
        for number in (first..4).take(count.into()) {
            let pod = pod(number);
            let expected = known.durable.get(&pod).copied().unwrap_or(0);
            let events = 1 + dice.below(40);
            let drafts = (expected + 1..=expected + events)
                .map(|seq| if seq == 1 { opened() } else { said(seq) })
                .collect();
            heads.push((pod, expected + events));
            parts.push(Append { pod, expected: Seq(expected), drafts });
        }
        match store.append(parts, Vec::new()).await {
            Ok(_) => known.durable.extend(heads),
            Err(AppendError::OutcomeUnknown { .. }) => {
                known.unknown = heads;
                return;
            }
            Err(error) => panic!("a failing disk leaves the outcome unknown, but: {error}"),
        }
    }
}

/// All that was acknowledged is there; of the rest, all or nothing.
fn assert_kept(store: &DiskStore, known: &mut Known, seed: u64) {
    let mut grown = Vec::new();
    let mut events = 0;
    for number in 0..4 {
        let pod = pod(number);
        let log = store.read(pod, Seq(1), usize::MAX).expect("reads");
        assert_dense(&log, 1);
        events += log.len() as u64;
        let durable = known.durable.get(&pod).copied().unwrap_or(0);
        if log.len() as u64 != durable {
            grown.push((pod, log.len() as u64));
        }
    }
    assert!(
        grown.is_empty() || grown == known.unknown,
        "seed {seed}: the logs stand at {grown:?} beyond what was acknowledged, \
         and only {:?} may",
        known.unknown
    );
    known.durable.extend(grown);
    assert_eq!(store.committed().borrow().0, events, "positions are dense");
}

/// Loses power while the store is being opened again, perhaps more than once.
fn lose_power_at_open(mut bytes: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    for _ in 0..dice.below(LOSSES_AT_OPEN_MAX + 1) {
        let disk = FaultyDisk::with_bytes(bytes);
        disk.fail_after(dice.below(12));
        drop(open(&disk));
        bytes = disk.after_power_loss(dice.below(u64::MAX));
    }
    bytes
}

#[tokio::test]
async fn whatever_was_acknowledged_survives_a_loss_of_power() {
    let made = FaultyDisk::default();
    drop(open(&made).expect("makes a store"));
    for seed in 0..LOSSES {
        let mut dice = Dice::new(seed);
        let mut known = Known::default();
        let mut bytes = made.bytes();
        // The second life goes on where the first one was cut off.
        for _ in 0..2 {
            let disk = FaultyDisk::with_bytes(bytes);
            let store = open(&disk).expect("opens");
            disk.fail_after(dice.below(DEEDS_MAX));
            write_until_it_fails(&store, &mut known, &mut dice).await;
            drop(store);
            bytes = lose_power_at_open(disk.after_power_loss(dice.below(u64::MAX)), &mut dice);

            let disk = FaultyDisk::with_bytes(bytes);
            let store = open(&disk).expect("opens after a loss of power");
            assert_kept(&store, &mut known, seed);
            drop(store);
            bytes = disk.bytes();
        }
    }
}
