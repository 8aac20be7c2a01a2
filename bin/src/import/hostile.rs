//! Files that were cut, joined, damaged or made to harm: every one gives sessions that are as
//! valid as any, or an error, and never a panic.

use events::envelope::Place;
use events::{Draft, Envelope, PodId, Position, Seq, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::contexts::check;
use super::outline::outline;
use super::{Format, ImportError, read};
use odd::nearly_right;

mod odd;

/// Seals drafts as a store would.
pub(crate) fn sealed(drafts: &[Draft]) -> Vec<Envelope> {
    let place = |index: usize| Place {
        pod: PodId::from_bytes([7; 16]),
        seq: Seq(index as u64 + 1),
        position: Position(index as u64 + 1),
        at: Timestamp::from_micros(1_767_323_045_678_901),
    };
    drafts.iter().enumerate().map(|(index, draft)| Envelope::seal(draft.clone(), place(index))).collect()
}

/// Reads as every format. Whatever comes of it is valid; only a damaged log of podwork's own may
/// be a log with holes.
fn survives(bytes: &[u8]) {
    for format in Format::ALL {
        for session in read(bytes, Some(format)).unwrap_or_default() {
            if format == Format::Podwork {
                sealed(&session.drafts);
            } else {
                check(&String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]), &session);
            }
        }
    }
    let detected = super::detect::format(bytes);
    assert_eq!(read(bytes, None).ok(), detected.and_then(|format| read(bytes, Some(format)).ok()));
}

/// One small file of each format.
fn samples() -> Vec<String> {
    let lines = |lines: &[Value]| lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let call = json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"é\": 1}"}});
    let chat = json!([
        {"role": "system", "content": "s"},
        {"role": "user", "content": "gö"},
        {"role": "assistant", "content": "ok", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "\u{1b}[1mx"},
    ]);
    let use_block = json!({"type": "tool_use", "id": "t", "name": "f", "input": {"a": [1]}});
    let result_block =
        json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "r"}]});
    let blocks = json!({"system": "s", "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "h", "signature": "s"}, use_block]},
        {"role": "user", "content": [result_block]},
    ]});
    let claude = [
        json!({"type": "user", "uuid": "1", "parentUuid": null, "message": {"content": "go"}}),
        json!({"type": "assistant", "uuid": "2", "parentUuid": "1", "message": {"id": "m", "content": [use_block]}}),
        json!({"type": "user", "uuid": "3", "parentUuid": "2", "message": {"content": [result_block]}}),
        json!({"type": "system", "subtype": "compact_boundary", "uuid": "4", "logicalParentUuid": "3"}),
        json!({"type": "user", "uuid": "5", "parentUuid": "4", "isCompactSummary": true, "message": {"content": "so"}}),
    ];
    let item = |payload: Value| json!({"timestamp": "2026-01-02T03:04:05Z", "type": "response_item", "payload": payload});
    let codex = [
        item(json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]})),
        item(json!({"type": "function_call", "name": "f", "arguments": "{}", "call_id": "a"})),
        item(json!({"type": "function_call_output", "call_id": "a", "output": "r"})),
    ];
    let mini = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "```bash\nls\n```"},
        {"role": "user", "content": "<returncode>0</returncode>"},
    ]);
    let exported: Vec<String> = read(chat.to_string().as_bytes(), None)
        .map(|sessions| crate::export::lines(sealed(&sessions[0].drafts)).collect())
        .expect("a transcript");
    vec![
        lines(chat.as_array().expect("messages")),
        serde_json::to_string_pretty(&chat).expect("JSON"),
        blocks.to_string(),
        lines(&claude),
        lines(&codex),
        mini.to_string(),
        json!([{"task_id": 1, "traj": chat}]).to_string(),
        exported.join("\n"),
    ]
}

#[test]
fn a_file_that_is_cut_at_any_byte_is_read_up_to_there() {
    for sample in samples() {
        let mut longest = 0;
        for end in 0..=sample.len() {
            let Ok(sessions) = read(&sample.as_bytes()[..end], None) else { continue };
            for session in &sessions {
                if !session.drafts.is_empty() {
                    longest = longest.max(session.drafts.len());
                    sealed(&session.drafts);
                }
            }
        }
        let whole = read(sample.as_bytes(), None).expect("a transcript");
        assert!(whole.iter().any(|session| session.drafts.len() + 3 >= longest), "{sample}");
        assert!(whole.iter().all(|session| session.problems.len() <= 1), "{:?}", whole[0].problems);
    }
}

#[test]
fn what_is_no_transcript_is_an_error_that_says_so() {
    assert_eq!(read(b" \n\t", None), Err(ImportError::Empty));
    for bytes in
        [b"hello".as_slice(), b"{}", b"[]", b"[1,2]", b"null", b"\xff\xfe\x00", b"{\"a\":[{\"b\":1}]}"]
    {
        assert_eq!(read(bytes, None), Err(ImportError::Unrecognised), "{bytes:?}");
        survives(bytes);
    }
    let error = read(b"{\"a\":1}", Some(Format::OpenAiMessages)).expect_err("no messages");
    assert!(error.to_string().contains("messages"), "{error}");
    let error = "claude".parse::<Format>().expect_err("no format");
    assert!(error.to_string().contains("claude-code-jsonl"), "{error}");
}

#[test]
fn an_abyss_of_brackets_does_no_harm_anywhere() {
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(200_000));
    survives(deep.as_bytes());
    survives("[".repeat(20_000).as_bytes());
    survives("{\"a\":".repeat(20_000).as_bytes());
    for sample in samples() {
        survives(sample.replace("\"go\"", &deep).as_bytes());
        survives(sample.replace("{\"a\":[1]}", &format!("{{\"a\":{deep}}}")).as_bytes());
    }
}

#[test]
fn half_a_surrogate_pair_and_bytes_that_are_no_text_are_replaced() {
    let chat = br#"[{"role":"user","content":"a\ud83db"},{"role":"assistant","content":"c\xffd"}]"#;
    let mut chat = chat.to_vec();
    let place = chat.windows(4).position(|bytes| bytes == b"\\xff").expect("the marker");
    chat.splice(place..place + 4, [0xff]);
    let sessions = read(&chat, None).expect("a transcript");
    let lines = outline(&sessions[0]);
    assert_eq!(lines[0], "input a\u{fffd}b");
    assert_eq!(lines[3], "reply Stop: c\u{fffd}d");
    assert_eq!(sessions[0].problems.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nearly_right_records_give_valid_logs(records in prop::collection::vec(nearly_right(), 0..14)) {
        let lines: Vec<String> = records.iter().map(Value::to_string).collect();
        survives(lines.join("\n").as_bytes());
        survives(Value::from(records).to_string().as_bytes());
    }

    #[test]
    fn damaged_bytes_give_valid_logs(
        sample in 0_usize..8,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_usize..3), 1..6),
    ) {
        let mut bytes = samples().swap_remove(sample).into_bytes();
        for (place, byte, how) in damage {
            let place = place.index(bytes.len());
            match how {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, byte),
                _ => drop(bytes.drain(place..(place + 3).min(bytes.len()))),
            }
            if bytes.is_empty() {
                return Ok(());
            }
        }
        survives(&bytes);
    }
}
