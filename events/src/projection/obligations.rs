//! What the log says is still owed.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::model::{EndReason, Part, ReplyReceived, RequestPrepared};
use crate::item::Call;
use crate::projection::Projection;
use crate::{CallId, Envelope, Event, PodId, Seq};

/// What a pod owes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Obligations {
    /// Input and notifications that no request has carried to the model yet.
    pub unread: Vec<Seq>,
    /// The request that has no reply.
    pub request: Option<RequestDebt>,
    /// Calls of the newest reply that have no end, in order.
    pub calls: BTreeMap<CallId, CallDebt>,
    /// How the newest reply ended. After `Length` none of its calls may run.
    pub reply_end: Option<EndReason>,
    /// The model has not seen all that happened: another request is due in this turn.
    pub request_due: bool,
    /// Calls that wait for a person.
    pub questions: BTreeSet<CallId>,
    /// Children that have not ended, by what they are called.
    pub children: BTreeMap<PodId, String>,
    /// The compaction that has neither finished nor failed.
    pub compaction: Option<Seq>,
    /// Replies in a row that ended for length or had broken calls only, since a person last let the
    /// pod go on.
    pub cut_replies_in_a_row: u32,
}

/// A request that waits for its reply.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestDebt {
    /// The event.
    pub seq: Seq,
    /// What was prepared.
    pub prepared: RequestPrepared,
    /// Attempts that failed.
    pub failed_attempts: u32,
}

/// A call that waits for its end.
#[derive(Clone, Debug, PartialEq)]
pub struct CallDebt {
    /// The call.
    pub call: Call,
    /// The event of its reply.
    pub reply: Seq,
    /// The event of its start, once it has one.
    pub started: Option<Seq>,
}

impl Obligations {
    /// Nothing stands in the way of the next request.
    pub fn are_settled(&self) -> bool {
        self.request.is_none() && self.calls.is_empty()
    }

    fn reply(&mut self, seq: Seq, reply: &ReplyReceived) {
        self.request = None;
        self.reply_end = Some(reply.end);
        self.calls.clear();
        self.calls.extend(reply.parts.iter().filter_map(|part| owed(part, seq)));
        let broken = reply.parts.iter().any(|part| matches!(part, Part::BrokenCall { .. }));
        let cut = (reply.end == EndReason::Length && !self.calls.is_empty()) || broken;
        self.request_due |= broken;
        self.cut_replies_in_a_row = if cut { self.cut_replies_in_a_row + 1 } else { 0 };
    }

    /// A prepared request that has no reply would not be the same any more: another one is due.
    fn forget_request(&mut self) {
        if self.request.take().is_some() {
            self.request_due = true;
        }
    }
}

impl Projection for Obligations {
    fn apply(&mut self, envelope: &Envelope) {
        let seq = envelope.seq();
        match envelope.event() {
            Event::InputReceived(_) | Event::Notified(_) => {
                self.unread.push(seq);
                self.request_due = true;
            }
            Event::TurnStarted(_) => self.request_due = true,
            Event::RequestPrepared(prepared) => {
                self.unread.clear();
                self.request_due = false;
                self.calls.clear();
                self.questions.clear();
                let prepared = prepared.clone();
                self.request = Some(RequestDebt { seq, prepared, failed_attempts: 0 });
            }
            Event::ReplyFailed(failed) => {
                if let Some(request) = &mut self.request {
                    request.failed_attempts = failed.attempt;
                }
            }
            Event::ReplyReceived(reply) => self.reply(seq, reply),
            Event::CallStarted(started) => {
                if let Some(debt) = self.calls.get_mut(&started.call) {
                    debt.started = Some(seq);
                }
            }
            Event::CallEnded(ended) => {
                self.calls.remove(&ended.call);
                self.questions.remove(&ended.call);
                self.request_due = true;
            }
            // Who resumes has seen the reason and means another try.
            Event::Resumed(_) => self.cut_replies_in_a_row = 0,
            Event::SpecChanged(_) => self.forget_request(),
            // Resuming the turn prepares a new request, with what has come meanwhile.
            Event::TurnEnded(_) => self.request = None,
            Event::PermissionAsked(asked) => {
                self.questions.insert(asked.call);
            }
            Event::PermissionAnswered(answered) => {
                self.questions.remove(&answered.call);
            }
            Event::ChildSpawned(spawned) => {
                self.children.insert(spawned.child, spawned.name.clone());
            }
            Event::ChildEnded(ended) => {
                self.children.remove(&ended.child);
            }
            Event::CompactionStarted(_) => self.compaction = Some(seq),
            Event::CompactionFinished(_) => {
                self.compaction = None;
                self.forget_request();
            }
            Event::CompactionFailed(_) => self.compaction = None,
            // What a fork shares of children stays with the pod that spawned them.
            Event::PodForked(_) => self.children.clear(),
            Event::PodOpened(_)
            | Event::PodStopped(_)
            | Event::Paused(_)
            | Event::CallProgressed(_)
            | Event::HookAnswered(_)
            | Event::HookFailed(_)
            | Event::Pruned(_)
            | Event::CompactionSkipped(_)
            | Event::MessageSent(_)
            | Event::LimitReached(_)
            | Event::RecordImported(_) => {}
        }
    }
}

fn owed(part: &Part, reply: Seq) -> Option<(CallId, CallDebt)> {
    match part {
        Part::Call(call) => Some((call.call, CallDebt { call: call.clone(), reply, started: None })),
        Part::Text { .. } | Part::Reasoning(_) | Part::BrokenCall { .. } | Part::Opaque { .. } => None,
    }
}
