//! A pod's whole history, unpruned and uncompacted, as messages of OpenAI's Chat Completions: the
//! model, the tools and the messages, as the body of a request has them. Reasoning and what only
//! its origin understands is left out.

use std::borrow::Borrow;

use events::item::CallResult;
use events::projection::{History, Projection, Status};
use events::{Envelope, Item, ItemBody, Seq, Spec};
use serde_json::{Value, json};

/// The document.
pub(crate) fn messages<E: Borrow<Envelope>>(log: impl IntoIterator<Item = E>) -> Value {
    let mut history = History::default();
    let mut status = Status::default();
    for envelope in log {
        history.apply(envelope.borrow());
        status.apply(envelope.borrow());
    }
    let mut messages = Messages::default();
    let items = history.items().iter().map(AsRef::as_ref);
    let unsettled = history.unsettled();
    let Some(spec) = &status.spec else { return json!({"messages": []}) };
    if !spec.system.is_empty() {
        messages.push("system", &spec.system);
    }
    for item in items.chain(&unsettled) {
        messages.add(item);
    }
    json!({"model": spec.model.name, "messages": messages.list, "tools": tools(spec)})
}

fn tools(spec: &Spec) -> Vec<Value> {
    let function = |tool: &events::ToolSpec| json!({"name": tool.name, "description": tool.description, "parameters": tool.schema});
    spec.tools.iter().map(|tool| json!({"type": "function", "function": function(tool)})).collect()
}

#[derive(Default)]
struct Messages {
    list: Vec<Value>,
    /// The reply that the last message is.
    reply: Option<Seq>,
}

impl Messages {
    fn push(&mut self, role: &str, text: &str) {
        self.list.push(json!({"role": role, "content": text}));
        self.reply = None;
    }

    fn add(&mut self, item: &Item) {
        match &item.body {
            ItemBody::User { text } => self.push("user", text),
            ItemBody::System { text } => self.push("system", text),
            ItemBody::Result(result) => {
                let text = text_of(result);
                self.list.push(json!({"role": "tool", "tool_call_id": result.call, "content": text}));
                self.reply = None;
            }
            ItemBody::Text { text } => {
                let reply = self.assistant(item.seq);
                let so_far =
                    reply["content"].as_str().map(|so_far| format!("{so_far}\n")).unwrap_or_default();
                reply["content"] = Value::from(so_far + text);
            }
            ItemBody::Call(call) => {
                let function = json!({"name": call.tool, "arguments": call.arguments.raw()});
                let call = json!({"id": call.call, "type": "function", "function": function});
                let reply = self.assistant(item.seq);
                match reply["tool_calls"].as_array_mut() {
                    Some(calls) => calls.push(call),
                    None => reply["tool_calls"] = json!([call]),
                }
            }
            ItemBody::Reasoning(_) | ItemBody::Opaque(_) => {}
        }
    }

    /// The message of this reply.
    fn assistant(&mut self, seq: Seq) -> &mut Value {
        if self.reply != Some(seq) {
            self.list.push(json!({"role": "assistant", "content": null}));
            self.reply = Some(seq);
        }
        self.list.last_mut().expect("the message was pushed at the latest above")
    }
}

/// What a result says: its content, or its summary when there is none.
fn text_of(result: &CallResult) -> &str {
    let content = result.content.as_ref().map_or("", events::Content::as_str);
    if content.trim().is_empty() { &result.summary } else { content }
}

#[cfg(test)]
mod tests {
    use kit::strict;

    use super::*;
    use crate::import::hostile::sealed;
    use crate::import::{Format, read};

    #[test]
    fn what_a_conversation_says_survives_export_and_import() {
        let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}});
        let body = json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "be good"},
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": "I look", "tool_calls": [call("c1"), call("c2")]},
                {"role": "tool", "tool_call_id": "c1", "content": "one"},
                {"role": "tool", "tool_call_id": "c2", "content": "two"},
                {"role": "assistant", "content": "done"},
                {"role": "user", "content": "thanks"},
            ],
            "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}],
        });
        let sessions = read(body.to_string().as_bytes(), Some(Format::OpenAiMessages)).expect("a transcript");
        let exported = messages(sealed(&sessions[0].drafts));
        assert_eq!(exported, body);
        strict::openai::check(&exported).expect("a provider accepts it");
    }
}
