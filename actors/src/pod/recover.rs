//! Taking up a pod from its log.

use std::sync::Arc;

use events::event::context::CompactionFailed;
use events::projection::{Context, Projection};
use events::{Draft, PodId, Seq};
use store::{ReadError, ReadLog};

use crate::limits::READ_EVENTS_MAX;
use crate::pod::decide;
use crate::worker::decide::Turn;

/// The folds of a log.
#[derive(Default)]
pub(crate) struct Folded {
    pub(crate) view: Turn,
    pub(crate) context: Context,
}

/// Folds a pod's log, page by page, off the threads that actors run on.
pub(crate) async fn fold(reader: Arc<dyn ReadLog>, pod: PodId) -> Result<Folded, ReadError> {
    fold_to(reader, pod, Seq(u64::MAX)).await
}

/// Folds a pod's log up to a place.
pub(crate) async fn fold_to(reader: Arc<dyn ReadLog>, pod: PodId, to: Seq) -> Result<Folded, ReadError> {
    let folding = tokio::task::spawn_blocking(move || {
        let mut folded = Folded::default();
        let mut next = Seq(1);
        loop {
            let page = reader.read(pod, next, READ_EVENTS_MAX)?;
            for envelope in page.iter().filter(|envelope| envelope.seq() <= to) {
                folded.view.apply(envelope);
                folded.context.apply(envelope);
                next = envelope.seq().next();
            }
            if page.len() < READ_EVENTS_MAX || next > to {
                return Ok(folded);
            }
        }
    });
    folding.await.unwrap_or_else(|error| Err(ReadError::Failed { why: error.to_string() }))
}

/// What is written down when a pod is taken up whose process, or whose actor, is gone: a
/// compaction without an end has failed, and after a panic the turn has, too. All else is settled
/// by the turn when it goes on.
pub(crate) fn settle(view: &Turn, after_panic: Option<&str>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    if view.obligations.compaction.is_some() {
        let reason = "podwork ended while the summary was being written".to_owned();
        drafts.push(CompactionFailed { reason }.into());
    }
    if let Some(why) = after_panic {
        drafts.extend(decide::close_turn(view, &decide::broken_turn(why)));
    }
    drafts
}
