//! Tools, seen from the whole pod: what is run once is not run again, and every call has one end
//! that agrees with what happened. How each tool treats its processes is tested beside the tools.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actors::permit::Permitted;
use actors::tool::{Scene, Tool, ToolOutput, Toolbox};
use events::event::tool::CallOutcome;
use events::event::turn::TurnOutcome;
use events::item::Call;
use events::spec::Effect;
use events::{Event, Seq, ToolSpec};
use futures_util::future::BoxFuture;
use kit::server::{Answer, StrictServer};
use kit::workshop::Workshop;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{count, ends, left_over};

/// Rounds of the race. Each begins with another distance between the two.
const ROUNDS: usize = 200;

/// A tool that has its effect when it is let go, and none when it is cancelled before.
struct Gate {
    entered: Notify,
    opened: Notify,
    had_effect: AtomicBool,
}

struct Gated(Arc<Gate>);

impl Tool for Gated {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "gate".into(),
            description: "Waits.".into(),
            schema: json!({"type": "object", "properties": {}}),
            effect: Effect::Other,
        }
    }

    fn run(&self, _: Permitted<Call>, scene: Scene) -> BoxFuture<'static, ToolOutput> {
        let gate = Arc::clone(&self.0);
        Box::pin(async move {
            gate.entered.notify_one();
            tokio::select! {
                () = gate.opened.notified() => {
                    gate.had_effect.store(true, Ordering::SeqCst);
                    ToolOutput::ok("done")
                }
                () = scene.cancel.cancelled() => ToolOutput::interrupted("stopped"),
            }
        })
    }
}

async fn after(yields: usize, then: impl Future<Output = ()>) {
    for _ in 0..yields {
        tokio::task::yield_now().await;
    }
    then.await;
}

/// I05
#[tokio::test]
async fn a_call_that_ends_while_it_is_cancelled_has_one_end_that_agrees_with_its_effect() {
    let gate =
        Arc::new(Gate { entered: Notify::new(), opened: Notify::new(), had_effect: AtomicBool::new(false) });
    let toolbox = Toolbox::new([Arc::new(Gated(Arc::clone(&gate))) as Arc<dyn Tool>]).unwrap();
    let server = StrictServer::answering(|body| {
        let last = body["messages"].as_array().unwrap().last().unwrap();
        if last["role"] == "tool" { Answer::text("done") } else { Answer::call("gate", &json!({})) }
    });
    let workshop = Workshop::start_with(server, toolbox, |builder| builder).await;
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for round in 0..ROUNDS {
        gate.had_effect.store(false, Ordering::SeqCst);
        let pod = workshop.open().await;
        pod.submit("go").await.unwrap();
        gate.entered.notified().await;
        // From long before the cancel to long after it.
        let (opens_after, cancels_after) = (round % 40, 20);
        let open = async { gate.opened.notify_waiters() };
        let cancel = async { pod.cancel().await.unwrap() };
        tokio::join!(after(opens_after, open), after(cancels_after, cancel));
        let rest = pod.rest().await.unwrap();
        let ends = ends(&workshop.log(pod.id()));
        assert_eq!(ends.len(), 1, "one call, one end: {ends:?}");
        assert_eq!(count(&workshop, pod.id(), "turn_ended"), 1);
        let had_effect = gate.had_effect.load(Ordering::SeqCst);
        let expected = if had_effect { CallOutcome::Ok } else { CallOutcome::Interrupted };
        assert_eq!(ends[0].1, expected, "round {round}");
        let outcome = rest.outcome.unwrap();
        assert!(matches!(outcome, TurnOutcome::Finished | TurnOutcome::Cancelled), "{outcome:?}");
        if outcome == TurnOutcome::Finished {
            assert!(had_effect, "a turn that finished has the end of its call");
        }
        *seen.entry(ends[0].1.as_str()).or_default() += 1;
    }
    assert!(seen.len() == 2, "both came first sometimes: {seen:?}");
    workshop.server.assert_no_refusals();
}

/// I05
#[tokio::test]
async fn a_process_is_gone_when_the_cancelled_turn_has_ended() {
    let workshop = Workshop::start().await;
    workshop
        .server
        .enqueue(Answer::call("bash", &json!({"command": "echo partial; echo $$ > pid; sleep 1000"})));
    let pod = workshop.open().await;
    pod.submit("go").await.unwrap();
    let path = workshop.directory.path().join("pid");
    let process = loop {
        match std::fs::read_to_string(&path) {
            Ok(text) if text.ends_with('\n') => break text.trim().to_owned(),
            Ok(_) | Err(_) => tokio::task::yield_now().await,
        }
    };
    pod.cancel().await.unwrap();
    pod.rest().await.unwrap();
    let ended = workshop.wait_for(pod.id(), |event| matches!(event, Event::CallEnded(_))).await;
    let Event::CallEnded(ended) = ended.event() else { unreachable!("just asked for") };
    assert_eq!(ended.outcome, CallOutcome::Interrupted);
    assert!(ended.content.as_str().contains("partial"), "what it had said is kept");
    assert!(!std::path::Path::new("/proc").join(process).exists());
}

/// Steps of the run that is cut at each of its events.
const STEPS: usize = 4;

/// Appends a line in each step, as a function of the request: it does not care who asks.
fn next_step(body: &Value) -> Answer {
    let results = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    match results.count() {
        step if step < STEPS => {
            Answer::call("bash", &json!({"command": format!("echo step{step} >> lines")}))
        }
        _ => Answer::text("done"),
    }
}

/// I07
#[tokio::test]
async fn a_run_that_is_cut_at_any_event_goes_on_and_does_nothing_twice() {
    let server = StrictServer::answering(next_step);
    let workshop = Workshop::start_with(server, Toolbox::standard(), |builder| builder).await;
    let lines = workshop.directory.path().join("lines");
    let pod = workshop.open().await;
    pod.run("go").await.unwrap();
    let whole = workshop.log(pod.id());
    assert_eq!(std::fs::read_to_string(&lines).unwrap(), "step0\nstep1\nstep2\nstep3\n");
    for end in 2..=whole.len() {
        let log = &whole[..end];
        let count = |kind: &str| log.iter().filter(|envelope| envelope.event().kind() == kind).count();
        let (started, ended) = (count("call_started"), count("call_ended"));
        // The call in doubt has had its effect: running it again would show.
        let done: Vec<String> = (0..started).map(|step| format!("step{step}\n")).collect();
        std::fs::write(&lines, done.concat()).unwrap();
        let id = left_over(&workshop, log).await;
        let pod = workshop.runtime.pod(id).await.unwrap();
        pod.resume(None).await.unwrap();
        let rest = pod.rest().await.unwrap();
        assert_eq!(rest.outcome, Some(TurnOutcome::Finished), "cut at {end}: {}", rest.reason);
        let written = std::fs::read_to_string(&lines).unwrap();
        assert_eq!(written, "step0\nstep1\nstep2\nstep3\n", "cut at {end}");
        let outcomes = ends(&workshop.log(id));
        assert_eq!(outcomes.len(), STEPS, "cut at {end}: each call has one end");
        let unknown = outcomes.iter().filter(|(_, outcome)| *outcome == CallOutcome::Unknown).count();
        assert_eq!(unknown, started - ended, "cut at {end}: the one in doubt is said to be");
    }
    workshop.server.assert_no_refusals();
}

/// I07
#[tokio::test]
async fn a_fork_at_any_event_runs_nothing_by_itself() {
    let server = StrictServer::answering(next_step);
    let mut workshop = Workshop::start_with(server, Toolbox::standard(), |builder| builder).await;
    let pod = workshop.open().await;
    pod.run("go").await.unwrap();
    let head = workshop.log(pod.id()).len() as u64;
    let lines = workshop.directory.path().join("lines");
    std::fs::write(&lines, "").unwrap();
    let requests = workshop.server.bodies().len();
    let mut forks = Vec::new();
    for at in 1..=head {
        forks.push(workshop.runtime.fork(pod.id(), Some(Seq(at)), None).await.unwrap().id());
    }
    workshop.restart().await;
    for fork in forks {
        let rest = workshop.runtime.pod(fork).await.unwrap().rest().await.unwrap();
        assert_ne!(rest.state, events::projection::State::Running);
    }
    assert_eq!(std::fs::read_to_string(&lines).unwrap(), "", "replay executes nothing");
    assert_eq!(workshop.server.bodies().len(), requests, "and asks nobody");
}
