//! Messages of OpenAI's Chat Completions: an array of them, or the body of a request; and the
//! contexts of Kimi CLI, which are such messages, one a line, with a few roles of their own.

use actors::provider::ReplyPart;
use events::ToolSpec;
use events::event::model::{EndReason, ReasoningPart};
use events::event::tool::CallOutcome;
use events::spec::Effect;

use super::json::{Block, Fields, list, quoted};
use super::source::{LineNumbers, document, lines, salvage};
use super::transcript::{Answer, Output, Transcript, What};
use super::{Format, ImportError};

#[cfg(test)]
mod tests;

/// Reads a document.
pub(super) fn read(bytes: &[u8]) -> Result<Transcript, ImportError> {
    let mut transcript = Transcript::new(Format::OpenAiMessages, "openai");
    let text = document(bytes, &mut transcript.problems)?;
    let (body, messages) = body(&text, Format::OpenAiMessages)?;
    transcript.model = body.name("model");
    transcript.tools = body.list("tools").unwrap_or_default().into_iter().filter_map(tool).collect();
    let mut lines = LineNumbers::of(&text);
    for message in messages {
        take(&mut transcript, lines.line(message), message);
    }
    Ok(transcript)
}

/// The messages of a document, which is an array of them or an object around one, and the object.
pub(super) fn body(text: &str, format: Format) -> Result<(Fields<'_>, Vec<&str>), ImportError> {
    let body = Fields::parse(text).unwrap_or_default();
    let messages = body.list("messages").or_else(|| list(text));
    let why = "there is neither an array of messages nor an object with one under `messages`";
    let messages = messages.ok_or_else(|| ImportError::OtherShape { format, why: why.to_owned() })?;
    Ok((body, messages))
}

/// Reads a message a line.
pub(super) fn read_lines(bytes: &[u8]) -> Transcript {
    let mut transcript = Transcript::new(Format::KimiContext, "openai");
    let mut problems = std::mem::take(&mut transcript.problems);
    for line in lines(bytes, &mut problems) {
        if Fields::parse(&line.text).is_some() {
            take(&mut transcript, line.number, &line.text);
        } else if let Some((before, message)) = salvage(&line.text, |fields| fields.has("role")) {
            transcript.problems.note(
                line.number,
                "two messages were joined: the second is read, the first is kept as it came",
            );
            transcript.keep(line.number, None, "broken_line", before);
            take(&mut transcript, line.number, message);
        } else {
            transcript.problems.note(line.number, "no message (cut, or not JSON): kept as it came");
            transcript.keep(line.number, None, "broken_line", &line.text);
        }
    }
    transcript.problems.append(problems);
    transcript
}

fn tool(raw: &str) -> Option<ToolSpec> {
    let function = Fields::parse(raw)?.fields("function")?;
    let schema = serde_json::from_str(function.raw("parameters").unwrap_or(r#"{"type":"object"}"#)).ok()?;
    let description = function.text("description").unwrap_or_default();
    Some(ToolSpec { name: function.name("name")?, description, schema, effect: Effect::Other })
}

/// Takes one message.
pub(super) fn take(transcript: &mut Transcript, line: usize, message: &str) {
    let fields = Fields::parse(message).unwrap_or_default();
    let role = fields.text("role").unwrap_or_default();
    match role.as_str() {
        "system" | "developer" | "_system_prompt" => system(transcript, line, &role, &fields),
        "user" => transcript.push_input(line, None, fields.blocks("content")),
        "assistant" => assistant(transcript, line, &fields),
        "tool" | "function" => {
            let call = fields.text("tool_call_id").unwrap_or_default();
            let (text, others) = super::anthropic::result_text(&fields);
            for (kind, raw) in others {
                transcript.keep(line, None, &format!("tool/{kind}"), raw);
            }
            transcript.push(line, None, Output { call, text, outcome: CallOutcome::Ok });
        }
        _ if role.starts_with('_') => transcript.keep(line, None, &role, message),
        _ => {
            transcript
                .problems
                .note(line, format!("a message of the unknown role `{role}` is kept as it came"));
            transcript.keep(line, None, "message", message);
        }
    }
}

/// The first system messages are the system prompt; later ones are said in between.
fn system(transcript: &mut Transcript, line: usize, role: &str, fields: &Fields) {
    let text = texts(fields);
    if transcript.has_begun {
        transcript.push(line, None, What::Notice { source: role.to_owned(), text });
    } else {
        transcript.add_system(&text);
    }
}

/// The texts of a message, with a word in the place of everything else.
pub(super) fn texts(fields: &Fields) -> String {
    super::anthropic::result_text(fields).0
}

fn assistant(transcript: &mut Transcript, line: usize, fields: &Fields) {
    let mut answer = Answer::default();
    if let Some(text) = fields.name("reasoning_content").or_else(|| fields.name("reasoning")) {
        answer.parts.push(reasoning(text));
    }
    for block in fields.blocks("content") {
        // Sealed thoughts are another service's: kept, and never sent.
        if let Block::Other { kind, raw, fields } = &block
            && fields.raw("encrypted").is_some()
        {
            transcript.keep(line, None, &format!("assistant/{kind}"), raw);
        }
    }
    answer.parts.extend(transcript.parts(line, None, fields.blocks("content"), part));
    answer.parts.retain(|part| !matches!(part, ReplyPart::Text(text) if text.is_empty()));
    if let Some(refusal) = fields.name("refusal") {
        answer.parts.push(ReplyPart::Text(refusal));
        answer.end = Some(EndReason::Refused);
    }
    for raw in fields.list("tool_calls").unwrap_or_default() {
        match call(raw) {
            Some(call) => answer.parts.push(call),
            None => transcript.keep(line, None, "assistant/tool_call", raw),
        }
    }
    if let Some(function) = fields.fields("function_call") {
        answer.parts.push(function_call(String::new(), &function));
    }
    transcript.push(line, None, answer);
}

fn reasoning(text: String) -> ReplyPart {
    ReplyPart::Reasoning(ReasoningPart { text, signature: None, data: None })
}

fn part(kind: &str, fields: &Fields) -> Option<ReplyPart> {
    match kind {
        "think" => Some(reasoning(fields.text("think")?)),
        "refusal" => Some(ReplyPart::Text(fields.text("refusal")?)),
        _ => None,
    }
}

fn call(raw: &str) -> Option<ReplyPart> {
    let fields = Fields::parse(raw)?;
    let id = fields.text("id").unwrap_or_default();
    if let Some(function) = fields.fields("function") {
        return Some(function_call(id, &function));
    }
    let custom = fields.fields("custom")?;
    Some(ReplyPart::Call {
        provider_id: id,
        tool: custom.text("name").unwrap_or_default(),
        raw: format!("{{\"input\":{}}}", quoted(&custom.text("input").unwrap_or_default())),
    })
}

/// The arguments are a string that holds JSON; some programs write the JSON itself.
fn function_call(provider_id: String, function: &Fields) -> ReplyPart {
    let arguments = function.text("arguments");
    let raw = arguments.unwrap_or_else(|| function.raw("arguments").unwrap_or_default().to_owned());
    ReplyPart::Call { provider_id, tool: function.text("name").unwrap_or_default(), raw }
}
