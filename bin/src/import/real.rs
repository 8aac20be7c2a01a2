//! Real transcripts, which lie beside the checkout and are no part of it: nothing in them is
//! lost. What should be there is counted straight from the raw JSON, without the importer.

use std::collections::BTreeMap;
use std::path::PathBuf;

use events::event::model::Part;
use events::event::turn::TurnOutcome;
use events::{Envelope, Event};
use serde_json::{Value, json};

use super::{Format, Session, read};

/// What must arrive.
#[derive(Debug, Default, PartialEq)]
struct Tally {
    /// Texts that users wrote, interrupts included.
    inputs: Vec<String>,
    notices: Vec<String>,
    summaries: Vec<String>,
    /// Texts of the model, errors in the place of a reply included.
    texts: Vec<String>,
    thoughts: Vec<String>,
    /// The provider's id, the tool and the arguments.
    calls: Vec<(String, String, Value)>,
    /// The result's text by the provider's id.
    results: Vec<(String, String)>,
    prunes: Vec<usize>,
    failures: usize,
    records: usize,
}

/// All transcripts in formats that podwork reads.
pub(super) const ALL: [&str; 14] = [
    "claude-code/cc01-tiny-tool-error.sanitised.jsonl",
    "claude-code/cc03-short-hook-progress.sanitised.jsonl",
    "claude-code/cc05-compaction.sanitised.jsonl",
    "claude-code/cc06-compaction-parallel.sanitised.jsonl",
    "claude-code/cc08-api-error-interrupted.sanitised.jsonl",
    "claude-code/cc10-compact-and-microcompact.sanitised.jsonl",
    "claude-code/cc12-api-error-message.sanitised.jsonl",
    "claude-code/cc14-480kB-tool-result.sanitised.jsonl",
    "claude-code/ob01-tiny.jsonl",
    "claude-code/ob03-file-history-only.jsonl",
    "claude-code/ob05-152-tool-calls.sanitised.jsonl",
    "messages/km01-context.jsonl",
    "messages/ms01-github-issue.sanitised.traj.json",
    "messages/tb01-gpt4o-airline-first12.json",
];

/// The bytes of a transcript, if it is there.
pub(super) fn shared(path: &str) -> Option<Vec<u8>> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared");
    let root = std::env::var_os("PODWORK_SHARED").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let path = root.join("transcripts").join(path);
    let bytes = std::fs::read(&path).ok();
    if bytes.is_none() {
        eprintln!("SKIPPED: {} is not there", path.display());
    }
    bytes
}

/// What the log says, in the same words.
fn tally(session: &Session) -> Tally {
    let mut tally = Tally::default();
    let mut ids = BTreeMap::new();
    for draft in &session.drafts {
        #[expect(clippy::wildcard_enum_match_arm, reason = "only what a transcript says is counted")]
        match &draft.event {
            Event::InputReceived(input) => tally.inputs.push(input.text.clone()),
            Event::TurnEnded(ended)
                if ended.outcome == TurnOutcome::Cancelled && ended.reason.starts_with('[') =>
            {
                tally.inputs.push(ended.reason.clone());
            }
            Event::Notified(notified) => tally.notices.push(notified.text.clone()),
            Event::CompactionFinished(finished) => tally.summaries.push(finished.summary.clone()),
            Event::ReplyFailed(failed) if failed.next_attempt_in_ms.is_none() => {
                tally.texts.push(failed.message.clone());
            }
            Event::ReplyFailed(_) => tally.failures += 1,
            Event::Pruned(pruned) => tally.prunes.push(pruned.calls.len()),
            Event::RecordImported(_) => tally.records += 1,
            Event::ReplyReceived(reply) => {
                for part in &reply.parts {
                    match part {
                        Part::Text { text } => tally.texts.push(text.clone()),
                        Part::Reasoning(reasoning) => tally.thoughts.push(reasoning.text.clone()),
                        Part::Call(call) => {
                            ids.insert(call.call, call.provider_id.clone());
                            let arguments = Value::Object(call.arguments.object());
                            tally.calls.push((call.provider_id.clone(), call.tool.clone(), arguments));
                        }
                        Part::BrokenCall { .. } | Part::Opaque { .. } => {
                            panic!("none of these files has one")
                        }
                    }
                }
            }
            Event::CallEnded(ended) if ended.outcome != events::event::tool::CallOutcome::Unknown => {
                tally.results.push((ids[&ended.call].clone(), ended.content.as_str().to_owned()));
            }
            _ => {}
        }
    }
    tally
}

/// Text without what an import cleans away.
fn cleaned(text: &str) -> String {
    let is_noise = |c: char| c.is_control() && !"\n\r\t".contains(c);
    if text.contains(is_noise) { events::text::clean_str(text) } else { text.to_owned() }
}

fn text_of(content: &Value) -> String {
    let block = |block: &Value| match block["type"].as_str() {
        Some("text") => block["text"].as_str().unwrap().to_owned(),
        kind => format!("[{}]", kind.unwrap()),
    };
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(block).collect::<Vec<_>>().join("\n"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

fn json_lines(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

fn count_claude_code(bytes: &[u8]) -> Tally {
    let mut tally = Tally::default();
    for record in json_lines(bytes) {
        let content = &record["message"]["content"];
        let flag = |key: &str| record[key] == true;
        match (record["type"].as_str().unwrap(), record["subtype"].as_str()) {
            ("user", _) if flag("isCompactSummary") => tally.summaries.push(text_of(content)),
            ("user", _) if flag("isMeta") => tally.notices.push(cleaned(&text_of(content))),
            ("assistant", _) if flag("isApiErrorMessage") => tally.texts.push(text_of(content)),
            ("user" | "assistant", _) if content.is_string() => {
                tally.inputs.push(cleaned(content.as_str().unwrap()));
            }
            ("user" | "assistant", _) => content.as_array().unwrap().iter().for_each(|block| {
                count_block(&mut tally, record["type"] == "user", block);
            }),
            (_, Some("api_error")) => {
                tally.failures += 1;
                tally.records += 1;
            }
            (_, Some("microcompact_boundary")) => {
                let ids = record["microcompactMetadata"]["compactedToolIds"].as_array().unwrap();
                let known =
                    ids.iter().filter(|id| tally.calls.iter().any(|(call, _, _)| *id == call)).count();
                tally.prunes.extend((known > 0).then_some(known));
                tally.records += 1;
            }
            _ => tally.records += 1,
        }
    }
    tally
}

fn count_block(tally: &mut Tally, is_user: bool, block: &Value) {
    let text = |key: &str| block[key].as_str().unwrap().to_owned();
    match block["type"].as_str().unwrap() {
        "text" if is_user => tally.inputs.push(cleaned(&text("text"))),
        "text" => tally.texts.push(cleaned(&text("text"))),
        "thinking" => tally.thoughts.push(text("thinking")),
        "tool_use" => tally.calls.push((text("id"), text("name"), block["input"].clone())),
        "tool_result" => {
            if let Some(blocks) = block["content"].as_array() {
                tally.records += blocks.iter().filter(|block| block["type"] != "text").count();
            }
            tally.results.push((text("tool_use_id"), cleaned(&text_of(&block["content"]))));
        }
        kind => panic!("{kind} is not counted"),
    }
}

/// The two say the same, and the order in which things came is the same too.
fn compare(name: &str, session: &Session, expected: Tally) {
    let mut found = tally(session);
    let mut expected = expected;
    // Interrupts stand where the turn ends, and one result may overtake another's reply.
    for tally in [&mut found, &mut expected] {
        tally.results.sort();
    }
    assert_eq!(found, expected, "{name}");
}

#[test]
fn nothing_of_a_claude_code_session_is_lost() {
    for path in ALL.into_iter().filter(|path| path.starts_with("claude-code/")) {
        let Some(bytes) = shared(path) else { return };
        let sessions = read(&bytes, None).expect("it is recognised");
        let [session] = sessions.as_slice() else { panic!("one session") };
        let Event::PodOpened(opened) = &session.drafts[0].event else { panic!("it opens a pod") };
        assert_eq!(opened.imported.as_deref(), Some(Format::ClaudeCode.as_str()));
        compare(path, session, count_claude_code(&bytes));
    }
}

fn count_messages(messages: &[Value]) -> Tally {
    let mut tally = Tally::default();
    for message in messages {
        let content = &message["content"];
        match message["role"].as_str().unwrap() {
            "user" => tally.inputs.push(cleaned(&text_of(content))),
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap().to_owned();
                tally.results.push((id, cleaned(&text_of(content))));
            }
            "assistant" => {
                for block in content.as_array().into_iter().flatten() {
                    match block["type"].as_str().unwrap() {
                        "think" => tally.thoughts.push(block["think"].as_str().unwrap().to_owned()),
                        _ => tally.texts.push(cleaned(block["text"].as_str().unwrap())),
                    }
                }
                tally.texts.extend(content.as_str().filter(|text| !text.is_empty()).map(cleaned));
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    let function = &call["function"];
                    let raw = function["arguments"].as_str().unwrap();
                    let arguments =
                        serde_json::from_str(raw).unwrap_or_else(|_| json!({"unparsed_arguments": raw}));
                    let name = function["name"].as_str().unwrap().to_owned();
                    tally.calls.push((call["id"].as_str().unwrap().to_owned(), name, arguments));
                }
            }
            "system" | "_system_prompt" => {}
            _ => tally.records += 1,
        }
    }
    tally
}

#[test]
fn nothing_of_the_runs_of_tau_bench_is_lost() {
    let Some(bytes) = shared("messages/tb01-gpt4o-airline-first12.json") else { return };
    let runs: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
    let sessions = read(&bytes, None).expect("it is recognised");
    assert_eq!(sessions.len(), runs.len());
    for (session, run) in sessions.iter().zip(&runs) {
        let messages = run["traj"].as_array().unwrap();
        assert_eq!(session.spec.system, messages[0]["content"].as_str().unwrap());
        let mut expected = count_messages(messages);
        expected.records += run.as_object().unwrap().len() - 1;
        compare(session.name.as_deref().unwrap(), session, expected);
    }
}

#[test]
fn nothing_of_a_kimi_context_is_lost() {
    let Some(bytes) = shared("messages/km01-context.jsonl") else { return };
    let sessions = read(&bytes, None).expect("it is recognised");
    let [session] = sessions.as_slice() else { panic!("one session") };
    compare("km01", session, count_messages(&json_lines(&bytes)));
}

#[test]
fn nothing_of_a_mini_swe_agent_trajectory_is_lost() {
    let Some(bytes) = shared("messages/ms01-github-issue.sanitised.traj.json") else { return };
    let messages: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
    let sessions = read(&bytes, None).expect("it is recognised");
    let [session] = sessions.as_slice() else { panic!("one session") };
    let found = tally(session);
    let said = |role: &str| -> Vec<String> {
        let said = messages.iter().filter(|message| message["role"] == role);
        said.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(found.texts, said("assistant"));
    assert_eq!(session.spec.system, said("system")[0]);
    let answers = found.results.into_iter().map(|(_, text)| text);
    assert_eq!(found.inputs.into_iter().chain(answers).collect::<Vec<_>>(), said("user"));
    assert_eq!(found.calls.len(), said("assistant").len());
}

/// Seals drafts as a store would, with a moment for those that bring none.
fn sealed(session: &Session) -> Vec<Envelope> {
    super::hostile::sealed(&session.drafts)
}

#[test]
fn every_session_survives_export_and_import() {
    for path in ALL {
        let Some(bytes) = shared(path) else { return };
        for session in read(&bytes, None).expect("it is recognised") {
            let log = sealed(&session);
            let text: Vec<String> = crate::export::lines(&log).collect();
            let back = read(text.join("\n").as_bytes(), None).expect("it is recognised");
            let [back] = back.as_slice() else { panic!("one session") };
            assert_eq!(sealed(back), log, "{path}");
            assert_eq!(back.problems, []);
            assert_eq!((&back.name, &back.spec), (&session.name, &session.spec));
        }
    }
}
