//! The two lives of an event: a draft before the append, an envelope ever after.

use serde::{Deserialize, Serialize};

use crate::{Event, PodId, Position, Seq, Timestamp};

/// An event that is to be appended. It has no place yet and may still change.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The event of the same log that caused this one.
    pub cause: Option<Seq>,
    /// When it happened, if that was before now (a transcript that is imported); otherwise the
    /// store writes down the moment of the commit.
    pub at: Option<Timestamp>,
    /// What happened.
    pub event: Event,
}

impl Draft {
    /// A draft without a cause.
    pub fn new(event: impl Into<Event>) -> Self {
        Self { cause: None, at: None, event: event.into() }
    }

    /// The same draft, caused by the event at this place.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Option<Seq>>) -> Self {
        self.cause = cause.into();
        self
    }
}

impl<E: Into<Event>> From<E> for Draft {
    fn from(event: E) -> Self {
        Self::new(event)
    }
}

/// An event in the log. It has a place, and it never changes: the fields can be read, not set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    pod: PodId,
    seq: Seq,
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<Seq>,
    #[serde(skip)]
    position: Position,
    #[serde(flatten)]
    event: Event,
}

/// The place that a store gives to a draft in its commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The pod whose log it is.
    pub pod: PodId,
    /// The place in that log.
    pub seq: Seq,
    /// The place among all events of the store.
    pub position: Position,
    /// The moment of the commit, for drafts that do not bring their own.
    pub at: Timestamp,
}

impl Envelope {
    /// Makes an envelope of a draft. Only stores call this: they alone know the place.
    pub fn seal(draft: Draft, place: Place) -> Self {
        Self {
            pod: place.pod,
            seq: place.seq,
            at: draft.at.unwrap_or(place.at),
            cause: draft.cause,
            position: place.position,
            event: draft.event,
        }
    }

    /// The pod in whose log the event was written. In a fork, what is shared keeps the name of
    /// the pod that it happened to.
    pub fn pod(&self) -> PodId {
        self.pod
    }

    /// The place in the pod's log, from 1.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// The place among all events of the store, from 1.
    pub fn position(&self) -> Position {
        self.position
    }

    /// When it was written down: for show only.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// The event of the same log that caused this one.
    pub fn cause(&self) -> Option<Seq> {
        self.cause
    }

    /// What happened.
    pub fn event(&self) -> &Event {
        &self.event
    }
}
