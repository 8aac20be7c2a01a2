//! Sessions of Claude Code: one record a line, which form a tree.

use std::collections::{HashMap, HashSet};

use actors::provider::ReplyPart;
use events::Timestamp;
use events::event::model::FailureKind;
use events::event::tool::CallOutcome;

use super::Format;
use super::anthropic;
use super::json::{Block, Fields};
use super::source::{Problems, lines, salvage};
use super::transcript::{Answer, Failed, Output, Transcript, What};

mod tree;

#[cfg(test)]
mod tests;

/// What Claude Code itself writes into the conversation comes under this name.
const SOURCE: &str = "claude-code";

/// How the text of an interrupt begins.
const INTERRUPT: &str = "[Request interrupted by user";

/// How the result of a call begins that the user did not allow.
const REJECTED: &str = "The user doesn't want to proceed with this tool use";

/// The model of messages that no model wrote.
const SYNTHETIC: &str = "<synthetic>";

/// The kind of a line that is no record.
const BROKEN: &str = "broken_line";

/// A line that is known to be a record of this format.
pub(super) fn is_record(fields: &Fields) -> bool {
    let known = ["uuid", "sessionId", "leafUuid", "snapshot"];
    fields.has("type") && known.iter().any(|key| fields.has(key))
}

/// Reads a session.
pub(super) fn read(bytes: &[u8]) -> Transcript {
    let mut transcript = Transcript::new(Format::ClaudeCode, "anthropic");
    let lines = lines(bytes, &mut transcript.problems);
    let records: Vec<Record> =
        lines.iter().flat_map(|line| records(&line.text, line.number, &mut transcript.problems)).collect();
    let in_conversation = tree::conversation(&records);
    let mut reader = Reader { transcript, replies: HashMap::new(), called: HashSet::new() };
    for (record, in_conversation) in records.iter().zip(in_conversation) {
        reader.take(record, in_conversation);
    }
    reader.transcript
}

/// One line.
struct Record<'a> {
    line: usize,
    raw: &'a str,
    fields: Fields<'a>,
    kind: String,
    sidechain: bool,
    message: Fields<'a>,
}

fn records<'a>(text: &'a str, line: usize, problems: &mut Problems) -> Vec<Record<'a>> {
    if let Some(fields) = Fields::parse(text) {
        return vec![Record::new(line, text, fields)];
    }
    let broken = |raw| Record {
        line,
        raw,
        fields: Fields::default(),
        kind: BROKEN.to_owned(),
        sidechain: false,
        message: Fields::default(),
    };
    let whole = salvage(text, is_record).and_then(|(before, raw)| Some((before, raw, Fields::parse(raw)?)));
    if let Some((before, raw, fields)) = whole {
        problems.note(line, "two records were joined: the second is read, the first is kept as it came");
        return vec![broken(before), Record::new(line, raw, fields)];
    }
    problems.note(line, "no record (cut, or not JSON): kept as it came");
    vec![broken(text)]
}

impl<'a> Record<'a> {
    fn new(line: usize, raw: &'a str, fields: Fields<'a>) -> Self {
        Self {
            line,
            raw,
            kind: fields.name("type").unwrap_or_else(|| "unknown".to_owned()),
            sidechain: fields.flag("isSidechain"),
            message: fields.fields("message").unwrap_or_default(),
            fields,
        }
    }

    fn at(&self) -> Option<Timestamp> {
        self.fields.text("timestamp")?.parse().ok()
    }

    fn is_message(&self) -> bool {
        !self.sidechain && matches!(self.kind.as_str(), "user" | "assistant")
    }

    fn blocks(&self) -> Vec<Block<'a>> {
        self.message.blocks("content")
    }

    /// The kind with its subkind, as the log keeps it.
    fn name(&self) -> String {
        match self.fields.name("subtype") {
            Some(subtype) => format!("{}/{subtype}", self.kind),
            None => self.kind.clone(),
        }
    }
}

struct Reader {
    transcript: Transcript,
    /// The entry of each reply, by the provider's id.
    replies: HashMap<String, usize>,
    /// The calls of each reply, both by the provider's id: what is written down twice is one call.
    called: HashSet<(String, String)>,
}

impl Reader {
    fn take(&mut self, record: &Record, in_conversation: bool) {
        if let Some(cwd) = record.fields.name("cwd") {
            self.transcript.directory = cwd;
        }
        if let Some(slug) = record.fields.name("slug") {
            self.transcript.name = Some(slug);
        }
        match (record.kind.as_str(), in_conversation) {
            ("user", true) => self.user(record),
            ("assistant", true) if record.fields.flag("isApiErrorMessage") => self.error_message(record),
            ("assistant", true) => self.assistant(record),
            ("system", true) => self.system(record),
            ("user" | "assistant" | "system", false) if record.sidechain => self.keep(record, "sidechain/"),
            ("user" | "assistant" | "system", false) => self.keep(record, "branch/"),
            _ => self.keep(record, ""),
        }
    }

    fn push(&mut self, record: &Record, what: impl Into<What>) {
        self.transcript.push(record.line, record.at(), what);
    }

    fn keep(&mut self, record: &Record, place: &str) {
        let name = format!("{place}{}", record.name());
        self.transcript.keep(record.line, record.at(), &name, record.raw);
    }

    fn keep_block(&mut self, record: &Record, name: &str, raw: &str) {
        self.transcript.keep(record.line, record.at(), name, raw);
    }

    fn user(&mut self, record: &Record) {
        let compacts = record.fields.flag("isCompactSummary");
        if compacts || record.fields.flag("isMeta") {
            let text = self.words(record);
            let what =
                if compacts { What::Summary(text) } else { What::Notice { source: SOURCE.to_owned(), text } };
            return self.push(record, what);
        }
        let (results, others) = anthropic::results(record.blocks());
        for result in results {
            self.result(record, &result);
        }
        let (interrupts, others): (Vec<_>, Vec<_>) = others.into_iter().partition(is_interrupt);
        for block in interrupts {
            if let Block::Text(text) = block {
                self.push(record, What::Interrupt(text));
            }
        }
        self.transcript.push_input(record.line, record.at(), others);
    }

    /// The texts of a record; what else it holds is kept as it came.
    fn words(&mut self, record: &Record) -> String {
        let mut texts = Vec::new();
        for block in record.blocks() {
            match block {
                Block::Text(text) => texts.push(text),
                Block::Other { kind, raw, .. } => {
                    texts.push(format!("[{kind}]"));
                    self.keep_block(record, &format!("user/{kind}"), raw);
                }
            }
        }
        texts.join("\n")
    }

    fn result(&mut self, record: &Record, block: &Fields) {
        let call = block.text("tool_use_id").unwrap_or_default();
        let (text, others) = anthropic::result_text(block);
        for (kind, raw) in others {
            self.keep_block(record, &format!("tool_result/{kind}"), raw);
        }
        let outcome = match block.flag("is_error") {
            false => CallOutcome::Ok,
            true if text.starts_with(REJECTED) => CallOutcome::Denied,
            true if text.starts_with(INTERRUPT) => CallOutcome::Interrupted,
            true => CallOutcome::Failed,
        };
        self.push(record, Output { call, text, outcome });
    }

    /// Each record of a reply holds one part of it; the last one has the usage. Where two requests
    /// ran at once, their records alternate.
    fn assistant(&mut self, record: &Record) {
        let id = record.message.name("id");
        let parts = self.transcript.parts(record.line, record.at(), record.blocks(), anthropic::part);
        let usage = anthropic::usage(&record.message);
        let end = record.message.text("stop_reason").and_then(|reason| anthropic::end(&reason));
        let begun = id.as_ref().and_then(|id| self.replies.get(id)).copied();
        let (parts, again): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| match (&id, part) {
            (Some(id), ReplyPart::Call { provider_id, .. }) => {
                provider_id.is_empty() || self.called.insert((id.clone(), provider_id.clone()))
            }
            _ => true,
        });
        if !again.is_empty() {
            self.keep(record, "again/");
        }
        let begun = begun.and_then(|entry| self.transcript.entries.get_mut(entry));
        if let Some(What::Reply(answer)) = begun.map(|entry| &mut entry.what) {
            answer.parts.extend(parts);
            answer.usage = usage.or(answer.usage);
            answer.end = end.or(answer.end);
            return;
        }
        if let Some(id) = &id {
            self.replies.insert(id.clone(), self.transcript.entries.len());
        }
        let answer = Answer {
            parts,
            model: record.message.name("model").filter(|model| model != SYNTHETIC),
            usage,
            end,
            provider_id: id,
        };
        self.push(record, answer);
    }

    /// An error that stands in the place of a reply.
    fn error_message(&mut self, record: &Record) {
        let message = self.words(record);
        let status = message.strip_prefix("API Error: ").and_then(|rest| rest.get(..3)?.parse().ok());
        let kind = failure_kind(&message, status);
        self.push(record, Failed { kind, message, status, next_attempt_in_ms: None });
    }

    fn system(&mut self, record: &Record) {
        match record.fields.text("subtype").as_deref() {
            Some("compact_boundary") => {
                let about = record.fields.fields("compactMetadata").unwrap_or_default();
                let reason = about.text("trigger").unwrap_or_default();
                let tokens_before = about.number("preTokens").unwrap_or(0);
                self.push(record, What::CompactionBegan { reason, tokens_before });
            }
            Some("microcompact_boundary") => {
                let about = record.fields.fields("microcompactMetadata").unwrap_or_default();
                let ids = about.list("compactedToolIds").unwrap_or_default();
                let calls = ids.into_iter().filter_map(|id| serde_json::from_str(id).ok()).collect();
                let reason = about.text("trigger").unwrap_or_default();
                let tokens_saved = about.number("tokensSaved").unwrap_or(0);
                self.push(record, What::Pruned { calls, tokens_saved, reason });
            }
            Some("api_error") => {
                let error = record.fields.raw("error").unwrap_or_default();
                let cause = record.fields.raw("cause").unwrap_or_default();
                let message =
                    [error, cause].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
                let status = record.fields.fields("error").and_then(|error| error.number("status"));
                let status = status.and_then(|status| u16::try_from(status).ok());
                let kind = failure_kind(&message, status);
                let next_attempt_in_ms = Some(record.fields.number("retryInMs").unwrap_or(0));
                self.push(record, Failed { kind, message, status, next_attempt_in_ms });
            }
            _ => {}
        }
        self.keep(record, "");
    }
}

fn is_interrupt(block: &Block) -> bool {
    match block {
        Block::Text(text) => text.starts_with(INTERRUPT),
        Block::Other { .. } => false,
    }
}

/// What kind of failure a text tells of that was made for people.
fn failure_kind(text: &str, status: Option<u16>) -> FailureKind {
    let says = |word: &str| text.contains(word);
    match status {
        _ if says("prompt is too long") || says("Prompt is too long") => FailureKind::ContextTooLong,
        _ if says("overloaded") => FailureKind::Overloaded,
        _ if says("rate_limit") => FailureKind::RateLimited,
        _ if says("authentication_error") || says("Invalid API key") => FailureKind::Auth,
        Some(401 | 403) => FailureKind::Auth,
        Some(404) => FailureKind::ModelNotFound,
        Some(429) => FailureKind::RateLimited,
        Some(529) => FailureKind::Overloaded,
        Some(400..=499) => FailureKind::InvalidRequest,
        Some(500..=599) => FailureKind::Server,
        _ => FailureKind::Transport,
    }
}
