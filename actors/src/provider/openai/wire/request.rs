//! A request from items.
//!
//! Contents are plain strings: several well-known servers of this dialect refuse lists of parts.
//! Adjacent words of one side become one message with a blank line between them.

use events::item::{Call, CallResult};
use events::{Item, ItemBody, Spec, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use crate::provider::render::{
    OPENING, Pieces, framed, is_blank, json, json_text, json_text_inside, result_text, wire_id, wire_name,
    without_nul,
};
use crate::provider::{Body, Renderer};

/// What separates adjacent words in one message, inside a JSON string.
const GAP: &[u8] = b"\\n\\n";

/// Renders requests of one pod.
pub(crate) struct OpenAiRenderer {
    pieces: Pieces,
    open: Open,
    has_message: bool,
    has_user_message: bool,
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[derive(Serialize)]
struct WireTool<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    function: WireToolFunction<'a>,
}

#[derive(Serialize)]
struct WireToolFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> WireTool<'a> {
    fn of(tool: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, schema, .. } = tool;
        let function = WireToolFunction { name, description, parameters: schema };
        Self { kind: "function", function }
    }
}

/// The last message, while more may join it.
enum Open {
    Nothing,
    /// Its content stands unfinished at the end of the pieces.
    User,
    /// Its words and its calls may come in any order, and stand one after the other on the wire.
    Assistant {
        text: Vec<u8>,
        calls: Vec<u8>,
    },
}

impl OpenAiRenderer {
    /// A renderer for this pod, with the beginning of the body.
    pub(crate) fn new(spec: &Spec) -> Self {
        let mut pieces = Pieces::default();
        pieces.push(&head(spec));
        let mut renderer = Self { pieces, open: Open::Nothing, has_message: false, has_user_message: false };
        if !is_blank(&spec.system) {
            renderer.begin(b"{\"role\":\"system\",\"content\":");
            renderer.pieces.push(&json_text(&spec.system));
            renderer.pieces.push(b"}");
        }
        renderer
    }

    /// Closes the open message and begins the next one.
    fn begin(&mut self, opening: &[u8]) {
        let end = self.open.end();
        self.open = Open::Nothing;
        self.pieces.push(&end);
        self.pieces.push(if self.has_message { b"," } else { b"" });
        self.pieces.push(opening);
        self.has_message = true;
    }

    fn push_user(&mut self, text: &str) {
        if is_blank(text) {
            return;
        }
        if matches!(self.open, Open::User) {
            self.pieces.push(GAP);
        } else {
            self.begin(b"{\"role\":\"user\",\"content\":\"");
            self.open = Open::User;
            self.has_user_message = true;
        }
        self.pieces.push(&json_text_inside(text));
    }

    fn open_with_user(&mut self) {
        if !self.has_user_message {
            self.push_user(OPENING);
        }
    }

    fn push_assistant(&mut self, words: &[u8], call: &[u8]) {
        self.open_with_user();
        if !matches!(self.open, Open::Assistant { .. }) {
            self.begin(b"{\"role\":\"assistant\",\"content\":");
            self.open = Open::Assistant { text: Vec::new(), calls: Vec::new() };
        }
        if let Open::Assistant { text, calls } = &mut self.open {
            for (list, entry, separator) in [(text, words, GAP), (calls, call, b",".as_slice())] {
                if !list.is_empty() && !entry.is_empty() {
                    list.extend_from_slice(separator);
                }
                list.extend_from_slice(entry);
            }
        }
    }

    fn push_call(&mut self, call: &Call) {
        let function =
            WireFunction { name: &wire_name(&call.tool), arguments: &without_nul(call.arguments.raw()) };
        let call = WireCall { id: &wire_id(call.call), kind: "function", function };
        self.push_assistant(b"", &json(&call));
    }

    fn push_result(&mut self, result: &CallResult) {
        self.open_with_user();
        let mut text = result_text(result);
        if result.outcome.is_error() {
            // The dialect has no field that says so.
            text = format!("[{}] {text}", result.outcome.as_str());
        }
        self.begin(b"{\"role\":\"tool\",\"tool_call_id\":");
        self.pieces.push(&json(&wire_id(result.call)));
        self.pieces.push(b",\"content\":");
        self.pieces.push(&json_text(&text));
        self.pieces.push(b"}");
    }
}

impl Renderer for OpenAiRenderer {
    fn push(&mut self, item: &Item) {
        match &item.body {
            ItemBody::User { text } => self.push_user(text),
            ItemBody::System { text } if is_blank(text) => {}
            ItemBody::System { text } => self.push_user(&framed(text)),
            ItemBody::Text { text } if is_blank(text) => {}
            ItemBody::Text { text } => self.push_assistant(&json_text_inside(text), b""),
            ItemBody::Call(call) => self.push_call(call),
            ItemBody::Result(result) => self.push_result(result),
            // The dialect seals no reasoning and has no unknown parts: none of it is ours.
            ItemBody::Reasoning(_) | ItemBody::Opaque(_) => {}
        }
    }

    fn body(&self) -> Body {
        let mut end = self.open.end();
        end.extend_from_slice(b"]}");
        self.pieces.body(&end)
    }
}

impl Open {
    /// What is still to be written of the open message.
    fn end(&self) -> Vec<u8> {
        match self {
            Self::Nothing => Vec::new(),
            Self::User => b"\"}".to_vec(),
            Self::Assistant { text, calls } => {
                let mut end = match text.as_slice() {
                    b"" => b"null".to_vec(),
                    text => [b"\"", text, b"\""].concat(),
                };
                if !calls.is_empty() {
                    end.extend([b",\"tool_calls\":[", calls.as_slice(), b"]"].concat());
                }
                end.push(b'}');
                end
            }
        }
    }
}

/// Everything before the messages, in an order that keeps the prefix of two requests the same.
fn head(spec: &Spec) -> Vec<u8> {
    let mut head = b"{\"model\":".to_vec();
    head.extend(json(&spec.model.name));
    head.extend_from_slice(b",\"stream\":true,\"stream_options\":{\"include_usage\":true}");
    if let Some(tokens) = spec.output_tokens_max {
        head.extend_from_slice(format!(",\"max_completion_tokens\":{tokens}").as_bytes());
    }
    if !spec.tools.is_empty() {
        let tools: Vec<WireTool<'_>> = spec.tools.iter().map(WireTool::of).collect();
        head.extend_from_slice(b",\"tools\":");
        head.extend(json(&tools));
    }
    head.extend_from_slice(b",\"messages\":[");
    head
}

#[cfg(test)]
mod tests {
    use events::event::tool::CallOutcome;
    use serde_json::{Value, json};

    use super::*;
    use crate::provider::testing::{body, call, items, opaque, reasoning, result, spec};

    fn messages(bodies: Vec<ItemBody>) -> Value {
        let spec = spec("openai:m");
        let body: Value = serde_json::from_slice(&body(OpenAiRenderer::new(&spec), &items(bodies)).to_vec())
            .expect("the body is JSON");
        body["messages"].clone()
    }

    fn user(text: &str) -> ItemBody {
        ItemBody::User { text: text.to_owned() }
    }

    fn text(text: &str) -> ItemBody {
        ItemBody::Text { text: text.to_owned() }
    }

    #[test]
    fn the_head_stands_before_the_messages_in_a_fixed_order() {
        let mut spec = spec("openai:m");
        spec.system = "Be brief.".to_owned();
        spec.output_tokens_max = Some(9);
        spec.tools.push(ToolSpec {
            name: "bash".to_owned(),
            description: "runs".to_owned(),
            schema: json!({"type": "object"}),
            effect: events::spec::Effect::Other,
        });
        let body = body(OpenAiRenderer::new(&spec), &items(vec![user("hi")]));
        let expected = concat!(
            r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":9,"#,
            r#""tools":[{"type":"function","function":{"name":"bash","description":"runs","parameters":{"type":"object"}}}],"#,
            r#""messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}]}"#,
        );
        assert_eq!(String::from_utf8(body.to_vec()).expect("UTF-8"), expected);
    }

    #[test]
    fn an_exchange_is_one_assistant_message_and_one_message_for_each_result() {
        let messages = messages(vec![
            user("go"),
            reasoning("hidden", Some("signed"), "openai:m"),
            text("one"),
            call(1, "bash", "{\"a\": 1}"),
            text("two"),
            call(2, "a tool", "{}"),
            result(1, CallOutcome::Ok, "done", Some("out")),
            result(2, CallOutcome::Denied, "no", None),
            ItemBody::System { text: "note".to_owned() },
            user("on"),
        ]);
        let calls = json!([
            {"id": "call_c1", "type": "function", "function": {"name": "bash", "arguments": "{\"a\": 1}"}},
            {"id": "call_c2", "type": "function", "function": {"name": "a_tool", "arguments": "{}"}},
        ]);
        assert_eq!(messages[0], json!({"role": "user", "content": "go"}));
        assert_eq!(messages[1], json!({"role": "assistant", "content": "one\n\ntwo", "tool_calls": calls}));
        assert_eq!(messages[2], json!({"role": "tool", "tool_call_id": "call_c1", "content": "done\n\nout"}));
        assert!(messages[3]["content"].as_str().expect("text").starts_with("[denied] no\n\n["));
        assert_eq!(
            messages[4]["content"],
            "[system message, not written by the user]\nnote\n[end of the system message]\n\non"
        );
        assert_eq!(messages[5], Value::Null);
    }

    #[test]
    fn a_call_without_words_has_no_text_at_all() {
        let messages = messages(vec![user("go"), call(1, "bash", "{}")]);
        assert_eq!(messages[1]["content"], Value::Null);
    }

    #[test]
    fn a_conversation_that_begins_with_the_assistant_gets_an_opening() {
        let messages = messages(vec![text("hi"), user("go")]);
        assert_eq!(messages[0], json!({"role": "user", "content": OPENING}));
        assert_eq!(messages[1], json!({"role": "assistant", "content": "hi"}));
    }

    #[test]
    fn what_has_nothing_to_say_leaves_no_trace() {
        let messages = messages(vec![
            user("a"),
            text(" \n"),
            reasoning("hidden", Some("signed"), "openai:m"),
            opaque("{\"type\":\"x\"}", "openai:m"),
            user(""),
            ItemBody::System { text: " ".to_owned() },
            user("b"),
        ]);
        assert_eq!(messages, json!([{"role": "user", "content": "a\n\nb"}]));
    }
}
