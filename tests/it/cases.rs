//! Faults that agent runtimes were seen to have, tried on a whole podwork: the actors over a
//! store, and a model server that refuses what real ones refuse. Each test names its case.
//!
//! | file | faults of |
//! |---|---|
//! | `cases/pairing` | A: calls without results and results without calls |
//! | `cases/wire` | B: what else makes a provider refuse a session for ever |
//! | `cases/streams` | C: streams that break off, fall silent or end too early |
//! | `cases/tools` | I: side effects that happen twice, and ends that contradict each other |
//! | `cases/flood` | J: floods, and actors that wait for each other |

use std::sync::Arc;
use std::time::Duration;

use actors::provider::{
    Anthropic, Ask, Delta, Failure, OpenAi, Provider, Providers, Renderer, Reply, Timeouts,
};
use actors::tool::Toolbox;
use events::event::tool::CallOutcome;
use events::{CallId, Draft, Envelope, Event, PodId, Spec};
use futures_util::future::BoxFuture;
use kit::server::StrictServer;
use kit::workshop::Workshop;
use tokio::sync::mpsc;

mod flood;
mod pairing;
mod streams;
mod tools;
mod wire;

/// A model of each dialect.
const MODELS: [&str; 2] = ["openai:m", "anthropic:m"];

/// A provider whose failures ask for the next attempt at once, so that a test may have many.
struct Hasty<P>(P);

impl<P: Provider> Provider for Hasty<P> {
    fn renderer(&self, spec: &Spec) -> Box<dyn Renderer> {
        self.0.renderer(spec)
    }

    fn send(&self, ask: Ask, deltas: mpsc::Sender<Delta>) -> BoxFuture<'static, Result<Reply, Failure>> {
        let sending = self.0.send(ask, deltas);
        Box::pin(async move {
            let at_once = Some(Duration::ZERO);
            sending.await.map_err(|failure| Failure { retry_after: at_once, ..failure })
        })
    }
}

/// A workshop whose providers are hasty and have these deadlines.
async fn hasty(timeouts: Timeouts) -> Workshop {
    let server = StrictServer::start();
    let openai = OpenAi::at(&server.base_url_openai(), Some("key")).with_timeouts(timeouts);
    let anthropic = Anthropic::at(&server.base_url_anthropic(), Some("key")).with_timeouts(timeouts);
    let mut providers = Providers::none();
    providers.register("openai", Arc::new(Hasty(openai)));
    providers.register("anthropic", Arc::new(Hasty(anthropic)));
    Workshop::start_with(server, Toolbox::standard(), |builder| builder.providers(providers)).await
}

/// How many events of this kind a pod's log has.
fn count(workshop: &Workshop, pod: PodId, kind: &str) -> usize {
    workshop.kinds(pod).iter().filter(|other| **other == kind).count()
}

/// How calls ended, in the order of their ends.
fn ends(log: &[Arc<Envelope>]) -> Vec<(CallId, CallOutcome)> {
    let end = |envelope: &Arc<Envelope>| match envelope.event() {
        Event::CallEnded(ended) => Some((ended.call, ended.outcome)),
        _ => None,
    };
    log.iter().filter_map(end).collect()
}

/// The process is gone, and these events are all that is left: a new pod has them as its log.
async fn left_over(workshop: &Workshop, log: &[Arc<Envelope>]) -> PodId {
    let drafts = log.iter().map(|envelope| Draft::new(envelope.event().clone())).collect();
    workshop.runtime.import(drafts).await.unwrap()
}
