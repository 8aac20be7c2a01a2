//! What the disk adds to the promises: it survives, it shares, it fails honestly.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use events::Seq;
use futures_util::future::join_all;
use futures_util::poll;
use kit::conformance::{assert_dense, ended, forked, opened, pod, said};
use kit::fault::FaultyDisk;
use store::{Append, AppendError, AppendLog, Attachment, Clock, DiskStore, Follow, ReadError, ReadLog};

fn on(disk: &FaultyDisk) -> DiskStore {
    DiskStore::with_backend(disk.clone(), Clock::system()).expect("opens")
}

fn open_pod(number: u8) -> Append {
    Append { pod: pod(number), expected: Seq(0), drafts: vec![opened()] }
}

fn say(number: u8, expected: u64) -> Append {
    Append { pod: pod(number), expected: Seq(expected), drafts: vec![said(expected + 1)] }
}

#[tokio::test]
async fn everything_is_there_after_the_store_is_opened_again() {
    let directory = tempfile::tempdir().expect("makes a directory");
    let path = directory.path().join("store.redb");
    let attachment = Attachment::new(b"attached".to_vec());
    let large = "x".repeat(100_000);
    let (log, forks) = {
        let store = DiskStore::open(&path).expect("makes a store");
        let drafts = vec![opened(), said(2), ended(&large)];
        let opens = Append { pod: pod(1), expected: Seq(0), drafts };
        let forks = Append { pod: pod(2), expected: Seq(2), drafts: vec![forked(pod(1), 2), said(4)] };
        store.append(vec![opens, forks], vec![attachment.clone()]).await.expect("taken");
        let read = |number| store.read(pod(number), Seq(1), 100).expect("reads");
        (read(1), read(2))
    };
    let store = DiskStore::open(&path).expect("opens");
    assert_eq!(store.read(pod(1), Seq(1), 100).expect("reads"), log);
    assert_eq!(store.read(pod(2), Seq(1), 100).expect("reads"), forks);
    let content = store.content(attachment.hash()).expect("reads");
    assert_eq!(content.as_deref(), Some(attachment.bytes()));
    assert_eq!(store.committed().borrow().0, 5);
    let receipt = store.append(vec![say(1, 3)], Vec::new()).await.expect("goes on");
    assert_eq!(receipt.envelopes()[0].position().0, 6);
    assert_eq!(store.pods().expect("reads").len(), 2);
}

#[tokio::test]
async fn a_content_is_kept_once_however_often_it_is_named() {
    let disk = FaultyDisk::default();
    let store = on(&disk);
    let content = "y".repeat(1_000_000);
    store.append(vec![open_pod(1)], Vec::new()).await.expect("taken");
    let mut written = 0;
    for expected in 1..=30 {
        let append = Append { pod: pod(1), expected: Seq(expected), drafts: vec![ended(&content)] };
        let attachment = Attachment::new(content.clone().into_bytes());
        store.append(vec![append], vec![attachment]).await.expect("taken");
        if expected == 1 {
            written = disk.written_bytes();
        }
    }
    let again = disk.written_bytes() - written;
    assert!(again < 10_000_000, "29 MB that are there already were written again: {again}");
    store.close();
    assert!(disk.bytes().len() < 6_000_000, "30 MB of the same take {}", disk.bytes().len());
}

#[tokio::test]
async fn a_hundred_forks_take_hardly_more_room_than_their_past() {
    let disk = FaultyDisk::default();
    let store = on(&disk);
    let drafts = std::iter::once(opened()).chain((2..=200).map(|_| ended(&"z".repeat(20_000))));
    let append = Append { pod: pod(0), expected: Seq(0), drafts: drafts.collect() };
    store.append(vec![append], Vec::new()).await.expect("taken");
    store.close();
    let before = disk.bytes().len();
    let store = on(&disk);
    for number in 1..=100 {
        let append = Append { pod: pod(number), expected: Seq(200), drafts: vec![forked(pod(0), 200)] };
        store.append(vec![append], Vec::new()).await.expect("taken");
    }
    assert_eq!(store.read(pod(100), Seq(1), usize::MAX).expect("reads").len(), 201);
    store.close();
    let grown = disk.bytes().len() - before;
    assert!(grown < 1_000_000, "a hundred forks of {before} bytes took {grown} more");
}

#[tokio::test]
async fn appends_that_wait_together_share_a_commit() {
    let disk = FaultyDisk::default();
    let store = on(&disk);
    let before = disk.syncs();
    disk.pause();
    let appends = join_all((0..100).map(|number| store.append(vec![open_pod(number)], Vec::new())));
    let (answers, ()) = tokio::join!(appends, async { disk.resume() });
    assert!(answers.iter().all(Result::is_ok));
    let syncs = disk.syncs() - before;
    assert!(syncs <= 8, "a hundred appends took {syncs} syncs, two commits take about four");
}

#[tokio::test]
async fn after_a_failure_whoever_waits_is_told_so_and_nothing_more_is_taken() {
    let disk = FaultyDisk::default();
    let store = on(&disk);
    store.append(vec![open_pod(0)], Vec::new()).await.expect("taken");
    let mut follow = Follow::new(store.reader(), pod(0), Seq(2));
    disk.pause();
    disk.fail_after(0);
    let appends = join_all((1..50).map(|number| store.append(vec![open_pod(number)], Vec::new())));
    let (answers, ()) = tokio::join!(appends, async { disk.resume() });
    for answer in answers {
        assert!(matches!(answer, Err(AppendError::OutcomeUnknown { .. })), "{answer:?}");
    }
    match store.append(vec![open_pod(50)], Vec::new()).await {
        Err(AppendError::Closed { why }) => assert!(why.contains("the disk is gone"), "{why}"),
        late => panic!("a store that failed takes nothing, but: {late:?}"),
    }
    match follow.next().await {
        None | Some(Err(_)) => {}
        Some(Ok(event)) => panic!("nobody acknowledged {event:?}"),
    }
    drop(store);
    let store = on(&FaultyDisk::with_bytes(disk.bytes()));
    assert_dense(&store.read(pod(0), Seq(1), 10).expect("reads"), 1);
    store.append(vec![say(0, 1)], Vec::new()).await.expect("the reopened store goes on");
}

#[tokio::test]
async fn closing_answers_those_who_wait_and_lets_go_of_the_file() {
    let directory = tempfile::tempdir().expect("makes a directory");
    let path = directory.path().join("store.redb");
    let store = DiskStore::open(&path).expect("makes a store");
    let mut follow = Follow::new(store.reader(), pod(1), Seq(1));
    let mut append = store.append(vec![open_pod(1)], Vec::new());
    assert!(poll!(&mut append).is_pending());
    store.close();
    append.await.expect("what was taken before is answered");
    let late = store.append(vec![say(1, 1)], Vec::new()).await;
    assert!(matches!(late, Err(AppendError::Closed { .. })), "{late:?}");
    let read = store.read(pod(1), Seq(1), 1);
    assert!(matches!(read, Err(ReadError::Failed { .. })), "{read:?}");
    assert!(!matches!(follow.next().await, Some(Ok(_))));
    let again = DiskStore::open(&path).expect("the file is free");
    assert_eq!(again.read(pod(1), Seq(1), 10).expect("reads").len(), 1);
}

#[tokio::test]
async fn whoever_follows_is_told_when_the_store_closes() {
    let store = on(&FaultyDisk::default());
    let mut follow = Follow::new(store.reader(), pod(1), Seq(1));
    let mut next = std::pin::pin!(follow.next());
    assert!(poll!(&mut next).is_pending());
    store.close();
    assert!(next.await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_paused_clock_waits_for_the_disk() {
    let store = on(&FaultyDisk::default());
    for expected in 0..20 {
        let append = if expected == 0 { open_pod(1) } else { say(1, expected) };
        let append = store.append(vec![append], Vec::new());
        let in_time = tokio::time::timeout(Duration::from_millis(1), append).await;
        in_time.expect("virtual time stands still while the disk works").expect("taken");
    }
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future without any runtime.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn a_store_works_without_a_runtime() {
    let store = on(&FaultyDisk::default());
    wait(store.append(vec![open_pod(1)], Vec::new())).expect("taken");
    wait(store.append(vec![say(1, 1)], Vec::new())).expect("taken");
    assert_eq!(store.read(pod(1), Seq(1), 10).expect("reads").len(), 2);
}

#[test]
fn an_append_in_a_runtime_that_has_ended_is_told_so_and_closing_does_not_hang() {
    let store = on(&FaultyDisk::default());
    let runtime = tokio::runtime::Runtime::new().expect("makes a runtime");
    let handle = runtime.handle().clone();
    drop(runtime);
    let inside = handle.enter();
    let answer = wait(store.append(vec![open_pod(1)], Vec::new()));
    assert!(matches!(answer, Err(AppendError::Closed { .. })), "{answer:?}");
    drop(inside);
    wait(store.append(vec![open_pod(1)], Vec::new())).expect("it works elsewhere");
    store.close();
}
