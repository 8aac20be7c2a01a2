//! What every store promises, as tests that run on any of them.
//!
//! [`store_conformance!`](crate::store_conformance) makes one test of each law; whoever writes a
//! store gives it a way to make an empty one.

use std::any::Any;
use std::sync::Arc;

use events::event::pod::{PodForked, PodOpened};
use events::event::tool::{CallEnded, CallOutcome};
use events::event::turn::InputReceived;
use events::{CallId, Draft, Envelope, Event, PodId, Seq, Spec};
use store::{Append, AppendError, AppendLog, ReadLog, Receipt};

pub mod append;
pub mod follow;
pub mod fork;
pub mod read;

/// An empty store under test.
pub struct Subject {
    reader: Arc<dyn ReadLog>,
    writer: Arc<dyn AppendLog>,
    /// What must live as long as the store, such as its directory.
    _keep: Box<dyn Any + Send + Sync>,
}

impl Subject {
    /// A store by its two halves, and what must live as long as it does.
    pub fn new(reader: Arc<dyn ReadLog>, writer: Arc<dyn AppendLog>, keep: impl Any + Send + Sync) -> Self {
        Self { reader, writer, _keep: Box::new(keep) }
    }

    /// The reading half.
    pub fn reader(&self) -> &Arc<dyn ReadLog> {
        &self.reader
    }

    /// The writing half.
    pub fn writer(&self) -> &Arc<dyn AppendLog> {
        &self.writer
    }

    async fn append(&self, append: Append) -> Result<Receipt, AppendError> {
        self.writer.append(vec![append], Vec::new()).await
    }

    /// Opens a pod whose log then has `events` events.
    async fn pod(&self, number: u8, events: u64) -> PodId {
        let pod = pod(number);
        let drafts = std::iter::once(opened()).chain((2..=events).map(said)).collect();
        self.append(Append { pod, expected: Seq(0), drafts }).await.expect("a new pod is taken");
        pod
    }

    /// Forks a pod; the fork's log then ends `more` events after its first own one.
    async fn fork(&self, number: u8, from: PodId, at: u64, more: u64) -> PodId {
        let pod = pod(number);
        let drafts = std::iter::once(forked(from, at)).chain((at + 2..).take(index(more)).map(said));
        let append = Append { pod, expected: Seq(at), drafts: drafts.collect() };
        self.append(append).await.expect("the fork is taken");
        pod
    }

    fn read_all(&self, pod: PodId) -> Vec<Arc<Envelope>> {
        self.reader.read(pod, Seq(1), usize::MAX).expect("reads")
    }

    fn head(&self, pod: PodId) -> u64 {
        self.reader.head(pod).expect("reads").map_or(0, |head| head.seq.0)
    }
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("the numbers in tests are small")
}

/// The pod of this number.
pub fn pod(number: u8) -> PodId {
    PodId::from_bytes([number; 16])
}

/// The first event of a pod.
pub fn opened() -> Draft {
    let model = "script:test".parse().expect("names a model");
    Draft::new(PodOpened { spec: Spec::new(model), name: None, parent: None, imported: None })
}

/// The first event of a fork.
pub fn forked(from: PodId, at: u64) -> Draft {
    Draft::new(PodForked { from, at_seq: Seq(at), name: None })
}

/// An input that says its number, so that an event in the wrong place is seen.
pub fn said(number: u64) -> Draft {
    Draft::new(InputReceived { text: format!("event {number}") })
}

/// The end of a call with this content.
pub fn ended(content: &str) -> Draft {
    Draft::new(CallEnded {
        call: CallId(1),
        outcome: CallOutcome::Ok,
        summary: "done".into(),
        content: content.into(),
        content_hash: None,
        content_bytes: content.len() as u64,
        elapsed_ms: 1,
    })
}

/// What was said in the event at this place, if anything was.
pub fn words(envelope: &Envelope) -> Option<&str> {
    if let Event::InputReceived(input) = envelope.event() { Some(&input.text) } else { None }
}

/// The log has no hole, begins at `first`, and each event that says its number says the right one.
pub fn assert_dense(log: &[Arc<Envelope>], first: u64) {
    for (envelope, seq) in log.iter().zip(first..) {
        assert_eq!(envelope.seq(), Seq(seq), "the places are dense");
        if let Some(words) = words(envelope) {
            assert_eq!(words, format!("event {seq}"), "the event stands in its own place");
        }
    }
    for pair in log.windows(2) {
        assert!(pair[0].position() < pair[1].position(), "positions grow along a log");
    }
}

/// Makes one test of each law. The argument is a function that makes an empty store as a
/// [`Subject`].
#[macro_export]
macro_rules! store_conformance {
    ($make:expr) => {
        $crate::store_conformance! { $make,
            append: an_event_gets_the_next_place_of_its_log,
            append: a_receipt_shows_the_events_as_they_are_read_later,
            append: a_conflict_appends_nothing_and_says_where_the_log_stands,
            append: a_conflict_spoils_nobody_elses_append,
            append: an_append_to_several_pods_is_taken_as_a_whole_or_not_at_all,
            append: one_append_may_open_a_pod_and_go_on_with_it,
            append: of_many_writers_of_one_log_each_place_goes_to_one,
            append: many_writers_of_many_logs_leave_no_hole,
            append: an_append_that_breaks_a_limit_is_refused_and_leaves_nothing,
            append: a_draft_keeps_the_time_and_the_cause_that_it_brings,
            read: pages_put_together_are_the_log,
            read: a_pod_that_nobody_opened_has_no_head_and_no_events,
            read: pods_come_in_the_order_in_which_they_were_opened,
            read: positions_are_dense_over_all_pods,
            read: a_large_content_is_read_with_its_event_and_by_its_hash,
            read: an_attachment_is_read_by_its_hash,
            read: attachments_alone_are_durable_too,
            read: an_attachment_of_a_refused_append_is_not_kept,
            fork: a_fork_reads_the_past_that_it_shares,
            fork: a_fork_of_a_fork_reads_through_both,
            fork: a_fork_does_not_see_what_its_parent_does_later,
            fork: a_fork_may_branch_off_within_the_past_that_its_parent_shares,
            fork: pages_across_the_border_of_a_fork_are_its_log,
            fork: a_fork_of_what_does_not_exist_is_refused,
            fork: a_pod_cannot_become_a_fork_later,
            fork: a_pod_and_its_fork_may_come_in_one_append,
            follow: what_is_there_comes_first_and_then_what_is_appended,
            follow: nothing_is_missed_and_nothing_comes_twice_while_others_append,
            follow: following_a_pod_that_is_not_there_yet_waits_for_it,
            follow: an_event_of_another_pod_wakes_nobody_for_nothing,
            follow: what_is_told_as_committed_can_be_read,
        }
    };
    ($make:expr, $($part:ident: $law:ident),* $(,)?) => {
        $(#[tokio::test]
        async fn $law() {
            $crate::conformance::$part::$law($make()).await;
        })*
    };
}
