//! Small conversations made by hand.

use serde_json::json;

use crate::import::outline::{expect, import, outline};
use crate::import::{Format, read};

#[test]
fn messages_become_turns_with_exchanges() {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "look", "arguments": "{ \"at\":1}"}});
    let messages = json!([
        {"role": "system", "content": "be good"},
        {"role": "user", "content": [{"type": "text", "text": "go"}, {"type": "image_url", "image_url": {}}]},
        {"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]},
        {"role": "tool", "tool_call_id": "b", "content": "two"},
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "assistant", "content": "done", "reasoning_content": "hm"},
        {"role": "system", "content": "time passes"},
        {"role": "user", "content": "more"},
        {"role": "assistant", "content": null, "refusal": "no"},
    ]);
    let session = import(&messages.to_string(), Format::OpenAiMessages);
    expect(
        &session,
        &[
            "input go",
            "turn 1 started",
            "kept user/image_url",
            "request 1",
            "reply Calls: c1=look{ \"at\":1}, c2=look{ \"at\":1}",
            "c1 started",
            "c2 started",
            "c2 ok: two",
            "c1 ok: one",
            "request 2",
            "reply Stop: <hm>, done",
            "turn 1 finished",
            "notified system: time passes",
            "input more",
            "turn 2 started",
            "request 3",
            "reply Refused: no",
            "turn 2 finished",
        ],
    );
    assert_eq!(session.spec.system, "be good");
    assert_eq!(session.spec.model.to_string(), "openai:unknown");
}

#[test]
fn the_body_of_a_request_brings_its_model_and_its_tools() {
    let tool = json!({"type": "function", "function": {"name": "look", "description": "looks", "parameters": {"type": "object", "required": []}}});
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "go"}], "tools": [tool]});
    let session = import(&body.to_string(), Format::OpenAiMessages);
    assert_eq!(session.spec.model.to_string(), "openai:m");
    assert_eq!(session.spec.tools[0].description, "looks");
    assert_eq!(session.spec.tools[0].schema["required"], json!([]));
}

#[test]
fn results_find_their_calls_when_ids_are_empty_or_repeat() {
    let call = json!({"id": "", "function": {"name": "f", "arguments": {}}});
    let messages = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "tool_calls": [call, call]},
        {"role": "tool", "content": "one"},
        {"role": "tool", "content": "two"},
        {"role": "assistant", "function_call": {"name": "g", "arguments": "{}"}},
        {"role": "function", "name": "g", "content": "three"},
        {"role": "tool", "tool_call_id": "nobody", "content": "four"},
    ]);
    let session = import(&messages.to_string(), Format::OpenAiMessages);
    let results: Vec<String> = outline(&session).into_iter().filter(|line| line.contains(" ok: ")).collect();
    assert_eq!(results, ["c1 ok: one", "c2 ok: two", "c3 ok: three"]);
    assert!(outline(&session).contains(&"kept result_without_call".to_owned()));
    assert_eq!(session.problems.len(), 1);
}

#[test]
fn a_call_whose_arguments_are_broken_is_a_call_only_if_it_was_answered() {
    let call = |id: &str| json!({"id": id, "function": {"name": "f", "arguments": "{\"cut"}});
    let messages = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "tool_calls": [call("a")]},
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "assistant", "tool_calls": [call("b")]},
    ]);
    let session = import(&messages.to_string(), Format::OpenAiMessages);
    let replies: Vec<String> =
        outline(&session).into_iter().filter(|line| line.starts_with("reply")).collect();
    assert_eq!(
        replies,
        ["reply Calls: c1=f{\"unparsed_arguments\":\"{\\\"cut\"}", "reply Calls: broken f{\"cut"]
    );
    assert_eq!(session.problems.len(), 2);
}

#[test]
fn control_characters_are_taken_out_and_reported() {
    let messages = json!([
        {"role": "user", "content": "a\u{0}b"},
        {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": "\u{1b}[31mred\u{1b}[0m\r\n"},
    ]);
    let session = import(&messages.to_string(), Format::OpenAiMessages);
    let lines = outline(&session);
    assert_eq!(lines[0], "input a\u{fffd}b");
    assert!(lines.contains(&"c1 ok: red\n".to_owned()), "{lines:#?}");
    assert_eq!(session.problems.len(), 2);
}

#[test]
fn a_message_a_line_is_the_context_of_kimi() {
    let lines = [
        json!({"role": "_system_prompt", "content": "be good"}),
        json!({"role": "_checkpoint", "id": 0}),
        json!({"role": "user", "content": "go"}),
        json!({"role": "assistant", "content": [{"type": "think", "think": "hm", "encrypted": null}, {"type": "text", "text": "ok"}]}),
        json!({"role": "assistant", "content": [{"type": "think", "think": "hm", "encrypted": "x"}]}),
    ];
    let text = lines.map(|line| line.to_string()).join("\n") + "\n{\"role\":";
    let session = import(&text, Format::KimiContext);
    expect(
        &session,
        &[
            "kept _checkpoint",
            "input go",
            "turn 1 started",
            "request 1",
            "reply Stop: <hm>, ok",
            "kept assistant/think",
            "request 2",
            "reply Stop: <hm>",
            "kept broken_line",
            "turn 1 finished",
        ],
    );
    assert_eq!(session.spec.system, "be good");
}

#[test]
fn the_runs_of_tau_bench_are_sessions_of_their_own() {
    let run = |task: u32| json!({"task_id": task, "trial": 1, "reward": 0.5, "info": {}, "traj": [{"role": "user", "content": "go"}]});
    let sessions = read(json!([run(1), run(2)]).to_string().as_bytes(), None).expect("a transcript");
    let names: Vec<_> = sessions.iter().map(|session| session.name.as_deref().expect("named")).collect();
    assert_eq!(names, ["task-1-trial-1", "task-2-trial-1"]);
    assert!(outline(&sessions[1]).contains(&"input go".to_owned()));
}
