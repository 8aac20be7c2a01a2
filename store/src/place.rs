//! Gives drafts their places: the rules of appending, the same for every store.
//!
//! Pure: it is asked with where the logs stand and answers with what they would become. Nothing is
//! written before all of an append has been judged, so that a refused one leaves no trace.

use std::collections::BTreeMap;
use std::sync::Arc;

use events::codec::{self, Record};
use events::envelope::Place;
use events::event::pod::PodForked;
use events::{Draft, Envelope, Event, PodId, Position, Seq, Timestamp};

use crate::limits::{APPEND_BYTES_MAX, APPEND_EVENTS_MAX, CONTENT_BYTES_MAX, EVENT_BYTES_MAX};
use crate::log::{Append, AppendError, Attachment};

/// A draft with its place.
pub(crate) struct Placed {
    /// The event as it will stand in the log.
    pub(crate) envelope: Arc<Envelope>,
    /// The same as bytes.
    pub(crate) record: Record,
    /// For the first event of a fork: the pod and the event after which it begins.
    pub(crate) fork: Option<(PodId, Seq)>,
}

/// The place that the first draft gets, and the moment of the commit.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    pub(crate) position: Position,
    pub(crate) at: Timestamp,
}

/// Judges an append and gives its drafts their places. `stored_head` tells where a pod's log
/// stands in the store; the outer error is the store's, the inner one is the answer.
pub(crate) fn place<E>(
    appends: Vec<Append>,
    attachments: &[Attachment],
    start: Start,
    mut stored_head: impl FnMut(PodId) -> Result<Option<Seq>, E>,
) -> Result<Result<Vec<Placed>, AppendError>, E> {
    if let Err(refusal) = admit(&appends, attachments) {
        return Ok(Err(refusal));
    }
    let mut bytes: usize = attachments.iter().map(|attachment| attachment.bytes().len()).sum();
    let mut heads: BTreeMap<PodId, Option<Seq>> = BTreeMap::new();
    let mut placed = Vec::new();
    let mut position = start.position;
    for append in appends {
        let fork = fork_of(&append);
        for pod in [Some(append.pod), fork.map(|(from, _)| from)].into_iter().flatten() {
            if let std::collections::btree_map::Entry::Vacant(unknown) = heads.entry(pod) {
                unknown.insert(stored_head(pod)?);
            }
        }
        let head = |pod: PodId| heads.get(&pod).copied().flatten();
        if let Err(refusal) =
            check_expected(&append, head(append.pod), fork.map(|(from, at)| (at, head(from))))
        {
            return Ok(Err(refusal));
        }
        let (pod, mut seq) = (append.pod, append.expected);
        for (number, draft) in append.drafts.into_iter().enumerate() {
            seq = seq.next();
            let envelope = Envelope::seal(draft, Place { pod, seq, position, at: start.at });
            let record = codec::split(&envelope);
            if let Err(refusal) = check_size(&record, &mut bytes) {
                return Ok(Err(refusal));
            }
            let fork = fork.filter(|_| number == 0);
            placed.push(Placed { envelope: Arc::new(envelope), record, fork });
            position = position.next();
            heads.insert(pod, Some(seq));
        }
    }
    Ok(Ok(placed))
}

fn refused(why: String) -> AppendError {
    AppendError::Refused { why }
}

/// What can be said of an append without knowing the store.
fn admit(appends: &[Append], attachments: &[Attachment]) -> Result<(), AppendError> {
    let events: usize = appends.iter().map(|append| append.drafts.len()).sum();
    if events > APPEND_EVENTS_MAX {
        return Err(refused(format!(
            "{events} events in one append; a store takes {APPEND_EVENTS_MAX} at once"
        )));
    }
    for attachment in attachments {
        check_content(attachment.bytes().len())?;
    }
    for append in appends {
        let late_fork = append.drafts.iter().skip(1).any(|draft| forked(draft).is_some());
        if late_fork {
            return Err(refused(format!("pod {} cannot be forked after its first event", append.pod)));
        }
    }
    Ok(())
}

fn check_content(bytes: usize) -> Result<(), AppendError> {
    if bytes > CONTENT_BYTES_MAX {
        return Err(refused(format!(
            "a content of {bytes} bytes; a store keeps at most {CONTENT_BYTES_MAX}"
        )));
    }
    Ok(())
}

fn check_size(record: &Record, sum: &mut usize) -> Result<(), AppendError> {
    let length = record.bytes.len();
    if length > EVENT_BYTES_MAX {
        return Err(refused(format!("an event of {length} bytes; a store keeps at most {EVENT_BYTES_MAX}")));
    }
    *sum += length;
    for (_, content) in &record.contents {
        check_content(content.len())?;
        *sum += content.len();
    }
    if *sum > APPEND_BYTES_MAX {
        return Err(refused(format!("an append of over {APPEND_BYTES_MAX} bytes; append in parts")));
    }
    Ok(())
}

fn forked(draft: &Draft) -> Option<&PodForked> {
    if let Event::PodForked(forked) = &draft.event { Some(forked) } else { None }
}

fn fork_of(append: &Append) -> Option<(PodId, Seq)> {
    append.drafts.first().and_then(forked).map(|forked| (forked.from, forked.at_seq))
}

/// `head` is where the pod's log stands; `fork` is the last event that a fork shares, and where
/// the log that it is shared with stands.
fn check_expected(
    append: &Append,
    head: Option<Seq>,
    fork: Option<(Seq, Option<Seq>)>,
) -> Result<(), AppendError> {
    let Append { pod, expected, .. } = *append;
    let conflict = |actual| Err(AppendError::Conflict { pod, expected, actual });
    match (head, fork) {
        (Some(actual), None) if actual == expected => Ok(()),
        (Some(actual), Some(_)) if actual == expected => {
            Err(refused(format!("pod {pod} exists and cannot become a fork")))
        }
        (Some(actual), _) => conflict(actual),
        (None, None) if expected == Seq(0) => Ok(()),
        (None, None) => conflict(Seq(0)),
        (None, Some((Seq(0), _))) => {
            Err(refused(format!("the fork {pod} shares nothing: open a pod of its own")))
        }
        (None, Some((at, _))) if at != expected => {
            Err(refused(format!("the fork {pod} begins after event {at}, not after {expected}")))
        }
        (None, Some((at, parent))) if parent.is_none_or(|parent| parent < at) => {
            Err(refused(format!("the pod that {pod} is forked from has no event {at}")))
        }
        (None, Some(_)) => Ok(()),
    }
}
