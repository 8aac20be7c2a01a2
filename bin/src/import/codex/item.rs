//! The items of a rollout: what the model was shown, and what it said.

use actors::provider::ReplyPart;
use events::event::model::{ReasoningPart, Usage};
use events::event::tool::CallOutcome;

use super::{Reader, Record, is_injected};
use crate::import::anthropic::text_of;
use crate::import::json::{Block, Fields, quoted};
use crate::import::messages::texts;
use crate::import::transcript::{Answer, Output, What};

impl Reader {
    /// One item of the model's history.
    pub(super) fn item(&mut self, record: &Record) {
        let payload = &record.payload;
        match record.payload_kind.as_str() {
            "message" => self.message(record),
            "reasoning" => self.reasoning(record),
            "function_call" => {
                let raw = payload.text("arguments").unwrap_or_default();
                self.call(record, payload.text("name").unwrap_or_default(), raw);
            }
            "custom_tool_call" => {
                let raw = format!("{{\"input\":{}}}", quoted(&payload.text("input").unwrap_or_default()));
                self.call(record, payload.text("name").unwrap_or_default(), raw);
            }
            "local_shell_call" => {
                let raw = payload.raw("action").unwrap_or_default().to_owned();
                self.call(record, "local_shell".to_owned(), raw);
            }
            "function_call_output" | "custom_tool_call_output" => self.output(record),
            _ => self.keep(record, ""),
        }
    }

    fn message(&mut self, record: &Record) {
        let role = record.payload.text("role").unwrap_or_default();
        if role == "assistant" {
            for block in record.payload.blocks("content") {
                match block {
                    Block::Text(text) => self.part(record, ReplyPart::Text(text)),
                    Block::Other { kind, raw, .. } => {
                        self.keep_block(record, &format!("assistant/{kind}"), raw);
                    }
                }
            }
            return;
        }
        self.end_reply();
        if role != "user" || is_injected(&texts(&record.payload)) {
            let source = if role == "user" { "codex".to_owned() } else { role };
            return self.push(record, What::Notice { source, text: texts(&record.payload) });
        }
        self.transcript.push_input(record.line, record.at, record.payload.blocks("content"));
    }

    fn keep_block(&mut self, record: &Record, name: &str, raw: &str) {
        self.transcript.keep(record.line, record.at, name, raw);
    }

    /// The words of the thoughts. What is sealed belongs to another protocol of the same vendor:
    /// it is kept with the record and never sent.
    fn reasoning(&mut self, record: &Record) {
        let texts: Vec<String> = ["summary", "content"]
            .into_iter()
            .flat_map(|key| record.payload.list(key).unwrap_or_default())
            .filter_map(|raw| Fields::parse(raw)?.text("text"))
            .collect();
        if record.payload.raw("encrypted_content").is_some() {
            self.keep(record, "");
        }
        let reasoning = ReasoningPart { text: texts.join("\n\n"), signature: None, data: None };
        self.part(record, ReplyPart::Reasoning(reasoning));
    }

    fn call(&mut self, record: &Record, tool: String, raw: String) {
        let id = record.payload.text("call_id").or_else(|| record.payload.text("id"));
        self.part(record, ReplyPart::Call { provider_id: id.unwrap_or_default(), tool, raw });
    }

    /// Adds a part to the reply that grows, or begins one.
    fn part(&mut self, record: &Record, part: ReplyPart) {
        if let Some(What::Reply(answer)) = self.growing() {
            answer.parts.push(part);
            return;
        }
        self.reply = Some(self.transcript.entries.len());
        self.newest_reply = self.reply;
        let model = self.model.clone();
        self.push(record, Answer { parts: vec![part], model, ..Answer::default() });
    }

    fn growing(&mut self) -> Option<&mut What> {
        let entry = self.transcript.entries.get_mut(self.reply?)?;
        Some(&mut entry.what)
    }

    /// What comes next belongs to another reply.
    pub(super) fn end_reply(&mut self) {
        self.reply = None;
    }

    fn output(&mut self, record: &Record) {
        self.end_reply();
        let call = record.payload.text("call_id").unwrap_or_default();
        let wrapped = record.payload.fields("output").filter(|output| output.has("content"));
        let (mut text, others) = text_of(&record.payload, "output");
        let mut is_success = true;
        if let Some(output) = wrapped {
            // Older versions wrap the text.
            text = texts(&output);
            is_success = output.raw("success") != Some("false");
        } else {
            for (kind, raw) in others {
                self.keep_block(record, &format!("output/{kind}"), raw);
            }
        }
        let outcome = if is_success && exit_code(&text) == 0 { CallOutcome::Ok } else { CallOutcome::Failed };
        self.push(record, Output { call, text, outcome });
    }

    /// What the newest reply took: the counts come in a line of their own.
    pub(super) fn usage(&mut self, payload: &Fields) {
        let count = payload.fields("info").and_then(|info| info.fields("last_token_usage"));
        let newest = self.newest_reply.and_then(|entry| self.transcript.entries.get_mut(entry));
        if let (Some(count), Some(What::Reply(answer))) = (count, newest.map(|entry| &mut entry.what)) {
            let number = |key: &str| count.number(key).unwrap_or(0);
            answer.usage = Some(Usage {
                input_tokens: number("input_tokens"),
                cached_tokens: number("cached_input_tokens"),
                cache_write_tokens: 0,
                output_tokens: number("output_tokens"),
                reasoning_tokens: number("reasoning_output_tokens"),
            });
        }
    }
}

/// The exit code that the text of a command's output tells of; zero when it tells of none.
fn exit_code(text: &str) -> i64 {
    let first = text.lines().next().unwrap_or_default();
    if let Some(code) = first.strip_prefix("Exit code: ") {
        return code.trim().parse().unwrap_or(0);
    }
    let metadata = Fields::parse(text).and_then(|fields| fields.fields("metadata"));
    metadata.and_then(|metadata| metadata.raw("exit_code")?.parse().ok()).unwrap_or(0)
}
