//! A, on a whole pod: exchanges that are interrupted anywhere, summarised, approved late, or whose
//! calls end in another order. The server refuses every request that is not as it should be.

use std::collections::{BTreeMap, BTreeSet};

use actors::PodError;
use actors::hook::{Hook, Summary, Verdict};
use actors::permit::Permitted;
use actors::tool::{Scene, Tool, ToolOutput};
use events::ToolSpec;
use events::event::hook::{HookPoint, HookRole};
use events::event::turn::TurnOutcome;
use events::item::Call;
use events::spec::Effect;
use kit::log::{called, given, said};
use tokio::sync::{Notify, watch};

use super::*;

/// How often each call has ended.
fn ends_by_call(log: &[Arc<Envelope>]) -> BTreeMap<CallId, usize> {
    ends(log).into_iter().fold(BTreeMap::new(), |mut ends, (call, _)| {
        *ends.entry(call).or_default() += 1;
        ends
    })
}

/// A01, A08
#[tokio::test]
async fn a_session_that_is_cut_at_any_event_gives_each_call_one_end_though_their_ids_repeat() {
    for model in MODELS {
        let mut workshop = Workshop::start().await;
        // The first turn and the fifth request use the same ids, and the crash may be in both.
        let exchange = |words: &str| {
            Answer::reasoning(words)
                .and_raw_call("call-1", "list_files", "{}")
                .and_raw_call("call-1", "bash", "{\"command\":\"true\"}")
                .and_raw_call("", "write_file", "{\"path\":\"a\",\"content\":\"b\"}")
        };
        let script = [exchange("first"), Answer::text("one"), exchange("second"), Answer::text("two")];
        workshop.server.enqueue_all(script);
        let pod = workshop.open_as(workshop.spec_of(model)).await;
        pod.run("go").await.unwrap();
        pod.run("and again").await.unwrap();
        let whole = workshop.log(pod.id());
        let mut left = Vec::new();
        for end in 2..=whole.len() {
            let id = left_over(&workshop, &whole[..end]).await;
            let pod = workshop.runtime.pod(id).await.unwrap();
            pod.resume(None).await.unwrap();
            pod.rest().await.unwrap();
            assert_eq!(pod.run("and now?").await.unwrap().outcome, Some(TurnOutcome::Finished));
            let log = workshop.log(id);
            let calls = log.iter().map(|envelope| match envelope.event() {
                Event::ReplyReceived(reply) => reply
                    .parts
                    .iter()
                    .filter(|part| matches!(part, events::event::model::Part::Call(_)))
                    .count(),
                _ => 0,
            });
            let calls: usize = calls.sum();
            let ends = ends_by_call(&log);
            assert!(ends.len() == calls && ends.values().all(|ends| *ends == 1), "cut at {end}: {ends:?}");
            left.push((id, log.len()));
        }
        for _ in 0..3 {
            workshop.restart().await;
            for (id, events) in &left {
                workshop.runtime.pod(*id).await.unwrap();
                assert_eq!(workshop.log(*id).len(), *events, "taking it up again adds nothing");
            }
        }
        workshop.server.assert_no_refusals();
    }
}

/// Thinks, calls two tools, and says something.
fn long_turn(step: usize) -> [Answer; 2] {
    let long = format!("yes {step} | head -c 2000");
    [
        Answer::reasoning("Both at once.")
            .and_call("bash", &json!({"command": long}))
            .and_call("list_files", &json!({})),
        Answer::text("Read."),
    ]
}

/// A03
#[tokio::test]
async fn whatever_a_compaction_is_told_to_keep_the_next_request_is_accepted() {
    for model in MODELS {
        let workshop = Workshop::start().await;
        let pod = workshop.open_as(workshop.spec_of(model)).await;
        for step in 0..4 {
            workshop.server.enqueue_all(long_turn(step));
            pod.run(format!("step {step}")).await.unwrap();
        }
        let whole = workshop.log(pod.id());
        // From less than one exchange to more than there is.
        for retained in [0, 1, 20, 300, 550, 600, 900, 1500, 100_000] {
            let pod = workshop.runtime.pod(left_over(&workshop, &whole).await).await.unwrap();
            let mut spec = workshop.spec_of(model);
            spec.context.retained_tokens = retained;
            pod.resume(Some(spec)).await.unwrap();
            let before = workshop.server.bodies().len();
            workshop.server.enqueue(Answer::text("A summary."));
            pod.compact().await.unwrap();
            pod.rest().await.unwrap();
            let asked = workshop.server.bodies().len() - before;
            let finished = count(&workshop, pod.id(), "compaction_finished");
            assert_eq!((asked, finished), if retained < 2000 { (1, 1) } else { (0, 0) }, "{retained}");
            if asked == 0 {
                assert_eq!(
                    count(&workshop, pod.id(), "compaction_skipped"),
                    1,
                    "it says that it did nothing"
                );
            }
            while workshop.server.unasked() > 0 {
                pod.run("on").await.unwrap();
            }
            pod.run("and on").await.unwrap();
        }
        workshop.server.assert_no_refusals();
    }
}

/// A04
#[tokio::test]
async fn a_chain_of_compactions_asked_for_while_tools_run_never_parts_a_call_from_its_result() {
    for model in MODELS {
        let workshop = Workshop::start().await;
        let mut spec = workshop.spec_of(model);
        spec.context.retained_tokens = 10;
        let pod = workshop.open_as(spec).await;
        for round in 0..5 {
            let file = format!("go{round}");
            let wait = format!("while [ ! -e {file} ]; do sleep 0.01; done; yes {round} | head -c 2000");
            workshop.server.enqueue(Answer::reasoning("Wait.").and_call("bash", &json!({"command": wait})));
            pod.submit(format!("round {round}")).await.unwrap();
            let mut started = 0;
            workshop
                .wait_for(pod.id(), |event| {
                    started += usize::from(matches!(event, Event::CallStarted(_)));
                    started == 2 * round + 1
                })
                .await;
            assert_eq!(pod.compact().await, Err(PodError::Busy), "not in the middle of an exchange");
            std::fs::write(workshop.directory.path().join(file), "").unwrap();
            workshop.server.enqueue_all([Answer::call("list_files", &json!({})), Answer::text("Done.")]);
            assert_eq!(pod.rest().await.unwrap().text, "Done.");
            workshop.server.enqueue(Answer::text(format!("Summary {round}.")));
            pod.compact().await.unwrap();
            pod.rest().await.unwrap();
            assert_eq!(count(&workshop, pod.id(), "compaction_finished"), round + 1);
        }
        workshop.server.enqueue(Answer::text("Yes."));
        pod.run("still there?").await.unwrap();
        let last = workshop.server.bodies().pop().unwrap().to_string();
        assert_eq!(last.matches("Summary ").count(), 2, "the newest with its heading, and no other: {last}");
        assert!(last.contains("Summary 4."));
        workshop.server.assert_no_refusals();
    }
}

/// Says yes when somebody has said so.
struct Approval(Arc<Notify>);

impl Hook for Approval {
    fn name(&self) -> &'static str {
        "approval"
    }

    fn points(&self) -> &[HookPoint] {
        &[HookPoint::BeforeCall]
    }

    fn role(&self) -> HookRole {
        HookRole::Guard
    }

    fn timeout(&self) -> Duration {
        Duration::from_hours(1)
    }

    fn ask<'a>(&'a self, _: &'a Summary) -> BoxFuture<'a, Verdict> {
        Box::pin(async {
            self.0.notified().await;
            Verdict::Continue
        })
    }
}

/// A05
#[tokio::test]
async fn a_call_that_waits_for_a_person_outlasts_the_talk_and_runs_once_when_approved() {
    for model in MODELS {
        let approved = Arc::new(Notify::new());
        let hook = Approval(Arc::clone(&approved));
        let server = StrictServer::start();
        let workshop = Workshop::start_with(server, Toolbox::standard(), |builder| builder.hook(hook)).await;
        workshop.server.enqueue(Answer::call("bash", &json!({"command": "echo once | tee -a ran"})));
        workshop.server.enqueue(Answer::text("Done."));
        let pod = workshop.open_as(workshop.spec_of(model)).await;
        pod.submit("go").await.unwrap();
        workshop.wait_for(pod.id(), |event| matches!(event, Event::ReplyReceived(_))).await;
        for message in 0..12 {
            pod.submit(format!("meanwhile {message}")).await.unwrap();
        }
        assert_eq!(pod.compact().await, Err(PodError::Busy));
        assert_eq!(count(&workshop, pod.id(), "call_started"), 0);
        approved.notify_one();
        assert_eq!(pod.rest().await.unwrap().text, "Done.");
        assert_eq!(std::fs::read_to_string(workshop.directory.path().join("ran")).unwrap(), "once\n");
        let body = workshop.server.bodies()[1].to_string();
        let (result, talk) = (body.find("once\\n"), body.find("meanwhile 0"));
        assert!(result.is_some() && talk > result, "the result first, then what was said: {body}");
        assert!(body.contains("meanwhile 11"));
        workshop.server.assert_no_refusals();
    }
}

/// A07
#[tokio::test]
async fn an_orphan_call_that_nobody_settled_does_not_keep_a_long_log_from_being_compacted() {
    let workshop = Workshop::start().await;
    let mut spec = workshop.spec();
    spec.context.compact_threshold = Some(2000);
    spec.context.retained_tokens = 500;
    let orphan = given()
        .opened_with(spec)
        .input("go")
        .turn()
        .request()
        .reply([said("One moment."), called("bash", &json!({"command": "true"}))])
        .started(1);
    let log = (0..200).fold(orphan, |log, turn| {
        let log = log.input(format!("question {turn}")).turn().request();
        log.says(format!("answer {turn}: it is as you thought")).turn_ended(TurnOutcome::Finished)
    });
    let log: Vec<_> = log.into_envelopes().into_iter().map(Arc::new).collect();
    let pod = workshop.runtime.pod(left_over(&workshop, &log).await).await.unwrap();
    workshop.server.enqueue_all([Answer::text("Yes."), Answer::text("They asked, and were answered.")]);
    assert_eq!(pod.run("and this?").await.unwrap().text, "Yes.");
    assert_eq!(count(&workshop, pod.id(), "compaction_finished"), 1, "by itself, between turns");
    workshop.server.enqueue(Answer::text("On."));
    pod.run("on").await.unwrap();
    let last = workshop.server.bodies().pop().unwrap().to_string();
    assert!(last.contains("were answered") && !last.contains("question 100"), "{last}");
    workshop.server.assert_no_refusals();
}

/// A tool whose calls end when the test says their name.
struct Named(watch::Sender<BTreeSet<String>>);

impl Tool for Named {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let description = "Waits for its name.".into();
        ToolSpec { name: "named".into(), description, schema, effect: Effect::Other }
    }

    fn run(&self, call: Permitted<Call>, _: Scene) -> BoxFuture<'static, ToolOutput> {
        let mut names = self.0.subscribe();
        Box::pin(async move {
            let arguments = call.get().arguments.object();
            let name = arguments["name"].as_str().unwrap();
            names.wait_for(|names| names.contains(name)).await.unwrap();
            if name == "b" {
                ToolOutput::failed("b fails")
            } else {
                ToolOutput::ok(format!("{name} is done"))
            }
        })
    }
}

/// A09
#[tokio::test]
async fn each_result_is_durable_when_its_call_ends_and_all_are_shown_in_the_order_of_the_calls() {
    for order in ["abc", "acb", "bac", "bca", "cab", "cba"] {
        for model in MODELS {
            let names = watch::Sender::new(BTreeSet::new());
            let toolbox = Toolbox::new([Arc::new(Named(names.clone())) as Arc<dyn Tool>]).unwrap();
            let workshop = Workshop::start_with(StrictServer::start(), toolbox, |builder| builder).await;
            let calls = ["a", "b", "c"].map(|name| ("named", json!({"name": name})));
            workshop.server.enqueue_all([Answer::calls(calls), Answer::text("done")]);
            let pod = workshop.open_as(workshop.spec_of(model)).await;
            pod.submit("go").await.unwrap();
            for (place, name) in order.chars().enumerate() {
                names.send_modify(|names| names.extend([name.to_string()]));
                let mut ended = 0;
                workshop
                    .wait_for(pod.id(), |event| {
                        ended += usize::from(matches!(event, Event::CallEnded(_)));
                        ended == place + 1
                    })
                    .await;
            }
            assert_eq!(pod.rest().await.unwrap().text, "done");
            let body = workshop.server.bodies()[1].to_string();
            let places = ["a is done", "b fails", "c is done"].map(|words| body.find(words));
            assert!(places.is_sorted() && places[0].is_some(), "ended as {order}: {body}");
            workshop.server.assert_no_refusals();
        }
    }
}
