//! Trajectories of mini-swe-agent: chat messages, in which a fenced block of shell is the call
//! and the user's next message is its result.

use actors::provider::ReplyPart;
use events::event::tool::CallOutcome;

use super::json::{Fields, quoted};
use super::messages;
use super::source::{LineNumbers, document};
use super::transcript::{Answer, Output, Transcript};
use super::{Format, ImportError};

#[cfg(test)]
mod tests;

/// The tool that the calls are calls of.
const TOOL: &str = "bash";

/// What a fence of shell may be called.
const SHELLS: [&str; 5] = ["mswea_bash_command", "bash", "sh", "shell", "console"];

/// Reads a trajectory: an array of messages, or an object around one.
pub(super) fn read(bytes: &[u8]) -> Result<Transcript, ImportError> {
    let mut transcript = Transcript::new(Format::MiniSweAgent, "openai");
    let text = document(bytes, &mut transcript.problems)?;
    let (body, messages) = messages::body(&text, Format::MiniSweAgent)?;
    let mut lines = LineNumbers::of(&text);
    let mut awaits_output = false;
    for message in messages {
        let line = lines.line(message);
        let fields = Fields::parse(message).unwrap_or_default();
        let content = fields.text("content").unwrap_or_default();
        let command = if fields.has("tool_calls") { None } else { command(&content) };
        match (fields.text("role").as_deref(), command) {
            (Some("assistant"), Some(command)) => {
                let call = ReplyPart::Call {
                    provider_id: String::new(),
                    tool: TOOL.to_owned(),
                    raw: format!("{{\"command\":{}}}", quoted(command)),
                };
                let parts = vec![ReplyPart::Text(content.clone()), call];
                transcript.push(line, None, Answer { parts, ..Answer::default() });
                awaits_output = true;
            }
            (Some("user"), _) if awaits_output => {
                let outcome = outcome(&content);
                transcript.push(line, None, Output { call: String::new(), text: content, outcome });
                awaits_output = false;
            }
            _ => messages::take(&mut transcript, line, message),
        }
    }
    if let Some(info) = body.raw("info") {
        transcript.keep(lines.line(info), None, "info", info);
    }
    Ok(transcript)
}

/// What stands in the first fence of shell.
pub(super) fn command(content: &str) -> Option<&str> {
    let mut rest = content;
    while let Some((_, fence)) = rest.split_once("```") {
        let (shell, body) = fence.split_once('\n')?;
        let (body, after) = body.split_once("```")?;
        if SHELLS.contains(&shell.trim()) {
            return Some(body.trim_end_matches('\n'));
        }
        rest = after;
    }
    None
}

fn outcome(output: &str) -> CallOutcome {
    let code = output.split_once("<returncode>").and_then(|(_, rest)| rest.split_once("</returncode>"));
    match code {
        Some((code, _)) if code.trim() != "0" => CallOutcome::Failed,
        Some(_) | None => CallOutcome::Ok,
    }
}
