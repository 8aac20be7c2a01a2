//! The laws of forks: they share their past by reference.

use events::Seq;
use store::{Append, AppendError};

use super::{Subject, assert_dense, forked, index, opened, pod, said};

/// Up to the event that the fork names, and then its own.
pub async fn a_fork_reads_the_past_that_it_shares(store: Subject) {
    let one = store.pod(1, 8).await;
    let two = store.fork(2, one, 5, 3).await;
    let (past, own) = (store.read_all(one), store.read_all(two));
    assert_eq!(own.len(), 9);
    assert_dense(&own, 1);
    assert_eq!(own[..5], past[..5]);
    assert!(own[..5].iter().all(|envelope| envelope.pod() == one), "the past keeps its name");
    assert!(own[5..].iter().all(|envelope| envelope.pod() == two));
    assert_eq!(store.head(two), 9);
    let head = store.reader().head(two).expect("reads").expect("the fork is there");
    assert_eq!((head.first.0, head.last.0), (9, 12));
}

/// References go through references.
pub async fn a_fork_of_a_fork_reads_through_both(store: Subject) {
    let one = store.pod(1, 4).await;
    let two = store.fork(2, one, 3, 2).await;
    let three = store.fork(3, two, 5, 2).await;
    let log = store.read_all(three);
    assert_dense(&log, 1);
    let owners: Vec<_> = log.iter().map(|envelope| envelope.pod()).collect();
    assert_eq!(owners, [one, one, one, two, two, three, three, three]);
}

/// The fork's past ends where it branched off.
pub async fn a_fork_does_not_see_what_its_parent_does_later(store: Subject) {
    let one = store.pod(1, 3).await;
    let two = store.fork(2, one, 3, 0).await;
    let before = store.read_all(two);
    let drafts = (4..=9).map(said).collect();
    store.append(Append { pod: one, expected: Seq(3), drafts }).await.expect("taken");
    assert_eq!(store.read_all(two), before);
    assert_eq!((store.head(one), store.head(two)), (9, 4));
    let drafts = vec![said(5)];
    store.append(Append { pod: two, expected: Seq(4), drafts }).await.expect("taken");
    assert_eq!(store.read_all(one).len(), 9);
    assert_dense(&store.read_all(two), 1);
}

/// The event after which it branches off lies with the grandparent.
pub async fn a_fork_may_branch_off_within_the_past_that_its_parent_shares(store: Subject) {
    let one = store.pod(1, 6).await;
    let two = store.fork(2, one, 5, 2).await;
    let three = store.fork(3, two, 2, 1).await;
    let log = store.read_all(three);
    assert_eq!(log[..2], store.read_all(one)[..2]);
    assert_eq!(log.len(), 4);
    assert_dense(&log, 1);
}

/// Whatever the size of the page and wherever it begins.
pub async fn pages_across_the_border_of_a_fork_are_its_log(store: Subject) {
    let one = store.pod(1, 5).await;
    let two = store.fork(2, one, 4, 2).await;
    let three = store.fork(3, two, 6, 3).await;
    let whole = store.read_all(three);
    for from in 1..=whole.len() + 1 {
        for size in 0..=whole.len() + 1 {
            let page = store.reader().read(three, Seq(from as u64), size).expect("reads");
            let end = (from - 1 + size).min(whole.len());
            assert_eq!(page, whole[from - 1..end], "{size} events from {from} on");
        }
    }
}

/// No such pod, no such event, no past at all, or not where the fork says.
pub async fn a_fork_of_what_does_not_exist_is_refused(store: Subject) {
    let one = store.pod(1, 3).await;
    for (from, at, expected) in [(pod(9), 1, 1), (one, 4, 4), (one, 0, 0), (one, 2, 3), (pod(2), 1, 1)] {
        let append = Append { pod: pod(2), expected: Seq(expected), drafts: vec![forked(from, at)] };
        let refused = store.append(append).await;
        assert!(matches!(refused, Err(AppendError::Refused { .. })), "{from} at {at}: {refused:?}");
    }
    assert_eq!(store.reader().pods().expect("reads").len(), 1);
}

/// A fork begins with saying so.
pub async fn a_pod_cannot_become_a_fork_later(store: Subject) {
    let (one, two) = (store.pod(1, 3).await, store.pod(2, 3).await);
    for drafts in [vec![forked(one, 3)], vec![said(4), forked(one, 3)]] {
        let refused = store.append(Append { pod: two, expected: Seq(3), drafts }).await;
        assert!(matches!(refused, Err(AppendError::Refused { .. })), "{refused:?}");
    }
    assert_eq!(store.head(two), 3);
}

/// A chain of forks that nobody has read yet.
pub async fn a_pod_and_its_fork_may_come_in_one_append(store: Subject) {
    let opens = Append { pod: pod(1), expected: Seq(0), drafts: vec![opened(), said(2), said(3)] };
    let forks = Append { pod: pod(2), expected: Seq(2), drafts: vec![forked(pod(1), 2), said(4)] };
    let again = Append { pod: pod(3), expected: Seq(3), drafts: vec![forked(pod(2), 3)] };
    store.writer().append(vec![opens, forks, again], Vec::new()).await.expect("taken");
    let logs = [1, 2, 3].map(|number| store.read_all(pod(number)));
    assert_eq!(logs.each_ref().map(Vec::len), [3, 4, 4]);
    assert_eq!(logs[2][..index(3)], logs[1][..index(3)]);
    for log in &logs {
        assert_dense(log, 1);
    }
}
