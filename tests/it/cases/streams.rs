//! Streams that break off, fall silent or end too early: nothing of them is run, nothing of them
//! is shown to the model, and the session goes on.

use std::time::Duration;

use actors::provider::Timeouts;
use events::Event;
use events::event::model::{EndReason, FailureKind};
use events::event::turn::TurnOutcome;
use events::projection::State;
use kit::server::{Answer, At, Then, Trouble};
use kit::workshop::Workshop;
use serde_json::json;

use super::{MODELS, chunk, count, ends, hasty, message, stream};

/// Bytes between two places at which a stream is cut. Prime, so that the cuts fall everywhere in
/// what repeats itself.
const STEP: usize = 11;

/// C01
#[tokio::test]
async fn a_call_whose_stream_is_cut_does_not_run_wherever_the_cut_is() {
    for model in MODELS {
        let workshop = Workshop::start().await;
        let ran = workshop.directory.path().join("ran");
        let mut spec = workshop.spec_of(model);
        spec.limits.retries = 0;
        for cut in (0..).step_by(STEP) {
            let reply = Answer::text("Now.").and_call("bash", &json!({"command": "echo once >> ran"}));
            workshop.server.enqueue_all([reply.cut_after_bytes(cut), Answer::text("So be it.")]);
            let pod = workshop.open_as(spec.clone()).await;
            let rest = pod.run("go").await.unwrap();
            if count(&workshop, pod.id(), "reply_received") > 0 {
                assert_eq!(std::fs::read_to_string(&ran).unwrap(), "once\n");
                assert!(cut > 300, "a reply of {cut} bytes is not whole");
                break;
            }
            assert!(!ran.exists(), "cut after {cut} bytes, it ran");
            assert_eq!(rest.outcome, Some(TurnOutcome::Paused), "{}", rest.reason);
            assert_eq!(count(&workshop, pod.id(), "call_started"), 0);
            let failed = workshop.wait_for(pod.id(), |event| matches!(event, Event::ReplyFailed(_))).await;
            let Event::ReplyFailed(failed) = failed.event() else { unreachable!("just asked for") };
            assert!(!failed.message.is_empty(), "the log says why");
            pod.resume(None).await.unwrap();
            assert_eq!(pod.rest().await.unwrap().text, "So be it.", "cut after {cut} bytes");
        }
        workshop.server.assert_no_refusals();
    }
}

/// A stream in which everything is there but the end of the message.
fn without_an_end(model: &str) -> Answer {
    let arguments = json!({"command": "touch ran"}).to_string();
    if model.starts_with("openai") {
        let function = json!({"name": "bash", "arguments": arguments});
        let call = json!({"index": 0, "id": "call_1", "type": "function", "function": function});
        return stream(&[chunk(&json!({"role": "assistant", "tool_calls": [call]}), None)]);
    }
    let block = json!({"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}});
    let delta = json!({"type": "input_json_delta", "partial_json": arguments});
    stream(&message(&block, &delta, "tool_use")[..4])
}

/// C01
#[tokio::test]
async fn a_call_that_is_whole_does_not_run_before_its_message_has_ended() {
    for model in MODELS {
        let workshop = Workshop::start().await;
        let mut spec = workshop.spec_of(model);
        spec.limits.retries = 0;
        workshop.server.enqueue(without_an_end(model));
        let pod = workshop.open_as(spec).await;
        let rest = pod.run("go").await.unwrap();
        assert_eq!(rest.outcome, Some(TurnOutcome::Paused), "{}", rest.reason);
        assert_eq!(count(&workshop, pod.id(), "call_started"), 0);
        assert!(!workshop.directory.path().join("ran").exists());
    }
}

/// C02
#[tokio::test]
async fn nothing_of_a_reply_that_was_cut_for_length_is_touched_and_the_third_pauses_the_pod() {
    for model in MODELS {
        let workshop = Workshop::start().await;
        let cut = || {
            Answer::call("write_file", &json!({"path": "a", "content": "whole"}))
                .and_call("bash", &json!({"command": "touch b"}))
                .and_raw_call("third", "write_file", "{\"path\": \"c\", \"content\": \"half of a li")
                .ending(EndReason::Length)
        };
        workshop.server.enqueue_all([cut(), cut(), cut()]);
        let pod = workshop.open_as(workshop.spec_of(model)).await;
        let rest = pod.run("go").await.unwrap();
        assert_eq!(rest.outcome, Some(TurnOutcome::Paused), "{}", rest.reason);
        assert!(rest.reason.contains("cut_replies"), "{}", rest.reason);
        assert_eq!(std::fs::read_dir(workshop.directory.path()).unwrap().count(), 0, "a file was touched");
        assert_eq!(ends(&workshop.log(pod.id())).len(), 6, "each call has its end");
        assert_eq!(count(&workshop, pod.id(), "call_started"), 0);
        assert_eq!(count(&workshop, pod.id(), "limit_reached"), 1);
        let bodies = workshop.server.bodies();
        assert_eq!(bodies.len(), 3);
        let told = bodies[1].to_string();
        assert_eq!(told.matches("limit of output tokens").count(), 3, "the model is told why: {told}");
        assert!(told.contains("in several parts"), "and what to do");
        workshop.server.enqueue(Answer::text("In small pieces, then."));
        pod.submit("Write less at a time.").await.unwrap();
        pod.resume(None).await.unwrap();
        assert_eq!(pod.rest().await.unwrap().text, "In small pieces, then.", "and a person lets it go on");
        workshop.server.assert_no_refusals();
    }
}

/// C03
#[tokio::test]
async fn an_overload_inside_a_stream_is_a_failed_attempt_and_its_words_are_never_shown_again() {
    for model in MODELS {
        let workshop = hasty(Timeouts::default()).await;
        let overloaded =
            || Answer::text("Half of a sentence that").trouble_after_events(4, Trouble::Overloaded);
        workshop.server.enqueue_all([overloaded(), overloaded(), overloaded(), Answer::text("Whole.")]);
        workshop.server.enqueue(Answer::text("Again."));
        let pod = workshop.open_as(workshop.spec_of(model)).await;
        let rest = pod.run("go").await.unwrap();
        assert_eq!((rest.outcome, rest.text.as_str()), (Some(TurnOutcome::Finished), "Whole."));
        assert_eq!(count(&workshop, pod.id(), "reply_failed"), 3);
        assert_eq!(count(&workshop, pod.id(), "reply_received"), 1);
        assert_eq!(count(&workshop, pod.id(), "request_prepared"), 1);
        pod.run("and on").await.unwrap();
        let bodies = workshop.server.bodies();
        assert!(bodies[..4].iter().all(|body| *body == bodies[0]));
        assert!(!bodies[4].to_string().contains("Half"), "{}", bodies[4]);
        workshop.server.assert_no_refusals();
    }
}

/// C03
#[tokio::test]
async fn overloads_past_the_bound_pause_the_pod_and_one_resume_goes_on() {
    for model in MODELS {
        let workshop = hasty(Timeouts::default()).await;
        let mut spec = workshop.spec_of(model);
        spec.limits.retries = 2;
        for _ in 0..3 {
            let answer = Answer::text("Half of a sentence").trouble_after_events(4, Trouble::Overloaded);
            workshop.server.enqueue(answer);
        }
        let pod = workshop.open_as(spec).await;
        let rest = pod.run("go").await.unwrap();
        assert_eq!((rest.outcome, rest.state), (Some(TurnOutcome::Paused), State::Paused));
        let kinds: Vec<FailureKind> = workshop
            .log(pod.id())
            .iter()
            .filter_map(|envelope| match envelope.event() {
                Event::ReplyFailed(failed) => Some(failed.kind),
                _ => None,
            })
            .collect();
        assert_eq!(kinds, [FailureKind::Overloaded; 3], "it is known for what it is");
        workshop.server.enqueue(Answer::text("Whole."));
        pod.resume(None).await.unwrap();
        assert_eq!(pod.rest().await.unwrap().text, "Whole.");
        workshop.server.assert_no_refusals();
    }
}

/// The ways in which an answer falls silent.
fn silences() -> [Answer; 3] {
    let words = || Answer::text("Once upon a time there was");
    [
        words().stalling_before_headers(),
        words().stalling_after_events(3),
        words().breaking_off(At::Events(3), Then::KeepAlive),
    ]
}

/// C04
#[tokio::test]
async fn silence_is_a_failed_attempt_even_when_the_connection_is_kept_alive() {
    let short = Duration::from_millis(100);
    let timeouts = Timeouts { headers: short, idle: short, event: short, ..Timeouts::default() };
    for model in MODELS {
        for silence in silences() {
            let workshop = hasty(timeouts).await;
            let mut spec = workshop.spec_of(model);
            // A slow machine may take longer than that for an answer that is no silence.
            spec.limits.retries = 20;
            workshop.server.enqueue_all([silence, Answer::text("Awake.")]);
            let pod = workshop.open_as(spec).await;
            let rest = pod.run("go").await.unwrap();
            assert_eq!(rest.outcome, Some(TurnOutcome::Finished), "{}", rest.reason);
            let failed = workshop.wait_for(pod.id(), |event| matches!(event, Event::ReplyFailed(_))).await;
            let Event::ReplyFailed(failed) = failed.event() else { unreachable!("just asked for") };
            assert!(
                matches!(failed.kind, FailureKind::HeadersTimeout | FailureKind::IdleTimeout),
                "{:?}: {}",
                failed.kind,
                failed.message
            );
            workshop.server.release_all();
        }
    }
}

/// C04
#[tokio::test]
async fn cancel_is_heard_in_every_silence_and_the_server_sees_the_client_go() {
    for model in MODELS {
        for silence in silences() {
            let workshop = Workshop::start().await;
            workshop.server.enqueue(silence);
            let pod = workshop.open_as(workshop.spec_of(model)).await;
            pod.submit("go").await.unwrap();
            workshop.server.wait_for_requests(1).await;
            pod.cancel().await.unwrap();
            assert_eq!(pod.rest().await.unwrap().outcome, Some(TurnOutcome::Cancelled));
            workshop.server.wait_for_disconnects(1).await;
            workshop.server.enqueue(Answer::text("Here."));
            assert_eq!(pod.run("still there?").await.unwrap().text, "Here.");
            workshop.server.assert_no_refusals();
        }
    }
}
