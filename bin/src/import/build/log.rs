//! The log as it grows, with what computes the digests of its requests beside it.

use events::envelope::Place;
use events::event::model::{Origin, RequestPrepared};
use events::{Draft, Envelope, Event, PodId, Position, RequestNumber, Seq, Spec, Timestamp, TurnNumber};

use crate::import::rebuild::Rebuild;

/// The drafts so far.
pub(super) struct Log<R> {
    drafts: Vec<Draft>,
    rebuild: R,
    /// The moment of what comes next, as the transcript says.
    pub(super) at: Option<Timestamp>,
}

impl<R: Rebuild> Log<R> {
    /// A log without events.
    pub(super) fn new(rebuild: R, at: Option<Timestamp>) -> Self {
        Self { drafts: Vec::new(), rebuild, at }
    }

    fn last(&self) -> Seq {
        Seq(self.drafts.len() as u64)
    }

    /// The place of the next event.
    pub(super) fn next(&self) -> Seq {
        self.last().next()
    }

    /// Adds an event and gives its place.
    pub(super) fn push(&mut self, cause: Option<Seq>, event: impl Into<Event>) -> Seq {
        let draft = Draft { cause, at: self.at, event: event.into() };
        let seq = self.next();
        let place = Place {
            pod: PodId::from_bytes([0; 16]),
            seq,
            position: Position(seq.0),
            at: Timestamp::default(),
        };
        self.rebuild.take(&Envelope::seal(draft.clone(), place));
        self.drafts.push(draft);
        seq
    }

    /// Adds the request that the log so far amounts to.
    pub(super) fn prepare(&mut self, turn: TurnNumber, request: RequestNumber, spec: &Spec) -> Seq {
        let origin = Origin { provider: spec.model.provider.clone(), model: spec.model.name.clone() };
        let rebuilt = self.rebuild.request(spec);
        let history_to = self.last();
        let prepared = RequestPrepared {
            turn,
            request,
            origin,
            history_to,
            prunes: rebuilt.prunes,
            compaction: rebuilt.compaction,
            items: rebuilt.items,
            digest: rebuilt.digest,
            body_bytes: rebuilt.body_bytes,
            estimated_tokens: rebuilt.estimated_tokens,
        };
        self.push(Some(history_to), prepared)
    }

    /// The log.
    pub(super) fn into_drafts(self) -> Vec<Draft> {
        self.drafts
    }
}
