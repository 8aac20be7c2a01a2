//! A log in few words, for tests.

use events::event::model::{Part, ReplyReceived};
use events::{Draft, Event, Timestamp};

use super::{Format, Session, read};

/// The one session of these bytes.
pub(super) fn import(bytes: &str, format: Format) -> Session {
    let detected = read(bytes.as_bytes(), None).expect("a transcript");
    let mut sessions = read(bytes.as_bytes(), Some(format)).expect("a transcript");
    assert_eq!(detected, sessions, "it is recognised as {format}");
    assert_eq!(sessions.len(), 1);
    super::contexts::check(format.as_str(), &sessions[0]);
    sessions.remove(0)
}

/// The events after `pod_opened`, one a line.
pub(super) fn outline(session: &Session) -> Vec<String> {
    session.drafts[1..].iter().map(line).collect()
}

/// Fails with both outlines when they differ.
pub(super) fn expect(session: &Session, lines: &[&str]) {
    assert_eq!(outline(session), lines, "{:#?}", session.problems);
}

/// The replies with the moments at which they came.
pub(super) fn replies(session: &Session) -> Vec<(Option<Timestamp>, &ReplyReceived)> {
    let mut replies = Vec::new();
    for draft in &session.drafts {
        if let Event::ReplyReceived(reply) = &draft.event {
            replies.push((draft.at, reply));
        }
    }
    replies
}

fn line(draft: &Draft) -> String {
    #[expect(clippy::wildcard_enum_match_arm, reason = "imports make no other events")]
    match &draft.event {
        Event::InputReceived(input) => format!("input {}", input.text),
        Event::Notified(notified) => format!("notified {}: {}", notified.source, notified.text),
        Event::TurnStarted(started) => format!("turn {} started", started.turn),
        Event::TurnEnded(ended) => {
            format!("turn {} {} {}", ended.turn, ended.outcome.as_str(), ended.reason).trim_end().to_owned()
        }
        Event::RequestPrepared(prepared) => format!("request {}", prepared.request),
        Event::ReplyReceived(reply) => {
            let parts: Vec<String> = reply.parts.iter().map(part).collect();
            format!("reply {:?}: {}", reply.end, parts.join(", "))
        }
        Event::ReplyFailed(failed) => {
            format!("failed {:?} {}: {}", failed.kind, failed.attempt, failed.message)
        }
        Event::CallStarted(started) => format!("{} started", started.call),
        Event::CallEnded(ended) => {
            format!("{} {}: {}", ended.call, ended.outcome.as_str(), ended.content.as_str())
        }
        Event::Pruned(pruned) => format!("pruned {:?}", pruned.calls),
        Event::CompactionStarted(started) => format!("compaction: {}", started.reason),
        Event::CompactionFinished(finished) => {
            format!("compacted to {}: {}", finished.kept_from, finished.summary)
        }
        Event::CompactionFailed(_) => "compaction failed".to_owned(),
        Event::SpecChanged(changed) => format!("now {}", changed.spec.model),
        Event::RecordImported(record) => format!("kept {}", record.record),
        other => panic!("an import makes no {}", other.kind()),
    }
}

fn part(part: &Part) -> String {
    match part {
        Part::Text { text } => text.clone(),
        Part::Reasoning(reasoning) => {
            let seal = if reasoning.signature.is_some() || reasoning.data.is_some() { "sealed " } else { "" };
            format!("<{seal}{}>", reasoning.text)
        }
        Part::Call(call) => format!("{}={}{}", call.call, call.tool, call.arguments.raw()),
        Part::BrokenCall { tool, raw, .. } => format!("broken {tool}{raw}"),
        Part::Opaque { json } => format!("opaque {json}"),
    }
}
