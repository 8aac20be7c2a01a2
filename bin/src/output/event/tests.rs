//! Every kind of event can be read, and nothing in it reaches a terminal as a command.

use events::event::child::{ChildEnded, ChildSpawned, MessageSent};
use events::event::context::{
    CompactionFailed, CompactionFinished, CompactionSkipped, CompactionStarted, Pruned,
};
use events::event::hook::{HookAnswered, HookFailed, HookPoint, HookRole, HookVerdict};
use events::event::imported::RecordImported;
use events::event::limit::LimitReached;
use events::event::model::{
    EndReason, FailureKind, Origin, Part, ReasoningPart, ReplyFailed, ReplyReceived, RequestPrepared, Usage,
};
use events::event::permission::{PermissionAnswer, PermissionAnswered, PermissionAsked};
use events::event::pod::{PodForked, PodOpened, PodStopped, SpecChanged};
use events::event::tool::{CallEnded, CallProgressed, CallStarted};
use events::event::turn::{InputReceived, Notified, Paused, Resumed, TurnEnded, TurnOutcome, TurnStarted};
use events::item::Call;
use events::{Arguments, CallId, Hash, Model, PodId, RequestNumber, Seq, Spec, TurnNumber};

use super::*;

const POD: PodId = PodId::from_bytes(*b"0123456789abcdef");

/// What would turn a terminal's text red, were it printed as it is.
const EVIL: &str = "evil\x1b[31m";

fn spec() -> Spec {
    Spec::new(Model { provider: "openai".to_owned(), name: "x".to_owned() })
}

fn origin() -> Origin {
    Origin { provider: "openai".to_owned(), model: "x".to_owned() }
}

fn arguments(json: &str) -> Arguments {
    Arguments::parse(json).expect("an object")
}

fn reply() -> ReplyReceived {
    let call = Call {
        call: CallId(1),
        tool: "bash".to_owned(),
        provider_id: "x".to_owned(),
        arguments: arguments(r#"{"command":"ls -l"}"#),
    };
    ReplyReceived {
        request: RequestNumber(1),
        origin: origin(),
        parts: vec![
            Part::Reasoning(ReasoningPart { text: "hm".to_owned(), ..ReasoningPart::default() }),
            Part::Text { text: format!("I look. {EVIL}") },
            Part::Call(call),
            Part::BrokenCall { tool: EVIL.to_owned(), raw: "{".to_owned(), why: "cut".to_owned() },
            Part::Opaque { json: "{}".to_owned() },
        ],
        usage: Some(Usage { input_tokens: 2000, cached_tokens: 1000, output_tokens: 40, ..Usage::default() }),
        end: EndReason::Length,
        provider_id: None,
    }
}

fn failed() -> ReplyFailed {
    ReplyFailed {
        request: RequestNumber(1),
        attempt: 2,
        kind: FailureKind::Overloaded,
        message: EVIL.to_owned(),
        status: Some(529),
        retry_after_ms: None,
        next_attempt_in_ms: Some(2000),
        draft: String::new(),
        provider_request_id: None,
    }
}

fn ended() -> CallEnded {
    CallEnded {
        call: CallId(1),
        outcome: CallOutcome::Failed,
        summary: format!("exit code 1 {EVIL}"),
        content: "FAIL\n".repeat(9).into(),
        content_hash: None,
        content_bytes: 45,
        elapsed_ms: 240,
    }
}

fn prepared() -> RequestPrepared {
    RequestPrepared {
        turn: TurnNumber(1),
        request: RequestNumber(3),
        origin: origin(),
        history_to: Seq(4),
        prunes: 0,
        compaction: None,
        items: 3,
        digest: Hash::of(b""),
        body_bytes: 900,
        estimated_tokens: 812,
    }
}

fn finished() -> CompactionFinished {
    CompactionFinished {
        from_seq: Seq(1),
        kept_from: Seq(9),
        summary: EVIL.to_owned(),
        tokens_before: 90_000,
        tokens_after: 9000,
        worker: None,
        usage: None,
    }
}

fn evil() -> String {
    EVIL.to_owned()
}

fn one_of_each() -> Vec<Event> {
    let (call, point) = (CallId(1), HookPoint::BeforeCall);
    vec![
        PodOpened { spec: spec(), name: Some(evil()), parent: Some(POD), imported: None }.into(),
        PodForked { from: POD, at_seq: Seq(7), name: Some(evil()) }.into(),
        SpecChanged { spec: spec() }.into(),
        PodStopped { reason: evil() }.into(),
        InputReceived { text: evil() }.into(),
        Notified { source: evil(), text: evil() }.into(),
        TurnStarted { turn: TurnNumber(1) }.into(),
        TurnEnded { turn: TurnNumber(1), outcome: TurnOutcome::Paused, reason: evil() }.into(),
        Paused { reason: evil() }.into(),
        Resumed {}.into(),
        prepared().into(),
        reply().into(),
        failed().into(),
        CallStarted { call, tool: evil(), arguments: arguments(r#"{"a":"\u001b[31m"}"#) }.into(),
        CallProgressed { call, note: evil() }.into(),
        ended().into(),
        PermissionAsked { call, question: evil() }.into(),
        PermissionAnswered { call, answer: PermissionAnswer::Denied, reason: evil() }.into(),
        HookAnswered {
            hook: evil(),
            point,
            verdict: HookVerdict::Skip,
            reason: evil(),
            elapsed_ms: 3,
            call: Some(call),
        }
        .into(),
        HookFailed { hook: evil(), point, role: HookRole::Guard, reason: evil(), elapsed_ms: 3, call: None }
            .into(),
        Pruned { calls: vec![call], tokens_saved: 5000, reason: evil() }.into(),
        CompactionStarted { from_seq: Seq(1), kept_from: Seq(9), reason: evil(), tokens_before: 90_000 }
            .into(),
        finished().into(),
        CompactionFailed { reason: evil() }.into(),
        CompactionSkipped { reason: evil() }.into(),
        ChildSpawned { child: POD, name: evil() }.into(),
        ChildEnded { child: POD, outcome: TurnOutcome::Finished, text: evil() }.into(),
        MessageSent { to: POD, text: evil() }.into(),
        LimitReached { limit: evil(), maximum: evil(), value: evil() }.into(),
        RecordImported { format: evil(), record: evil(), raw: "{}".into() }.into(),
    ]
}

#[test]
fn every_kind_of_event_can_be_read_and_commands_no_terminal() {
    let events = one_of_each();
    let kinds: Vec<&str> = events.iter().map(Event::kind).collect();
    assert_eq!(kinds, Event::KINDS, "one of each kind, in the order of the list");
    for event in &events {
        let entry = Entry::of(event);
        assert!(!entry.label.is_empty() && entry.label.len() <= LABEL_COLUMNS, "{event:?}");
        let texts = entry.below.iter().map(|(_, text)| text).chain([&entry.text]);
        for text in texts {
            assert!(!text.contains('\x1b'), "{event:?} is shown as {text:?}");
        }
    }
}

#[test]
fn a_reply_shows_its_words_its_calls_and_what_it_took() {
    let entry = Entry::of(&reply().into());
    assert_eq!((entry.label, entry.text.as_str()), ("reply", "I look. evil"));
    let below: Vec<&str> = entry.below.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(
        below,
        [
            "hm",
            "c1 bash ls -l",
            "broken call of evil: cut",
            "(unknown part, 2 B)",
            "cut off at the limit of output tokens",
            "2.0k in (50 % cached), 40 out",
        ]
    );
}

#[test]
fn a_result_shows_its_summary_and_the_beginning_of_its_content() {
    let entry = Entry::of(&ended().into());
    assert_eq!(entry.text, "c1 failed · exit code 1 evil · 0.2 s");
    assert_eq!(entry.below[0].1, "FAIL\nFAIL\nFAIL\nFAIL\nFAIL\n… 4 lines more");
}

#[test]
fn a_failed_attempt_says_why_and_what_comes_next() {
    let entry = Entry::of(&failed().into());
    assert_eq!(entry.text, "attempt 2 failed: the provider has no capacity (529)");
    assert_eq!(entry.below[1].1, "next attempt in 2.0 s");
}

#[test]
fn several_arguments_are_shown_with_their_names_and_on_one_line() {
    let line = model::call_line("edit_file", &arguments(r#"{"path":"a.sh","all":true,"old_text":"a\nb"}"#));
    assert_eq!(line, "edit_file path=a.sh all=true old_text=a⏎b");
    let long = format!(r#"{{"command":"{}"}}"#, "é".repeat(500));
    assert!(model::call_line("bash", &arguments(&long)).ends_with("é…"));
}

#[test]
fn a_long_text_without_line_ends_is_cut_with_its_rest_named() {
    assert_eq!(preview_of(&"x".repeat(30), 3, 10), "xxxxxxxxxx … 20 B more");
    assert_eq!(preview_of("a\nb\nc\n", 2, 100), "a\nb\n… 1 line more");
    assert_eq!(preview_of("a\nb\n", 2, 100), "a\nb");
}
