//! What a pod is and where it stands.

use serde::{Deserialize, Serialize};

use crate::event::model::Part;
use crate::event::turn::TurnOutcome;
use crate::projection::Projection;
use crate::{Envelope, Event, PodId, RequestNumber, Seq, Spec, Timestamp, TurnNumber};

/// Where a pod stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// What it does.
    pub state: State,
    /// What it is, since the newest change.
    pub spec: Option<Spec>,
    /// What people call it.
    pub name: Option<String>,
    /// Who spawned it.
    pub parent: Option<PodId>,
    /// The newest turn; zero before the first.
    pub turn: TurnNumber,
    /// The newest request; zero before the first.
    pub request: RequestNumber,
    /// Requests in the newest turn.
    pub requests_in_turn: u32,
    /// How the newest turn ended, once it has.
    pub outcome: Option<TurnOutcome>,
    /// The event that ended it.
    pub turn_ended: Option<Seq>,
    /// Why it ended so, or why the pod is paused or stopped.
    pub reason: String,
    /// The words of the newest reply that had any.
    pub text: String,
    /// The last event.
    pub head: Seq,
    /// When the last event was written down: for show only.
    pub at: Timestamp,
}

/// What a pod does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nothing; input starts a turn.
    #[default]
    Idle,
    /// A turn.
    Running,
    /// Nothing, until a person resumes it.
    Paused,
    /// Nothing any more.
    Stopped,
}

impl State {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
        }
    }
}

impl Status {
    /// The newest turn ended before its work was done, and `resume` goes on with it.
    pub fn is_resumable(&self) -> bool {
        self.outcome.is_some_and(TurnOutcome::is_resumable)
    }

    fn begin_turn(&mut self, turn: TurnNumber) {
        if self.turn != turn {
            self.requests_in_turn = 0;
            self.text.clear();
        }
        self.state = State::Running;
        self.turn = turn;
        self.outcome = None;
        self.turn_ended = None;
        self.reason.clear();
    }

    fn end_turn(&mut self, seq: Seq, outcome: TurnOutcome, reason: &str) {
        self.turn_ended = Some(seq);
        self.outcome = Some(outcome);
        reason.clone_into(&mut self.reason);
        if self.state == State::Running {
            self.state = State::Idle;
        }
    }
}

/// The words of a reply, its text parts one below the other.
pub fn words(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        Part::Reasoning(_) | Part::Call(_) | Part::BrokenCall { .. } | Part::Opaque { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

impl Projection for Status {
    fn apply(&mut self, envelope: &Envelope) {
        self.head = envelope.seq();
        self.at = envelope.at();
        match envelope.event() {
            Event::PodOpened(opened) => {
                self.spec = Some(opened.spec.clone());
                self.name.clone_from(&opened.name);
                self.parent = opened.parent;
            }
            Event::PodForked(forked) => {
                self.name.clone_from(&forked.name);
                self.parent = None;
                self.state = State::Idle;
            }
            Event::SpecChanged(changed) => self.spec = Some(changed.spec.clone()),
            Event::PodStopped(stopped) => {
                self.state = State::Stopped;
                self.reason.clone_from(&stopped.reason);
            }
            Event::TurnStarted(started) => self.begin_turn(started.turn),
            Event::TurnEnded(ended) => self.end_turn(envelope.seq(), ended.outcome, &ended.reason),
            Event::Paused(paused) => {
                self.state = State::Paused;
                self.reason.clone_from(&paused.reason);
                // Room was to be made for it and could not be.
                if self.outcome == Some(TurnOutcome::Yielded) {
                    self.outcome = Some(TurnOutcome::Paused);
                }
            }
            Event::Resumed(_) => {
                // A person has looked at what the turn came to: its requests count anew.
                self.requests_in_turn = 0;
                if self.state == State::Paused {
                    self.state = State::Idle;
                }
            }
            Event::RequestPrepared(prepared) => {
                self.request = prepared.request;
                self.requests_in_turn += 1;
            }
            Event::ReplyReceived(reply) => {
                let words = words(&reply.parts);
                if !words.is_empty() {
                    self.text = words;
                }
            }
            Event::InputReceived(_)
            | Event::Notified(_)
            | Event::ReplyFailed(_)
            | Event::CallStarted(_)
            | Event::CallProgressed(_)
            | Event::CallEnded(_)
            | Event::PermissionAsked(_)
            | Event::PermissionAnswered(_)
            | Event::HookAnswered(_)
            | Event::HookFailed(_)
            | Event::Pruned(_)
            | Event::CompactionStarted(_)
            | Event::CompactionFinished(_)
            | Event::CompactionFailed(_)
            | Event::CompactionSkipped(_)
            | Event::ChildSpawned(_)
            | Event::ChildEnded(_)
            | Event::MessageSent(_)
            | Event::LimitReached(_)
            | Event::RecordImported(_) => {}
        }
    }
}
