//! Hooks and the broker, through the actors.

use std::sync::Arc;
use std::time::Duration;

use actors::hook::{Hook, Subject, Summary, Verdict};
use actors::tool::Toolbox;
use events::Event;
use events::event::hook::{HookPoint, HookRole};
use events::event::tool::CallOutcome;
use events::event::turn::TurnOutcome;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use kit::server::{Answer, StrictServer};
use kit::workshop::Workshop;
use serde_json::json;

/// A hook that answers what its function says.
struct Asked<F> {
    role: HookRole,
    points: Vec<HookPoint>,
    answer: F,
}

impl<F> Hook for Asked<F>
where
    F: Fn(&Summary) -> BoxFuture<'static, Verdict> + Send + Sync + 'static,
{
    fn name(&self) -> &'static str {
        "asked"
    }

    fn points(&self) -> &[HookPoint] {
        &self.points
    }

    fn role(&self) -> HookRole {
        self.role
    }

    fn timeout(&self) -> Duration {
        Duration::from_millis(50)
    }

    fn ask<'a>(&'a self, summary: &'a Summary) -> BoxFuture<'a, Verdict> {
        (self.answer)(summary)
    }
}

async fn workshop(
    role: HookRole,
    point: HookPoint,
    answer: impl Fn(&Summary) -> BoxFuture<'static, Verdict> + Send + Sync + 'static,
) -> Workshop {
    let hook = Asked { role, points: vec![point], answer };
    Workshop::start_with(StrictServer::start(), Toolbox::standard(), |builder| builder.hook(hook)).await
}

fn says(verdict: Verdict) -> BoxFuture<'static, Verdict> {
    futures_util::future::ready(verdict).boxed()
}

#[tokio::test]
async fn a_skip_denies_one_call_and_the_turn_goes_on() {
    let workshop = workshop(HookRole::Guard, HookPoint::BeforeCall, |summary| {
        let Subject::BeforeCall { arguments, .. } = &summary.subject else {
            panic!("only asked about calls")
        };
        let is_bad = arguments.get("command").and_then(|command| command.as_str()) == Some("touch bad");
        says(if is_bad { Verdict::Skip("not that".into()) } else { Verdict::Continue })
    })
    .await;
    workshop.server.enqueue_all([
        Answer::calls([
            ("bash", json!({"command": "touch bad"})),
            ("bash", json!({"command": "touch good"})),
        ]),
        Answer::text("done"),
    ]);
    let pod = workshop.open().await;
    let rest = pod.run("go").await.unwrap();
    assert_eq!(rest.outcome, Some(TurnOutcome::Finished));
    assert!(!workshop.directory.path().join("bad").exists());
    assert!(workshop.directory.path().join("good").exists());
    assert!(workshop.server.bodies()[1].to_string().contains("not that"));
    let answered = workshop.kinds(pod.id()).iter().filter(|kind| **kind == "hook_answered").count();
    assert_eq!(answered, 2);
    workshop.server.assert_no_refusals();
}

#[tokio::test]
async fn a_guard_that_hangs_or_panics_is_a_no_and_an_observer_is_nothing() {
    type Fault = fn(&Summary) -> BoxFuture<'static, Verdict>;
    let hangs: Fault = |_| futures_util::future::pending().boxed();
    let panics: Fault = |_| async { panic!("the hook's own fault") }.boxed();
    for fault in [hangs, panics] {
        for role in [HookRole::Guard, HookRole::Observer] {
            let workshop = workshop(role, HookPoint::BeforeCall, fault).await;
            let call = Answer::call("bash", &json!({"command": "touch ran"}));
            workshop.server.enqueue_all([call, Answer::text("done")]);
            let pod = workshop.open().await;
            let rest = pod.run("go").await.unwrap();
            assert_eq!(rest.outcome, Some(TurnOutcome::Finished));
            let ran = workshop.directory.path().join("ran").exists();
            assert_eq!(ran, role == HookRole::Observer);
            assert!(workshop.kinds(pod.id()).contains(&"hook_failed"));
        }
    }
}

#[tokio::test]
async fn an_abort_before_a_request_ends_the_turn_and_nothing_is_sent() {
    let workshop = workshop(HookRole::Guard, HookPoint::BeforeRequest, |_| {
        says(Verdict::Abort("no requests today".into()))
    })
    .await;
    let pod = workshop.open().await;
    let rest = pod.run("go").await.unwrap();
    assert_eq!((rest.outcome, rest.reason.as_str()), (Some(TurnOutcome::Aborted), "no requests today"));
    assert!(workshop.server.bodies().is_empty());
}

#[tokio::test]
async fn a_prompt_that_a_hook_objects_to_is_not_accepted() {
    let workshop =
        workshop(HookRole::Guard, HookPoint::PromptSubmitted, |_| says(Verdict::Abort("no".into()))).await;
    let pod = workshop.open().await;
    assert_eq!(pod.submit("go").await, Err(actors::PodError::Refused("no".into())));
    assert!(!workshop.kinds(pod.id()).contains(&"input_received"));
}

#[tokio::test]
async fn a_pause_leaves_the_turn_for_a_person_and_every_call_answered() {
    let workshop =
        workshop(HookRole::Guard, HookPoint::BeforeCall, |_| says(Verdict::Pause("look first".into()))).await;
    workshop.server.enqueue(Answer::call("bash", &json!({"command": "touch ran"})));
    let pod = workshop.open().await;
    let rest = pod.run("go").await.unwrap();
    assert_eq!(rest.outcome, Some(TurnOutcome::Paused));
    assert!(!workshop.directory.path().join("ran").exists());
    let ended = workshop.wait_for(pod.id(), |event| matches!(event, Event::CallEnded(_))).await;
    let Event::CallEnded(ended) = ended.event() else { unreachable!("just asked for") };
    assert_eq!(ended.outcome, CallOutcome::CancelledBeforeStart);
}

/// A hook that never answers and has a long time for it.
struct HangsForAnHour;

impl Hook for HangsForAnHour {
    fn name(&self) -> &'static str {
        "hangs"
    }

    fn points(&self) -> &[HookPoint] {
        &[HookPoint::BeforeRequest]
    }

    fn role(&self) -> HookRole {
        HookRole::Observer
    }

    fn timeout(&self) -> Duration {
        Duration::from_hours(1)
    }

    fn ask<'a>(&'a self, _summary: &'a Summary) -> BoxFuture<'a, Verdict> {
        futures_util::future::pending().boxed()
    }
}

#[tokio::test]
async fn cancel_is_heard_while_a_hook_hangs() {
    let server = StrictServer::start();
    let workshop =
        Workshop::start_with(server, Toolbox::standard(), |builder| builder.hook(HangsForAnHour)).await;
    let pod = workshop.open().await;
    pod.submit("go").await.unwrap();
    workshop.wait_for(pod.id(), |event| matches!(event, Event::TurnStarted(_))).await;
    pod.cancel().await.unwrap();
    let rest = pod.rest().await.unwrap();
    assert_eq!(rest.outcome, Some(TurnOutcome::Cancelled));
}

#[test]
fn a_summary_is_made_of_values_only() {
    fn is_plain<T: Clone + Send + Sync + 'static>() {}
    is_plain::<Summary>();
    is_plain::<Arc<Summary>>();
}

#[tokio::test]
async fn what_hooks_say_of_the_last_reply_is_in_the_log_and_can_end_the_turn() {
    let workshop =
        workshop(HookRole::Observer, HookPoint::AfterReply, |_| says(Verdict::Abort("not like that".into())))
            .await;
    workshop.server.enqueue(Answer::text("done"));
    let pod = workshop.open().await;
    let rest = pod.run("go").await.unwrap();
    assert_eq!((rest.outcome, rest.reason.as_str()), (Some(TurnOutcome::Aborted), "not like that"));
    assert!(workshop.kinds(pod.id()).contains(&"hook_answered"));
}
