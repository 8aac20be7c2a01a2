//! The seven invariants of a context, for every log and every cut.

use std::sync::Arc;

use events::event::model::Origin;
use events::projection::{Context, Projection, Status};
use events::{Envelope, Event, Item, Seq};
use kit::invariants::{self, Verdict};
use kit::log::arbitrary::MODELS;
use kit::log::{arbitrary_log, origin, plausible_log};
use proptest::prelude::*;

/// A log and its views after every event.
struct Cuts<'a> {
    log: &'a [Envelope],
    contexts: Vec<Context>,
    statuses: Vec<Status>,
}

/// A beginning of a log, seen by one model.
struct Cut<'a> {
    cuts: &'a Cuts<'a>,
    end: usize,
    origin: &'a Origin,
}

impl<'a> Cuts<'a> {
    fn of(log: &'a [Envelope]) -> Self {
        let (mut context, mut status) = (Context::default(), Status::default());
        let mut cuts = Self { log, contexts: vec![context.clone()], statuses: vec![status.clone()] };
        for envelope in log {
            context.apply(envelope);
            status.apply(envelope);
            cuts.contexts.push(context.clone());
            cuts.statuses.push(status.clone());
        }
        cuts
    }
}

impl Cut<'_> {
    fn log(&self) -> &[Envelope] {
        &self.cuts.log[..self.end]
    }

    fn items_at(&self, end: usize) -> Vec<Arc<Item>> {
        self.cuts.contexts[end].items(self.origin)
    }

    fn items(&self) -> Vec<Arc<Item>> {
        self.items_at(self.end)
    }

    fn history(&self) -> Vec<Arc<Item>> {
        let history = self.cuts.contexts[self.end].history();
        history.items().iter().cloned().chain(history.unsettled().into_iter().map(Arc::new)).collect()
    }

    /// The newest event is a request.
    fn is_request(&self) -> bool {
        matches!(self.log().last().map(Envelope::event), Some(Event::RequestPrepared(_)))
    }

    fn show(&self) -> String {
        let log = self.log().iter().map(|envelope| serde_json::to_string(envelope).unwrap());
        let items = self.items().into_iter().map(|item| serde_json::to_string(&item).unwrap());
        let (log, items): (Vec<String>, Vec<String>) = (log.collect(), items.collect());
        format!("log:\n{}\ncontext for {:?}:\n{}", log.join("\n"), self.origin, items.join("\n"))
    }
}

fn holds(log: &[Envelope], invariant: fn(&Cut<'_>) -> Verdict) -> Result<(), TestCaseError> {
    let cuts = Cuts::of(log);
    let origins: Vec<Origin> = MODELS.iter().map(|model| origin(&model.parse().unwrap())).collect();
    for end in 0..=log.len() {
        for origin in &origins {
            let cut = Cut { cuts: &cuts, end, origin };
            if let Err(why) = invariant(&cut) {
                return Err(TestCaseError::fail(format!("{why}\n{}", cut.show())));
            }
        }
    }
    Ok(())
}

fn pairing(cut: &Cut<'_>) -> Verdict {
    invariants::pairing(&cut.items())?;
    invariants::pairing(&cut.history())
}

fn whole_exchanges(cut: &Cut<'_>) -> Verdict {
    invariants::whole_exchanges(&cut.items(), &cut.history())
}

fn steering(cut: &Cut<'_>) -> Verdict {
    invariants::steering(&cut.items(), cut.log())
}

fn sendable(cut: &Cut<'_>) -> Verdict {
    invariants::sendable(&cut.items())
}

fn configuration(cut: &Cut<'_>) -> Verdict {
    invariants::configuration(cut.cuts.statuses[cut.end].spec.as_ref(), cut.log())
}

fn reasoning(cut: &Cut<'_>) -> Verdict {
    invariants::reasoning(&cut.items(), cut.log(), cut.origin, |reply| {
        let request = request_of(cut.log(), reply)?;
        Some(cut.items_at(usize::try_from(request.0).ok()?))
    })
}

/// The request that a reply answers: the newest one, if it has no other answer.
fn request_of(log: &[Envelope], reply: Seq) -> Option<Seq> {
    let before = log.iter().rev().skip_while(|envelope| envelope.seq() >= reply);
    for envelope in before {
        match envelope.event() {
            Event::RequestPrepared(_) => return Some(envelope.seq()),
            Event::ReplyReceived(_) => return None,
            _ => {}
        }
    }
    None
}

/// Between two decisions of what to leave out, requests only grow.
fn stable_prefix(cut: &Cut<'_>) -> Verdict {
    if !cut.is_request() {
        return Ok(());
    }
    for envelope in cut.log().iter().rev().skip(1) {
        match envelope.event() {
            Event::RequestPrepared(_) => {
                let place = usize::try_from(envelope.seq().0).unwrap();
                return invariants::stable_prefix(&cut.items_at(place), &cut.items());
            }
            Event::Pruned(_) | Event::CompactionFinished(_) => return Ok(()),
            _ => {}
        }
    }
    Ok(())
}

/// What is built before the event of a request is what is built after it.
fn preparing_changes_nothing(cut: &Cut<'_>) -> Verdict {
    if cut.is_request() && cut.items_at(cut.end - 1) != cut.items() {
        return Err("preparing a request changes what it sends".to_owned());
    }
    Ok(())
}

/// A log that podwork wrote has nothing odd in it, but for calls that nobody settled.
fn nothing_is_odd(cut: &Cut<'_>) -> Verdict {
    let anomalies = cut.cuts.contexts[cut.end].history().anomalies();
    match anomalies.iter().find(|anomaly| !anomaly.what.ends_with("has no end")) {
        Some(anomaly) => Err(anomaly.to_string()),
        None => Ok(()),
    }
}

macro_rules! invariants {
    ($($name:ident: $invariant:ident over $log:ident;)*) => {
        proptest! {
            // Every cut of every log counts as a case; `PROPTEST_CASES` counts here as well.
            #![proptest_config({
                let usual = ProptestConfig::default();
                ProptestConfig { cases: usual.cases / 2, ..usual }
            })]

            $(#[test]
            fn $name(log in $log()) {
                holds(&log, $invariant)?;
            })*
        }
    };
}

invariants! {
    each_call_has_one_result_right_behind_its_reply_in_any_log: pairing over arbitrary_log;
    each_call_has_one_result_right_behind_its_reply: pairing over plausible_log;
    exchanges_are_kept_whole_in_any_log: whole_exchanges over arbitrary_log;
    exchanges_are_kept_whole: whole_exchanges over plausible_log;
    steering_stands_behind_what_it_steers_in_any_log: steering over arbitrary_log;
    steering_stands_behind_what_it_steers: steering over plausible_log;
    a_context_is_sendable_in_any_log: sendable over arbitrary_log;
    a_context_is_sendable: sendable over plausible_log;
    reasoning_stands_on_what_it_was_made_on_in_any_log: reasoning over arbitrary_log;
    reasoning_stands_on_what_it_was_made_on: reasoning over plausible_log;
    requests_only_grow_between_decisions_in_any_log: stable_prefix over arbitrary_log;
    requests_only_grow_between_decisions: stable_prefix over plausible_log;
    the_spec_is_the_newest_one_in_any_log: configuration over arbitrary_log;
    the_spec_is_the_newest_one: configuration over plausible_log;
    preparing_a_request_does_not_change_it_in_any_log: preparing_changes_nothing over arbitrary_log;
    preparing_a_request_does_not_change_it: preparing_changes_nothing over plausible_log;
    nothing_is_odd_in_a_log_that_podwork_wrote: nothing_is_odd over plausible_log;
}
