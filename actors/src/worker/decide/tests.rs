//! The rules of a turn, with plain values.

use std::time::Duration;

use events::envelope::Place;
use events::event::model::{RequestPrepared, Usage};
use events::event::pod::PodOpened;
use events::event::turn::{InputReceived, TurnStarted};
use events::spec::ToolSpec;
use events::{Event, PodId, Position, RequestNumber, Timestamp, TurnNumber};
use serde_json::json;

use super::*;

/// A turn whose log is these events.
fn given(drafts: impl IntoIterator<Item = Draft>) -> Turn {
    let mut turn = Turn::default();
    fold(&mut turn, drafts);
    turn
}

fn fold(turn: &mut Turn, drafts: impl IntoIterator<Item = Draft>) {
    for draft in drafts {
        let seq = turn.status.head.next();
        let place = Place {
            pod: PodId::from_bytes([1; 16]),
            seq,
            position: Position(seq.0),
            at: Timestamp::default(),
        };
        turn.apply(&Envelope::seal(draft, place));
    }
}

fn spec() -> Spec {
    let tool = |name: &str, effect| ToolSpec {
        name: name.into(),
        description: String::new(),
        schema: json!({"type": "object"}),
        effect,
    };
    let mut spec = Spec::new("script:x".parse().expect("a model"));
    spec.tools =
        vec![tool("look", Effect::ReadOnly), tool("put", Effect::Idempotent), tool("bash", Effect::Other)];
    spec
}

fn begun(spec: Spec) -> Vec<Draft> {
    vec![
        PodOpened { spec, name: None, parent: None, imported: None }.into(),
        InputReceived { text: "go".into() }.into(),
        TurnStarted { turn: TurnNumber(1) }.into(),
    ]
}

fn prepared(request: u32) -> Draft {
    RequestPrepared {
        turn: TurnNumber(1),
        request: RequestNumber(request),
        origin: Origin { provider: "script".into(), model: "x".into() },
        history_to: Seq(3),
        prunes: 0,
        compaction: None,
        items: 1,
        digest: Hash::of(b""),
        body_bytes: 0,
        estimated_tokens: 0,
    }
    .into()
}

fn call(tool: &str, raw: &str) -> ReplyPart {
    ReplyPart::Call { provider_id: "same".into(), tool: tool.into(), raw: raw.into() }
}

fn replied(parts: Vec<ReplyPart>, end: EndReason) -> Reply {
    let usage = Some(Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() });
    Reply { parts, usage, end, provider_id: None }
}

/// A turn with one reply in its log.
fn after_reply(parts: Vec<ReplyPart>, end: EndReason) -> Turn {
    let mut turn = given(begun(spec()));
    fold(&mut turn, [prepared(1)]);
    let (received, _) = reply(&turn, None, replied(parts, end)).expect("a request is owed a reply");
    fold(&mut turn, [received.into()]);
    turn
}

fn outcomes(step: &Step) -> Vec<(CallId, CallOutcome)> {
    let Step::Record(drafts) = step else { panic!("nothing is written down: {step:?}") };
    let end = |draft: &Draft| {
        if let Event::CallEnded(ended) = &draft.event { Some((ended.call, ended.outcome)) } else { None }
    };
    drafts.iter().filter_map(end).collect()
}

fn recorded(turn: &mut Turn, step: Step) {
    let Step::Record(drafts) = step else { panic!("nothing is written down: {step:?}") };
    fold(turn, drafts);
}

#[test]
fn a_turn_that_has_just_begun_builds_a_request_and_sends_it() {
    let mut turn = given(begun(spec()));
    assert_eq!(next(&turn), Step::Compose);
    fold(&mut turn, [prepared(1)]);
    assert_eq!(next(&turn), Step::Send);
    turn.sending = true;
    assert_eq!(next(&turn), Step::Wait);
}

#[test]
fn a_reply_without_calls_finishes_the_turn() {
    let turn = after_reply(vec![ReplyPart::Text("done".into())], EndReason::Stop);
    assert_eq!(next(&turn), Step::End(Ending::new(TurnOutcome::Finished, "")));
}

#[test]
fn input_that_came_during_the_last_reply_gets_another_request() {
    let mut turn = given(begun(spec()));
    fold(&mut turn, [prepared(1), InputReceived { text: "and this".into() }.into()]);
    let words = replied(vec![ReplyPart::Text("done".into())], EndReason::Stop);
    let (received, _) = reply(&turn, None, words).expect("owed");
    fold(&mut turn, [received.into()]);
    assert_eq!(next(&turn), Step::Compose);
}

#[test]
fn calls_get_ids_of_our_own_whatever_the_provider_calls_them() {
    let turn = after_reply(vec![call("look", "{}"), call("bash", "{\"command\":\"ls\"}")], EndReason::Calls);
    let ids: Vec<CallId> = turn.obligations.calls.keys().copied().collect();
    assert_eq!(ids, [CallId(1), CallId(2)]);
    assert!(matches!(next(&turn), Step::Gate(calls) if calls.len() == 2));
}

#[test]
fn a_call_whose_arguments_do_not_parse_is_no_call() {
    let turn = after_reply(vec![call("bash", "{\"command\":\"rm -rf")], EndReason::Calls);
    assert!(turn.obligations.calls.is_empty());
    assert_eq!(next(&turn), Step::Compose);
}

#[test]
fn nothing_of_a_reply_that_was_cut_is_run_and_the_third_in_a_row_pauses() {
    let cut = || vec![call("look", "{}"), call("bash", "{\"command\":\"ls\"}"), call("bash", "{\"comm")];
    let mut turn = after_reply(cut(), EndReason::Length);
    let step = next(&turn);
    let cancelled = CallOutcome::CancelledBeforeStart;
    assert_eq!(outcomes(&step), [(CallId(1), cancelled), (CallId(2), cancelled)]);
    recorded(&mut turn, step);
    for number in 2..=3 {
        assert_eq!(next(&turn), Step::Compose);
        fold(&mut turn, [prepared(number)]);
        let (received, _) =
            reply(&turn, Some(CallId(10 * number)), replied(cut(), EndReason::Length)).expect("owed");
        fold(&mut turn, [received.into()]);
        let step = next(&turn);
        recorded(&mut turn, step);
    }
    assert!(matches!(next(&turn), Step::End(Ending { outcome: TurnOutcome::Paused, limit: Some(_), .. })));
    fold(&mut turn, [events::event::turn::Resumed {}.into()]);
    assert_eq!(next(&turn), Step::Compose, "whoever resumes means another try");
}

#[test]
fn after_a_crash_what_does_no_harm_runs_again_and_what_may_is_unknown() {
    let calls = vec![call("look", "{}"), call("put", "{}"), call("bash", "{}")];
    let mut turn = after_reply(calls, EndReason::Calls);
    let owed: Vec<Call> = turn.obligations.calls.values().map(|debt| debt.call.clone()).collect();
    let starts: Vec<Draft> = owed.iter().map(|call| start(&turn, call)).collect();
    fold(&mut turn, starts);
    let step = next(&turn);
    assert_eq!(outcomes(&step), [(CallId(3), CallOutcome::Unknown)]);
    recorded(&mut turn, step);
    assert_eq!(next(&turn), Step::Rerun(owed[..2].to_vec()));
    turn.running.extend([CallId(1), CallId(2)]);
    assert_eq!(next(&turn), Step::Wait);
}

#[test]
fn a_stopped_turn_answers_every_call_before_it_ends() {
    let mut turn = after_reply(vec![call("look", "{}"), call("bash", "{}")], EndReason::Calls);
    let first = turn.obligations.calls[&CallId(1)].call.clone();
    let started = start(&turn, &first);
    fold(&mut turn, [started]);
    turn.running.insert(CallId(1));
    let ending = Ending::new(TurnOutcome::Cancelled, "cancelled by the user");
    turn.stop = Some(ending.clone());
    let step = next(&turn);
    assert_eq!(outcomes(&step), [(CallId(2), CallOutcome::CancelledBeforeStart)]);
    recorded(&mut turn, step);
    assert_eq!(next(&turn), Step::Wait, "the first call still runs");
    let output = ToolOutput {
        outcome: CallOutcome::Interrupted,
        summary: "stopped".into(),
        content: String::new(),
        whole: None,
        bytes: 0,
    };
    let ended = result(&turn, CallId(1), &output, 5);
    turn.running.remove(&CallId(1));
    fold(&mut turn, [ended]);
    assert_eq!(next(&turn), Step::End(ending));
}

#[test]
fn requests_in_a_turn_and_budgets_of_a_session_have_their_limits() {
    let mut limited = spec();
    limited.limits.requests_per_turn = 1;
    let mut turn = given(begun(limited));
    fold(&mut turn, [prepared(1)]);
    let (received, _) = reply(&turn, None, replied(vec![call("nope", "{")], EndReason::Calls)).expect("owed");
    fold(&mut turn, [received.into()]);
    let Step::End(ending) = next(&turn) else { panic!("the turn goes on") };
    assert_eq!(ending.outcome, TurnOutcome::Paused);
    assert_eq!(ending.limit.as_ref().map(|limit| limit.limit.as_str()), Some("requests_per_turn"));
    let kinds: Vec<&str> = ended(&turn, &ending).iter().map(|draft| draft.event.kind()).collect();
    assert_eq!(kinds, ["limit_reached", "turn_ended", "paused"]);

    let mut spent = spec();
    spent.limits.max_tokens = Some(15);
    let mut turn = given(begun(spent));
    fold(&mut turn, [prepared(1)]);
    let (received, _) = reply(&turn, None, replied(vec![call("nope", "{")], EndReason::Calls)).expect("owed");
    fold(&mut turn, [received.into()]);
    assert!(matches!(next(&turn), Step::End(Ending { outcome: TurnOutcome::Exhausted, .. })));
}

fn failed(kind: FailureKind) -> Failure {
    Failure {
        kind,
        message: "no".into(),
        status: None,
        retry_after: None,
        draft: "half a se".into(),
        provider_request_id: None,
    }
}

#[test]
fn a_failed_attempt_is_an_event_and_the_same_request_is_sent_again() {
    let mut turn = given(begun(spec()));
    fold(&mut turn, [prepared(1)]);
    let (drafts, after) = failure(&turn, &failed(FailureKind::Overloaded), 0.5);
    assert_eq!(after, After::SendIn(Duration::from_millis(500)));
    fold(&mut turn, drafts);
    assert_eq!(next(&turn), Step::Send);
    for attempt in 2..=6 {
        let (drafts, after) = failure(&turn, &failed(FailureKind::Overloaded), 0.5);
        let Event::ReplyFailed(event) = &drafts[0].event else { panic!("another event") };
        assert_eq!(event.attempt, attempt);
        let is_last = matches!(after, After::End(Ending { outcome: TurnOutcome::Paused, .. }));
        assert_eq!(is_last, attempt == 6);
        fold(&mut turn, drafts);
    }
}

#[test]
fn a_failure_that_would_repeat_itself_ends_the_turn() {
    let mut turn = given(begun(spec()));
    fold(&mut turn, [prepared(1)]);
    let outcome = |kind| match failure(&turn, &failed(kind), 0.5).1 {
        After::End(ending) => Some(ending.outcome),
        After::Nothing | After::SendIn(_) => None,
    };
    assert_eq!(outcome(FailureKind::Auth), Some(TurnOutcome::Failed));
    assert_eq!(outcome(FailureKind::ContextTooLong), Some(TurnOutcome::Yielded));
}
