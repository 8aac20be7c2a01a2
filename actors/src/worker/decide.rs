//! The rules of a turn: what to do next, and what a thing that happened is written down as.
//!
//! The next step is computed from the log's folds and from what this process has under way, so a
//! turn that is taken up after a crash goes the same way as one that never stopped.

use std::collections::BTreeSet;

use events::event::limit::LimitReached;
use events::event::model::{EndReason, FailureKind, Origin, Part, ReplyFailed, ReplyReceived};
use events::event::tool::{CallEnded, CallOutcome, CallStarted};
use events::event::turn::{Paused, TurnEnded, TurnOutcome};
use events::item::Call;
use events::projection::obligations::CallDebt;
use events::projection::status::words;
use events::projection::{Obligations, Projection, Status, UsageTotals};
use events::spec::Effect;
use events::text::clean_str;
use events::{Arguments, CallId, Content, Draft, Envelope, Hash, Seq, Spec};

use crate::hook::{Subject, preview};
use crate::provider::{Failure, Reply, ReplyPart};
use crate::tool::ToolOutput;
use crate::worker::retry::{self, Retry};

mod limit;

pub(crate) use limit::out_of_time;

/// A running turn: the folds of its pod's log, and what is under way in this process only.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    pub(crate) status: Status,
    pub(crate) obligations: Obligations,
    pub(crate) usage: UsageTotals,
    /// An attempt at the request is under way, or its time to be sent again has not come.
    pub(crate) sending: bool,
    /// Calls that run.
    pub(crate) running: BTreeSet<CallId>,
    /// Calls that hooks are being asked about.
    pub(crate) asking: BTreeSet<CallId>,
    /// Hooks are being asked about the next request.
    pub(crate) composing: bool,
    /// Hooks are being asked about so many things that have happened.
    pub(crate) telling: u32,
    /// The turn is to end as soon as nothing is under way.
    pub(crate) stop: Option<Ending>,
}

/// How a turn ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ending {
    pub(crate) outcome: TurnOutcome,
    pub(crate) reason: String,
    pub(crate) limit: Option<LimitReached>,
}

impl Ending {
    pub(crate) fn new(outcome: TurnOutcome, reason: impl Into<String>) -> Self {
        Self { outcome, reason: reason.into(), limit: None }
    }
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Nothing, until something happens.
    Wait,
    /// Write down what follows from where things stand.
    Record(Vec<Draft>),
    /// Build the next request.
    Compose,
    /// Send the prepared request.
    Send,
    /// Ask whether these calls may run.
    Gate(Vec<Call>),
    /// Run these calls again, whose end nobody saw and which do no harm twice.
    Rerun(Vec<Call>),
    /// End the turn.
    End(Ending),
}

impl Turn {
    /// Takes an event of the pod's log.
    pub(crate) fn apply(&mut self, envelope: &Envelope) {
        self.status.apply(envelope);
        self.obligations.apply(envelope);
        self.usage.apply(envelope);
    }

    /// What the pod is.
    pub(crate) fn spec(&self) -> &Spec {
        self.status.spec.as_ref().expect("a pod's log begins with its spec, and only such pods run")
    }
}

/// What to do next.
pub(crate) fn next(turn: &Turn) -> Step {
    if let Some(ending) = &turn.stop {
        return wind_up(turn, ending);
    }
    if turn.obligations.request.is_some() {
        return if turn.sending { Step::Wait } else { Step::Send };
    }
    if !turn.obligations.calls.is_empty() {
        return calls(turn);
    }
    if turn.composing {
        return Step::Wait;
    }
    if let Some(ending) = limit::limit(turn) {
        return Step::End(ending);
    }
    if turn.obligations.request_due {
        return Step::Compose;
    }
    // What hooks say of the last reply is part of the turn.
    if turn.telling > 0 { Step::Wait } else { Step::End(natural_end(turn)) }
}

/// A turn that is stopped answers the calls that have not begun, and waits for those that run.
fn wind_up(turn: &Turn, ending: &Ending) -> Step {
    let idle = turn.obligations.calls.values().filter(|debt| !turn.running.contains(&debt.call.call));
    let ends: Vec<Draft> = idle.map(|debt| end_of_idle_call(debt, &ending.reason)).collect();
    if !ends.is_empty() {
        return Step::Record(ends);
    }
    if turn.running.is_empty() { Step::End(ending.clone()) } else { Step::Wait }
}

/// The end of a call that does not run in this process.
pub(crate) fn end_of_idle_call(debt: &CallDebt, reason: &str) -> Draft {
    if let Some(started) = debt.started {
        return unknown(debt.call.call).caused_by(started);
    }
    let reason = if reason.is_empty() { "the turn ended" } else { reason };
    let summary = format!("Not run: {reason}.");
    unstarted(debt.call.call, CallOutcome::CancelledBeforeStart, &summary).caused_by(debt.reply)
}

fn calls(turn: &Turn) -> Step {
    let owed = &turn.obligations.calls;
    if turn.obligations.reply_end == Some(EndReason::Length) {
        let why = "Not run: the reply reached its limit of output tokens, so it may be incomplete. Send fewer or \
                   smaller calls; write a long file in several parts.";
        let ends = owed.values().map(|debt| {
            unstarted(debt.call.call, CallOutcome::CancelledBeforeStart, why).caused_by(debt.reply)
        });
        return Step::Record(ends.collect());
    }
    let orphans: Vec<&CallDebt> = owed
        .values()
        .filter(|debt| debt.started.is_some() && !turn.running.contains(&debt.call.call))
        .collect();
    if !orphans.is_empty() {
        let (again, unknown_ends): (Vec<_>, Vec<_>) =
            orphans.into_iter().partition(|debt| may_run_again(turn.spec(), &debt.call.tool));
        return if unknown_ends.is_empty() {
            Step::Rerun(again.into_iter().map(|debt| debt.call.clone()).collect())
        } else {
            Step::Record(unknown_ends.into_iter().map(|debt| end_of_idle_call(debt, "")).collect())
        };
    }
    let waiting = owed.values().filter(|debt| debt.started.is_none());
    let new: Vec<Call> = waiting
        .filter(|debt| !turn.asking.contains(&debt.call.call) && !turn.running.contains(&debt.call.call))
        .map(|debt| debt.call.clone())
        .collect();
    if new.is_empty() { Step::Wait } else { Step::Gate(new) }
}

fn may_run_again(spec: &Spec, tool: &str) -> bool {
    match spec.tool(tool).map(|tool| tool.effect) {
        Some(Effect::ReadOnly | Effect::Idempotent) => true,
        Some(Effect::Other) | None => false,
    }
}

fn natural_end(turn: &Turn) -> Ending {
    match turn.obligations.reply_end {
        Some(EndReason::Refused) => Ending::new(TurnOutcome::Failed, "the model refused to answer"),
        Some(EndReason::Length) => {
            Ending::new(TurnOutcome::Finished, "the reply was cut at the limit of output tokens")
        }
        Some(EndReason::Stop | EndReason::Calls) | None => Ending::new(TurnOutcome::Finished, ""),
    }
}

/// The events that end a turn.
pub(crate) fn ended(turn: &Turn, ending: &Ending) -> Vec<Draft> {
    let (turn, outcome, reason) = (turn.status.turn, ending.outcome, ending.reason.clone());
    let mut drafts: Vec<Draft> = ending.limit.iter().cloned().map(Draft::from).collect();
    drafts.push(TurnEnded { turn, outcome, reason: reason.clone() }.into());
    match outcome {
        TurnOutcome::Paused | TurnOutcome::Exhausted => drafts.push(Paused { reason }.into()),
        TurnOutcome::Finished
        | TurnOutcome::Failed
        | TurnOutcome::Cancelled
        | TurnOutcome::Aborted
        | TurnOutcome::Yielded => {}
    }
    drafts
}

/// What a reply is written down as. Calls get podwork's ids here; those whose arguments do not
/// parse are no calls.
pub(crate) fn reply(turn: &Turn, last_call: Option<CallId>, reply: Reply) -> Option<(ReplyReceived, Seq)> {
    let request = turn.obligations.request.as_ref()?;
    let model = &turn.spec().model;
    let origin = Origin { provider: model.provider.clone(), model: model.name.clone() };
    let mut last_call = last_call;
    let was_cut = reply.end == EndReason::Length;
    let parts = reply.parts.into_iter().map(|part| write_part(part, &mut last_call, was_cut)).collect();
    let received = ReplyReceived {
        request: request.prepared.request,
        origin,
        parts,
        usage: reply.usage,
        end: reply.end,
        provider_id: reply.provider_id,
    };
    Some((received, request.seq))
}

/// What hooks are told of a reply.
pub(crate) fn reply_subject(reply: &ReplyReceived) -> Subject {
    let is_call = |part: &&Part| matches!(part, Part::Call(_));
    Subject::AfterReply {
        request: reply.request,
        preview: preview(&words(&reply.parts)),
        calls: reply.parts.iter().filter(is_call).count() as u64,
    }
}

fn write_part(part: ReplyPart, last_call: &mut Option<CallId>, was_cut: bool) -> Part {
    match part {
        ReplyPart::Text(text) => Part::Text { text: without_nul(text) },
        ReplyPart::Reasoning(reasoning) => Part::Reasoning(reasoning),
        ReplyPart::Opaque(json) => Part::Opaque { json },
        ReplyPart::Call { provider_id, tool, raw } => match Arguments::parse(&raw) {
            Ok(arguments) if !tool.trim().is_empty() => {
                let call = last_call.map_or(CallId(1), CallId::next);
                *last_call = Some(call);
                Part::Call(Call { call, tool, provider_id, arguments })
            }
            Ok(_) => Part::BrokenCall { tool, raw, why: "it names no tool".to_owned() },
            Err(error) => {
                let mut why = error.to_string();
                if was_cut {
                    why.push_str("; the reply reached its limit of output tokens: write less at a time");
                }
                Part::BrokenCall { tool, raw, why }
            }
        },
    }
}

/// No provider takes U+0000 back.
fn without_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }
}

/// What a failed attempt is written down as, and what comes of it.
pub(crate) fn failure(turn: &Turn, failure: &Failure, jitter: f64) -> (Vec<Draft>, After) {
    let Some(request) = &turn.obligations.request else { return (Vec::new(), After::Nothing) };
    let attempt = request.failed_attempts + 1;
    let retries_max = turn.spec().limits.retries;
    let retry = retry::decide(failure.kind, attempt, retries_max, failure.retry_after, jitter);
    let milliseconds = |wait: std::time::Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    let failed = ReplyFailed {
        request: request.prepared.request,
        attempt,
        kind: failure.kind,
        message: clean_str(&failure.message),
        status: failure.status,
        retry_after_ms: failure.retry_after.map(milliseconds),
        next_attempt_in_ms: match &retry {
            Retry::After(wait) => Some(milliseconds(*wait)),
            Retry::GiveUp(_) | Retry::Never => None,
        },
        draft: without_nul(failure.draft.clone()),
        provider_request_id: failure.provider_request_id.clone(),
    };
    let after = match retry {
        Retry::After(wait) => After::SendIn(wait),
        Retry::GiveUp(why) => {
            let reason = format!("{why}; the last one: {}. Resume to try again", failed.message);
            After::End(Ending::new(TurnOutcome::Paused, reason))
        }
        Retry::Never if failure.kind == FailureKind::ContextTooLong => After::End(Ending::new(
            TurnOutcome::Yielded,
            format!("the context is too long: {}", failed.message),
        )),
        Retry::Never => After::End(Ending::new(TurnOutcome::Failed, failed.message.clone())),
    };
    (vec![Draft::new(failed).caused_by(request.seq)], after)
}

/// What comes after a failed attempt is written down.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum After {
    Nothing,
    SendIn(std::time::Duration),
    End(Ending),
}

/// What the start of a call is written down as.
pub(crate) fn start(turn: &Turn, call: &Call) -> Draft {
    let started = CallStarted { call: call.call, tool: call.tool.clone(), arguments: call.arguments.clone() };
    Draft::new(started).caused_by(turn.obligations.calls.get(&call.call).map(|debt| debt.reply))
}

/// What the result of a tool is written down as.
pub(crate) fn result(turn: &Turn, call: CallId, output: &ToolOutput, elapsed_ms: u64) -> Draft {
    let ended = CallEnded {
        call,
        outcome: output.outcome,
        summary: output.summary.clone(),
        content: Content::Text(output.content.clone()),
        content_hash: output.whole.as_deref().map(Hash::of),
        content_bytes: output.bytes.max(output.content.len() as u64),
        elapsed_ms,
    };
    Draft::new(ended).caused_by(turn.obligations.calls.get(&call).and_then(|debt| debt.started))
}

/// The end of a call that never ran.
pub(crate) fn unstarted(call: CallId, outcome: CallOutcome, summary: &str) -> Draft {
    end(call, outcome, summary)
}

pub(crate) fn unknown(call: CallId) -> Draft {
    let summary = "The outcome is unknown: podwork ended while the call ran. Side effects may have happened; check \
                   before you do it again.";
    end(call, CallOutcome::Unknown, summary)
}

fn end(call: CallId, outcome: CallOutcome, summary: &str) -> Draft {
    Draft::new(CallEnded {
        call,
        outcome,
        summary: summary.to_owned(),
        content: Content::default(),
        content_hash: None,
        content_bytes: 0,
        elapsed_ms: 0,
    })
}

#[cfg(test)]
mod tests;
