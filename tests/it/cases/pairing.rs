//! A: calls and their results. Whatever the log is, every call of a request has one answer, and
//! it stands where providers want it.

use events::event::turn::TurnOutcome;
use events::projection::{Context, History};
use events::{ItemBody, Seq};
use kit::invariants::{pairing, sendable, whole_exchanges};
use kit::log::{Log, called, given, origin, said};

use super::*;

fn items(log: &Log) -> Vec<Arc<events::Item>> {
    let origin = origin(&"anthropic:test".parse().unwrap());
    log.view::<Context>().items(&origin)
}

fn check(log: &Log) -> Vec<Arc<events::Item>> {
    let items = items(log);
    for verdict in [pairing(&items), whole_exchanges(&items, log.view::<History>().items()), sendable(&items)]
    {
        verdict.unwrap();
    }
    items
}

fn exchange(log: Log, words: &str) -> Log {
    let call = log.last_call() + 1;
    log.request().reply([said(words), called("bash", &json!({}))]).started(call).ended(call, words)
}

fn begun() -> Log {
    given().opened().input("go").turn()
}

/// A02
#[test]
fn a_result_without_its_call_is_left_out_and_reported() {
    let log =
        begun().ended(7, "of nothing").request().reply([called("bash", &json!({}))]).ended(9, "of another");
    let items = check(&log);
    let history: History = log.view();
    assert_eq!(history.anomalies_total(), 2);
    let results = items.iter().filter(|item| matches!(item.body, ItemBody::Result(_))).count();
    assert_eq!(results, 1, "the open call is answered, the orphans are gone");
}

/// A03
#[test]
fn a_compaction_at_any_place_cuts_between_exchanges_only() {
    let log = (0..4).fold(begun(), |log, number| {
        let call = log.last_call() + 1;
        let calls = (0..=number).map(|_| called("bash", &json!({})));
        let log = log.request().reply(calls.collect::<Vec<_>>()).input("meanwhile");
        (call..=call + number).fold(log, |log, call| log.started(call).ended(call, "out"))
    });
    for kept_from in 0..=log.last().0 + 2 {
        check(&log.clone().compacted(kept_from, "what was before").request());
    }
}

/// A04
#[test]
fn a_compaction_that_is_recorded_inside_an_exchange_stands_at_the_head_and_only_the_newest_does() {
    for chained in [2, 5] {
        let mut log = exchange(begun(), "first");
        for number in 0..chained {
            let call = log.last_call() + 1;
            let kept_from = log.last().0.saturating_sub(3);
            log = log
                .request()
                .reply([called("bash", &json!({}))])
                .started(call)
                .compacted(kept_from, format!("summary {number}"))
                .ended(call, "late");
            log = exchange(log, "more");
        }
        let items = check(&log);
        let summaries: Vec<&str> = items
            .iter()
            .filter_map(|item| match &item.body {
                ItemBody::System { text } if text.contains("summary") => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(summaries.len(), 1);
        assert!(summaries[0].contains(&format!("summary {}", chained - 1)));
        assert!(matches!(&items[0].body, ItemBody::System { .. }));
    }
}

/// A05
#[test]
fn a_compaction_does_not_fold_a_call_that_still_waits_and_its_late_answer_finds_it() {
    let waiting = exchange(begun(), "old").request().reply([called("bash", &json!({}))]).started(2);
    let beyond = waiting.last().0 + 10;
    let compacted = waiting.compacted(beyond, "what was before");
    let open = check(&compacted);
    assert!(open.iter().any(|item| matches!(&item.body, ItemBody::Call(call) if call.call == CallId(2))));
    let answered = compacted.ended(2, "the late answer");
    let items = check(&answered);
    let late = items.iter().any(|item| match &item.body {
        ItemBody::Result(result) => {
            result.content.as_ref().is_some_and(|content| content.as_str() == "the late answer")
        }
        _ => false,
    });
    assert!(late);
}

/// A07
#[tokio::test]
async fn an_orphan_call_does_not_switch_compaction_off_and_what_could_not_be_done_is_said() {
    let workshop = Workshop::start().await;
    workshop.server.enqueue_all([Answer::call("list_files", &json!({})), Answer::text("done")]);
    let mut spec = workshop.spec();
    spec.context.retained_tokens = 1;
    let pod = workshop.open_as(spec).await;
    pod.run("go").await.unwrap();
    let log = workshop.log(pod.id());
    let started = log.iter().find(|envelope| matches!(envelope.event(), Event::CallStarted(_))).unwrap();
    let fork = workshop.runtime.fork(pod.id(), Some(started.seq()), None).await.unwrap();
    for number in 0..3 {
        workshop.server.enqueue(Answer::text(format!("{number} {}", "many words ".repeat(200))));
        fork.run("and?").await.unwrap();
    }
    workshop.server.enqueue(Answer::text("They talked."));
    fork.compact().await.unwrap();
    fork.rest().await.unwrap();
    assert_eq!(count(&workshop, fork.id(), "compaction_finished"), 1, "{:?}", workshop.kinds(fork.id()));
    fork.compact().await.unwrap();
    fork.rest().await.unwrap();
    let kinds = workshop.kinds(fork.id());
    assert!(
        kinds.last() == Some(&"compaction_skipped") || kinds.last() == Some(&"compaction_failed"),
        "{kinds:?}"
    );
    workshop.server.enqueue(Answer::text("fine"));
    assert_eq!(fork.run("still there?").await.unwrap().outcome, Some(TurnOutcome::Finished));
    workshop.server.assert_no_refusals();
}

/// A08
#[tokio::test]
async fn whatever_providers_call_their_calls_each_runs_once_and_has_its_own_answer() {
    for model in MODELS {
        let workshop = Workshop::start().await;
        let long = "x".repeat(300);
        let touch = |name: &str| json!({"command": format!("echo once >> {name}")}).to_string();
        workshop.server.enqueue_all([
            Answer::empty().and_raw_call("call-1", "bash", touch("a")).and_raw_call(
                "call-1",
                "bash",
                touch("b"),
            ),
            Answer::empty().and_raw_call("call-1", "bash", touch("c")).and_raw_call("", "bash", touch("d")),
            Answer::empty().and_raw_call(&long, "bash", touch("e")).and_raw_call(
                "a b.c/ü",
                "bash",
                touch("f"),
            ),
            Answer::text("done"),
        ]);
        let pod = workshop.open_as(workshop.spec_of(model)).await;
        let rest = pod.run("go").await.unwrap();
        assert_eq!(rest.outcome, Some(TurnOutcome::Finished), "{}", rest.reason);
        for name in ["a", "b", "c", "d", "e", "f"] {
            assert_eq!(std::fs::read_to_string(workshop.directory.path().join(name)).unwrap(), "once\n");
        }
        assert_eq!(ends(&workshop.log(pod.id())).len(), 6);
        workshop.server.assert_no_refusals();
    }
}

/// A09
#[test]
fn results_that_come_in_another_order_stand_in_the_order_of_the_calls() {
    for order in [[1, 2, 3], [3, 2, 1], [2, 3, 1], [3, 1, 2]] {
        let calls = [(); 3].map(|()| called("bash", &json!({})));
        let log = order.iter().fold(begun().request().reply(calls), |log, call| log.ended(*call, "out"));
        let results: Vec<CallId> = check(&log)
            .iter()
            .filter_map(|item| match &item.body {
                ItemBody::Result(result) => Some(result.call),
                _ => None,
            })
            .collect();
        assert_eq!(results, [CallId(1), CallId(2), CallId(3)]);
        assert_eq!(log.last(), Seq(8));
    }
}
