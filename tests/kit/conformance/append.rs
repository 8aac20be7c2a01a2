//! The laws of appending.

use std::sync::Arc;

use events::{PodId, Seq, Timestamp};
use futures_util::future::join_all;
use store::{Append, AppendError, AppendLog, Attachment, limits};

use super::{Subject, assert_dense, ended, index, opened, pod, said};

fn after(pod: PodId, expected: u64) -> Append {
    Append { pod, expected: Seq(expected), drafts: vec![said(expected + 1)] }
}

/// Dense from 1, whether events come alone or together.
pub async fn an_event_gets_the_next_place_of_its_log(store: Subject) {
    let one = store.pod(1, 3).await;
    store.append(after(one, 3)).await.expect("taken");
    let drafts = vec![said(5), said(6)];
    store.append(Append { pod: one, expected: Seq(4), drafts }).await.expect("taken");
    let log = store.read_all(one);
    assert_eq!(log.len(), 6);
    assert_dense(&log, 1);
}

/// What the writer holds is what everybody reads.
pub async fn a_receipt_shows_the_events_as_they_are_read_later(store: Subject) {
    let large = "x".repeat(events::codec::CONTENT_APART_BYTES_MIN);
    let drafts = vec![opened(), said(2), ended("small"), ended(&large)];
    let receipt = store.append(Append { pod: pod(1), expected: Seq(0), drafts }).await.expect("taken");
    assert_eq!(receipt.envelopes(), store.read_all(pod(1)));
}

/// Ahead of the log, behind it, or in a log that is not there: the same answer.
pub async fn a_conflict_appends_nothing_and_says_where_the_log_stands(store: Subject) {
    let one = store.pod(1, 3).await;
    for (of, wrong, stands) in [(one, 2, 3), (one, 4, 3), (one, 0, 3), (pod(9), 1, 0)] {
        match store.append(after(of, wrong)).await {
            Err(AppendError::Conflict { pod, expected, actual }) => {
                assert_eq!((pod, expected, actual), (of, Seq(wrong), Seq(stands)));
            }
            other => panic!("expected a conflict, got {other:?}"),
        }
    }
    assert_eq!(store.head(one), 3);
    assert_eq!(store.head(pod(9)), 0);
    assert_eq!(store.reader().committed().borrow().0, 3);
}

/// Appends that wait together share a commit; a refused one among them is alone in its misfortune.
pub async fn a_conflict_spoils_nobody_elses_append(store: Subject) {
    let (one, two) = (store.pod(1, 1).await, store.pod(2, 1).await);
    let appends = [after(one, 1), after(two, 7), after(two, 1), after(one, 1), after(one, 2)];
    let answers = join_all(appends.map(|append| store.append(append))).await;
    let taken: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(taken, [true, false, true, false, true]);
    assert_eq!((store.head(one), store.head(two)), (3, 2));
    assert_dense(&store.read_all(one), 1);
    assert_dense(&store.read_all(two), 1);
}

/// All or nothing over several logs.
pub async fn an_append_to_several_pods_is_taken_as_a_whole_or_not_at_all(store: Subject) {
    let (one, two) = (store.pod(1, 2).await, store.pod(2, 5).await);
    let receipt = store.writer().append(vec![after(one, 2), after(two, 5)], Vec::new()).await.expect("taken");
    assert_eq!(receipt.envelopes().len(), 2);
    let opens = Append { pod: pod(3), expected: Seq(0), drafts: vec![opened()] };
    let refused = store.writer().append(vec![after(one, 3), opens, after(two, 5)], Vec::new()).await;
    assert!(matches!(refused, Err(AppendError::Conflict { pod, .. }) if pod == two), "{refused:?}");
    assert_eq!((store.head(one), store.head(two), store.head(pod(3))), (3, 6, 0));
    assert_eq!(store.reader().pods().expect("reads").len(), 2);
}

/// The second part of an append sees what the first one did.
pub async fn one_append_may_open_a_pod_and_go_on_with_it(store: Subject) {
    let opens = Append { pod: pod(1), expected: Seq(0), drafts: vec![opened()] };
    store.writer().append(vec![opens, after(pod(1), 1)], Vec::new()).await.expect("taken");
    assert_dense(&store.read_all(pod(1)), 1);
    assert_eq!(store.head(pod(1)), 2);
}

/// Writers that race for the same place: one wins, the others are told.
pub async fn of_many_writers_of_one_log_each_place_goes_to_one(store: Subject) {
    let one = store.pod(1, 1).await;
    for expected in 1..6 {
        let answers = join_all((0..20).map(|_| store.append(after(one, expected)))).await;
        assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
        let lost = answers.iter().filter(|answer| {
            matches!(answer, Err(AppendError::Conflict { actual, .. }) if *actual == Seq(expected + 1))
        });
        assert_eq!(lost.count(), 19);
    }
    assert_eq!(store.head(one), 6);
}

/// Tasks on several threads, each with its own pods.
pub async fn many_writers_of_many_logs_leave_no_hole(store: Subject) {
    let write = |number: u8, writer: Arc<dyn AppendLog>| async move {
        for expected in 0..25 {
            let first = if expected == 0 { opened() } else { said(expected + 1) };
            let append = Append { pod: pod(number), expected: Seq(expected), drafts: vec![first] };
            writer.append(vec![append], Vec::new()).await.expect("taken");
        }
    };
    let writers: Vec<_> =
        (1..=16).map(|number| tokio::spawn(write(number, Arc::clone(store.writer())))).collect();
    for writer in writers {
        writer.await.expect("the writer ends well");
    }
    let mut positions = Vec::new();
    for number in 1..=16 {
        let log = store.read_all(pod(number));
        assert_eq!(log.len(), 25);
        assert_dense(&log, 1);
        positions.extend(log.iter().map(|envelope| envelope.position().0));
    }
    positions.sort_unstable();
    assert_eq!(positions, (1..=400).collect::<Vec<_>>());
}

/// Too large a content, too many events: refused before anything is written.
pub async fn an_append_that_breaks_a_limit_is_refused_and_leaves_nothing(store: Subject) {
    let one = store.pod(1, 1).await;
    let large = "x".repeat(limits::EVENT_BYTES_MAX);
    let event = events::event::turn::InputReceived { text: large };
    let drafts = vec![said(2), events::Draft::new(event)];
    let too_large = store.append(Append { pod: one, expected: Seq(1), drafts }).await;
    assert!(matches!(too_large, Err(AppendError::Refused { .. })), "{too_large:?}");

    let many = vec![said(2); limits::APPEND_EVENTS_MAX + 1];
    let too_many = store.append(Append { pod: one, expected: Seq(1), drafts: many }).await;
    assert!(matches!(too_many, Err(AppendError::Refused { .. })), "{too_many:?}");

    let content = Attachment::new(vec![0; limits::CONTENT_BYTES_MAX + 1]);
    let hash = content.hash();
    let too_long = store.writer().append(vec![after(one, 1)], vec![content]).await;
    assert!(matches!(too_long, Err(AppendError::Refused { .. })), "{too_long:?}");

    assert_eq!(store.read_all(one).len(), 1);
    assert_eq!(store.reader().content(hash).expect("reads"), None);
    store.append(after(one, 1)).await.expect("the log is as good as before");
}

/// A time that was brought is kept; others get the moment of the commit.
pub async fn a_draft_keeps_the_time_and_the_cause_that_it_brings(store: Subject) {
    let one = store.pod(1, 1).await;
    let mut past = said(2).caused_by(Seq(1));
    past.at = Some(Timestamp::from_micros(-5));
    store.append(Append { pod: one, expected: Seq(1), drafts: vec![past, said(3)] }).await.expect("taken");
    let log = store.read_all(one);
    assert_eq!((log[1].at(), log[1].cause()), (Timestamp::from_micros(-5), Some(Seq(1))));
    assert_eq!((log[2].at(), log[2].cause()), (log[index(2)].at(), None));
    assert!(log[2].at().as_micros() > 0, "the store writes down the moment");
}
