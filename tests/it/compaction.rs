//! Compactions of a pod, in their plain form, and what comes between.

use events::Event;
use events::event::turn::TurnOutcome;
use kit::server::Answer;
use kit::workshop::Workshop;
use serde_json::json;

fn count(workshop: &Workshop, pod: events::PodId, kind: &str) -> usize {
    workshop.kinds(pod).iter().filter(|other| **other == kind).count()
}

/// A pod of which a compaction leaves next to nothing word for word.
async fn talkative(workshop: &Workshop) -> actors::PodHandle {
    let mut spec = workshop.spec();
    spec.context.retained_tokens = 1;
    workshop.open_as(spec).await
}

async fn talk(workshop: &Workshop, pod: &actors::PodHandle, about: &str) {
    workshop.server.enqueue(Answer::text(format!("{about}: {}", "many words ".repeat(300))));
    pod.run(format!("Tell me of {about}.")).await.unwrap();
}

#[tokio::test]
async fn a_second_compaction_is_made_of_the_first_summary_too() {
    let workshop = Workshop::start().await;
    let pod = talkative(&workshop).await;
    for about in ["plovers", "lapwings"] {
        talk(&workshop, &pod, about).await;
        talk(&workshop, &pod, "the weather").await;
        workshop.server.enqueue(Answer::text(format!("They spoke of {about} and of THE-PLAN.")));
        pod.compact().await.unwrap();
        pod.rest().await.unwrap();
    }
    assert_eq!(count(&workshop, pod.id(), "compaction_finished"), 2, "{:?}", workshop.kinds(pod.id()));
    let summarised = workshop.server.bodies().pop().unwrap().to_string();
    assert!(summarised.contains("They spoke of plovers and of THE-PLAN."), "{summarised}");
    workshop.server.assert_no_refusals();
}

#[tokio::test]
async fn a_compaction_that_was_given_up_does_not_answer_the_next_one() {
    let workshop = Workshop::start().await;
    let pod = talkative(&workshop).await;
    for about in ["plovers", "lapwings", "dunlins"] {
        talk(&workshop, &pod, about).await;
    }
    workshop.server.enqueue(Answer::text("the WRONG summary").stalling_after_events(1));
    pod.compact().await.unwrap();
    workshop.server.wait_for_stall().await;
    pod.cancel().await.unwrap();
    workshop.server.wait_for_disconnects(1).await;
    workshop.server.enqueue(Answer::text("the right summary"));
    pod.compact().await.unwrap();
    workshop.server.release_all();
    pod.rest().await.unwrap();
    let finished = workshop.wait_for(pod.id(), |event| matches!(event, Event::CompactionFinished(_))).await;
    let Event::CompactionFinished(finished) = finished.event() else { unreachable!("just asked for") };
    assert!(finished.summary.contains("right"), "{}", finished.summary);
    assert_eq!(count(&workshop, pod.id(), "compaction_failed"), 1);
}

#[tokio::test]
async fn a_turn_that_makes_room_for_a_compaction_is_cancelled_when_a_person_says_so() {
    let workshop = Workshop::start().await;
    let mut spec = workshop.spec();
    spec.context.retained_tokens = 1;
    spec.context.compact_threshold = None;
    spec.context.compact_request_threshold = Some(1500);
    let pod = workshop.open_as(spec).await;
    let long = json!({"command": "yes many words | head -c 9000"});
    workshop
        .server
        .enqueue_all([Answer::call("bash", &long), Answer::text("the summary").stalling_after_events(1)]);
    pod.submit("go").await.unwrap();
    workshop.server.wait_for_stall().await;
    pod.cancel().await.unwrap();
    let rest = pod.rest().await.unwrap();
    assert_eq!(rest.outcome, Some(TurnOutcome::Cancelled), "{:?}", workshop.kinds(pod.id()));
    workshop.server.assert_no_refusals();
}

#[tokio::test]
async fn a_turn_that_is_too_large_for_its_threshold_is_compacted_and_goes_on() {
    let workshop = Workshop::start().await;
    let mut spec = workshop.spec();
    spec.context.retained_tokens = 1;
    spec.context.compact_threshold = None;
    spec.context.compact_request_threshold = Some(1500);
    let pod = workshop.open_as(spec).await;
    talk(&workshop, &pod, "plovers").await;
    workshop.server.enqueue_all([Answer::text("They spoke of birds."), Answer::text("done")]);
    let rest = pod.run("and of owls").await.unwrap();
    let kinds = workshop.kinds(pod.id());
    assert_eq!((rest.outcome, rest.text.as_str()), (Some(TurnOutcome::Finished), "done"), "{kinds:?}");
    assert!(kinds.contains(&"compaction_finished"), "{kinds:?}");
    let last = workshop.server.bodies().pop().unwrap().to_string();
    assert!(last.contains("They spoke of birds.") && last.contains("and of owls"), "{last}");
    workshop.server.assert_no_refusals();
}
