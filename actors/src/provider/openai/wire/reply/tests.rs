//! Streams as the many servers of this dialect send them.

use events::event::model::ReasoningPart;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::provider::testing::{decode, reply_of};

/// A chunk with this delta.
fn delta(delta: &str) -> String {
    format!(r#"{{"id":"r1","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#)
}

fn finish(reason: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
}

/// The reply of these deltas that ends for this reason.
fn reply(deltas: &[&str], reason: &str) -> Result<Reply, Failure> {
    let mut data: Vec<String> = deltas.iter().map(|text| delta(text)).collect();
    data.push(finish(reason));
    data.push("[DONE]".to_owned());
    reply_of::<ChatReply>(&data.iter().map(String::as_str).collect::<Vec<_>>())
}

fn text(text: &str) -> ReplyPart {
    ReplyPart::Text(text.to_owned())
}

fn reasoning(text: &str) -> ReplyPart {
    ReplyPart::Reasoning(ReasoningPart { text: text.to_owned(), ..ReasoningPart::default() })
}

fn call(provider_id: &str, tool: &str, raw: &str) -> ReplyPart {
    let [provider_id, tool, raw] = [provider_id, tool, raw].map(str::to_owned);
    ReplyPart::Call { provider_id, tool, raw }
}

/// The calls that these lists of pieces make.
fn calls(lists: &[&str]) -> Vec<ReplyPart> {
    let deltas: Vec<String> = lists.iter().map(|list| format!(r#"{{"tool_calls":[{list}]}}"#)).collect();
    let reply = reply(&deltas.iter().map(String::as_str).collect::<Vec<_>>(), "tool_calls").expect("a reply");
    assert_eq!(reply.end, EndReason::Calls);
    reply.parts
}

#[test]
fn parts_stand_in_the_order_in_which_they_came() {
    let reply = reply(
        &[
            r#"{"role":"assistant","content":null}"#,
            r#"{"reasoning_content":"let "}"#,
            r#"{"reasoning_content":"me"}"#,
            r#"{"content":""}"#,
            r#"{"content":"I "}"#,
            r#"{"content":"look"}"#,
            r#"{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"bash","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\": 1}"}}]}"#,
            r#"{"content":"done"}"#,
        ],
        "tool_calls",
    );
    let reply = reply.expect("a reply");
    assert_eq!(
        reply.parts,
        [reasoning("let me"), text("I look"), call("a", "bash", "{\"x\": 1}"), text("done")]
    );
    assert_eq!(reply.provider_id.as_deref(), Some("r1"));
}

#[test]
fn pieces_of_calls_are_put_together_however_they_are_numbered() {
    let two = [call("a", "f", "{}"), call("b", "g", "[1]")];
    let interleaved = [
        r#"{"index":0,"id":"a","function":{"name":"f"}},{"index":1,"id":"b","function":{"name":"g"}}"#,
        r#"{"index":1,"function":{"arguments":"[1"}},{"index":0,"function":{"arguments":"{}"}}"#,
        r#"{"index":1,"function":{"arguments":"]"}}"#,
    ];
    let all_numbered_0 = [
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#,
        r#"{"index":0,"id":"b","function":{"name":"g","arguments":"[1"}}"#,
        r#"{"index":0,"function":{"arguments":"]"}}"#,
    ];
    let without_numbers = [
        r#"{"id":"a","function":{"name":"f","arguments":"{}"}}"#,
        r#"{"id":"b","function":{"name":"g","arguments":"[1"}}"#,
        r#"{"function":{"arguments":"]"}}"#,
    ];
    let id_and_name_repeated = [
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}"#,
        r#"{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}"#,
        r#"{"index":1,"id":"b","function":{"name":"g","arguments":"[1]"}}"#,
    ];
    let id_late = [
        r#"{"index":0,"id":"","function":{"name":"f","arguments":"{"}}"#,
        r#"{"index":0,"id":"a","function":{"arguments":"}"}}"#,
        r#"{"index":7,"id":"b","function":{"name":"g","arguments":"[1]"}}"#,
    ];
    for lists in [&interleaved[..], &all_numbered_0, &without_numbers, &id_and_name_repeated, &id_late] {
        assert_eq!(calls(lists), two, "{lists:?}");
    }
}

#[test]
fn ids_of_calls_may_be_empty_or_the_same() {
    let empty = [
        r#"{"index":0,"function":{"name":"f","arguments":"{}"}},{"index":1,"id":null,"function":{"name":"f","arguments":"{}"}}"#,
    ];
    assert_eq!(calls(&empty), [call("", "f", "{}"), call("", "f", "{}")]);
    let same =
        [r#"{"index":0,"id":"x","function":{"name":"f"}},{"index":1,"id":"x","function":{"name":"g"}}"#];
    assert_eq!(calls(&same), [call("x", "f", ""), call("x", "g", "")]);
    let unnumbered = [r#"{"function":{"name":"f"}},{"function":{"name":"g"}}"#];
    assert_eq!(calls(&unnumbered), [call("", "f", ""), call("", "g", "")]);
}

#[test]
fn arguments_that_came_as_an_object_are_written_as_a_string() {
    assert_eq!(
        calls(&[r#"{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}"#]),
        [call("a", "f", "{\"x\":1}")]
    );
}

#[test]
fn a_call_in_the_old_form_is_a_call() {
    let deltas =
        [r#"{"function_call":{"name":"f","arguments":"{"}}"#, r#"{"function_call":{"arguments":"}"}}"#];
    let reply = reply(&deltas, "function_call").expect("a reply");
    assert_eq!((reply.parts, reply.end), (vec![call("", "f", "{}")], EndReason::Calls));
}

#[test]
fn the_end_is_what_the_reply_is_and_not_only_what_it_says() {
    let with_call = r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}"#;
    let cases = [
        ("stop", r#"{"content":"x"}"#, EndReason::Stop),
        ("stop", with_call, EndReason::Calls),
        ("tool_calls", r#"{"content":"x"}"#, EndReason::Stop),
        ("length", with_call, EndReason::Length),
        ("content_filter", with_call, EndReason::Refused),
        ("eos", r#"{"content":"x"}"#, EndReason::Stop),
        ("stop", r#"{"refusal":"I will not"}"#, EndReason::Refused),
    ];
    for (reason, delta, end) in cases {
        assert_eq!(reply(&[delta], reason).expect("a reply").end, end, "{reason} after {delta}");
    }
}

#[test]
fn a_refusal_is_words() {
    let refused =
        reply(&[r#"{"content":null,"refusal":"I "}"#, r#"{"refusal":"won't"}"#], "stop").expect("a reply");
    assert_eq!(refused.parts, [text("I won't")]);
    let filtered = reply(&[], "content_filter").expect_err("nothing came");
    assert_eq!(filtered.kind, FailureKind::Refused);
}

#[test]
fn a_reply_without_any_part_is_empty_unless_its_room_was_spent() {
    assert_eq!(reply(&[r#"{"content":""}"#], "stop").expect_err("empty").kind, FailureKind::Empty);
    let spent = reply(&[], "length").expect("a proper end");
    assert_eq!((spent.parts, spent.end), (vec![], EndReason::Length));
}

#[test]
fn a_stream_without_an_end_reason_is_truncated_even_when_it_says_done() {
    let half = delta(r#"{"content":"ha"}"#);
    let failure = reply_of::<ChatReply>(&[&half, "[DONE]"]).expect_err("no end");
    assert_eq!((failure.kind, failure.draft.as_str()), (FailureKind::Truncated, "ha"));
    assert_eq!(reply_of::<ChatReply>(&[]).expect_err("nothing").kind, FailureKind::Truncated);
}

#[test]
fn an_error_inside_the_stream_is_the_failure_and_keeps_the_draft() {
    let half = delta(r#"{"content":"ha"}"#);
    for error in [
        r#"{"error":{"message":"busy","type":"overloaded_error"}}"#,
        r#"{"error":{"message":"The engine is currently overloaded","type":"server_error","code":503}}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"error","error":{"code":529,"message":"x"}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"insufficient_system_resource"}]}"#,
    ] {
        let failure = reply_of::<ChatReply>(&[&half, error, &finish("stop")]).expect_err(error);
        assert_eq!((failure.kind, failure.draft.as_str()), (FailureKind::Overloaded, "ha"), "{error}");
    }
}

#[test]
fn what_is_no_json_is_malformed() {
    let failure = reply_of::<ChatReply>(&["<html>"]).expect_err("no JSON");
    assert_eq!(failure.kind, FailureKind::Malformed);
    assert!(failure.message.contains("<html>"), "{failure}");
}

#[test]
fn half_a_pair_of_surrogates_does_not_lose_the_reply() {
    let reply = reply(&[r#"{"content":"a\ud99c"}"#], "stop").expect("a reply");
    assert_eq!(reply.parts, [text("a\u{fffd}")]);
}

#[test]
fn lists_of_content_are_read_as_words_and_reasoning() {
    let reply = reply(
        &[
            r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}"#,
            r#"{"content":[{"type":"text","text":"yes"}]}"#,
        ],
        "stop",
    );
    assert_eq!(reply.expect("a reply").parts, [reasoning("hm"), text("yes")]);
}

#[test]
fn reasoning_under_two_names_is_taken_once() {
    let reply = reply(&[r#"{"reasoning":"a","reasoning_content":"a"}"#], "stop").expect("a reply");
    assert_eq!(reply.parts, [reasoning("a")]);
}

#[test]
fn usage_is_read_however_odd_it_is() {
    let usage_of = |usage: &str| {
        let usage = format!(r#"{{"choices":[],"usage":{usage}}}"#);
        let words = delta(r#"{"content":"x"}"#);
        reply_of::<ChatReply>(&[&words, &finish("stop"), &usage]).expect("a reply").usage
    };
    let known = Usage { input_tokens: 9, output_tokens: 2, ..Usage::default() };
    let cases = [
        (r#"{"prompt_tokens":9,"completion_tokens":2}"#, Some(known)),
        (r#"{"prompt_tokens":9.0,"completion_tokens":2.7}"#, Some(known)),
        (
            r#"{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":1}}"#,
            Some(Usage { cached_tokens: 4, reasoning_tokens: 1, ..known }),
        ),
        (
            r#"{"prompt_tokens":9,"completion_tokens":2,"prompt_cache_hit_tokens":99}"#,
            Some(Usage { cached_tokens: 9, ..known }),
        ),
        (r#"{"prompt_tokens":9,"completion_tokens":-2}"#, Some(Usage { output_tokens: 0, ..known })),
        (r#"{"prompt_tokens":"9","completion_tokens":null}"#, None),
        (r#"{"prompt_tokens":0,"completion_tokens":0}"#, None),
        ("[]", None),
        ("7", None),
        ("null", None),
    ];
    for (usage, expected) in cases {
        assert_eq!(usage_of(usage), expected, "{usage}");
    }
}

#[test]
fn the_last_usage_counts() {
    let first =
        r#"{"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}"#;
    let last = r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5}}"#;
    let nothing = r#"{"choices":[],"usage":null}"#;
    let reply = reply_of::<ChatReply>(&[first, &finish("stop"), last, nothing]).expect("a reply");
    assert_eq!(reply.usage.map(|usage| usage.output_tokens), Some(5));
}

#[test]
fn a_reply_that_grows_without_end_is_refused() {
    let words = "x".repeat(1024 * 1024);
    let chunk = format!("data: {}\n\n", delta(&json!({"content": words}).to_string()));
    let failure = decode::<ChatReply>(std::iter::repeat_n(chunk.as_bytes(), 20)).0.expect_err("too large");
    assert_eq!(failure.kind, FailureKind::TooLarge);
}

/// Any JSON in the places where the dialect has something of its own.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z\\\\\"{}]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let name = prop::sample::select(vec![
            "choices",
            "delta",
            "content",
            "tool_calls",
            "function",
            "arguments",
            "index",
            "id",
            "name",
            "finish_reason",
            "usage",
            "error",
            "text",
            "thinking",
            "refusal",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name.prop_map(str::to_owned), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_json_at_all_makes_the_decoder_panic(chunks in prop::collection::vec((any_json(), any_json()), 0..6)) {
        let mut data = Vec::new();
        for (chunk, delta) in &chunks {
            data.push(chunk.to_string());
            data.push(json!({"choices": [{"delta": delta}]}).to_string());
            data.push(json!({"choices": [{"delta": {"tool_calls": [delta, chunk]}}]}).to_string());
        }
        data.push(finish("stop"));
        let _ = reply_of::<ChatReply>(&data.iter().map(String::as_str).collect::<Vec<_>>());
    }
}
