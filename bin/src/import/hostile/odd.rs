//! Records that no program would write.

use proptest::prelude::*;
use serde_json::{Value, json};

/// Values of the wrong kind, and words that mean something to some reader.
fn odd_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-c\\\\\"\u{0}é\u{1b}]{0,4}".prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((word(), inner), 0..5).prop_map(|fields| Value::Object(
                fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            )),
        ]
    })
}

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a",
        "b",
        "type",
        "role",
        "content",
        "text",
        "id",
        "uuid",
        "parentUuid",
        "logicalParentUuid",
        "message",
        "user",
        "assistant",
        "system",
        "tool",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "input",
        "tool_use",
        "tool_result",
        "tool_use_id",
        "tool_call_id",
        "thinking",
        "payload",
        "response_item",
        "event_msg",
        "function_call",
        "function_call_output",
        "call_id",
        "output",
        "subtype",
        "compact_boundary",
        "isCompactSummary",
        "isSidechain",
        "isMeta",
        "usage",
        "timestamp",
        "info",
        "traj",
        "messages",
        "num_turns",
        "thread_rolled_back",
        "compacted",
        "turn_aborted",
        "api_error",
        "[Request interrupted by user]",
    ])
}

/// Records that are nearly right: the shape is a format's, ids are few and repeat, and anything
/// may be missing or of the wrong kind.
pub(super) fn nearly_right() -> impl Strategy<Value = Value> {
    prop_oneof![3 => claude_code(), 3 => message(), 3 => codex(), 1 => odd_value()]
}

fn id() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "x", "y", "z"])
}

fn block() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => id().prop_map(|id| json!({"type": "tool_use", "id": id, "name": "f.g", "input": {"a": 1}})),
        4 => id().prop_map(|id| json!({"type": "tool_result", "tool_use_id": id, "content": "r\u{7}"})),
        2 => Just(json!({"type": "text", "text": "words"})),
        1 => Just(json!({"type": "text", "text": "[Request interrupted by user]"})),
        1 => Just(json!({"type": "thinking", "thinking": "h", "signature": "s"})),
        1 => Just(json!({"type": "image"})),
        1 => odd_value(),
    ]
}

fn claude_code() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec!["user", "assistant", "system", "progress"]);
    let subtype = prop::sample::select(vec!["", "compact_boundary", "microcompact_boundary", "api_error"]);
    let blocks = prop::collection::vec(block(), 0..3);
    let record = (kind, subtype, id(), id(), id(), blocks, any::<[bool; 4]>(), word(), odd_value());
    record.prop_map(|(kind, subtype, uuid, parent, message, blocks, flags, key, odd)| {
        let mut record = json!({
            "type": kind, "subtype": subtype, "uuid": uuid, "parentUuid": parent, "isMeta": flags[0] && flags[1],
            "isSidechain": flags[1] && flags[2], "isCompactSummary": flags[2] && flags[3],
            "message": {"id": message, "model": message, "content": blocks},
            "microcompactMetadata": {"compactedToolIds": [message]},
        });
        if flags[0] {
            record[key] = odd;
        }
        record
    })
}

fn message() -> impl Strategy<Value = Value> {
    let role =
        prop::sample::select(vec!["system", "user", "assistant", "tool", "function", "_usage", "other"]);
    let calls = prop::collection::vec(id(), 0..3);
    let blocks = prop::collection::vec(block(), 0..2);
    let message = (role, id(), calls, blocks, any::<bool>(), word(), odd_value());
    message.prop_map(|(role, id, calls, blocks, is_odd, key, odd)| {
        let arguments = |id: &str| if id == "y" { "{" } else { "{}" };
        let call = |id: &&str| json!({"id": id, "function": {"name": id, "arguments": arguments(id)}});
        let calls: Vec<Value> = calls.iter().map(call).collect();
        let mut message = json!({"role": role, "content": blocks, "tool_calls": calls, "tool_call_id": id});
        if is_odd {
            message[key] = odd;
        }
        message
    })
}

fn codex() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec![
        "message",
        "reasoning",
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "function_call_output",
        "token_count",
        "turn_aborted",
        "task_complete",
        "thread_rolled_back",
        "error",
        "compaction",
    ]);
    let line = vec!["response_item", "response_item", "event_msg", "compacted", "turn_context"];
    let role = prop::sample::select(vec!["user", "assistant", "developer"]);
    (prop::sample::select(line), kind, role, id()).prop_map(|(line, kind, role, id)| {
        json!({"timestamp": "2026-01-02T03:04:05Z", "type": line, "payload": {
            "type": kind, "role": role, "call_id": id, "name": "f", "arguments": "{}", "output": "r", "num_turns": 1,
            "message": "m", "content": [{"type": "input_text", "text": "words"}], "model": id,
        }})
    })
}
