//! Small sessions made by hand.

use events::Timestamp;
use events::event::model::Usage;
use serde_json::{Value, json};

use crate::import::Format;
use crate::import::outline::{expect, import, outline, replies};
use chain::Chain;

mod chain;

#[test]
fn a_turn_becomes_a_turn() {
    let session = Chain::default()
        .user("hello")
        .assistant("m1", &json!({"type": "thinking", "thinking": "hm", "signature": "s=="}))
        .says("m1", "I look")
        .calls("m1", "t1")
        .result("t1", "a\nb")
        .says("m2", "done")
        .import();
    expect(
        &session,
        &[
            "input hello",
            "turn 1 started",
            "request 1",
            "reply Calls: <sealed hm>, I look, c1=Bash{\"command\":\"t1\"}",
            "c1 started",
            "c1 ok: a\nb",
            "request 2",
            "reply Stop: done",
            "turn 1 finished",
        ],
    );
    assert_eq!(session.problems, []);
    assert_eq!(session.spec.model.to_string(), "anthropic:m");
    assert_eq!(session.spec.tools[0].name, "Bash");
}

#[test]
fn the_last_record_of_a_reply_has_its_usage_and_each_event_its_moment() {
    let session = Chain::default().user("hello").says("m1", "one").says("m1", "two").import();
    let [(at, reply)] = replies(&session)[..] else { panic!("one reply") };
    let usage = Usage {
        input_tokens: 321,
        cached_tokens: 20,
        cache_write_tokens: 300,
        output_tokens: 2,
        reasoning_tokens: 0,
    };
    assert_eq!(reply.usage, Some(usage));
    assert_eq!(reply.provider_id.as_deref(), Some("m1"));
    assert_eq!(at, "2026-01-02T03:04:01.5Z".parse::<Timestamp>().ok());
}

#[test]
fn results_of_parallel_calls_come_in_their_own_order_and_between_the_records_of_the_reply() {
    let session = Chain::default()
        .user("go")
        .calls("m1", "t1")
        .result("t1", "one")
        .calls("m1", "t2")
        .calls("m1", "t3")
        .result("t3", "three")
        .result("t2", "two")
        .import();
    expect(
        &session,
        &[
            "input go",
            "turn 1 started",
            "request 1",
            "reply Calls: c1=Bash{\"command\":\"t1\"}, c2=Bash{\"command\":\"t2\"}, c3=Bash{\"command\":\"t3\"}",
            "c1 started",
            "c2 started",
            "c3 started",
            "c1 ok: one",
            "c3 ok: three",
            "c2 ok: two",
            "turn 1 cancelled the transcript ends here, in the middle of the turn",
        ],
    );
}

/// Each result names the record of its call as its parent, so only one of them is on the stem.
#[test]
fn results_that_hang_beside_the_stem_belong_to_the_conversation() {
    let beside = |call: &str, parent: &str, text: &str| {
        let block = json!([{"type": "tool_result", "tool_use_id": call, "content": text}]);
        json!({"type": "user", "parentUuid": parent, "message": {"content": block}})
    };
    let more = json!({"id": "m1", "model": "m", "content": [
        {"type": "tool_use", "id": "t3", "name": "Bash", "input": {"command": "t3"}},
    ]});
    let session = Chain::default()
        .user("go")
        .calls("m1", "t1")
        .calls("m1", "t2")
        .add(&json!({"type": "assistant", "parentUuid": "u1", "message": more}))
        .add(&beside("t1", "u1", "one"))
        .add(&beside("t3", "u3", "three"))
        .add(&beside("t2", "u2", "two"))
        .says("m2", "done")
        .import();
    let lines = outline(&session);
    let results: Vec<&String> = lines.iter().filter(|line| line.contains(" ok: ")).collect();
    assert_eq!(results, ["c1 ok: one", "c3 ok: three", "c2 ok: two"], "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("kept")).count(), 0, "{lines:#?}");
}

#[test]
fn an_interrupted_call_and_a_forgotten_one_have_an_end() {
    let session = Chain::default()
        .user("go")
        .calls("m1", "t1")
        .user(json!([{"type": "text", "text": "[Request interrupted by user for tool use]"}]))
        .user("again")
        .calls("m2", "t2")
        .user("and again")
        .import();
    expect(
        &session,
        &[
            "input go",
            "turn 1 started",
            "request 1",
            "reply Calls: c1=Bash{\"command\":\"t1\"}",
            "c1 started",
            "c1 interrupted: ",
            "turn 1 cancelled [Request interrupted by user for tool use]",
            "input again",
            "turn 2 started",
            "request 2",
            "reply Calls: c2=Bash{\"command\":\"t2\"}",
            "c2 started",
            "c2 unknown: ",
            "turn 2 cancelled the transcript has no results for the last calls",
            "input and again",
            "turn 3 started",
            "turn 3 cancelled the transcript ends here, in the middle of the turn",
        ],
    );
}

#[test]
fn a_compaction_puts_the_summary_in_the_place_of_what_came_before() {
    let meta = json!({"trigger": "auto", "preTokens": 5000});
    let boundary = json!({
        "type": "system", "subtype": "compact_boundary", "parentUuid": null, "logicalParentUuid": "u1",
        "compactMetadata": meta,
    });
    let summary = json!({
        "type": "user", "isCompactSummary": true, "message": {"role": "user", "content": "so far: nothing"},
    });
    let session =
        Chain::default().user("old").says("m1", "done").add(&boundary).add(&summary).user("new").import();
    expect(
        &session,
        &[
            "input old",
            "turn 1 started",
            "request 1",
            "reply Stop: done",
            "turn 1 finished",
            "kept system/compact_boundary",
            "compaction: auto",
            "compacted to 10: so far: nothing",
            "input new",
            "turn 2 started",
            "turn 2 cancelled the transcript ends here, in the middle of the turn",
        ],
    );
}

#[test]
fn a_compaction_without_a_summary_has_failed() {
    let boundary = json!({"type": "system", "subtype": "compact_boundary"});
    let session = Chain::default().user("old").add(&boundary).user("new").import();
    let lines = outline(&session);
    assert!(lines.contains(&"compaction failed".to_owned()), "{lines:#?}");
}

#[test]
fn a_micro_compaction_is_a_prune_of_the_calls_that_are_known() {
    let boundary = json!({
        "type": "system", "subtype": "microcompact_boundary",
        "microcompactMetadata": {"trigger": "auto", "tokensSaved": 9, "compactedToolIds": ["t1", "lost"]},
    });
    let session = Chain::default()
        .user("go")
        .calls("m1", "t1")
        .result("t1", "x")
        .add(&boundary)
        .says("m2", "ok")
        .import();
    let lines = outline(&session);
    assert!(lines.contains(&"pruned [CallId(1)]".to_owned()), "{lines:#?}");
    assert_eq!(session.problems.len(), 1);
}

#[test]
fn errors_of_the_provider_are_failed_attempts_of_one_request() {
    let error = |attempt: u32| {
        json!({
            "type": "system", "subtype": "api_error", "error": {"status": 529}, "retryInMs": 500.5,
            "retryAttempt": attempt,
        })
    };
    let shown = json!({
        "type": "assistant", "isApiErrorMessage": true,
        "message": {"id": "e", "model": "<synthetic>", "content": [{"type": "text", "text": "API Error: 500 x"}]},
    });
    let session = Chain::default()
        .user("go")
        .add(&error(1))
        .add(&error(2))
        .says("m1", "ok")
        .user("more")
        .add(&shown)
        .import();
    expect(
        &session,
        &[
            "input go",
            "turn 1 started",
            "request 1",
            "failed Overloaded 1: {\"status\":529}",
            "kept system/api_error",
            "failed Overloaded 2: {\"status\":529}",
            "kept system/api_error",
            "reply Stop: ok",
            "turn 1 finished",
            "input more",
            "turn 2 started",
            "request 2",
            "failed Server 1: API Error: 500 x",
            "turn 2 failed API Error: 500 x",
        ],
    );
}

#[test]
fn branches_and_side_chains_are_kept_beside_the_conversation() {
    let rewound =
        json!({"type": "user", "parentUuid": "u1", "message": {"role": "user", "content": "better"}});
    let side = json!({
        "type": "user", "isSidechain": true, "parentUuid": null, "message": {"role": "user", "content": "task"},
    });
    let session = Chain::default()
        .user("go")
        .says("m1", "ok")
        .user("worse")
        .says("m2", "bad")
        .add(&side)
        .add(&rewound)
        .says("m3", "good")
        .import();
    expect(
        &session,
        &[
            "input go",
            "turn 1 started",
            "request 1",
            "reply Stop: ok",
            "kept branch/user",
            "kept branch/assistant",
            "kept sidechain/user",
            "turn 1 finished",
            "input better",
            "turn 2 started",
            "request 2",
            "reply Stop: good",
            "turn 2 finished",
        ],
    );
}

#[test]
fn a_broken_line_does_not_cut_off_what_came_before() {
    let chain = Chain::default().user("go").says("m1", "ok").user("more").says("m2", "fine");
    let mut lines: Vec<String> = chain.lines.iter().map(Value::to_string).collect();
    lines[1].truncate(40);
    let session = import(&lines.join("\n"), Format::ClaudeCode);
    expect(
        &session,
        &[
            "input go",
            "turn 1 started",
            "kept broken_line",
            "input more",
            "request 1",
            "reply Stop: fine",
            "turn 1 finished",
        ],
    );
    assert_eq!(session.problems[0].line, 2);
}

#[test]
fn a_line_that_a_crash_joined_to_the_next_loses_only_its_own_end() {
    let chain = Chain::default().user("go").says("m1", "ok").says("m1", "ok?").user("more");
    let mut lines: Vec<String> = chain.lines.iter().map(Value::to_string).collect();
    lines[1].truncate(60);
    let joined = format!("{}\n{}{}\n{}", lines[0], lines[1], lines[2], lines[3]);
    let session = import(&joined, Format::ClaudeCode);
    assert!(outline(&session).contains(&"reply Stop: ok?".to_owned()));
    assert_eq!(session.problems.len(), 1);
}

#[test]
fn two_requests_at_once_become_two_exchanges() {
    let session = Chain::default()
        .user("go")
        .calls("m1", "t1")
        .calls("m2", "t2")
        .result("t2", "two")
        .result("t1", "one")
        .import();
    expect(
        &session,
        &[
            "input go",
            "turn 1 started",
            "request 1",
            "reply Calls: c1=Bash{\"command\":\"t1\"}",
            "c1 started",
            "c1 ok: one",
            "request 2",
            "reply Calls: c2=Bash{\"command\":\"t2\"}",
            "c2 started",
            "c2 ok: two",
            "turn 1 cancelled the transcript ends here, in the middle of the turn",
        ],
    );
}

#[test]
fn a_call_that_is_written_down_twice_is_one_call() {
    let session = Chain::default().user("go").calls("m1", "t1").calls("m1", "t1").result("t1", "x").import();
    let lines = outline(&session);
    assert!(lines.contains(&"kept again/assistant".to_owned()), "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line.contains(" started")).count(), 2);
}

#[test]
fn images_unknown_blocks_and_unknown_records_are_kept_as_they_came() {
    let image = json!({"type": "image", "source": {"data": "AAAA"}});
    let result = json!([{"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": [
        {"type": "text", "text": "see"}, image,
    ]}]);
    let session = Chain::default()
        .user(json!([image]))
        .assistant("m1", &json!({"type": "brand_new", "x": 1}))
        .calls("m1", "t1")
        .user(result)
        .add(&json!({"type": "brand-new-record"}))
        .import();
    expect(
        &session,
        &[
            "kept user/image",
            "input [image]",
            "turn 1 started",
            "kept assistant/brand_new",
            "request 1",
            "reply Calls: c1=Bash{\"command\":\"t1\"}",
            "c1 started",
            "kept tool_result/image",
            "c1 failed: see\n[image]",
            "kept brand-new-record",
            "turn 1 cancelled the transcript ends here, in the middle of the turn",
        ],
    );
}

#[test]
fn a_change_of_the_model_is_a_change_of_the_pod() {
    let other = json!({
        "type": "assistant",
        "message": {"id": "m2", "model": "n", "content": [{"type": "text", "text": "hi"}]},
    });
    let session = Chain::default().user("go").says("m1", "ok").user("more").add(&other).import();
    let lines = outline(&session);
    assert!(lines.contains(&"now anthropic:n".to_owned()), "{lines:#?}");
    assert_eq!(session.spec.model.name, "n");
}

#[test]
fn records_that_name_each_other_as_parents_end_all_the_same() {
    let looped = json!({"type": "user", "parentUuid": "u1", "message": {"content": "a"}});
    let session = Chain::default().add(&looped).user("b").import();
    assert!(outline(&session).contains(&"input b".to_owned()));
}
