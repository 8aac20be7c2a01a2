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
    if first.iter().any(is_openai) {
        return Some(Format::OpenAiMessages);
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

fn is_openai(message: &Fields) -> bool {
    message.raw("tool_calls").is_some()
        || message.text("role").is_some_and(|role| role == "tool" || role == "function")
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
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_document_is_told_by_what_only_one_format_has() {
        let said = |role: &str, content: Value| json!({"role": role, "content": content});
        let plain = [said("user", json!("go")), said("assistant", json!("ok"))];
        let tool = json!({"role": "tool", "tool_call_id": "a", "content": "x"});
        let block = said("user", json!([{"type": "tool_result", "tool_use_id": "a", "content": "x"}]));
        let cases = [
            (json!(plain), Some(Format::OpenAiMessages)),
            (json!([plain[0], tool]), Some(Format::OpenAiMessages)),
            (json!({"model": "claude-x", "messages": [plain[0], tool]}), Some(Format::OpenAiMessages)),
            (json!({"model": "claude-x", "messages": plain}), Some(Format::AnthropicMessages)),
            (json!({"system": "s", "messages": plain}), Some(Format::AnthropicMessages)),
            (json!([plain[0], block]), Some(Format::AnthropicMessages)),
            (json!({"trajectory_format": "mini-swe-agent-1", "messages": plain}), Some(Format::MiniSweAgent)),
            (json!([{"traj": plain}]), Some(Format::TauBench)),
            (json!({"messages": [{"text": "go"}]}), None),
        ];
        for (document, wanted) in cases {
            assert_eq!(format(document.to_string().as_bytes()), wanted, "{document}");
        }
    }
}
