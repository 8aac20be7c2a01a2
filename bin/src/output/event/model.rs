//! Requests, replies and calls as a person reads them.

use std::fmt::Write as _;

use events::Arguments;
use events::event::model::{
    EndReason, FailureKind, Part, ReplyFailed, ReplyReceived, RequestPrepared, Usage,
};
use events::event::tool::CallEnded;
use events::text::clean_str;
use serde_json::Value;

use super::{Entry, preview, preview_of, tone_of_call};
use crate::output::number;
use crate::output::style::Tone;

pub(super) fn prepared(prepared: &RequestPrepared) -> Entry {
    let text = format!(
        "{} · {}, about {} tokens",
        prepared.request,
        number::count(prepared.items, "item"),
        number::tokens(prepared.estimated_tokens)
    );
    Entry::new("request", Tone::Faint, text)
}

pub(super) fn replied(reply: &ReplyReceived) -> Entry {
    let mut entry =
        Entry::new("reply", Tone::Strong, preview(&events::projection::status::words(&reply.parts)));
    for part in &reply.parts {
        entry = match part {
            Part::Text { .. } => entry,
            Part::Reasoning(reasoning) => {
                let words = preview_of(&reasoning.text, REASONING_LINES_MAX, REASONING_BYTES_MAX);
                entry.below(Tone::Faint, if words.is_empty() { "(hidden reasoning)" } else { &words })
            }
            Part::Call(call) => {
                let line = call_line(&call.tool, &call.arguments);
                entry.below(Tone::Work, format!("{} {line}", call.call))
            }
            Part::BrokenCall { tool, why, .. } => {
                entry.below(Tone::Bad, format!("broken call of {}: {}", clean_str(tool), clean_str(why)))
            }
            Part::Opaque { json } => {
                entry.below(Tone::Faint, format!("(unknown part, {})", number::bytes(json.len() as u64)))
            }
        };
    }
    let entry = match reply.end {
        EndReason::Stop | EndReason::Calls => entry,
        EndReason::Length => entry.below(Tone::Bad, "cut off at the limit of output tokens"),
        EndReason::Refused => entry.below(Tone::Bad, "refused"),
    };
    match &reply.usage {
        Some(usage) => entry.below(Tone::Faint, usage_line(usage)),
        None => entry,
    }
}

/// Lines of reasoning that a log shows.
const REASONING_LINES_MAX: usize = 3;

/// Bytes of reasoning that a log shows.
const REASONING_BYTES_MAX: usize = 400;

/// Tokens in one line.
fn usage_line(usage: &Usage) -> String {
    let mut line = format!("{} in", number::tokens(usage.input_tokens));
    if usage.cached_tokens > 0 {
        let _ = write!(line, " ({} cached)", number::share(usage.cached_tokens, usage.input_tokens));
    }
    let _ = write!(line, ", {} out", number::tokens(usage.output_tokens));
    line
}

pub(super) fn failed(failed: &ReplyFailed) -> Entry {
    let status = failed.status.map(|status| format!(" ({status})")).unwrap_or_default();
    let next = match failed.next_attempt_in_ms {
        Some(wait) => format!("next attempt in {}", number::milliseconds(wait)),
        None => "no further attempt by itself".to_owned(),
    };
    let text = format!("attempt {} failed: {}{status}", failed.attempt, failure(failed.kind));
    let tone = if failed.next_attempt_in_ms.is_some() { Tone::Warning } else { Tone::Bad };
    Entry::new("reply", tone, text).below(Tone::Plain, preview(&failed.message)).below(Tone::Faint, next)
}

/// A failure in words.
pub(crate) fn failure(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Auth => "the key is missing, wrong or has no rights",
        FailureKind::RateLimited => "too many requests",
        FailureKind::Overloaded => "the provider has no capacity",
        FailureKind::ContextTooLong => "the context is larger than the model's window",
        FailureKind::Refused => "the provider refused the request",
        FailureKind::InvalidRequest => "the provider finds the request malformed",
        FailureKind::ModelNotFound => "there is no such model",
        FailureKind::Server => "the provider broke",
        FailureKind::Truncated => "the stream ended before the reply did",
        FailureKind::Malformed => "the stream is not what the provider's protocol says",
        FailureKind::Empty => "the reply was empty",
        FailureKind::ConnectTimeout => "no connection in time",
        FailureKind::HeadersTimeout => "no answer in time",
        FailureKind::IdleTimeout => "the answer fell silent",
        FailureKind::Transport => "the connection broke",
        FailureKind::TooLarge => "the reply was too large",
        FailureKind::ScriptEnded => "the script has no reply for this request",
    }
}

/// Bytes of a call's arguments that a log shows.
const ARGUMENTS_BYTES_MAX: usize = 300;

/// A call in one line: the tool, and the arguments without what a person does not need to see.
pub(crate) fn call_line(tool: &str, arguments: &Arguments) -> String {
    let object = arguments.object();
    let mut words = vec![clean_str(tool)];
    let mut named: Vec<_> = object.iter().collect();
    // What it is about comes before what is done to it.
    named.sort_by_key(|(name, _)| name.as_str() != "path");
    match named.as_slice() {
        [(_, Value::String(only))] => words.push(one_line(only)),
        all => words.extend(all.iter().map(|(name, value)| match value {
            Value::String(text) => format!("{name}={}", one_line(text)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                format!("{name}={value}")
            }
        })),
    }
    preview_of(&words.join(" "), 1, ARGUMENTS_BYTES_MAX)
}

fn one_line(text: &str) -> String {
    const ARGUMENT_BYTES_MAX: usize = 120;
    let cleaned = clean_str(events::text::head(text, ARGUMENT_BYTES_MAX)).replace('\n', "⏎");
    if text.len() > ARGUMENT_BYTES_MAX { format!("{cleaned}…") } else { cleaned }
}

/// Lines of a result that a log shows.
const RESULT_LINES_MAX: usize = 5;

/// Bytes of a result that a log shows.
const RESULT_BYTES_MAX: usize = 600;

pub(super) fn call_ended(ended: &CallEnded) -> Entry {
    let mut text = format!("{} {}", ended.call, ended.outcome.as_str());
    if !ended.summary.is_empty() {
        let _ = write!(text, " · {}", preview_of(&ended.summary, 1, ARGUMENTS_BYTES_MAX));
    }
    if ended.elapsed_ms > 0 {
        let _ = write!(text, " · {}", number::milliseconds(ended.elapsed_ms));
    }
    let content = preview_of(ended.content.as_str(), RESULT_LINES_MAX, RESULT_BYTES_MAX);
    Entry::new("result", tone_of_call(ended.outcome), text).below(Tone::Faint, content)
}
