//! Cancel, pause, stop, panics: how turns end when they do not finish.

use std::sync::Arc;

use actors::permit::Permitted;
use actors::tool::{Scene, Tool, ToolOutput, Toolbox};
use events::event::tool::CallOutcome;
use events::event::turn::TurnOutcome;
use events::item::Call;
use events::projection::State;
use events::spec::Effect;
use events::{Event, ToolSpec};
use futures_util::future::BoxFuture;
use kit::server::{Answer, StrictServer};
use kit::workshop::Workshop;
use serde_json::json;

#[tokio::test]
async fn cancel_is_heard_while_a_tool_runs_and_every_call_has_its_end() {
    let workshop = Workshop::start().await;
    workshop.server.enqueue(Answer::calls([
        ("bash", json!({"command": "echo begun; sleep 1000"})),
        ("bash", json!({"command": "trap '' TERM; while true; do sleep 0.05; done"})),
    ]));
    let pod = workshop.open().await;
    pod.submit("go").await.unwrap();
    workshop.wait_for(pod.id(), |event| matches!(event, Event::CallStarted(_))).await;
    pod.cancel().await.unwrap();
    let rest = pod.rest().await.unwrap();
    assert_eq!(rest.outcome, Some(TurnOutcome::Cancelled));
    let ends = workshop.log(pod.id()).iter().filter(|e| matches!(e.event(), Event::CallEnded(_))).count();
    assert_eq!(ends, 2);
    workshop.server.enqueue(Answer::text("ok"));
    let rest = pod.run("go on").await.unwrap();
    assert_eq!(rest.outcome, Some(TurnOutcome::Finished));
    workshop.server.assert_no_refusals();
}

#[tokio::test]
async fn cancel_is_heard_while_the_model_is_silent() {
    let workshop = Workshop::start().await;
    workshop.server.enqueue(Answer::text("a long story about nothing").stalling_after_events(2));
    let pod = workshop.open().await;
    pod.submit("go").await.unwrap();
    workshop.server.wait_for_stall().await;
    pod.cancel().await.unwrap();
    let rest = pod.rest().await.unwrap();
    assert_eq!(rest.outcome, Some(TurnOutcome::Cancelled));
    assert!(!workshop.kinds(pod.id()).contains(&"reply_received"));
    workshop.server.wait_for_disconnects(1).await;
    workshop.server.enqueue(Answer::text("short"));
    pod.resume(None).await.unwrap();
    assert_eq!(pod.rest().await.unwrap().text, "short");
    workshop.server.assert_no_refusals();
}

#[tokio::test]
async fn a_paused_pod_takes_input_and_starts_nothing_until_it_is_resumed() {
    let workshop = Workshop::start().await;
    let pod = workshop.open().await;
    pod.pause("lunch").await.unwrap();
    let rest = pod.run("go").await.unwrap();
    assert_eq!((rest.state, rest.reason.as_str()), (State::Paused, "lunch"));
    assert!(workshop.server.bodies().is_empty());
    workshop.server.enqueue(Answer::text("done"));
    pod.resume(None).await.unwrap();
    assert_eq!(pod.rest().await.unwrap().text, "done");
}

#[tokio::test]
async fn a_stopped_pod_takes_no_more_work() {
    let workshop = Workshop::start().await;
    let pod = workshop.open().await;
    pod.stop("enough").await.unwrap();
    assert_eq!(pod.submit("go").await, Err(actors::PodError::Stopped));
    assert_eq!(workshop.kinds(pod.id()).last(), Some(&"pod_stopped"));
}

#[tokio::test]
async fn empty_and_oversized_input_is_refused_and_nothing_is_written() {
    let workshop = Workshop::start().await;
    let pod = workshop.open().await;
    assert_eq!(pod.submit(" \n").await, Err(actors::PodError::Empty));
    let large = "x".repeat(actors::limits::INPUT_BYTES_MAX + 1);
    assert!(matches!(pod.submit(large).await, Err(actors::PodError::TooLarge { .. })));
    assert_eq!(workshop.kinds(pod.id()), ["pod_opened"]);
}

/// A tool that does what its name says.
struct Panics;

impl Tool for Panics {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "panic".into(),
            description: "Panics.".into(),
            schema: json!({"type": "object", "properties": {}}),
            effect: Effect::Other,
        }
    }

    fn run(&self, _call: Permitted<Call>, _scene: Scene) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async { panic!("the tool's own fault") })
    }
}

#[tokio::test]
async fn a_tool_that_panics_is_a_failed_call_and_the_turn_goes_on() {
    let toolbox = Toolbox::new([Arc::new(Panics) as Arc<dyn Tool>]).unwrap();
    let workshop = Workshop::start_with(StrictServer::start(), toolbox, |builder| builder).await;
    workshop.server.enqueue_all([Answer::call("panic", &json!({})), Answer::text("So be it.")]);
    let pod = workshop.open().await;
    let rest = pod.run("go").await.unwrap();
    assert_eq!(rest.outcome, Some(TurnOutcome::Finished));
    let ended = workshop.wait_for(pod.id(), |event| matches!(event, Event::CallEnded(_))).await;
    let Event::CallEnded(ended) = ended.event() else { unreachable!("just asked for") };
    assert_eq!(ended.outcome, CallOutcome::Failed);
    workshop.server.assert_no_refusals();
}

#[tokio::test]
async fn a_fork_shares_the_past_and_goes_its_own_way() {
    let workshop = Workshop::start().await;
    workshop.server.enqueue_all([Answer::text("one"), Answer::text("two"), Answer::text("other two")]);
    let pod = workshop.open().await;
    pod.run("first").await.unwrap();
    let head = workshop.log(pod.id()).last().unwrap().seq();
    pod.run("second").await.unwrap();
    let fork = workshop.runtime.fork(pod.id(), Some(head), Some("other".into())).await.unwrap();
    let rest = fork.run("another second").await.unwrap();
    assert_eq!(rest.text, "other two");
    let body = workshop.server.bodies()[2].to_string();
    assert!(
        body.contains("first") && body.contains("another second") && !body.contains("\"second\""),
        "{body}"
    );
    let seqs: Vec<u64> = workshop.log(fork.id()).iter().map(|envelope| envelope.seq().0).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    workshop.server.assert_no_refusals();
}

#[tokio::test]
async fn a_fork_in_the_middle_of_a_call_answers_it_and_works() {
    let workshop = Workshop::start().await;
    workshop.server.enqueue(Answer::call("bash", &json!({"command": "sleep 1000"})));
    let pod = workshop.open().await;
    pod.submit("go").await.unwrap();
    let started = workshop.wait_for(pod.id(), |event| matches!(event, Event::CallStarted(_))).await;
    let fork = workshop.runtime.fork(pod.id(), Some(started.seq()), None).await.unwrap();
    workshop.server.enqueue(Answer::text("fine"));
    let rest = fork.run("never mind").await.unwrap();
    assert_eq!(rest.outcome, Some(TurnOutcome::Finished), "{}", rest.reason);
    pod.cancel().await.unwrap();
    pod.rest().await.unwrap();
    workshop.server.assert_no_refusals();
}
