//! Faults that agent runtimes were seen to have, tried on a whole podwork: the actors over a
//! store, and a model server that refuses what real ones refuse. Each test names its case.
//!
//! | file | faults of |
//! |---|---|
//! | `cases/pairing` | A: calls without results, results without calls |
//! | `cases/exchanges` | A: the same on a whole pod, in the middle of its work |
//! | `cases/refusals` | B: what else makes a provider refuse a session for ever |
//! | `cases/streams` | C: streams that break off, fall silent or end too early |
//! | `cases/tools` | I: side effects that happen twice, and ends that contradict each other |
//! | `cases/flood` | J: mailboxes that fill up, and actors that wait for each other |

use std::sync::Arc;
use std::time::Duration;

use actors::provider::{
    Anthropic, Ask, Delta, Failure, OpenAi, Provider, Providers, Renderer, Reply, Timeouts,
};
use actors::tool::Toolbox;
use events::event::tool::CallOutcome;
use events::{CallId, Draft, Envelope, Event, PodId, Spec};
use futures_util::future::BoxFuture;
use kit::server::{Answer, StrictServer};
use kit::workshop::Workshop;
use serde_json::{Value, json};
use tokio::sync::mpsc;

mod exchanges;
mod flood;
mod pairing;
mod refusals;
mod streams;
mod tools;

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

/// A chunk of a Chat Completions stream.
fn chunk(delta: &Value, end: Option<&str>) -> Value {
    json!({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": end}]})
}

/// The events of a Messages stream with one block. The last two say that the message has ended.
fn message(block: &Value, delta: &Value, end: &str) -> [Value; 6] {
    let message = json!({"id": "x", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}});
    let stop = json!({"stop_reason": end, "stop_sequence": null});
    [
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ]
}

/// A stream of these events and nothing else, with `HALF` as the escape of half a character: it
/// must reach the client as it is, and no string of Rust can hold what it means.
fn stream(events: &[Value]) -> Answer {
    let event = |event: &Value| match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    let body: Vec<String> = events.iter().map(event).collect();
    let body = body.concat().replace("HALF", "\\ud99c");
    Answer::http(200, &[("content-type", "text/event-stream")], body)
}
