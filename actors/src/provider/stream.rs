//! A reply from a stream, without I/O: what all dialects share. Bytes go in, words come out as
//! they are known, and at the end there is a reply or the reason why there is none.

use events::event::model::{EndReason, FailureKind, ReasoningPart, Usage};
use events::text::{head, mend_surrogates};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::sse::{Event, Sse, TooLong};
use super::{Delta, Failure, Reply, ReplyPart};
use crate::limits::{DRAFT_BYTES_MAX, REPLY_BYTES_MAX, REPLY_PART_BYTES, STREAM_BYTES_MAX};

/// What one event brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A part of the reply.
    Progress,
    /// Nothing: the server says that it is alive.
    KeepAlive,
    /// All that there is.
    Done,
}

/// How a provider writes its replies.
pub(crate) trait Dialect {
    /// Takes the next event.
    fn take(&mut self, event: &Event, deltas: &mut Vec<Delta>) -> Result<Step, Failure>;

    /// The mark of a proper end was seen; what may still come can be done without.
    fn has_ended(&self) -> bool;

    /// The parts so far.
    fn parts(&self) -> &Parts;

    /// The reply, unless it did not end properly.
    fn finish(self) -> Result<Reply, Failure>;
}

/// The decoder of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Decoder<D> {
    sse: Sse,
    dialect: D,
    state: State,
    bytes: u64,
    progress: u64,
}

#[derive(Clone, Debug)]
enum State {
    Reading,
    Done,
    Failed(Failure),
}

impl<D: Dialect> Decoder<D> {
    /// A decoder at the beginning of a stream.
    pub(crate) fn new(dialect: D) -> Self {
        Self { sse: Sse::default(), dialect, state: State::Reading, bytes: 0, progress: 0 }
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8], deltas: &mut Vec<Delta>) {
        if self.is_done() {
            return;
        }
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        let mut events = Vec::new();
        let fits = self.sse.push(bytes, &mut events);
        for event in events {
            self.take(&event, deltas);
            if self.is_done() {
                return;
            }
        }
        if fits == Err(TooLong) {
            self.state = State::Failed(too_large("an event of the stream is larger than its limit"));
        } else if self.bytes > STREAM_BYTES_MAX {
            self.state = State::Failed(too_large("the stream is larger than its limit"));
        }
    }

    /// Nothing that comes will be looked at.
    pub(crate) fn is_done(&self) -> bool {
        !matches!(self.state, State::Reading)
    }

    /// There would be a reply if the stream ended now.
    pub(crate) fn has_ended(&self) -> bool {
        self.dialect.has_ended()
    }

    /// How many events have brought something.
    pub(crate) fn progress(&self) -> u64 {
        self.progress
    }

    /// The stream ended.
    pub(crate) fn finish(mut self) -> Result<Reply, Failure> {
        if matches!(self.state, State::Reading)
            && let Some(event) = self.sse.finish()
            && is_whole(&event)
        {
            self.take(&event, &mut Vec::new());
        }
        let draft = self.dialect.parts().draft();
        let reply = match self.state {
            State::Failed(failure) => Err(failure),
            State::Reading | State::Done => self.dialect.finish(),
        };
        reply.map_err(|failure| Failure { draft, ..failure })
    }

    fn take(&mut self, event: &Event, deltas: &mut Vec<Delta>) {
        match self.dialect.take(event, deltas) {
            Ok(Step::Progress) => self.progress += 1,
            Ok(Step::KeepAlive) => {}
            Ok(Step::Done) => self.state = State::Done,
            Err(failure) => self.state = State::Failed(failure),
        }
    }
}

/// An event that the stream did not end can be taken when its data is a whole object.
fn is_whole(event: &Event) -> bool {
    event.data.trim_start().starts_with('{')
        && serde_json::from_str::<IgnoredAny>(&mend_surrogates(&event.data)).is_ok()
}

/// The data of an event as JSON.
pub(crate) fn parse(data: &str) -> Result<Value, Failure> {
    serde_json::from_str(&mend_surrogates(data)).map_err(|error| {
        malformed(&format!("an event of the stream is not JSON ({error}): {}", head(data, 200)))
    })
}

/// The stream breaks the rules of its protocol.
pub(crate) fn malformed(message: &str) -> Failure {
    Failure::new(FailureKind::Malformed, message)
}

/// The mark of a proper end is missing.
pub(crate) fn truncated() -> Failure {
    Failure::new(FailureKind::Truncated, "the stream ended before the reply did")
}

fn too_large(message: &str) -> Failure {
    Failure::new(FailureKind::TooLarge, message)
}

/// A number of tokens, however odd it is written; absent when it is no number.
pub(crate) fn count(value: &Value) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, and a negative number of tokens counts as none"
    )]
    value.as_u64().or_else(|| value.as_f64().map(|number| number as u64))
}

/// The parts of a reply while it grows, and how large they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    parts: Vec<ReplyPart>,
    bytes: usize,
}

impl Parts {
    /// Adds a part and says where it is.
    pub(crate) fn push(&mut self, part: ReplyPart) -> Result<usize, Failure> {
        self.grow(REPLY_PART_BYTES)?;
        self.parts.push(part);
        Ok(self.parts.len() - 1)
    }

    /// The part at a place, to which this many bytes are added.
    pub(crate) fn extend(&mut self, place: usize, bytes: usize) -> Result<&mut ReplyPart, Failure> {
        self.grow(bytes)?;
        Ok(&mut self.parts[place])
    }

    /// Adds words at the end.
    pub(crate) fn text(&mut self, words: &str) -> Result<(), Failure> {
        if !matches!(self.parts.last(), Some(ReplyPart::Text(_))) {
            self.push(ReplyPart::Text(String::new()))?;
        }
        self.grow(words.len())?;
        if let Some(ReplyPart::Text(text)) = self.parts.last_mut() {
            text.push_str(words);
        }
        Ok(())
    }

    /// Adds reasoning that nobody signs at the end.
    pub(crate) fn reasoning(&mut self, words: &str) -> Result<(), Failure> {
        if !matches!(self.parts.last(), Some(ReplyPart::Reasoning(_))) {
            self.push(ReplyPart::Reasoning(ReasoningPart::default()))?;
        }
        self.grow(words.len())?;
        if let Some(ReplyPart::Reasoning(reasoning)) = self.parts.last_mut() {
            reasoning.text.push_str(words);
        }
        Ok(())
    }

    /// The part at this place.
    pub(crate) fn part(&self, place: usize) -> Option<&ReplyPart> {
        self.parts.get(place)
    }

    /// There is a call among them.
    pub(crate) fn has_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, ReplyPart::Call { .. }))
    }

    /// The reply that consists of these parts, and ends so.
    pub(crate) fn reply(
        self,
        end: EndReason,
        usage: Option<Usage>,
        provider_id: Option<String>,
    ) -> Result<Reply, Failure> {
        let parts: Vec<ReplyPart> = self.parts.into_iter().filter(|part| !is_empty(part)).collect();
        if parts.is_empty() {
            match end {
                // The reasoning took all the tokens that there were: trying again would not help.
                EndReason::Length => {}
                EndReason::Refused => {
                    return Err(Failure::new(FailureKind::Refused, "the model refused to answer"));
                }
                EndReason::Stop | EndReason::Calls => {
                    return Err(Failure::new(FailureKind::Empty, "the reply had no part at all"));
                }
            }
        }
        Ok(Reply { parts, usage, end, provider_id })
    }

    fn draft(&self) -> String {
        let mut draft = String::new();
        for part in &self.parts {
            if let ReplyPart::Text(text) = part {
                draft.push_str(head(text, DRAFT_BYTES_MAX - draft.len()));
            }
        }
        draft
    }

    fn grow(&mut self, bytes: usize) -> Result<(), Failure> {
        self.bytes += bytes;
        if self.bytes > REPLY_BYTES_MAX {
            return Err(too_large("the reply is larger than its limit"));
        }
        Ok(())
    }
}

fn is_empty(part: &ReplyPart) -> bool {
    match part {
        ReplyPart::Text(text) => text.is_empty(),
        ReplyPart::Reasoning(reasoning) => *reasoning == ReasoningPart::default(),
        ReplyPart::Call { .. } | ReplyPart::Opaque(_) => false,
    }
}
