//! A request from items.
//!
//! Contents are lists of blocks. Results and the words that follow them share one message of the
//! user, and all blocks of adjacent replies one of the assistant.

use events::event::model::Origin;
use events::item::{Call, CallResult, Opaque, Reasoning};
use events::{Item, ItemBody, Spec, ToolSpec};
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::limits::{ANTHROPIC_OUTPUT_TOKENS, REASONING_TOKENS_MIN};
use crate::provider::render::{
    OPENING, Pieces, framed, is_blank, json, json_text, result_text, wire_id, wire_name, without_nul,
};
use crate::provider::{Body, Renderer};

/// Asks the provider to cache. It is the same in every request: at the head it means the end of
/// whatever was sent, where a mark on the last block would change bytes in the middle.
const CACHE: &str = r#""cache_control":{"type":"ephemeral"}"#;

/// Renders requests of one pod.
pub(crate) struct AnthropicRenderer {
    pieces: Pieces,
    origin: Origin,
    open: Open,
    /// Reasoning that nothing has followed yet: providers refuse a message that ends with it.
    reasoning: Vec<u8>,
}

/// The last message, which stands unfinished at the end of the pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Nothing,
    User,
    Assistant,
}

impl AnthropicRenderer {
    /// A renderer for this pod, with the beginning of the body.
    pub(crate) fn new(spec: &Spec) -> Self {
        let mut pieces = Pieces::default();
        pieces.push(&head(spec));
        let origin = Origin { provider: spec.model.provider.clone(), model: spec.model.name.clone() };
        Self { pieces, origin, open: Open::Nothing, reasoning: Vec::new() }
    }

    fn push_user(&mut self, block: &[u8]) {
        self.reasoning.clear();
        self.begin(Open::User, b"{\"role\":\"user\",\"content\":[");
        self.pieces.push(block);
    }

    fn push_assistant(&mut self, block: &[u8]) {
        if self.open == Open::Nothing {
            let reasoning = std::mem::take(&mut self.reasoning);
            self.push_user(&text_block(OPENING));
            self.reasoning = reasoning;
        }
        self.begin(Open::Assistant, b"{\"role\":\"assistant\",\"content\":[");
        let reasoning = std::mem::take(&mut self.reasoning);
        self.pieces.push(&reasoning);
        self.pieces.push(block);
    }

    /// Goes on with the open message, or closes it and begins one of the other role.
    fn begin(&mut self, role: Open, opening: &[u8]) {
        match self.open {
            open if open == role => self.pieces.push(b","),
            Open::Nothing => self.pieces.push(opening),
            Open::User | Open::Assistant => {
                self.pieces.push(b"]},");
                self.pieces.push(opening);
            }
        }
        self.open = role;
    }

    fn push_reasoning(&mut self, reasoning: &Reasoning) {
        if reasoning.origin != self.origin {
            return;
        }
        let block = match (&reasoning.data, &reasoning.signature) {
            (Some(data), _) => json(&RedactedBlock { kind: "redacted_thinking", data }),
            (None, Some(signature)) => {
                json(&ThinkingBlock { kind: "thinking", thinking: &reasoning.text, signature })
            }
            // Nobody vouches for it.
            (None, None) => return,
        };
        self.reasoning.extend(block);
        self.reasoning.push(b',');
    }

    fn push_call(&mut self, call: &Call) {
        let Call { call, tool, arguments, .. } = call;
        let mut block = b"{\"type\":\"tool_use\",\"id\":".to_vec();
        block.extend(json(&wire_id(*call)));
        block.extend_from_slice(b",\"name\":");
        block.extend(json(&wire_name(tool)));
        block.extend_from_slice(b",\"input\":");
        // The object as the model wrote it: written anew it would not be the same to the byte.
        block.extend_from_slice(without_nul(arguments.raw()).as_bytes());
        block.push(b'}');
        self.push_assistant(&block);
    }

    fn push_result(&mut self, result: &CallResult) {
        let mut block = b"{\"type\":\"tool_result\",\"tool_use_id\":".to_vec();
        block.extend(json(&wire_id(result.call)));
        block.extend_from_slice(b",\"content\":");
        block.extend(json_text(&result_text(result)));
        if result.outcome.is_error() {
            block.extend_from_slice(b",\"is_error\":true");
        }
        block.push(b'}');
        if self.open == Open::Nothing {
            self.push_user(&text_block(OPENING));
        }
        self.push_user(&block);
    }

    fn push_opaque(&mut self, opaque: &Opaque) {
        let is_object =
            opaque.json.starts_with('{') && serde_json::from_str::<IgnoredAny>(&opaque.json).is_ok();
        if opaque.origin == self.origin && is_object {
            self.push_assistant(opaque.json.as_bytes());
        }
    }
}

impl Renderer for AnthropicRenderer {
    fn push(&mut self, item: &Item) {
        match &item.body {
            ItemBody::User { text } | ItemBody::System { text } | ItemBody::Text { text }
                if is_blank(text) => {}
            ItemBody::User { text } => self.push_user(&text_block(text)),
            ItemBody::System { text } => self.push_user(&text_block(&framed(text))),
            ItemBody::Text { text } => self.push_assistant(&text_block(text)),
            ItemBody::Call(call) => self.push_call(call),
            ItemBody::Result(result) => self.push_result(result),
            ItemBody::Reasoning(reasoning) => self.push_reasoning(reasoning),
            ItemBody::Opaque(opaque) => self.push_opaque(opaque),
        }
    }

    fn body(&self) -> Body {
        self.pieces.body(if self.open == Open::Nothing { b"]}" } else { b"]}]}" })
    }
}

#[derive(Serialize)]
struct ThinkingBlock<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    thinking: &'a str,
    signature: &'a str,
}

#[derive(Serialize)]
struct RedactedBlock<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct WireTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

impl<'a> WireTool<'a> {
    fn of(tool: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, schema, .. } = tool;
        Self { name, description, input_schema: schema }
    }
}

fn text_block(text: &str) -> Vec<u8> {
    [b"{\"type\":\"text\",\"text\":", json_text(text).as_slice(), b"}"].concat()
}

/// Everything before the messages, in an order that keeps the prefix of two requests the same.
fn head(spec: &Spec) -> Vec<u8> {
    let mut head = b"{\"model\":".to_vec();
    head.extend(json(&spec.model.name));
    let (output, reasoning) = budgets(spec);
    head.extend_from_slice(format!(",\"max_tokens\":{output},\"stream\":true,{CACHE}").as_bytes());
    if let Some(tokens) = reasoning {
        let thinking = format!(",\"thinking\":{{\"type\":\"enabled\",\"budget_tokens\":{tokens}}}");
        head.extend_from_slice(thinking.as_bytes());
    }
    if !spec.tools.is_empty() {
        head.extend_from_slice(b",\"tools\":");
        head.extend(json(&spec.tools.iter().map(WireTool::of).collect::<Vec<_>>()));
    }
    if !is_blank(&spec.system) {
        // A mark of its own, for the pods that share a system prompt and its tools.
        head.extend_from_slice(b",\"system\":[{\"type\":\"text\",\"text\":");
        head.extend(json_text(&spec.system));
        head.extend_from_slice(format!(",{CACHE}}}]").as_bytes());
    }
    head.extend_from_slice(b",\"messages\":[");
    head
}

/// Tokens of output, and those of reasoning among them. The provider refuses a budget of
/// reasoning that is below its least, or not below that of the output.
fn budgets(spec: &Spec) -> (u64, Option<u64>) {
    let wanted = spec.reasoning_tokens.filter(|tokens| *tokens > 0);
    let wanted = wanted.map(|tokens| tokens.max(REASONING_TOKENS_MIN));
    let default = ANTHROPIC_OUTPUT_TOKENS.saturating_add(wanted.unwrap_or_default());
    let output = spec.output_tokens_max.unwrap_or(default).max(1);
    let reasoning = wanted.map(|tokens| tokens.min(output - 1));
    (output, reasoning.filter(|tokens| *tokens >= REASONING_TOKENS_MIN))
}

#[cfg(test)]
mod tests {
    use events::event::tool::CallOutcome;
    use serde_json::json;

    use super::*;
    use crate::provider::testing::{body, call, items, opaque, reasoning, result, spec};

    fn messages(bodies: Vec<ItemBody>) -> Value {
        let spec = spec("anthropic:m");
        let body = body(AnthropicRenderer::new(&spec), &items(bodies)).to_vec();
        serde_json::from_slice::<Value>(&body).expect("the body is JSON")["messages"].clone()
    }

    fn user(text: &str) -> ItemBody {
        ItemBody::User { text: text.to_owned() }
    }

    fn words(text: &str) -> ItemBody {
        ItemBody::Text { text: text.to_owned() }
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    #[test]
    fn the_head_stands_before_the_messages_in_a_fixed_order() {
        let mut spec = spec("anthropic:m");
        spec.system = "Be brief.".to_owned();
        spec.reasoning_tokens = Some(2000);
        spec.output_tokens_max = Some(9000);
        spec.tools.push(ToolSpec {
            name: "bash".to_owned(),
            description: "runs".to_owned(),
            schema: json!({"type": "object"}),
            effect: events::spec::Effect::Other,
        });
        let body = body(AnthropicRenderer::new(&spec), &items(vec![user("hi")]));
        let expected = concat!(
            r#"{"model":"m","max_tokens":9000,"stream":true,"cache_control":{"type":"ephemeral"},"#,
            r#""thinking":{"type":"enabled","budget_tokens":2000},"#,
            r#""tools":[{"name":"bash","description":"runs","input_schema":{"type":"object"}}],"#,
            r#""system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"#,
            r#""messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}"#,
        );
        assert_eq!(String::from_utf8(body.to_vec()).expect("UTF-8"), expected);
    }

    #[test]
    fn the_budgets_fit_together() {
        let cases = [
            (None, None, (16_384, None)),
            (None, Some(4000), (20_384, Some(4000))),
            (Some(5000), Some(1), (5000, Some(1024))),
            (Some(3000), Some(8000), (3000, Some(2999))),
            (Some(1024), Some(8000), (1024, None)),
            (Some(0), Some(0), (1, None)),
        ];
        for (output, reasoning, expected) in cases {
            let mut spec = spec("anthropic:m");
            (spec.output_tokens_max, spec.reasoning_tokens) = (output, reasoning);
            assert_eq!(budgets(&spec), expected, "{output:?} {reasoning:?}");
        }
    }

    #[test]
    fn results_and_the_words_after_them_share_one_message() {
        let messages = messages(vec![
            user("go"),
            words("one"),
            call(1, "bash", "{\"b\": 1, \"a\":2}"),
            call(2, "a tool", ""),
            result(1, CallOutcome::Ok, "done", Some("out")),
            result(2, CallOutcome::Unknown, "no end", None),
            ItemBody::System { text: "note".to_owned() },
            user("on"),
        ]);
        let calls = json!([
            text("one"),
            {"type": "tool_use", "id": "call_c1", "name": "bash", "input": {"a": 2, "b": 1}},
            {"type": "tool_use", "id": "call_c2", "name": "a_tool", "input": {}},
        ]);
        assert_eq!(messages[0], json!({"role": "user", "content": [text("go")]}));
        assert_eq!(messages[1], json!({"role": "assistant", "content": calls}));
        let answers = &messages[2]["content"];
        let first = json!({"type": "tool_result", "tool_use_id": "call_c1", "content": "done\n\nout"});
        assert_eq!(answers[0], first);
        assert_eq!(answers[1]["is_error"], true);
        assert_eq!(answers[2], text(&framed("note")));
        assert_eq!(answers[3], text("on"));
        assert_eq!(messages[3], Value::Null);
    }

    #[test]
    fn arguments_are_sent_back_to_the_byte() {
        let raw = "{\"b\": 1.0,\n \"a\":\"\\u00e9\"}";
        let spec = spec("anthropic:m");
        let body =
            body(AnthropicRenderer::new(&spec), &items(vec![user("go"), call(1, "bash", raw)])).to_vec();
        let body = String::from_utf8(body).expect("UTF-8");
        assert!(body.contains(&format!("\"input\":{raw}}}")), "{body}");
    }

    #[test]
    fn reasoning_goes_back_to_its_origin_only_and_never_ends_a_message() {
        let signed = |text: &str, model: &str| reasoning(text, Some("sig"), model);
        let messages = messages(vec![
            user("a"),
            signed("one", "anthropic:m"),
            signed("foreign", "anthropic:other"),
            reasoning("unsigned", None, "anthropic:m"),
            words("b"),
            signed("two", "anthropic:m"),
            call(1, "bash", "{}"),
            signed("last", "anthropic:m"),
            result(1, CallOutcome::Ok, "done", None),
            signed("alone", "anthropic:m"),
            user("c"),
        ]);
        let thinking = |text: &str| json!({"type": "thinking", "thinking": text, "signature": "sig"});
        let call = json!({"type": "tool_use", "id": "call_c1", "name": "bash", "input": {}});
        let reply = json!([thinking("one"), text("b"), thinking("two"), call]);
        assert_eq!(messages[1], json!({"role": "assistant", "content": reply}));
        assert_eq!(messages[2]["content"].as_array().expect("blocks").len(), 2);
        assert_eq!(messages[3], Value::Null);
    }

    #[test]
    fn encrypted_reasoning_goes_back_as_it_came() {
        let encrypted = Reasoning {
            text: String::new(),
            signature: None,
            data: Some("x\u{0}y".to_owned()),
            origin: crate::provider::testing::origin("anthropic:m"),
        };
        let messages = messages(vec![user("a"), ItemBody::Reasoning(encrypted), words("b")]);
        assert_eq!(messages[1]["content"][0], json!({"type": "redacted_thinking", "data": "x\u{0}y"}));
    }

    #[test]
    fn unknown_parts_go_back_to_their_origin_to_the_byte() {
        let json = "{\"type\":\"new\",  \"z\":1,\"a\":2}";
        let spec = spec("anthropic:m");
        let all = vec![
            user("a"),
            opaque(json, "anthropic:m"),
            opaque(json, "openai:m"),
            opaque("{", "anthropic:m"),
        ];
        let body =
            String::from_utf8(body(AnthropicRenderer::new(&spec), &items(all)).to_vec()).expect("UTF-8");
        assert_eq!(body.matches(json).count(), 1);
        assert!(body.ends_with(&format!("{json}]}}]}}")), "{body}");
    }

    #[test]
    fn a_conversation_that_begins_with_the_assistant_gets_an_opening() {
        let messages = messages(vec![reasoning("r", Some("s"), "anthropic:m"), words("hi"), user("go")]);
        assert_eq!(messages[0], json!({"role": "user", "content": [text(OPENING)]}));
        assert_eq!(messages[1]["content"][0]["type"], "thinking");
        assert_eq!(messages[1]["content"][1], text("hi"));
    }

    #[test]
    fn what_has_nothing_to_say_leaves_no_trace() {
        let messages = messages(vec![
            user("a"),
            words(" \n"),
            reasoning("r", Some("s"), "anthropic:m"),
            user(""),
            ItemBody::System { text: " ".to_owned() },
            user("b"),
        ]);
        assert_eq!(messages, json!([{"role": "user", "content": [text("a"), text("b")]}]));
    }
}
