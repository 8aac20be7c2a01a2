//! The events of a reply in the Chat Completions dialect.

use events::event::model::{EndReason, Usage};
use serde_json::{Value, json};

use super::answer::{Part, Reply, UsageStyle};
use super::stream::{Stream, pieces};

/// Renders a reply. `call` numbers calls that the script gave no id.
pub(super) fn stream(reply: &Reply, body: &Value, usage: Usage, mut call: impl FnMut() -> u64) -> Stream {
    let model = body["model"].clone();
    let chunk = |choices: Value, usage: Value| {
        json!({
            "id": "chatcmpl-kit", "object": "chat.completion.chunk", "created": 1_767_323_045, "model": model,
            "system_fingerprint": null, "choices": choices, "usage": usage,
        })
    };
    let delta =
        |delta: Value| chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null);
    let mut stream = Stream::default();
    stream.data(&delta(json!({"role": "assistant", "content": null})));
    let mut index = 0;
    for part in &reply.parts {
        match part {
            Part::Text(text) => {
                pieces(text, |piece| stream.data(&delta(json!({"content": piece}))));
            }
            Part::Reasoning(text) | Part::HiddenReasoning(text) => {
                pieces(text, |piece| stream.data(&delta(json!({"reasoning_content": piece}))));
            }
            Part::Call { id, tool, raw } => {
                let id = id.clone().unwrap_or_else(|| format!("call_kit{}", call()));
                let opening = json!({"index": index, "id": id, "type": "function",
                    "function": {"name": tool, "arguments": ""}});
                stream.data(&delta(json!({"tool_calls": [opening]})));
                pieces(raw, |piece| {
                    let more = json!({"index": index, "function": {"arguments": piece}});
                    stream.data(&delta(json!({"tool_calls": [more]})));
                });
                index += 1;
            }
            Part::Unknown(part) => stream.data(&delta(json!({"x_unknown": part}))),
        }
    }
    let end = match reply.end.unwrap_or(if index > 0 { EndReason::Calls } else { EndReason::Stop }) {
        EndReason::Stop => "stop",
        EndReason::Calls => "tool_calls",
        EndReason::Length => "length",
        EndReason::Refused => "content_filter",
    };
    let beside = if reply.usage == UsageStyle::BesideTheEnd { usage_object(usage) } else { Value::Null };
    stream.data(&chunk(json!([{"index": 0, "delta": {}, "finish_reason": end}]), beside));
    let wanted = body["stream_options"]["include_usage"] == true;
    if wanted && matches!(reply.usage, UsageStyle::Counted | UsageStyle::Given(_)) {
        stream.data(&chunk(json!([]), usage_object(usage)));
    }
    stream.event("data: [DONE]\n\n");
    stream
}

fn usage_object(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    })
}
