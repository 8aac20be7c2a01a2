//! The table of DESIGN section 9 for one pod: what the next start does with what the log says.
//! The process is cut off at a place in its log by forking there: the fork is what would be left.

use events::event::tool::CallOutcome;
use events::event::turn::TurnOutcome;
use events::{Event, Seq};
use kit::server::Answer;
use kit::workshop::Workshop;
use serde_json::json;

#[tokio::test]
async fn a_runtime_that_is_gone_in_the_middle_of_a_call_leaves_a_turn_that_goes_on() {
    let mut workshop = Workshop::start().await;
    workshop.server.enqueue(Answer::calls([
        ("bash", json!({"command": "echo once >> ran; sleep 1000"})),
        ("bash", json!({"command": "echo quick"})),
        ("list_files", json!({})),
    ]));
    let pod = workshop.open().await;
    pod.submit("go").await.unwrap();
    let mut ended = 0;
    workshop
        .wait_for(pod.id(), |event| {
            ended += usize::from(matches!(event, Event::CallEnded(_)));
            ended == 2
        })
        .await;
    workshop.restart().await;
    workshop.server.enqueue(Answer::text("I will check."));
    let pod = workshop.runtime.pod(pod.id()).await.unwrap();
    pod.resume(None).await.unwrap();
    let rest = pod.rest().await.unwrap();
    assert_eq!((rest.outcome, rest.text.as_str()), (Some(TurnOutcome::Finished), "I will check."));
    let outcomes: Vec<CallOutcome> = workshop
        .log(pod.id())
        .iter()
        .filter_map(|envelope| match envelope.event() {
            Event::CallEnded(ended) => Some(ended.outcome),
            _ => None,
        })
        .collect();
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == CallOutcome::Ok).count(), 2);
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == CallOutcome::Unknown).count(), 1);
    // The first call may have been cut off before it wrote anything.
    let ran = std::fs::read_to_string(workshop.directory.path().join("ran")).unwrap_or_default();
    assert!(ran.lines().count() <= 1, "what may do harm is not run again: {ran:?}");
    workshop.server.assert_no_refusals();
}

#[tokio::test]
async fn restarting_three_times_adds_nothing() {
    let mut workshop = Workshop::start().await;
    workshop.server.enqueue(Answer::call("bash", &json!({"command": "sleep 1000"})));
    let pod = workshop.open().await;
    pod.submit("go").await.unwrap();
    workshop.wait_for(pod.id(), |event| matches!(event, Event::CallStarted(_))).await;
    workshop.restart().await;
    let before = workshop.log(pod.id()).len();
    for _ in 0..3 {
        workshop.runtime.pod(pod.id()).await.unwrap();
        workshop.restart().await;
    }
    assert_eq!(workshop.log(pod.id()).len(), before);
}

#[tokio::test]
async fn a_request_without_a_reply_is_sent_again_to_the_byte() {
    let mut workshop = Workshop::start().await;
    workshop.server.enqueue(Answer::text("never ends").stalling_after_events(1));
    let pod = workshop.open().await;
    pod.submit("go").await.unwrap();
    workshop.server.wait_for_stall().await;
    workshop.restart().await;
    workshop.server.enqueue(Answer::text("here"));
    let pod = workshop.runtime.pod(pod.id()).await.unwrap();
    pod.resume(None).await.unwrap();
    assert_eq!(pod.rest().await.unwrap().text, "here");
    let bodies = workshop.server.bodies();
    assert_eq!(bodies.len(), 2);
    assert_eq!(bodies[0], bodies[1]);
    let prepared = workshop.kinds(pod.id()).iter().filter(|kind| **kind == "request_prepared").count();
    assert_eq!(prepared, 1, "it is a new attempt at the same request");
}

#[tokio::test]
async fn a_log_that_ends_anywhere_can_be_taken_up_and_the_provider_accepts_the_next_request() {
    let workshop = Workshop::start().await;
    workshop.server.enqueue_all([
        Answer::text("Looking.")
            .and_call("list_files", &json!({}))
            .and_call("bash", &json!({"command": "echo hi"})),
        Answer::call("bash", &json!({"command": "exit 1"})),
        Answer::text("done"),
    ]);
    let pod = workshop.open().await;
    pod.run("go").await.unwrap();
    let head = workshop.log(pod.id()).len() as u64;
    for at in 1..=head {
        let fork = workshop.runtime.fork(pod.id(), Some(Seq(at)), None).await.unwrap();
        workshop.server.enqueue(Answer::text("fine"));
        let rest = fork.run("and now?").await.unwrap();
        assert_eq!(rest.outcome, Some(TurnOutcome::Finished), "cut at {at}: {}", rest.reason);
    }
    workshop.server.assert_no_refusals();
}

#[tokio::test]
async fn a_request_that_was_cut_off_is_built_anew_for_another_model() {
    let mut workshop = Workshop::start().await;
    workshop.server.enqueue(Answer::text("never ends").stalling_after_events(1));
    let pod = workshop.open().await;
    pod.submit("go").await.unwrap();
    workshop.server.wait_for_stall().await;
    workshop.restart().await;
    workshop.server.enqueue(Answer::text("here"));
    let pod = workshop.runtime.pod(pod.id()).await.unwrap();
    pod.resume(Some(workshop.spec_of("anthropic:another"))).await.unwrap();
    let rest = pod.rest().await.unwrap();
    assert_eq!((rest.outcome, rest.text.as_str()), (Some(TurnOutcome::Finished), "here"), "{}", rest.reason);
    workshop.server.assert_no_refusals();
}

#[tokio::test]
async fn input_that_arrives_at_any_moment_of_a_turn_is_carried_by_a_request_once() {
    let workshop = Workshop::start().await;
    for round in 0..12 {
        workshop.server.enqueue_all((0..4).map(|_| Answer::call("list_files", &json!({}))));
        workshop.server.enqueue(Answer::text("done"));
        let pod = workshop.open().await;
        pod.submit("go").await.unwrap();
        for number in 0..6 {
            pod.submit(format!("steer {round}-{number}.")).await.unwrap();
        }
        let rest = pod.rest().await.unwrap();
        assert_eq!(rest.outcome, Some(TurnOutcome::Finished), "{}", rest.reason);
        let last = workshop.server.bodies().pop().unwrap().to_string();
        for number in 0..6 {
            assert_eq!(last.matches(&format!("steer {round}-{number}.")).count(), 1, "{last}");
        }
    }
    workshop.server.assert_no_refusals();
}
