//! Rollouts of Codex: lines of `{timestamp, type, payload}`. The model's history is in the
//! `response_item` lines; the `event_msg` lines mirror it for a user interface and are kept as
//! they came, but for the few that say what the history does not.

use events::Timestamp;
use events::event::model::FailureKind;

use super::Format;
use super::json::Fields;
use super::source::{Line, lines};
use super::transcript::{Failed, Transcript, What};

mod item;

#[cfg(test)]
mod tests;

/// How texts begin that Codex itself puts before the model in the user's name.
const INJECTED: [&str; 5] = [
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<turn_aborted>",
    "# AGENTS.md instructions",
];

/// A line that is known to be of this format.
pub(super) fn is_record(fields: &Fields) -> bool {
    let types = ["session_meta", "turn_context", "response_item", "event_msg", "compacted"];
    fields.has("payload") && fields.text("type").is_some_and(|kind| types.contains(&kind.as_str()))
}

/// Reads a rollout.
pub(super) fn read(bytes: &[u8]) -> Transcript {
    let mut transcript = Transcript::new(Format::Codex, "openai");
    let mut problems = std::mem::take(&mut transcript.problems);
    let lines = lines(bytes, &mut problems);
    let records: Vec<Record> = lines.iter().map(Record::of).collect();
    let rolled_back = rolled_back(&records);
    let mut reader = Reader { transcript, reply: None, newest_reply: None, model: None };
    for (record, rolled_back) in records.iter().zip(rolled_back) {
        reader.take(record, rolled_back);
    }
    reader.transcript.problems.append(problems);
    reader.transcript
}

/// One line.
struct Record<'a> {
    line: usize,
    raw: &'a str,
    /// `type` of the line; empty for a line that is no record.
    kind: String,
    /// `type` of the payload.
    payload_kind: String,
    at: Option<Timestamp>,
    payload: Fields<'a>,
}

impl<'a> Record<'a> {
    fn of(line: &'a Line) -> Self {
        let fields = Fields::parse(&line.text).unwrap_or_default();
        let payload = fields.fields("payload").unwrap_or_default();
        Self {
            line: line.number,
            raw: &line.text,
            kind: fields.text("type").unwrap_or_default(),
            payload_kind: payload.text("type").unwrap_or_default(),
            at: fields.text("timestamp").and_then(|at| at.parse().ok()),
            payload,
        }
    }

    fn name(&self) -> String {
        if self.payload_kind.is_empty() {
            self.kind.clone()
        } else {
            format!("{}/{}", self.kind, self.payload_kind)
        }
    }

    /// Something that a user wrote, not Codex in the user's name.
    fn is_input(&self) -> bool {
        self.kind == "response_item"
            && self.payload_kind == "message"
            && self.payload.text("role").as_deref() == Some("user")
            && !is_injected(&super::messages::texts(&self.payload))
    }
}

fn is_injected(text: &str) -> bool {
    INJECTED.iter().any(|beginning| text.trim_start().starts_with(beginning))
}

/// For each record whether a user took it back later, with the turn that it belongs to.
fn rolled_back(records: &[Record]) -> Vec<bool> {
    let mut rolled_back = vec![false; records.len()];
    let mut inputs = Vec::new();
    for (place, record) in records.iter().enumerate() {
        if record.is_input() {
            inputs.push(place);
        }
        if record.kind == "event_msg" && record.payload_kind == "thread_rolled_back" {
            let turns = record.payload.number("num_turns").unwrap_or(0);
            let kept = inputs.len().saturating_sub(usize::try_from(turns).unwrap_or(usize::MAX));
            if let Some(from) = inputs.get(kept) {
                rolled_back[*from..place].fill(true);
            }
            inputs.truncate(kept);
        }
    }
    rolled_back
}

struct Reader {
    transcript: Transcript,
    /// The entry of the reply that still grows: its items are lines of their own.
    reply: Option<usize>,
    /// The entry of the newest reply.
    newest_reply: Option<usize>,
    /// The model of the turn.
    model: Option<String>,
}

impl Reader {
    fn push(&mut self, record: &Record, what: impl Into<What>) {
        self.transcript.push(record.line, record.at, what);
    }

    fn keep(&mut self, record: &Record, place: &str) {
        let name = format!("{place}{}", record.name());
        self.transcript.keep(record.line, record.at, &name, record.raw);
    }

    fn take(&mut self, record: &Record, rolled_back: bool) {
        match record.kind.as_str() {
            "response_item" | "compacted" if rolled_back => self.keep(record, "branch/"),
            "response_item" => self.item(record),
            "session_meta" => self.session(record),
            "turn_context" => {
                self.model = record.payload.name("model").or(self.model.take());
                self.directory(record);
                self.keep(record, "");
            }
            "compacted" => self.compacted(record),
            "event_msg" => self.event(record, rolled_back),
            "" => {
                self.transcript.problems.note(record.line, "no record (cut, or not JSON): kept as it came");
                self.transcript.keep(record.line, None, "broken_line", record.raw);
            }
            _ => self.keep(record, ""),
        }
    }

    fn directory(&mut self, record: &Record) {
        if let Some(cwd) = record.payload.name("cwd") {
            self.transcript.directory = cwd;
        }
    }

    /// A fork repeats the head of its origin; the first one is the session's own.
    fn session(&mut self, record: &Record) {
        self.directory(record);
        if self.transcript.system.is_empty() {
            let instructions = record.payload.text("base_instructions").or_else(|| {
                record.payload.fields("base_instructions").and_then(|instructions| instructions.text("text"))
            });
            self.transcript.add_system(&instructions.unwrap_or_default());
        }
        self.keep(record, "");
    }

    fn event(&mut self, record: &Record, rolled_back: bool) {
        match record.payload_kind.as_str() {
            _ if rolled_back => {}
            "token_count" => self.usage(&record.payload),
            "turn_aborted" => {
                let reason = record.payload.name("reason").unwrap_or_else(|| "aborted".to_owned());
                self.end_reply();
                self.push(record, What::Interrupt(reason));
            }
            "task_complete" | "turn_complete" => {
                self.end_reply();
                self.push(record, What::TurnEnd);
            }
            "error" => {
                self.end_reply();
                let message = record.payload.text("message").unwrap_or_default();
                let kind = FailureKind::Server;
                self.push(record, Failed { kind, message, status: None, next_attempt_in_ms: None });
            }
            _ => {}
        }
        self.keep(record, "");
    }

    /// The history begins anew, with what the summary says or with the items in its place.
    fn compacted(&mut self, record: &Record) {
        self.end_reply();
        let mut texts: Vec<String> = record.payload.name("message").into_iter().collect();
        for raw in record.payload.list("replacement_history").unwrap_or_default() {
            let fields = Fields::parse(raw).unwrap_or_default();
            let text = super::messages::texts(&fields);
            if !text.trim().is_empty() && !texts.contains(&text) {
                texts.push(format!("{}: {text}", fields.name("role").unwrap_or_else(|| "item".to_owned())));
            }
        }
        if texts.is_empty() {
            texts.push("The summary of what came before is sealed and cannot be read here.".to_owned());
        }
        self.push(record, What::CompactionBegan { reason: "compacted".to_owned(), tokens_before: 0 });
        self.push(record, What::Summary(texts.join("\n\n")));
        self.keep(record, "");
    }
}
