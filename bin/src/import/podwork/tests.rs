//! Exports that were cut, damaged or put together.

use events::event::imported::RecordImported;
use events::event::pod::PodOpened;
use events::event::turn::{InputReceived, TurnStarted};
use events::{Draft, Event, Spec, TurnNumber};

use crate::export::lines;
use crate::import::hostile::sealed;
use crate::import::{Format, ImportError, read};

fn drafts() -> Vec<Draft> {
    let spec = Spec::new("openai:m".parse().expect("a model"));
    vec![
        Draft::new(PodOpened { spec, name: Some("a pod".into()), parent: None, imported: None }),
        Draft::new(InputReceived { text: "go".into() }),
        Draft::new(TurnStarted { turn: TurnNumber(1) }).caused_by(events::Seq(2)),
        Draft::new(RecordImported { format: "f".into(), record: "r".into(), raw: "x".into() }),
    ]
}

fn export() -> Vec<String> {
    lines(sealed(&drafts())).collect()
}

#[test]
fn what_is_exported_comes_back_equal() {
    let sessions = read(export().join("\n").as_bytes(), None).expect("a transcript");
    let [session] = sessions.as_slice() else { panic!("one session") };
    assert_eq!(sealed(&session.drafts), sealed(&drafts()));
    assert_eq!(session.name.as_deref(), Some("a pod"));
    assert_eq!(session.problems, []);
}

#[test]
fn a_damaged_line_keeps_its_place() {
    let mut lines = export();
    lines[1].truncate(50);
    lines[3] = lines[3].replace("record_imported", "brand_new_event");
    let sessions = read(lines.join("\n").as_bytes(), Some(Format::Podwork)).expect("a transcript");
    let kinds: Vec<_> = sessions[0].drafts.iter().map(|draft| draft.event.kind()).collect();
    assert_eq!(kinds, ["pod_opened", "record_imported", "turn_started", "record_imported"]);
    let Event::RecordImported(kept) = &sessions[0].drafts[3].event else { panic!("kept as it came") };
    assert_eq!(kept.raw.as_str(), lines[3]);
    assert_eq!(sessions[0].problems.len(), 2);
}

#[test]
fn a_missing_line_leaves_its_place_and_a_second_one_is_left_out() {
    let mut lines = export();
    lines.remove(2);
    lines.push(lines[1].clone());
    let sessions = read(lines.join("\n").as_bytes(), None).expect("a transcript");
    let kinds: Vec<_> = sessions[0].drafts.iter().map(|draft| draft.event.kind()).collect();
    assert_eq!(kinds, ["pod_opened", "input_received", "record_imported", "record_imported"]);
    assert_eq!(sessions[0].problems.len(), 2);
}

#[test]
fn a_part_of_a_log_and_a_leap_of_places_are_refused() {
    let lines = export();
    let tail = read(lines[1..].join("\n").as_bytes(), None);
    assert!(matches!(tail, Err(ImportError::OtherShape { .. })), "{tail:?}");
    let leap = [lines[0].clone(), lines[1].replace("\"seq\":2", "\"seq\":18446744073709551615")];
    assert!(matches!(read(leap.join("\n").as_bytes(), None), Err(ImportError::OtherShape { .. })));
}

#[test]
fn a_content_that_lies_elsewhere_is_no_content() {
    let lines = export();
    let apart = lines[3]
        .replace("\"raw\":\"x\"", &format!("\"raw\":{{\"hash\":\"{}\",\"bytes\":1}}", "0".repeat(64)));
    assert_ne!(apart, lines[3]);
    let text = [&lines[..3], &[apart]].concat().join("\n");
    let sessions = read(text.as_bytes(), None).expect("a transcript");
    let Event::RecordImported(kept) = &sessions[0].drafts[3].event else { panic!("kept as it came") };
    assert_eq!(kept.record, "broken_line");
}

#[test]
fn several_logs_in_one_file_are_several_sessions() {
    let text = [export(), export()].concat().join("\n");
    assert_eq!(read(text.as_bytes(), None).expect("a transcript").len(), 2);
}
