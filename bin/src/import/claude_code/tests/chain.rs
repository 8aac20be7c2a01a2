//! Records that follow one another.

use serde_json::{Value, json};

use crate::import::outline::import;
use crate::import::{Format, Session};

/// A session in which every record follows the one before.
#[derive(Default)]
pub(super) struct Chain {
    pub(super) lines: Vec<Value>,
}

impl Chain {
    pub(super) fn add(mut self, record: &Value) -> Self {
        let place = self.lines.len();
        let parent = place.checked_sub(1).map(|parent| format!("u{parent}"));
        let mut line = json!({
            "uuid": format!("u{place}"), "parentUuid": parent, "sessionId": "s",
            "timestamp": format!("2026-01-02T03:04:{:02}.500Z", place % 60), "isSidechain": false,
        });
        line.as_object_mut().unwrap().extend(record.as_object().unwrap().clone());
        self.lines.push(line);
        self
    }

    pub(super) fn user(self, content: impl Into<Value>) -> Self {
        let content = content.into();
        self.add(&json!({"type": "user", "message": {"role": "user", "content": content}}))
    }

    pub(super) fn result(self, call: &str, text: &str) -> Self {
        self.user(json!([{"type": "tool_result", "tool_use_id": call, "content": text}]))
    }

    pub(super) fn assistant(self, id: &str, block: &Value) -> Self {
        let usage = json!({
            "input_tokens": 1, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 300,
            "output_tokens": self.lines.len(),
        });
        let message =
            json!({"id": id, "role": "assistant", "model": "m", "content": [block], "usage": usage});
        self.add(&json!({"type": "assistant", "message": message}))
    }

    pub(super) fn says(self, id: &str, text: &str) -> Self {
        self.assistant(id, &json!({"type": "text", "text": text}))
    }

    pub(super) fn calls(self, id: &str, call: &str) -> Self {
        self.assistant(
            id,
            &json!({"type": "tool_use", "id": call, "name": "Bash", "input": {"command": call}}),
        )
    }

    pub(super) fn text(&self) -> String {
        self.lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
    }

    pub(super) fn import(&self) -> Session {
        import(&self.text(), Format::ClaudeCode)
    }
}
