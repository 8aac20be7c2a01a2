//! Small rollouts made by hand, after the published schema.

use serde_json::{Value, json};

use crate::import::outline::{expect, import, replies};
use crate::import::{Format, Session};

fn line(kind: &str, payload: &Value) -> String {
    json!({"timestamp": "2026-01-02T03:04:05.678Z", "type": kind, "payload": payload}).to_string()
}

fn item(payload: &Value) -> String {
    line("response_item", payload)
}

fn message(role: &str, text: &str) -> String {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    item(&json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
}

fn call(id: &str) -> String {
    item(&json!({"type": "function_call", "name": "shell", "arguments": "{\"cmd\": 1}", "call_id": id}))
}

fn output(id: &str, text: &str) -> String {
    item(&json!({"type": "function_call_output", "call_id": id, "output": text}))
}

fn event(kind: &str) -> String {
    line("event_msg", &json!({"type": kind, "num_turns": 1, "reason": "interrupted"}))
}

fn rollout(lines: &[String]) -> Session {
    let meta =
        line("session_meta", &json!({"id": "x", "cwd": "/w", "base_instructions": {"text": "be good"}}));
    let context = line("turn_context", &json!({"cwd": "/w", "model": "gpt"}));
    let all: Vec<String> = [meta, context].into_iter().chain(lines.iter().cloned()).collect();
    import(&all.join("\n"), Format::Codex)
}

#[test]
fn the_items_up_to_the_first_output_are_one_reply() {
    let usage = json!({
        "type": "token_count",
        "info": {"last_token_usage": {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 2}},
    });
    let session = rollout(&[
        message("user", "<environment_context>here</environment_context>"),
        message("user", "go"),
        event("user_message"),
        item(
            &json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "?"}),
        ),
        message("assistant", "I look"),
        call("a"),
        call("b"),
        line("event_msg", &usage),
        output("b", "Exit code: 1\nno"),
        output("a", "yes"),
        message("assistant", "done"),
        event("task_complete"),
    ]);
    expect(
        &session,
        &[
            "kept session_meta",
            "kept turn_context",
            "notified codex: <environment_context>here</environment_context>",
            "input go",
            "turn 1 started",
            "kept event_msg/user_message",
            "kept response_item/reasoning",
            "request 1",
            "reply Calls: <hm>, I look, c1=shell{\"cmd\": 1}, c2=shell{\"cmd\": 1}",
            "c1 started",
            "c2 started",
            "kept event_msg/token_count",
            "c2 failed: Exit code: 1\nno",
            "c1 ok: yes",
            "request 2",
            "reply Stop: done",
            "turn 1 finished",
            "kept event_msg/task_complete",
        ],
    );
    assert_eq!(session.spec.system, "be good");
    assert_eq!(session.spec.directory, "/w");
    assert_eq!(session.spec.model.to_string(), "openai:gpt");
    let usage = replies(&session)[0].1.usage;
    assert_eq!(usage.map(|usage| (usage.input_tokens, usage.cached_tokens)), Some((9, 4)));
}

#[test]
fn calls_of_other_kinds_are_calls_too() {
    let session = rollout(&[
        message("user", "go"),
        item(
            &json!({"type": "custom_tool_call", "name": "apply_patch", "input": "*** \"x\"", "call_id": "a"}),
        ),
        item(&json!({"type": "local_shell_call", "action": {"command": ["ls"]}, "call_id": "b"})),
        item(&json!({"type": "custom_tool_call_output", "call_id": "a", "output": "ok"})),
        item(&json!({
            "type": "function_call_output", "call_id": "b", "output": {"content": "bad", "success": false},
        })),
        item(&json!({"type": "web_search_call", "action": {}})),
    ]);
    expect(
        &session,
        &[
            "kept session_meta",
            "kept turn_context",
            "input go",
            "turn 1 started",
            "request 1",
            "reply Calls: c1=apply_patch{\"input\":\"*** \\\"x\\\"\"}, c2=local_shell{\"command\":[\"ls\"]}",
            "c1 started",
            "c2 started",
            "c1 ok: ok",
            "c2 failed: bad",
            "kept response_item/web_search_call",
            "turn 1 cancelled the transcript ends here, in the middle of the turn",
        ],
    );
}

#[test]
fn an_aborted_turn_is_cancelled_and_a_turn_taken_back_is_kept_aside() {
    let session = rollout(&[
        message("user", "one"),
        message("assistant", "first"),
        message("user", "two"),
        call("a"),
        event("turn_aborted"),
        event("thread_rolled_back"),
        message("user", "three"),
        call("b"),
        event("turn_aborted"),
    ]);
    expect(
        &session,
        &[
            "kept session_meta",
            "kept turn_context",
            "input one",
            "turn 1 started",
            "request 1",
            "reply Stop: first",
            "kept branch/response_item/message",
            "kept branch/response_item/function_call",
            "kept event_msg/turn_aborted",
            "kept event_msg/thread_rolled_back",
            "turn 1 finished",
            "input three",
            "turn 2 started",
            "request 2",
            "reply Calls: c1=shell{\"cmd\": 1}",
            "c1 started",
            "c1 interrupted: ",
            "turn 2 cancelled interrupted",
            "kept event_msg/turn_aborted",
        ],
    );
}

#[test]
fn a_compaction_says_what_stands_in_the_place_of_the_past() {
    let history =
        json!([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "old"}]}]);
    let session = rollout(&[
        message("user", "old"),
        message("assistant", "ok"),
        line("compacted", &json!({"message": "so far", "replacement_history": history})),
        message("user", "new"),
        "{\"timestamp\":".to_owned(),
    ]);
    expect(
        &session,
        &[
            "kept session_meta",
            "kept turn_context",
            "input old",
            "turn 1 started",
            "request 1",
            "reply Stop: ok",
            "turn 1 finished",
            "compaction: compacted",
            "compacted to 11: so far\n\nuser: old",
            "kept compacted",
            "input new",
            "turn 2 started",
            "kept broken_line",
            "turn 2 cancelled the transcript ends here, in the middle of the turn",
        ],
    );
    assert_eq!(session.problems.len(), 1);
}
