//! A pod's own life and what is done to its context, as a person reads it.

use std::fmt::Write as _;

use events::event::child::ChildEnded;
use events::event::context::{CompactionFinished, CompactionStarted, Pruned};
use events::event::hook::{HookAnswered, HookFailed, HookPoint, HookRole, HookVerdict};
use events::event::imported::RecordImported;
use events::event::limit::LimitReached;
use events::event::permission::{PermissionAnswer, PermissionAnswered};
use events::event::pod::{PodForked, PodOpened, SpecChanged};
use events::event::turn::{TurnEnded, TurnOutcome};
use events::text::clean_str;
use events::{CallId, Spec};

use super::{Entry, preview, short};
use crate::output::number;
use crate::output::style::Tone;

pub(super) fn opened(opened: &PodOpened) -> Entry {
    let mut text = spec_line(&opened.spec);
    if let Some(name) = &opened.name {
        text = format!("{} · {text}", clean_str(name));
    }
    if let Some(parent) = &opened.parent {
        let _ = write!(text, " · child of {}", short(parent));
    }
    if let Some(format) = &opened.imported {
        let _ = write!(text, " · imported from {}", clean_str(format));
    }
    Entry::new("opened", Tone::Strong, text)
}

fn spec_line(spec: &Spec) -> String {
    let mut line = clean_str(&spec.model.to_string());
    let _ = write!(line, " · {}", number::count(spec.tools.len() as u64, "tool"));
    let _ = write!(line, " · window {}", number::tokens(spec.context.window_tokens));
    if !spec.directory.is_empty() {
        let _ = write!(line, " · {}", clean_str(&spec.directory));
    }
    line
}

pub(super) fn forked(forked: &PodForked) -> Entry {
    let name = forked.name.as_ref().map(|name| format!("{} · ", clean_str(name))).unwrap_or_default();
    let text = format!("{name}from {} at {}", short(&forked.from), forked.at_seq);
    Entry::new("forked", Tone::Strong, text)
}

pub(super) fn changed(changed: &SpecChanged) -> Entry {
    Entry::new("changed", Tone::Plain, spec_line(&changed.spec))
}

pub(super) fn turn_ended(ended: &TurnEnded) -> Entry {
    let mut text = format!("{} {}", ended.turn, ended.outcome.as_str());
    if !ended.reason.is_empty() {
        let _ = write!(text, ": {}", preview(&ended.reason));
    }
    Entry::new("turn", tone_of(ended.outcome), text)
}

/// How the end of a turn is meant.
pub(crate) fn tone_of(outcome: TurnOutcome) -> Tone {
    match outcome {
        TurnOutcome::Finished => Tone::Good,
        TurnOutcome::Failed | TurnOutcome::Aborted => Tone::Bad,
        TurnOutcome::Cancelled | TurnOutcome::Paused | TurnOutcome::Exhausted => Tone::Warning,
        TurnOutcome::Yielded => Tone::Context,
    }
}

pub(super) fn permission(answered: &PermissionAnswered) -> Entry {
    let (answer, tone) = match answered.answer {
        PermissionAnswer::Allowed => ("allowed", Tone::Good),
        PermissionAnswer::Denied => ("denied", Tone::Bad),
        PermissionAnswer::Withdrawn => ("withdrawn", Tone::Faint),
    };
    let mut text = format!("{} {answer}", answered.call);
    if !answered.reason.is_empty() {
        let _ = write!(text, ": {}", clean_str(&answered.reason));
    }
    Entry::new("answer", tone, text)
}

pub(super) fn hook_answered(answered: &HookAnswered) -> Entry {
    let (verdict, tone) = match answered.verdict {
        HookVerdict::Continue => ("continue", Tone::Faint),
        HookVerdict::Skip => ("skip", Tone::Warning),
        HookVerdict::Abort => ("abort", Tone::Bad),
        HookVerdict::Pause => ("pause", Tone::Warning),
    };
    let mut text = hook_line(&answered.hook, answered.point, answered.call);
    let _ = write!(text, ": {verdict} in {}", number::milliseconds(answered.elapsed_ms));
    Entry::new("hook", tone, text).below(Tone::Plain, preview(&answered.reason))
}

pub(super) fn hook_failed(failed: &HookFailed) -> Entry {
    let meaning = match failed.role {
        HookRole::Guard => "counts as a no",
        HookRole::Observer => "counts for nothing",
    };
    let mut text = hook_line(&failed.hook, failed.point, failed.call);
    let _ = write!(text, ": no answer, which {meaning}");
    Entry::new("hook", Tone::Bad, text).below(Tone::Plain, preview(&failed.reason))
}

fn hook_line(hook: &str, point: HookPoint, call: Option<CallId>) -> String {
    let point = match point {
        HookPoint::PromptSubmitted => "prompt submitted",
        HookPoint::BeforeRequest => "before request",
        HookPoint::AfterReply => "after reply",
        HookPoint::BeforeCall => "before call",
        HookPoint::AfterCall => "after call",
        HookPoint::TurnEnded => "turn ended",
        HookPoint::BeforeCompaction => "before compaction",
        HookPoint::PodStopped => "pod stopped",
    };
    let call = call.map(|call| format!(" {call}")).unwrap_or_default();
    format!("{} at {point}{call}", clean_str(hook))
}

pub(super) fn pruned(pruned: &Pruned) -> Entry {
    let text = format!(
        "{} left out, about {} tokens saved in each request",
        number::count(pruned.calls.len() as u64, "result"),
        number::tokens(pruned.tokens_saved)
    );
    Entry::new("pruned", Tone::Context, text).below(Tone::Faint, clean_str(&pruned.reason))
}

pub(super) fn compaction_started(started: &CompactionStarted) -> Entry {
    let text = format!(
        "began: events {} to {} of about {} tokens",
        started.from_seq,
        started.kept_from.0.saturating_sub(1),
        number::tokens(started.tokens_before)
    );
    Entry::new("compaction", Tone::Context, text).below(Tone::Faint, clean_str(&started.reason))
}

pub(super) fn compaction_finished(finished: &CompactionFinished) -> Entry {
    let text = format!(
        "finished: {} tokens became {}",
        number::tokens(finished.tokens_before),
        number::tokens(finished.tokens_after)
    );
    Entry::new("compaction", Tone::Context, text).below(Tone::Faint, preview(&finished.summary))
}

pub(super) fn child_ended(ended: &ChildEnded) -> Entry {
    let text = format!("{} {}", short(&ended.child), ended.outcome.as_str());
    Entry::new("child", tone_of(ended.outcome), text).below(Tone::Faint, preview(&ended.text))
}

pub(super) fn limit(limit: &LimitReached) -> Entry {
    let [name, value, maximum] = [&limit.limit, &limit.value, &limit.maximum].map(|text| clean_str(text));
    Entry::new("limit", Tone::Warning, format!("{name}: {value} of {maximum}"))
}

pub(super) fn imported(record: &RecordImported) -> Entry {
    let [kind, format] = [&record.record, &record.format].map(|text| clean_str(text));
    let text = format!("{kind} record of {format}, {}", number::bytes(record.raw.len()));
    Entry::new("kept", Tone::Faint, text)
}
