//! Bytes change on the disk: what is read is what was written, or an error.

use std::sync::Arc;

use events::{Envelope, PodId, Seq};
use kit::conformance::{ended, forked, opened, pod, said};
use kit::fault::{Dice, FaultyDisk};
use store::{Append, AppendLog, Clock, DiskStore, ReadLog};

/// Files that one run of the test tries.
const FILES: u64 = 1500;

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
