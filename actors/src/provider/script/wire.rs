//! Scripts, without I/O: lines from text, an answer from a line.

use std::time::Duration;

use events::RequestNumber;
use events::event::model::{EndReason, FailureKind, ReasoningPart, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::ScriptError;
use crate::limits::SCRIPT_WAIT_MS_MAX;
use crate::provider::{Failure, Reply, ReplyPart};

/// What one request is answered with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    text: Option<String>,
    reasoning: Option<String>,
    #[serde(default)]
    calls: Vec<ScriptedCall>,
    end: Option<EndReason>,
    usage: Option<Usage>,
    pub(super) wait_ms: Option<u64>,
    error: Option<ScriptedError>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    tool: String,
    arguments: Option<Box<RawValue>>,
    id: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedError {
    kind: FailureKind,
    #[serde(default)]
    message: String,
    status: Option<u16>,
    retry_after_ms: Option<u64>,
    times: Option<u32>,
}

/// Reads a script.
pub(super) fn parse(text: &str) -> Result<Vec<Line>, ScriptError> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !is_left_out(line));
    lines.map(|(line, number)| parse_line(line).map_err(|why| ScriptError { line: number, why })).collect()
}

fn is_left_out(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with('#')
}

fn parse_line(line: &str) -> Result<Line, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| in_line(&error))?;
    match line.wait_ms {
        Some(wait) if wait > SCRIPT_WAIT_MS_MAX => {
            Err(format!("`wait_ms` is {wait}, more than {SCRIPT_WAIT_MS_MAX}"))
        }
        _ => Ok(line),
    }
}

/// The parser counts lines too, and its 1 beside the script's line would mislead.
fn in_line(error: &serde_json::Error) -> String {
    let (text, column) = (error.to_string(), error.column());
    let place = format!(" at line {} column {column}", error.line());
    text.strip_suffix(&place).map_or(text.clone(), |why| format!("{why}, at column {column}"))
}

/// The line that answers this request.
pub(super) fn line(lines: &[Line], request: RequestNumber) -> Result<Line, Failure> {
    let index = (request.0 as usize).checked_sub(1);
    index.and_then(|index| lines.get(index)).cloned().ok_or_else(|| {
        let count = lines.len();
        let message = format!("the script has {count} replies, and none for request {request}");
        Failure::new(FailureKind::ScriptEnded, &message)
    })
}

impl Line {
    /// What this attempt at the request comes to.
    pub(super) fn answer(&self, request: RequestNumber, attempt: u32) -> Result<Reply, Failure> {
        match &self.error {
            Some(error) if error.times.is_none_or(|times| attempt <= times) => Err(error.failure()),
            _ => self.reply(request),
        }
    }

    fn reply(&self, request: RequestNumber) -> Result<Reply, Failure> {
        let mut parts = Vec::new();
        if let Some(text) = self.reasoning.clone().filter(|text| !text.is_empty()) {
            parts.push(ReplyPart::Reasoning(ReasoningPart { text, ..ReasoningPart::default() }));
        }
        parts.extend(self.text.clone().filter(|text| !text.is_empty()).map(ReplyPart::Text));
        parts.extend(self.calls.iter().zip(1..).map(|(call, number)| call.part(request, number)));
        let stop = if self.calls.is_empty() { EndReason::Stop } else { EndReason::Calls };
        let end = self.end.unwrap_or(stop);
        if parts.is_empty() && end == EndReason::Stop {
            return Err(Failure::new(FailureKind::Empty, "the scripted reply has no part"));
        }
        Ok(Reply { parts, usage: self.usage, end, provider_id: None })
    }
}

impl ScriptedCall {
    fn part(&self, request: RequestNumber, number: u32) -> ReplyPart {
        let written = self.arguments.as_ref().map_or("{}", |arguments| arguments.get());
        let raw = serde_json::from_str::<String>(written).unwrap_or_else(|_| written.to_owned());
        let provider_id = self.id.clone().unwrap_or_else(|| format!("script_{request}_{number}"));
        ReplyPart::Call { provider_id, tool: self.tool.clone(), raw }
    }
}

impl ScriptedError {
    fn failure(&self) -> Failure {
        let message = if self.message.is_empty() { "the script says so" } else { &self.message };
        Failure {
            status: self.status,
            retry_after: self.retry_after_ms.map(Duration::from_millis),
            ..Failure::new(self.kind, message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str, request: u32, attempt: u32) -> Result<Reply, Failure> {
        let request = RequestNumber(request);
        line(&parse(text).expect("a script"), request)?.answer(request, attempt)
    }

    fn call(provider_id: &str, raw: &str) -> ReplyPart {
        ReplyPart::Call { provider_id: provider_id.to_owned(), tool: "bash".to_owned(), raw: raw.to_owned() }
    }

    #[test]
    fn the_parts_stand_in_order_and_the_arguments_as_they_were_written() {
        let reply = answer(
            r#"{"calls":[{"tool":"bash","arguments":{"b": 1, "a":2}},{"tool":"bash","arguments":"{\"a","id":"x"},{"tool":"bash"}],"text":"b","reasoning":"a"}"#,
            1,
            1,
        );
        let reply = reply.expect("a reply");
        let reasoning = ReasoningPart { text: "a".to_owned(), ..ReasoningPart::default() };
        assert_eq!(
            reply.parts,
            [
                ReplyPart::Reasoning(reasoning),
                ReplyPart::Text("b".to_owned()),
                call("script_1_1", "{\"b\": 1, \"a\":2}"),
                call("x", "{\"a"),
                call("script_1_3", "{}"),
            ]
        );
        assert_eq!(reply.end, EndReason::Calls);
    }

    #[test]
    fn reply_n_answers_request_n_and_comments_do_not_count() {
        let script = "# a comment\n{\"text\":\"one\"}\n\n{\"text\":\"two\",\"end\":\"length\"}\n";
        let reply = answer(script, 2, 7).expect("a reply");
        assert_eq!((reply.parts, reply.end), (vec![ReplyPart::Text("two".to_owned())], EndReason::Length));
        for request in [0, 3] {
            assert_eq!(answer(script, request, 1).expect_err("none").kind, FailureKind::ScriptEnded);
        }
    }

    #[test]
    fn an_error_fails_as_many_attempts_as_it_says() {
        let script = r#"{"error":{"kind":"rate_limited","message":"slow down","status":429,"retry_after_ms":50,"times":2},"text":"now"}"#;
        for attempt in [1, 2] {
            let failure = answer(script, 1, attempt).expect_err("fails");
            assert_eq!(failure.kind, FailureKind::RateLimited);
            assert_eq!(failure.retry_after, Some(Duration::from_millis(50)));
            assert_eq!((failure.status, failure.message.as_str()), (Some(429), "slow down"));
        }
        assert!(answer(script, 1, 3).is_ok());
        assert!(answer(r#"{"error":{"kind":"auth"}}"#, 1, 99).is_err());
    }

    #[test]
    fn a_line_that_is_wrong_is_named() {
        let cases = [
            ("{\"text\":\"a\"}\n\n{\"txt\":\"b\"}", 3, "txt"),
            ("{\"text\":", 1, "EOF"),
            ("[1]", 1, "expected a string, at column 2"),
            ("#\n{\"wait_ms\":99999999999}", 2, "wait_ms"),
            ("{\"error\":{\"kind\":\"no_such_kind\"}}", 1, "no_such_kind"),
        ];
        for (text, line, word) in cases {
            let error = parse(text).expect_err("wrong");
            assert_eq!(error.line, line, "{error}");
            assert!(error.why.contains(word), "{error}");
        }
    }

    #[test]
    fn a_line_without_any_part_is_an_empty_reply() {
        assert_eq!(answer("{}", 1, 1).expect_err("empty").kind, FailureKind::Empty);
        assert_eq!(answer("{\"end\":\"length\"}", 1, 1).expect("proper").parts, []);
    }
}
