//! A panic anywhere ends one turn, and nothing else.

use std::sync::Arc;

use actors::provider::{Ask, Body, Delta, Failure, Provider, Providers, Renderer, Reply, Script};
use actors::tool::Toolbox;
use events::event::turn::TurnOutcome;
use events::{Item, Spec};
use futures_util::future::BoxFuture;
use kit::server::StrictServer;
use kit::workshop::Workshop;
use tokio::sync::mpsc;

/// A provider that breaks at the place that the model's name says.
struct Broken;

struct BrokenRenderer {
    place: String,
}

impl Provider for Broken {
    fn renderer(&self, spec: &Spec) -> Box<dyn Renderer> {
        assert_ne!(spec.model.name, "start", "broken at the start");
        Box::new(BrokenRenderer { place: spec.model.name.clone() })
    }

    fn send(&self, _ask: Ask, _deltas: mpsc::Sender<Delta>) -> BoxFuture<'static, Result<Reply, Failure>> {
        panic!("broken while sending")
    }
}

impl Renderer for BrokenRenderer {
    fn push(&mut self, _item: &Item) {
        assert_ne!(self.place, "item", "broken at an item");
    }

    fn body(&self) -> Body {
        Body { chunks: Vec::new(), digest: events::Hash::of(b"") }
    }
}

#[tokio::test]
async fn a_panic_in_a_worker_ends_its_turn_as_failed_and_the_other_pods_do_not_notice() {
    let workshop = Workshop::start_with(StrictServer::start(), Toolbox::standard(), |builder| {
        let mut providers = Providers::none();
        providers.register("broken", Arc::new(Broken));
        let script = Script::of("{\"text\":\"one\"}\n{\"text\":\"two\"}\n{\"text\":\"three\"}").unwrap();
        providers.register("script", Arc::new(script));
        builder.providers(providers)
    })
    .await;
    let other = workshop.open_as(workshop.spec_of("script:x")).await;
    for place in ["start", "item", "send"] {
        let mut spec = workshop.spec_of(&format!("broken:{place}"));
        spec.limits.retries = 0;
        let pod = workshop.open_as(spec).await;
        let rest = pod.run("go").await.unwrap();
        let expected = if place == "send" { TurnOutcome::Paused } else { TurnOutcome::Failed };
        assert_eq!(rest.outcome, Some(expected), "{place}: {}", rest.reason);
        assert_eq!(workshop.kinds(pod.id()).iter().filter(|kind| **kind == "turn_ended").count(), 1);
        let rest = other.run("go").await.unwrap();
        assert_eq!(rest.outcome, Some(TurnOutcome::Finished));
    }
}

#[tokio::test]
async fn a_model_of_a_provider_that_nobody_knows_fails_the_turn_and_says_so() {
    let workshop = Workshop::start().await;
    let pod = workshop.open_as(workshop.spec_of("nobody:x")).await;
    let rest = pod.run("go").await.unwrap();
    assert_eq!(rest.outcome, Some(TurnOutcome::Failed));
    assert!(rest.reason.contains("nobody"), "{}", rest.reason);
}
