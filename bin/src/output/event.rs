//! An event as a person reads it: a label, a text, and what belongs below it.

use events::Event;
use events::event::tool::CallOutcome;
use events::text::clean_str;

use crate::output::number;
use crate::output::style::Tone;

mod model;
mod upkeep;

pub(crate) use model::call_line;

/// Columns of the longest label.
pub(crate) const LABEL_COLUMNS: usize = 10;

/// What is shown of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// One word: what happened.
    pub(crate) label: &'static str,
    /// How it is meant.
    pub(crate) tone: Tone,
    /// What happened, in one line or a few.
    pub(crate) text: String,
    /// What belongs below it.
    pub(crate) below: Vec<(Tone, String)>,
}

impl Entry {
    pub(super) fn new(label: &'static str, tone: Tone, text: impl Into<String>) -> Self {
        Self { label, tone, text: text.into(), below: Vec::new() }
    }

    #[must_use]
    pub(super) fn below(mut self, tone: Tone, text: impl AsRef<str>) -> Self {
        let text = text.as_ref().trim_end();
        if !text.is_empty() {
            self.below.push((tone, text.to_owned()));
        }
        self
    }

    /// How an event reads.
    pub(crate) fn of(event: &Event) -> Self {
        match event {
            Event::PodOpened(opened) => upkeep::opened(opened),
            Event::PodForked(forked) => upkeep::forked(forked),
            Event::SpecChanged(changed) => upkeep::changed(changed),
            Event::PodStopped(stopped) => Self::new("stopped", Tone::Warning, clean_str(&stopped.reason)),
            Event::InputReceived(input) => Self::new("input", Tone::User, preview(&input.text)),
            Event::Notified(notified) => {
                let text = format!("{}: {}", clean_str(&notified.source), preview(&notified.text));
                Self::new("notified", Tone::User, text)
            }
            Event::TurnStarted(started) => Self::new("turn", Tone::Faint, started.turn.to_string()),
            Event::TurnEnded(ended) => upkeep::turn_ended(ended),
            Event::Paused(paused) => Self::new("paused", Tone::Warning, clean_str(&paused.reason)),
            Event::Resumed(_) => Self::new("resumed", Tone::Plain, ""),
            Event::RequestPrepared(prepared) => model::prepared(prepared),
            Event::ReplyReceived(reply) => model::replied(reply),
            Event::ReplyFailed(failed) => model::failed(failed),
            Event::CallStarted(started) => {
                let arguments = call_line(&started.tool, &started.arguments);
                Self::new("call", Tone::Work, format!("{} {arguments}", started.call))
            }
            Event::CallProgressed(progressed) => {
                let text = format!("{} {}", progressed.call, clean_str(&progressed.note));
                Self::new("progress", Tone::Faint, text)
            }
            Event::CallEnded(ended) => model::call_ended(ended),
            Event::PermissionAsked(asked) => {
                let text = format!("{} {}", asked.call, clean_str(&asked.question));
                Self::new("asks", Tone::Warning, text)
            }
            Event::PermissionAnswered(answered) => upkeep::permission(answered),
            Event::HookAnswered(answered) => upkeep::hook_answered(answered),
            Event::HookFailed(failed) => upkeep::hook_failed(failed),
            Event::Pruned(pruned) => upkeep::pruned(pruned),
            Event::CompactionStarted(started) => upkeep::compaction_started(started),
            Event::CompactionFinished(finished) => upkeep::compaction_finished(finished),
            Event::CompactionFailed(failed) => {
                Self::new("compaction", Tone::Bad, format!("failed: {}", clean_str(&failed.reason)))
            }
            Event::CompactionSkipped(skipped) => {
                Self::new("compaction", Tone::Warning, format!("skipped: {}", clean_str(&skipped.reason)))
            }
            Event::ChildSpawned(spawned) => {
                let text = format!("{} ({})", clean_str(&spawned.name), short(&spawned.child));
                Self::new("child", Tone::Work, text)
            }
            Event::ChildEnded(ended) => upkeep::child_ended(ended),
            Event::MessageSent(sent) => Self::new("message", Tone::Work, format!("to {}", short(&sent.to)))
                .below(Tone::Plain, preview(&sent.text)),
            Event::LimitReached(limit) => upkeep::limit(limit),
            Event::RecordImported(record) => upkeep::imported(record),
        }
    }
}

/// Lines of a long text that a log shows.
const PREVIEW_LINES_MAX: usize = 12;

/// Bytes of a long text that a log shows: a text without line ends is long, too.
const PREVIEW_BYTES_MAX: usize = 2000;

/// The beginning of a text of any size, safe for a terminal, and how much is left out.
pub(crate) fn preview(text: &str) -> String {
    preview_of(text, PREVIEW_LINES_MAX, PREVIEW_BYTES_MAX)
}

pub(crate) fn preview_of(text: &str, lines_max: usize, bytes_max: usize) -> String {
    let head = clean_str(events::text::head(text, bytes_max));
    let lines: Vec<&str> = head.trim_end().lines().take(lines_max).collect();
    let shown = lines.join("\n");
    let lines_left = text.trim_end().lines().count().saturating_sub(lines.len());
    if lines_left > 0 {
        format!("{shown}\n… {} more", number::count(lines_left as u64, "line"))
    } else if text.len() > bytes_max {
        format!("{shown} … {} more", number::bytes((text.len() - bytes_max) as u64))
    } else {
        shown
    }
}

/// Digits of a pod's id that tell pods of different milliseconds apart.
const SHORT_ID_LETTERS: usize = 13;

/// The beginning of a pod's id, as a person would type it.
pub(crate) fn short(pod: &events::PodId) -> String {
    events::text::head(&pod.to_string(), SHORT_ID_LETTERS).to_owned()
}

/// How the end of a call is meant.
pub(crate) fn tone_of_call(outcome: CallOutcome) -> Tone {
    match outcome {
        CallOutcome::Ok => Tone::Good,
        CallOutcome::Failed | CallOutcome::Unknown => Tone::Bad,
        CallOutcome::Denied | CallOutcome::CancelledBeforeStart | CallOutcome::Interrupted => Tone::Warning,
    }
}

#[cfg(test)]
mod tests;
