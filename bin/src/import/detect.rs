//! Which format a file has: told by its first records, or by the messages of its document.

use super::json::{Block, Fields, list};
use super::source::{Problems, document, lines};
use super::{Format, claude_code, codex, mini_swe_agent, podwork};

/// Records that are looked at. The first lines may be broken, or be of kinds that say little.
const RECORDS_MAX: usize = 50;

/// Messages that are looked at: the first ones may be plain words, which all formats share.
const MESSAGES_MAX: usize = 50;

/// The format of these bytes, if it is one that podwork knows.
pub(super) fn format(bytes: &[u8]) -> Option<Format> {
    let mut problems = Problems::default();
    of_lines(bytes, &mut problems).or_else(|| of_document(bytes, &mut problems))
}

fn of_lines(bytes: &[u8], problems: &mut Problems) -> Option<Format> {
    let lines = lines(bytes, problems);
    lines.iter().take(RECORDS_MAX).filter_map(|line| Fields::parse(&line.text)).find_map(|fields| {
        if podwork::is_record(&fields) {
            Some(Format::Podwork)
        } else if codex::is_record(&fields) {
            Some(Format::Codex)
        } else if claude_code::is_record(&fields) {
            Some(Format::ClaudeCode)
        } else if fields.text("role").is_some() {
            Some(Format::KimiContext)
        } else {
            None
        }
    })
}

fn of_document(bytes: &[u8], problems: &mut Problems) -> Option<Format> {
    let text = document(bytes, problems).ok()?;
    let body = Fields::parse(&text).unwrap_or_default();
    if body.text("trajectory_format").is_some_and(|format| format.starts_with("mini-swe-agent")) {
        return Some(Format::MiniSweAgent);
    }
    let messages = body.list("messages").or_else(|| list(&text))?;
    let first: Vec<Fields> = messages.into_iter().take(MESSAGES_MAX).filter_map(Fields::parse).collect();
    if first.iter().any(|fields| fields.list("traj").is_some()) {
        return Some(Format::TauBench);
    }
    if !first.iter().any(|fields| fields.text("role").is_some()) {
        return None;
    }
    if body.raw("system").is_some() || first.iter().any(is_anthropic) || speaks_of_claude(&body) {
        Some(Format::AnthropicMessages)
    } else if is_mini_swe_agent(&first) {
        Some(Format::MiniSweAgent)
    } else {
        Some(Format::OpenAiMessages)
    }
}

fn speaks_of_claude(body: &Fields) -> bool {
    body.text("model").is_some_and(|model| model.starts_with("claude"))
}

fn is_anthropic(message: &Fields) -> bool {
    const KINDS: [&str; 5] = ["tool_use", "tool_result", "thinking", "redacted_thinking", "document"];
    message.blocks("content").iter().any(|block| match block {
        Block::Text(_) => false,
        Block::Other { kind, .. } => KINDS.contains(&kind.as_str()),
    })
}

/// Every answer of the model has its fence of shell, and what follows is the output.
fn is_mini_swe_agent(messages: &[Fields]) -> bool {
    let says = |role: &'static str| {
        messages.iter().filter(move |message| message.text("role").as_deref() == Some(role))
    };
    let mut answers = says("assistant").peekable();
    answers.peek().is_some()
        && answers
            .all(|answer| mini_swe_agent::command(&answer.text("content").unwrap_or_default()).is_some())
        && says("user").any(|user| user.text("content").is_some_and(|text| text.contains("<returncode>")))
        && says("tool").next().is_none()
}
