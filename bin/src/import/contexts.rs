//! What imported logs are to everything that reads logs: contexts that providers accept, requests
//! whose digest comes out again, no anomalies.

use std::sync::Arc;

use actors::provider::Providers;
use events::event::model::{Origin, RequestPrepared};
use events::projection::{Context, Obligations, Projection, State, Status, project};
use events::{Envelope, Event, Item, ItemBody, Spec};
use kit::{invariants, strict};

use super::hostile::sealed;
use super::{Session, read};

/// Requests of one session that are rendered and judged: parsing a large body each time is slow.
const REQUESTS_JUDGED_MAX: usize = 12;

/// Every request of the session is as the log says and would be accepted, and at its end the pod
/// rests.
pub(super) fn check(name: &str, session: &Session) {
    let log = sealed(&session.drafts);
    let requests =
        log.iter().filter(|envelope| matches!(envelope.event(), Event::RequestPrepared(_))).count();
    let every = requests.div_ceil(REQUESTS_JUDGED_MAX).max(1);
    let providers = Providers::standard(&|_| None);
    let mut view = Context::default();
    let mut status = Status::default();
    let mut before: Option<Vec<Arc<Item>>> = None;
    for (place, envelope) in log.iter().enumerate() {
        if let Event::RequestPrepared(prepared) = envelope.event() {
            let items = view.items(&prepared.origin);
            assert_eq!(prepared.history_to.0, place as u64, "{name}");
            assert_eq!(prepared.items, items.len() as u64, "{name}");
            let before = before.replace(items.clone());
            let number = prepared.request.0 as usize;
            if number.is_multiple_of(every) || number == requests {
                if let Some(before) = before {
                    expect(name, envelope, invariants::stable_prefix(&before, &items));
                }
                let spec = status.spec.as_ref().expect("a pod is opened");
                judge(name, &log[..place], envelope, &view, &items);
                render(name, &providers, spec, prepared, &items);
            }
        }
        if changes_prefix(envelope.event()) {
            before = None;
        }
        view.apply(envelope);
        status.apply(envelope);
    }
    assert_eq!(view.history().anomalies(), [], "{name}");
    assert_eq!(status.state, State::Idle, "{name}: the pod rests");
    let owed: Obligations = project(&log);
    assert!(owed.are_settled() && owed.compaction.is_none(), "{name}: {owed:?}");
    expect(name, log.last().expect("a log"), invariants::configuration(Some(&session.spec), &log));
}

fn changes_prefix(event: &Event) -> bool {
    matches!(event, Event::Pruned(_) | Event::CompactionFinished(_) | Event::SpecChanged(_))
}

fn expect(name: &str, at: &Envelope, verdict: invariants::Verdict) {
    if let Err(why) = verdict {
        panic!("{name}, event {}: {why}", at.seq());
    }
}

fn judge(name: &str, log: &[Envelope], at: &Envelope, view: &Context, items: &[Arc<Item>]) {
    let Event::RequestPrepared(RequestPrepared { origin, .. }) = at.event() else { return };
    expect(name, at, invariants::pairing(items));
    expect(name, at, invariants::sendable(items));
    expect(name, at, invariants::whole_exchanges(items, view.history().items()));
    expect(name, at, invariants::reasoning(items, log, origin, |_| None));
    if view.compaction().is_none() {
        expect(name, at, invariants::steering(items, log));
    }
}

fn render(name: &str, providers: &Providers, spec: &Spec, prepared: &RequestPrepared, items: &[Arc<Item>]) {
    assert_eq!(
        prepared.origin,
        Origin { provider: spec.model.provider.clone(), model: spec.model.name.clone() }
    );
    let body = providers.render(spec, items).expect("the provider is known");
    assert_eq!((prepared.digest, prepared.body_bytes), (body.digest, body.len()), "{name}");
    if items.is_empty() {
        // What the model answered to is lost with its line; nobody can ask for that again.
        return;
    }
    let json = strict::parse(&body.to_vec()).expect("the body is JSON");
    // Two requests at once leave a reply behind a reply, which nobody will send.
    let answerable = items.last().is_some_and(|item| !is_words_of_the_model(item));
    let rules = strict::Rules { answerable, ..strict::Rules::default() };
    let verdict = match spec.model.provider.as_str() {
        "openai" => strict::openai::check_with(&json, &rules),
        "anthropic" => strict::anthropic::check_with(&json, &rules),
        provider => panic!("{provider} is not known"),
    };
    if let Err(broken) = verdict {
        panic!("{name}, request {}: {}", prepared.request, broken[0]);
    }
}

fn is_words_of_the_model(item: &Item) -> bool {
    matches!(item.body, ItemBody::Text { .. })
}

#[test]
fn every_request_of_a_real_session_would_be_accepted() {
    for path in super::real::ALL {
        let Some(bytes) = super::real::shared(path) else { return };
        for session in read(&bytes, None).expect("it is recognised") {
            check(path, &session);
        }
    }
}
