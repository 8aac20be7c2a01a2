//! The small texts and values that imported events carry.

use events::event::model::{EndReason, Part};
use events::event::tool::CallOutcome;
use events::item::Call;
use events::text::{clean_str, head};
use events::{Arguments, Timestamp};
use serde_json::json;

use crate::import::transcript::Output;

/// Bytes of a result's first line that its summary shows.
const SUMMARY_BYTES_MAX: usize = 200;

/// What the model reads in the place of a result that the transcript does not have.
pub(super) const NO_RESULT: &str =
    "The transcript has no result for this call: its outcome is unknown, and side effects may have happened.";

/// The tool of a call; no provider takes back a call that names none.
pub(super) fn tool_name(tool: &str) -> String {
    if tool.is_empty() { "unknown".to_owned() } else { tool.to_owned() }
}

/// Arguments that do not parse, as the one argument of a call that was run all the same.
pub(super) fn unparsed(raw: &str) -> Arguments {
    let mut object = serde_json::Map::new();
    object.insert("unparsed_arguments".to_owned(), raw.into());
    Arguments::from_object(&object)
}

/// The text, if it carries no control characters but tabs and line ends; otherwise what is left
/// of it without them.
pub(super) fn sound(text: &str) -> Result<String, String> {
    let is_noise = |character: char| character.is_control() && !matches!(character, '\t' | '\n' | '\r');
    if text.chars().any(is_noise) { Err(clean_str(text)) } else { Ok(text.to_owned()) }
}

/// One line on a result: what went wrong, or how much there is.
pub(super) fn summary(outcome: CallOutcome, text: &str) -> String {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    match (outcome, first) {
        (CallOutcome::Ok, None) => "no output".to_owned(),
        (CallOutcome::Ok, Some(_)) => match text.lines().count() {
            1 => format!("1 line, {} bytes", text.len()),
            lines => format!("{lines} lines, {} bytes", text.len()),
        },
        (_, None) => outcome.as_str().to_owned(),
        (_, Some(first)) => format!("{}: {}", outcome.as_str(), head(first, SUMMARY_BYTES_MAX)),
    }
}

/// Milliseconds between two moments; zero when one is not known.
pub(super) fn elapsed_ms(from: Option<Timestamp>, to: Option<Timestamp>) -> u64 {
    let (Some(from), Some(to)) = (from, to) else { return 0 };
    u64::try_from(to.as_micros().saturating_sub(from.as_micros()) / 1000).unwrap_or(0)
}

/// The call that this part is, if it is one that can be run.
pub(super) fn call(part: &Part) -> Option<&Call> {
    match part {
        Part::Call(call) => Some(call),
        Part::Text { .. } | Part::Reasoning(_) | Part::BrokenCall { .. } | Part::Opaque { .. } => None,
    }
}

/// Why a reply ended. Calls decide: whatever the transcript says, they were run.
pub(super) fn end(said: Option<EndReason>, parts: &[Part]) -> EndReason {
    let has_calls = parts.iter().any(|part| matches!(part, Part::Call(_) | Part::BrokenCall { .. }));
    match said {
        _ if has_calls => EndReason::Calls,
        Some(EndReason::Calls) | None => EndReason::Stop,
        Some(said) => said,
    }
}

/// A result that answers no open call, as a record.
pub(super) fn orphan(output: &Output) -> String {
    json!({"call": output.call, "outcome": output.outcome.as_str(), "text": output.text}).to_string()
}
