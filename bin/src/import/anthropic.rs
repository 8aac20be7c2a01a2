//! Messages of Anthropic's Messages: an array of them, or the body of a request. Transcripts of
//! Claude Code are made of the same blocks.

use actors::provider::ReplyPart;
use events::ToolSpec;
use events::event::model::{EndReason, ReasoningPart, Usage};
use events::event::tool::CallOutcome;
use events::spec::Effect;

use super::json::{Block, Fields};
use super::messages;
use super::source::{LineNumbers, document};
use super::transcript::{Answer, Output, Transcript, What};
use super::{Format, ImportError};

#[cfg(test)]
mod tests;

/// Reads messages.
pub(super) fn read(bytes: &[u8]) -> Result<Transcript, ImportError> {
    let mut transcript = Transcript::new(Format::AnthropicMessages, "anthropic");
    let text = document(bytes, &mut transcript.problems)?;
    let (body, messages) = messages::body(&text, Format::AnthropicMessages)?;
    for block in body.blocks("system") {
        match block {
            Block::Text(text) => transcript.add_system(&text),
            Block::Other { kind, raw, .. } => transcript.keep(1, None, &format!("system/{kind}"), raw),
        }
    }
    transcript.model = body.name("model");
    transcript.tools = body.list("tools").unwrap_or_default().into_iter().filter_map(tool).collect();
    let mut lines = LineNumbers::of(&text);
    for message in messages {
        take(&mut transcript, lines.line(message), message);
    }
    Ok(transcript)
}

fn tool(raw: &str) -> Option<ToolSpec> {
    let fields = Fields::parse(raw)?;
    let schema = serde_json::from_str(fields.raw("input_schema")?).ok()?;
    let description = fields.text("description").unwrap_or_default();
    Some(ToolSpec { name: fields.name("name")?, description, schema, effect: Effect::Other })
}

fn take(transcript: &mut Transcript, line: usize, message: &str) {
    let fields = Fields::parse(message).unwrap_or_default();
    match fields.text("role").as_deref() {
        Some("user") => user(transcript, line, &fields),
        Some("assistant") => {
            let answer = Answer {
                parts: transcript.parts(line, None, fields.blocks("content"), part),
                model: fields.name("model"),
                usage: usage(&fields),
                end: fields.text("stop_reason").and_then(|reason| end(&reason)),
                provider_id: fields.name("id"),
            };
            transcript.push(line, None, answer);
        }
        Some("system") => {
            let text = messages::texts(&fields);
            transcript.push(line, None, What::Notice { source: "system".to_owned(), text });
        }
        _ => {
            transcript.problems.note(line, "a message of no known role is kept as it came");
            transcript.keep(line, None, "message", message);
        }
    }
}

/// The results of a message stand before everything else in it.
fn user(transcript: &mut Transcript, line: usize, fields: &Fields) {
    let (results, others) = results(fields.blocks("content"));
    for result in results {
        let (text, others) = result_text(&result);
        for (kind, raw) in others {
            transcript.keep(line, None, &format!("tool_result/{kind}"), raw);
        }
        let outcome = if result.flag("is_error") { CallOutcome::Failed } else { CallOutcome::Ok };
        let call = result.text("tool_use_id").unwrap_or_default();
        transcript.push(line, None, Output { call, text, outcome });
    }
    transcript.push_input(line, None, others);
}

/// The `tool_result` blocks of a message, and its other ones.
pub(super) fn results(blocks: Vec<Block<'_>>) -> (Vec<Fields<'_>>, Vec<Block<'_>>) {
    let (mut results, mut others) = (Vec::new(), Vec::new());
    for block in blocks {
        match block {
            Block::Other { kind, fields, .. } if kind == "tool_result" => results.push(fields),
            Block::Text(_) | Block::Other { .. } => others.push(block),
        }
    }
    (results, others)
}

/// The text of a `tool_result`, with a word in the place of each block that is no text, and
/// those blocks by kind.
pub(super) fn result_text<'a>(result: &Fields<'a>) -> (String, Vec<(String, &'a str)>) {
    text_of(result, "content")
}

/// The same of what stands under another key.
pub(super) fn text_of<'a>(fields: &Fields<'a>, key: &str) -> (String, Vec<(String, &'a str)>) {
    let mut texts = Vec::new();
    let mut others = Vec::new();
    for block in fields.blocks(key) {
        match block {
            Block::Text(text) => texts.push(text),
            Block::Other { kind, raw, .. } => {
                texts.push(format!("[{kind}]"));
                others.push((kind, raw));
            }
        }
    }
    (texts.join("\n"), others)
}

/// A block of an assistant's message that is no text, by its kind.
pub(super) fn part(kind: &str, fields: &Fields) -> Option<ReplyPart> {
    Some(match kind {
        "thinking" => ReplyPart::Reasoning(ReasoningPart {
            text: fields.text("thinking").unwrap_or_default(),
            signature: fields.name("signature"),
            data: None,
        }),
        "redacted_thinking" => ReplyPart::Reasoning(ReasoningPart {
            text: String::new(),
            signature: None,
            data: fields.name("data"),
        }),
        "tool_use" => ReplyPart::Call {
            provider_id: fields.text("id").unwrap_or_default(),
            tool: fields.text("name").unwrap_or_default(),
            raw: fields.raw("input").unwrap_or_default().to_owned(),
        },
        _ => return None,
    })
}

/// The usage of a message. Anthropic counts cached tokens beside the input, podwork within it.
pub(super) fn usage(message: &Fields) -> Option<Usage> {
    let usage = message.fields("usage")?;
    let count = |key: &str| usage.number(key).unwrap_or(0);
    let (read, written) = (count("cache_read_input_tokens"), count("cache_creation_input_tokens"));
    Some(Usage {
        input_tokens: count("input_tokens").saturating_add(read).saturating_add(written),
        cached_tokens: read,
        cache_write_tokens: written,
        output_tokens: count("output_tokens"),
        reasoning_tokens: 0,
    })
}

/// Why a message ended.
pub(super) fn end(reason: &str) -> Option<EndReason> {
    match reason {
        "end_turn" | "stop_sequence" => Some(EndReason::Stop),
        "tool_use" => Some(EndReason::Calls),
        "max_tokens" | "model_context_window_exceeded" => Some(EndReason::Length),
        "refusal" => Some(EndReason::Refused),
        _ => None,
    }
}
