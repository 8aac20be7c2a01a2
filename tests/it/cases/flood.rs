//! J: actors under a flood, and actors that could wait for each other.

use actors::PodError;
use actors::hook::{Hook, Summary, Verdict};
use events::event::hook::{HookPoint, HookRole};
use events::event::turn::TurnOutcome;
use futures_util::FutureExt;

use super::*;

/// J02
#[tokio::test]
async fn a_flood_of_input_is_refused_as_busy_and_cancel_does_not_wait_behind_it() {
    let workshop = Workshop::start().await;
    workshop.server.enqueue(Answer::text("a long story").stalling_after_events(1));
    let pod = workshop.open().await;
    pod.submit("go").await.unwrap();
    workshop.server.wait_for_stall().await;
    let flood: Vec<_> = (0..5000).map(|number| pod.submit(format!("message {number}"))).collect();
    let mut flood = futures_util::future::join_all(flood).boxed();
    // One poll sends them all: what is over the bound is refused there and then.
    let _ = futures_util::poll!(&mut flood);
    pod.cancel().await.unwrap();
    let answers = flood.await;
    let (taken, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.is_ok());
    assert!(refused.iter().all(|answer| **answer == Err(PodError::Busy)));
    assert!(refused.len() > 4000 && !taken.is_empty(), "{} taken", taken.len());
    let log = workshop.log(pod.id());
    let place = |is_it: fn(&Event) -> bool| log.iter().position(|envelope| is_it(envelope.event()));
    let cancelled =
        place(|event| matches!(event, Event::TurnEnded(ended) if ended.outcome == TurnOutcome::Cancelled));
    assert!(cancelled.is_some(), "{:?}", workshop.kinds(pod.id()));
    let received = count(&workshop, pod.id(), "input_received");
    assert_eq!(received, taken.len() + 1, "what was taken is in the log, and nothing else");
}

/// Never answers.
struct Silent;

impl Hook for Silent {
    fn name(&self) -> &'static str {
        "silent"
    }

    fn points(&self) -> &[HookPoint] {
        &[HookPoint::PromptSubmitted]
    }

    fn role(&self) -> HookRole {
        HookRole::Observer
    }

    fn timeout(&self) -> Duration {
        Duration::from_hours(1)
    }

    fn ask<'a>(&'a self, summary: &'a Summary) -> BoxFuture<'a, Verdict> {
        let is_waited_for = format!("{:?}", summary.subject).contains("hang");
        async move {
            if is_waited_for {
                futures_util::future::pending::<()>().await;
            }
            Verdict::Continue
        }
        .boxed()
    }
}

/// J03
#[tokio::test]
async fn a_pod_whose_hook_hangs_answers_everything_else_and_holds_no_other_pod() {
    let workshop =
        Workshop::start_with(StrictServer::start(), Toolbox::standard(), |builder| builder.hook(Silent))
            .await;
    let stuck = workshop.open().await;
    let mut hangs = stuck.submit("hang").boxed();
    let _ = futures_util::poll!(&mut hangs);
    workshop.server.enqueue_all([Answer::text("one"), Answer::text("two")]);
    assert_eq!(stuck.run("another").await.unwrap().text, "one");
    let other = workshop.open().await;
    assert_eq!(other.run("go").await.unwrap().text, "two");
    stuck.pause("enough").await.unwrap();
    assert_eq!(stuck.rest().await.unwrap().reason, "enough");
    workshop.server.assert_no_refusals();
}

/// J02
#[tokio::test]
async fn a_watcher_that_does_not_read_holds_nobody_up_and_what_is_kept_for_it_is_bounded() {
    let workshop = Workshop::start().await;
    let story = "so many words ".repeat(20_000);
    workshop.server.enqueue(Answer::text(&story));
    let pod = workshop.open().await;
    let watcher = pod.deltas();
    let rest = pod.run("go").await.unwrap();
    assert_eq!(rest.text, story, "the log has every word");
    assert!((1..=1024).contains(&watcher.len()), "{} of some 23000 pieces are kept", watcher.len());
}

/// What a hook does to the pod that asks it.
type Meddling = fn(actors::PodHandle) -> BoxFuture<'static, ()>;

/// A hook that calls its own pod back and waits for the answer.
struct Meddles {
    pod: Arc<std::sync::OnceLock<actors::PodHandle>>,
    point: [HookPoint; 1],
    meddling: Meddling,
}

impl Hook for Meddles {
    fn name(&self) -> &'static str {
        "meddles"
    }

    fn points(&self) -> &[HookPoint] {
        &self.point
    }

    fn role(&self) -> HookRole {
        HookRole::Observer
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(2)
    }

    fn ask<'a>(&'a self, _: &'a Summary) -> BoxFuture<'a, Verdict> {
        let meddling = self.pod.get().map(|pod| (self.meddling)(pod.clone()));
        Box::pin(async move {
            if let Some(meddling) = meddling {
                meddling.await;
            }
            Verdict::Continue
        })
    }
}

/// J03
#[tokio::test]
async fn a_hook_that_calls_its_own_pod_back_stops_nothing() {
    let says: Meddling = |pod| async move { drop(pod.notify("hook", "I was asked.").await) }.boxed();
    // This one waits for what waits for it, until its time is over.
    let waits: Meddling = |pod| async move { drop(pod.rest().await) }.boxed();
    let cancels: Meddling = |pod| async move { drop(pod.cancel().await) }.boxed();
    let pauses: Meddling = |pod| async move { drop(pod.pause("the hook says so").await) }.boxed();
    let cases = [
        (HookPoint::BeforeRequest, says, TurnOutcome::Finished),
        // Each reply brings another word to answer: the limit of requests ends that.
        (HookPoint::AfterReply, says, TurnOutcome::Paused),
        (HookPoint::BeforeCall, waits, TurnOutcome::Finished),
        (HookPoint::BeforeCall, cancels, TurnOutcome::Cancelled),
        (HookPoint::AfterCall, cancels, TurnOutcome::Cancelled),
        (HookPoint::BeforeRequest, pauses, TurnOutcome::Paused),
    ];
    for (place, (point, meddling, expected)) in cases.into_iter().enumerate() {
        let handle = Arc::new(std::sync::OnceLock::new());
        let hook = Meddles { pod: Arc::clone(&handle), point: [point], meddling };
        let server = StrictServer::start();
        let workshop = Workshop::start_with(server, Toolbox::standard(), |builder| builder.hook(hook)).await;
        workshop.server.enqueue_all([Answer::call("list_files", &json!({})), Answer::text("done")]);
        let mut spec = workshop.spec();
        spec.limits.requests_per_turn = 5;
        let pod = workshop.open_as(spec).await;
        handle.set(pod.clone()).ok().unwrap();
        let rest = pod.run("go").await.unwrap();
        assert_eq!(rest.outcome, Some(expected), "case {place}: {}", rest.reason);
        let ends = ends(&workshop.log(pod.id()));
        assert!(ends.len() <= 1, "case {place}: {ends:?}");
        workshop.server.assert_no_refusals();
    }
}
