//! Streams as they come, and as they should not.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::provider::testing::reply_of;

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":10,"cache_read_input_tokens":3,"cache_creation_input_tokens":4,"output_tokens":1}}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn end(reason: &str) -> String {
    format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":7}}}}"#
    )
}

fn begin(index: u32, block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)
}

fn delta(index: u32, delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#)
}

fn stop(index: u32) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index}}}"#)
}

/// A block with its pieces.
fn block(index: u32, block: &str, deltas: &[&str]) -> Vec<String> {
    let pieces = deltas.iter().map(|piece| delta(index, piece));
    [begin(index, block)].into_iter().chain(pieces).chain([stop(index)]).collect()
}

fn decode(events: &[String]) -> Result<Reply, Failure> {
    reply_of::<MessageReply>(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A message of these blocks that ends for this reason.
fn reply(blocks: Vec<Vec<String>>, reason: &str) -> Result<Reply, Failure> {
    let mut events = vec![START.to_owned()];
    events.extend(blocks.into_iter().flatten());
    events.extend([end(reason), STOP.to_owned()]);
    decode(&events)
}

fn text(text: &str) -> ReplyPart {
    ReplyPart::Text(text.to_owned())
}

fn call(provider_id: &str, tool: &str, raw: &str) -> ReplyPart {
    let [provider_id, tool, raw] = [provider_id, tool, raw].map(str::to_owned);
    ReplyPart::Call { provider_id, tool, raw }
}

fn words(index: u32) -> Vec<String> {
    block(index, r#"{"type":"text","text":""}"#, &[r#"{"type":"text_delta","text":"hi"}"#])
}

#[test]
fn blocks_are_kept_as_they_came() {
    let thinking = block(
        0,
        r#"{"type":"thinking","thinking":"","signature":""}"#,
        &[
            r#"{"type":"thinking_delta","thinking":"I "}"#,
            r#"{"type":"thinking_delta","thinking":"see"}"#,
            r#"{"type":"signature_delta","signature":"c2ln+/="}"#,
        ],
    );
    let hidden = block(1, r#"{"type":"redacted_thinking","data":"ZW5j"}"#, &[]);
    let used = block(
        3,
        r#"{"type":"tool_use","id":"t1","name":"bash","input":{}}"#,
        &[
            r#"{"type":"input_json_delta","partial_json":""}"#,
            r#"{"type":"input_json_delta","partial_json":"{\"b\": 1,"}"#,
            r#"{"type":"input_json_delta","partial_json":" \"a\":2}"}"#,
        ],
    );
    let reply = reply(vec![thinking, hidden, words(2), used], "tool_use").expect("a reply");
    let signed =
        ReasoningPart { text: "I see".to_owned(), signature: Some("c2ln+/=".to_owned()), data: None };
    let encrypted = ReasoningPart { data: Some("ZW5j".to_owned()), ..ReasoningPart::default() };
    assert_eq!(
        reply.parts,
        [
            ReplyPart::Reasoning(signed),
            ReplyPart::Reasoning(encrypted),
            text("hi"),
            call("t1", "bash", "{\"b\": 1, \"a\":2}"),
        ]
    );
    assert_eq!((reply.end, reply.provider_id.as_deref()), (EndReason::Calls, Some("msg_1")));
}

#[test]
fn reasoning_without_a_signature_is_unsigned() {
    let thinking =
        block(0, r#"{"type":"thinking","thinking":""}"#, &[r#"{"type":"thinking_delta","thinking":"a"}"#]);
    let reply = reply(vec![thinking], "end_turn").expect("a reply");
    let unsigned = ReasoningPart { text: "a".to_owned(), ..ReasoningPart::default() };
    assert_eq!(reply.parts, [ReplyPart::Reasoning(unsigned)]);
}

#[test]
fn input_that_came_at_once_is_the_arguments_to_the_byte() {
    let whole = block(0, r#"{"type":"tool_use","id":"t","name":"f","input":{"b": 1, "a":[ ]}}"#, &[]);
    let none = block(1, r#"{"type":"tool_use","id":"t","name":"f"}"#, &[]);
    let reply = reply(vec![whole, none], "tool_use").expect("a reply");
    assert_eq!(reply.parts, [call("t", "f", "{\"b\": 1, \"a\":[ ]}"), call("t", "f", "")]);
}

#[test]
fn a_block_of_an_unknown_kind_is_kept_to_the_byte() {
    let json = r#"{"type":"new_kind",  "z":{"b":1.0,"a":"\u00e9"},"a":[ ]}"#;
    let reply = reply(vec![block(0, json, &[]), words(1)], "end_turn").expect("a reply");
    assert_eq!(reply.parts, [ReplyPart::Opaque(json.to_owned()), text("hi")]);
}

#[test]
fn the_pieces_of_an_unknown_block_are_put_into_it() {
    let unknown = block(
        0,
        r#"{"type":"server_tool_use","id":"s1","name":"web_search","input":{},"content":"a","list":[1]}"#,
        &[
            r#"{"type":"input_json_delta","partial_json":"{\"query\":"}"#,
            r#"{"type":"input_json_delta","partial_json":"\"x\"}"}"#,
            r#"{"type":"new_delta","content":"b","list":[2],"mark":true}"#,
        ],
    );
    let reply = reply(vec![unknown], "end_turn").expect("a reply");
    let [ReplyPart::Opaque(json)] = reply.parts.as_slice() else { panic!("{:?}", reply.parts) };
    let expected = json!({
        "type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"},
        "content": "ab", "list": [1, 2], "mark": true,
    });
    assert_eq!(serde_json::from_str::<Value>(json).expect("JSON"), expected);
}

#[test]
fn what_a_later_version_adds_is_passed_over() {
    let cited = block(
        0,
        r#"{"type":"text","text":""}"#,
        &[r#"{"type":"text_delta","text":"a"}"#, r#"{"type":"citations_delta","citation":{"url":"x"}}"#],
    );
    let events = [
        vec![
            START.to_owned(),
            r#"{"type":"ping"}"#.to_owned(),
            r#"{"type":"new_event","index":0}"#.to_owned(),
        ],
        cited,
        vec![end("new_reason"), STOP.to_owned()],
    ];
    let reply = decode(&events.concat()).expect("a reply");
    assert_eq!((reply.parts, reply.end), (vec![text("a")], EndReason::Stop));
}

#[test]
fn the_end_is_what_the_reply_is_and_not_only_what_it_says() {
    let used = || block(0, r#"{"type":"tool_use","id":"t","name":"f","input":{}}"#, &[]);
    let cases = [
        ("end_turn", words(0), EndReason::Stop),
        ("stop_sequence", words(0), EndReason::Stop),
        ("end_turn", used(), EndReason::Calls),
        ("tool_use", words(0), EndReason::Stop),
        ("max_tokens", used(), EndReason::Length),
        ("refusal", used(), EndReason::Refused),
    ];
    for (reason, block, end) in cases {
        assert_eq!(reply(vec![block], reason).expect("a reply").end, end, "{reason}");
    }
}

#[test]
fn replies_without_any_part_are_told_apart() {
    let kind = |reason: &str| reply(vec![], reason).expect_err(reason).kind;
    assert_eq!(kind("end_turn"), FailureKind::Empty);
    assert_eq!(kind("refusal"), FailureKind::Refused);
    assert_eq!(reply(vec![], "max_tokens").expect("a proper end").end, EndReason::Length);
}

#[test]
fn a_window_that_is_full_is_a_context_that_is_too_long() {
    let failure = reply(vec![words(0)], "model_context_window_exceeded").expect_err("full");
    assert_eq!((failure.kind, failure.draft.as_str()), (FailureKind::ContextTooLong, "hi"));
}

#[test]
fn without_its_last_event_a_message_is_truncated() {
    let events = [vec![START.to_owned()], words(0), vec![end("end_turn")]].concat();
    let failure = decode(&events).expect_err("no end");
    assert_eq!((failure.kind, failure.draft.as_str()), (FailureKind::Truncated, "hi"));
}

#[test]
fn an_error_inside_the_stream_is_the_failure_and_keeps_the_draft() {
    for error in [
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}"#,
        r#"{"error":{"code":503,"message":"busy","type":"unavailable_error"}}"#,
    ] {
        let events = [vec![START.to_owned()], words(0), vec![error.to_owned(), STOP.to_owned()]].concat();
        let failure = decode(&events).expect_err(error);
        assert_eq!((failure.kind, failure.draft.as_str()), (FailureKind::Overloaded, "hi"), "{error}");
    }
}

#[test]
fn events_that_fit_no_block_are_malformed() {
    let start = || START.to_owned();
    let text = || begin(0, r#"{"type":"text","text":""}"#);
    let cases = [
        vec![start(), delta(0, r#"{"type":"text_delta","text":"a"}"#)],
        vec![start(), text(), stop(0), delta(0, r#"{"type":"text_delta","text":"a"}"#)],
        vec![start(), text(), delta(0, r#"{"type":"thinking_delta","thinking":"a"}"#)],
        vec![start(), text(), r#"{"type":"content_block_stop"}"#.to_owned()],
        vec![start(), begin(0, "7")],
        vec![start(), text(), end("end_turn"), STOP.to_owned()],
        vec!["{".to_owned()],
    ];
    for events in cases {
        assert_eq!(decode(&events).expect_err("malformed").kind, FailureKind::Malformed, "{events:?}");
    }
}

#[test]
fn half_a_pair_of_surrogates_does_not_lose_the_reply() {
    let odd = block(0, r#"{"type":"text","text":""}"#, &[r#"{"type":"text_delta","text":"a\ud99c"}"#]);
    assert_eq!(reply(vec![odd], "end_turn").expect("a reply").parts, [text("a\u{fffd}")]);
}

#[test]
fn the_last_counts_are_those_of_the_whole_and_cached_input_is_input() {
    let usage = |last: &str| {
        let last =
            format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{last}}}"#);
        decode(&[vec![START.to_owned()], words(0), vec![last, STOP.to_owned()]].concat())
            .expect("a reply")
            .usage
    };
    let known = Usage {
        input_tokens: 17,
        cached_tokens: 3,
        cache_write_tokens: 4,
        output_tokens: 7,
        reasoning_tokens: 0,
    };
    assert_eq!(usage(r#"{"output_tokens":7}"#), Some(known));
    let all = r#"{"input_tokens":20,"cache_read_input_tokens":0,"cache_creation_input_tokens":1,"output_tokens":7}"#;
    let later = Usage { input_tokens: 21, cached_tokens: 0, cache_write_tokens: 1, ..known };
    assert_eq!(usage(all), Some(later));
    for odd in ["null", "[]", "3", r#"{"output_tokens":null}"#, r#"{"output_tokens":"x"}"#] {
        assert_eq!(usage(odd), Some(Usage { output_tokens: 1, ..known }), "{odd}");
    }
    assert_eq!(usage(r#"{"output_tokens":-3}"#), Some(Usage { output_tokens: 0, ..known }));
}

/// Any JSON in the places where the dialect has something of its own.
fn any_json() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec![
        "text",
        "thinking",
        "redacted_thinking",
        "tool_use",
        "new",
        "text_delta",
        "thinking_delta",
        "signature_delta",
        "input_json_delta",
        "message_start",
        "content_block_start",
        "end_turn",
        "{",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        (0_i64..2).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        kind.prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        let name = prop::sample::select(vec![
            "type",
            "index",
            "content_block",
            "delta",
            "text",
            "thinking",
            "signature",
            "data",
            "input",
            "partial_json",
            "usage",
            "message",
            "id",
            "name",
            "stop_reason",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(name.prop_map(str::to_owned), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_json_at_all_makes_the_decoder_panic(pieces in prop::collection::vec((any_json(), 0_u32..3), 0..12)) {
        let mut events = Vec::new();
        for (json, index) in &pieces {
            let json = json.to_string();
            events.extend([begin(*index, &json), delta(*index, &json), stop(*index), json]);
        }
        events.extend([end("end_turn"), STOP.to_owned()]);
        let _ = decode(&events);
        // Each on its own, since the first error ends a stream.
        for event in &events {
            let _ = decode(std::slice::from_ref(event));
            let _ = decode(&[begin(0, r#"{"type":"new","text":{}}"#), event.clone(), stop(0), STOP.to_owned()]);
        }
    }
}
