//! The events of a reply in the Messages dialect, with reasoning signed.

use events::event::model::{EndReason, Usage};
use serde_json::{Value, json};

use super::answer::{Part, Reply, UsageStyle};
use super::stream::{Stream, pieces};
use crate::strict::seal::{Prefix, Seal};

/// Renders a reply. `call` numbers calls that the script gave no id.
pub(super) fn stream(
    reply: &Reply,
    body: &Value,
    usage: Usage,
    seal: &Seal,
    mut call: impl FnMut() -> u64,
) -> Stream {
    let mut stream = Stream::default();
    let mut prefix = Prefix::of(body);
    let mut opening = usage_object(usage);
    opening["output_tokens"] = 1.into();
    let message = json!({
        "id": "msg_kit", "type": "message", "role": "assistant", "model": body["model"], "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": if reply.usage == UsageStyle::Absent { json!({}) } else { opening },
    });
    stream.named("message_start", &json!({"type": "message_start", "message": message}));
    stream.named("ping", &json!({"type": "ping"}));
    let mut has_calls = false;
    for (index, part) in reply.parts.iter().enumerate() {
        has_calls |= matches!(part, Part::Call { .. });
        let block = block(&mut stream, index, part, seal, &prefix, &mut call);
        prefix.push("assistant", &block);
    }
    let end = match reply.end.unwrap_or(if has_calls { EndReason::Calls } else { EndReason::Stop }) {
        EndReason::Stop => "end_turn",
        EndReason::Calls => "tool_use",
        EndReason::Length => "max_tokens",
        EndReason::Refused => "refusal",
    };
    let mut closing = json!({"type": "message_delta", "delta": {"stop_reason": end, "stop_sequence": null}});
    if reply.usage != UsageStyle::Absent {
        closing["usage"] = json!({"output_tokens": usage.output_tokens});
    }
    stream.named("message_delta", &closing);
    stream.named("message_stop", &json!({"type": "message_stop"}));
    stream
}

/// The events of one block, and the block as a whole.
fn block(
    stream: &mut Stream,
    index: usize,
    part: &Part,
    seal: &Seal,
    prefix: &Prefix,
    call: &mut impl FnMut() -> u64,
) -> Value {
    let start = |stream: &mut Stream, block: &Value| {
        let event = json!({"type": "content_block_start", "index": index, "content_block": block});
        stream.named("content_block_start", &event);
    };
    let delta = |stream: &mut Stream, delta: Value| {
        let event = json!({"type": "content_block_delta", "index": index, "delta": delta});
        stream.named("content_block_delta", &event);
    };
    let whole = match part {
        Part::Text(text) => {
            start(stream, &json!({"type": "text", "text": ""}));
            pieces(text, |piece| delta(stream, json!({"type": "text_delta", "text": piece})));
            json!({"type": "text", "text": text})
        }
        Part::Reasoning(text) => {
            let signature = seal.sign(prefix, text);
            start(stream, &json!({"type": "thinking", "thinking": "", "signature": ""}));
            pieces(text, |piece| delta(stream, json!({"type": "thinking_delta", "thinking": piece})));
            delta(stream, json!({"type": "signature_delta", "signature": signature}));
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }
        Part::HiddenReasoning(text) => {
            let block = json!({"type": "redacted_thinking", "data": seal.hide(prefix, text)});
            start(stream, &block);
            block
        }
        Part::Call { id, tool, raw } => {
            let id = id.clone().unwrap_or_else(|| format!("toolu_kit{}", call()));
            start(stream, &json!({"type": "tool_use", "id": id, "name": tool, "input": {}}));
            delta(stream, json!({"type": "input_json_delta", "partial_json": ""}));
            pieces(raw, |piece| delta(stream, json!({"type": "input_json_delta", "partial_json": piece})));
            let input = serde_json::from_str(raw).unwrap_or_else(|_| json!({}));
            json!({"type": "tool_use", "id": id, "name": tool, "input": input})
        }
        Part::Unknown(part) => {
            let stamped = seal.stamp(part);
            start(stream, &stamped);
            stamped
        }
    };
    stream.named("content_block_stop", &json!({"type": "content_block_stop", "index": index}));
    whole
}

/// Cached tokens are counted apart from the others in this dialect.
fn usage_object(usage: Usage) -> Value {
    let from_and_to_cache = usage.cached_tokens + usage.cache_write_tokens;
    json!({
        "input_tokens": usage.input_tokens.saturating_sub(from_and_to_cache),
        "cache_read_input_tokens": usage.cached_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "output_tokens": usage.output_tokens,
    })
}
