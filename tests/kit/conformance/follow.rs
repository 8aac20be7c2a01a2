//! The laws of following: nothing missed, nothing twice.

use std::sync::Arc;
use std::task::Poll;

use events::Seq;
use futures_util::future::join_all;
use futures_util::poll;
use store::{Append, Follow};

use super::{Subject, assert_dense, opened, pod, said};

/// From the place that was asked for.
pub async fn what_is_there_comes_first_and_then_what_is_appended(store: Subject) {
    let one = store.pod(1, 600).await;
    let mut follow = Follow::new(Arc::clone(store.reader()), one, Seq(3));
    let mut log = Vec::new();
    while log.len() < 598 {
        log.push(follow.next().await.expect("goes on").expect("reads"));
    }
    let mut next = std::pin::pin!(follow.next());
    assert_eq!(poll!(&mut next).map(|_| ()), Poll::Pending, "nothing more is there");
    let append = Append { pod: one, expected: Seq(600), drafts: vec![said(601)] };
    let ((), receipt) =
        tokio::join!(async { log.push(next.await.expect("goes on").expect("reads")) }, async {
            store.append(append).await.expect("taken")
        });
    assert_eq!(log.last(), receipt.envelopes().last());
    assert_dense(&log, 3);
}

/// Followers begin at every moment while writers write: the race between catching up and live.
pub async fn nothing_is_missed_and_nothing_comes_twice_while_others_append(store: Subject) {
    const EVENTS: u64 = 120;
    let one = store.pod(1, 1).await;
    let noise = store.pod(2, 1).await;
    let follow = |from: u64| {
        let mut follow = Follow::new(Arc::clone(store.reader()), one, Seq(from));
        tokio::spawn(async move {
            let mut log = Vec::new();
            while log.last().is_none_or(|last: &Arc<events::Envelope>| last.seq() < Seq(EVENTS)) {
                log.push(follow.next().await.expect("goes on").expect("reads"));
            }
            log
        })
    };
    let mut followers = Vec::new();
    for expected in 1..EVENTS {
        if expected % 5 == 1 {
            followers.push((1, follow(1)));
            followers.push((expected, follow(expected)));
            followers.push((expected + 3, follow(expected + 3)));
        }
        let event = Append { pod: one, expected: Seq(expected), drafts: vec![said(expected + 1)] };
        let other = Append { pod: noise, expected: Seq(expected), drafts: vec![said(expected + 1)] };
        for answer in join_all([store.append(event), store.append(other)]).await {
            answer.expect("taken");
        }
        tokio::task::yield_now().await;
    }
    let whole = store.read_all(one);
    for (from, follower) in followers {
        let log = follower.await.expect("the follower ends well");
        assert_eq!(log, whole[super::index(from) - 1..], "followed from {from} on");
    }
}

/// Whoever waits for a pod hears of it.
pub async fn following_a_pod_that_is_not_there_yet_waits_for_it(store: Subject) {
    let mut follow = Follow::new(Arc::clone(store.reader()), pod(1), Seq(1));
    let mut next = std::pin::pin!(follow.next());
    assert!(poll!(&mut next).is_pending());
    let append = Append { pod: pod(1), expected: Seq(0), drafts: vec![opened()] };
    let (first, receipt) = tokio::join!(next, store.append(append));
    let first = first.expect("goes on").expect("reads");
    assert_eq!(receipt.expect("taken").envelopes().first(), Some(&first));
}

/// A follower that wakes for others goes back to waiting.
pub async fn an_event_of_another_pod_wakes_nobody_for_nothing(store: Subject) {
    let one = store.pod(1, 1).await;
    let mut follow = Follow::new(Arc::clone(store.reader()), one, Seq(2));
    let mut next = std::pin::pin!(follow.next());
    assert!(poll!(&mut next).is_pending());
    store.pod(2, 3).await;
    assert!(poll!(&mut next).is_pending());
    store.append(Append { pod: one, expected: Seq(1), drafts: vec![said(2)] }).await.expect("taken");
    let event = next.await.expect("goes on").expect("reads");
    assert_eq!(event.seq(), Seq(2));
}

/// A position is told after its event is durable, and it never goes back.
pub async fn what_is_told_as_committed_can_be_read(store: Subject) {
    let one = store.pod(1, 1).await;
    let reader = Arc::clone(store.reader());
    let watcher = tokio::spawn(async move {
        let mut committed = reader.committed();
        let mut last = 0;
        while last < 60 {
            let told = committed.borrow_and_update().0;
            assert!(told >= last, "positions do not go back");
            let head = reader.head(one).expect("reads").expect("the pod is there");
            assert!(head.last.0 >= told, "what is told can be read");
            last = told;
            if last < 60 {
                committed.changed().await.expect("the store is open");
            }
        }
    });
    for expected in 1..60 {
        let append = Append { pod: one, expected: Seq(expected), drafts: vec![said(expected + 1)] };
        let receipt = store.append(append).await.expect("taken");
        let position = receipt.envelopes()[0].position();
        assert!(*store.reader().committed().borrow() >= position, "told before it is answered");
    }
    watcher.await.expect("the watcher ends well");
}
