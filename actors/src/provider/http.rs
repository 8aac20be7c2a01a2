//! The thin part of the providers that speak HTTP: bytes out, bytes in, deadlines between them.
//! What the bytes mean is decided in the pure modules beside it.

mod endpoint;

use std::error::Error as _;
use std::sync::OnceLock;
use std::time::Duration;

use events::event::model::FailureKind;
use futures_util::stream;
use reqwest::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, Response};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

pub(crate) use self::endpoint::{Address, Endpoint, Secret};
use super::fault::{self, Answer};
use super::stream::{Decoder, Dialect};
use super::{Body, Delta, Failure, Reply};
use crate::limits::{
    CONNECT_SECONDS, ERROR_BODY_BYTES_MAX, EVENT_SECONDS, HEADERS_SECONDS, IDLE_SECONDS, LOCAL_SECONDS,
    POOL_SECONDS, REQUEST_ID_BYTES_MAX, TAIL_SECONDS,
};

const USER_AGENT: &str = concat!("podwork/", env!("CARGO_PKG_VERSION"));

/// How long the phases of a request may take. There is no bound of the whole: a reply that goes
/// on may go on for hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection stands.
    pub connect: Duration,
    /// From the request to the head of the answer.
    pub headers: Duration,
    /// Between bytes.
    pub idle: Duration,
    /// Between events that say something. Comments and pings do not.
    pub event: Duration,
    /// For what may follow the proper end of a reply.
    pub tail: Duration,
}

/// For a provider on the network.
impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(CONNECT_SECONDS),
            headers: Duration::from_secs(HEADERS_SECONDS),
            idle: Duration::from_secs(IDLE_SECONDS),
            event: Duration::from_secs(EVENT_SECONDS),
            tail: Duration::from_secs(TAIL_SECONDS),
        }
    }
}

impl Timeouts {
    /// For a model on this machine.
    pub fn local() -> Self {
        let local = Duration::from_secs(LOCAL_SECONDS);
        Self { headers: local, idle: local, event: local, ..Self::default() }
    }
}

/// A client that connects when it is used for the first time.
#[derive(Debug)]
pub(crate) struct Http {
    client: OnceLock<Result<Client, String>>,
    timeouts: Timeouts,
}

impl Http {
    /// A client with these deadlines.
    pub(crate) fn new(timeouts: Timeouts) -> Self {
        Self { client: OnceLock::new(), timeouts }
    }

    /// Sends a request and reads the reply.
    pub(crate) async fn exchange<D: Dialect>(
        &self,
        address: Address,
        body: &Body,
        decoder: Decoder<D>,
        deltas: &mpsc::Sender<Delta>,
    ) -> Result<Reply, Failure> {
        let secret = address.key.clone();
        let reply = self.attempt(address, body, decoder, deltas).await;
        // A server may say the key back, and what it says goes into the log.
        reply.map_err(|failure| match secret {
            Some(secret) => Failure {
                message: secret.hide(&failure.message),
                draft: secret.hide(&failure.draft),
                ..failure
            },
            None => failure,
        })
    }

    async fn attempt<D: Dialect>(
        &self,
        address: Address,
        body: &Body,
        decoder: Decoder<D>,
        deltas: &mpsc::Sender<Delta>,
    ) -> Result<Reply, Failure> {
        let response = self.send(address, body).await?;
        let headers = response.headers().clone();
        let reply = if is_stream(&response) {
            self.read(response, decoder, deltas).await
        } else {
            Err(self.read_failure(response).await)
        };
        reply.map_err(|failure| Failure {
            retry_after: retry_after(&headers),
            provider_request_id: request_id(&headers),
            ..failure
        })
    }

    async fn send(&self, address: Address, body: &Body) -> Result<Response, Failure> {
        let client = self.client.get_or_init(|| client(&address, self.timeouts)).as_ref();
        let client = client.map_err(|why| Failure::new(FailureKind::Transport, why))?;
        // The pieces are sent as they are. The length is said beforehand, since not every server
        // takes a body whose length is unknown.
        let pieces = body.chunks.clone().into_iter().map(Ok::<_, std::io::Error>);
        let request = client
            .post(address.url)
            .headers(address.headers)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .header(CONTENT_LENGTH, body.len())
            .body(reqwest::Body::wrap_stream(stream::iter(pieces)));
        match timeout(self.timeouts.headers, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(no_answer(error, &address.host)),
            Err(_) => {
                let seconds = self.timeouts.headers.as_secs_f32();
                let message = format!("{} did not answer within {seconds} s", address.host);
                Err(Failure::new(FailureKind::HeadersTimeout, &message))
            }
        }
    }

    async fn read<D: Dialect>(
        &self,
        mut response: Response,
        mut decoder: Decoder<D>,
        deltas: &mpsc::Sender<Delta>,
    ) -> Result<Reply, Failure> {
        let mut spoke_at = Instant::now();
        let broken = loop {
            let silence = if decoder.has_ended() { self.timeouts.tail } else { self.timeouts.idle };
            let deadline = (Instant::now() + silence).min(spoke_at + self.timeouts.event);
            match timeout_at(deadline, response.chunk()).await {
                Ok(Ok(Some(bytes))) => {
                    let before = decoder.progress();
                    push(&mut decoder, &bytes, deltas);
                    if decoder.progress() > before {
                        spoke_at = Instant::now();
                    }
                    if decoder.is_done() {
                        break None;
                    }
                }
                Ok(Ok(None)) => break None,
                Ok(Err(error)) => {
                    let message = format!("the stream broke before the reply ended: {}", cause(error));
                    break Some(Failure::new(FailureKind::Truncated, &message));
                }
                Err(_) => {
                    let since = spoke_at.elapsed().as_secs_f32();
                    let message = format!("the reply fell silent; its last words came {since:.1} s ago");
                    break Some(Failure::new(FailureKind::IdleTimeout, &message));
                }
            }
        };
        // Whatever broke the stream, a reply that had ended before is whole.
        decoder.finish().map_err(|failure| match broken {
            Some(broken) if failure.kind == FailureKind::Truncated => {
                Failure { draft: failure.draft, ..broken }
            }
            _ => failure,
        })
    }

    /// Reads the beginning of an answer that is no stream.
    async fn read_failure(&self, mut response: Response) -> Failure {
        let mut body = Vec::new();
        let deadline = Instant::now() + self.timeouts.idle;
        while body.len() < ERROR_BODY_BYTES_MAX
            && let Ok(Ok(Some(bytes))) = timeout_at(deadline, response.chunk()).await
        {
            body.extend_from_slice(&bytes[..bytes.len().min(ERROR_BODY_BYTES_MAX - body.len())]);
        }
        fault::of_answer(Answer {
            status: response.status().as_u16(),
            content_type: content_type(&response),
            location: response.headers().get(LOCATION).and_then(|value| value.to_str().ok()),
            body: &body,
        })
    }
}

fn push<D: Dialect>(decoder: &mut Decoder<D>, bytes: &[u8], deltas: &mpsc::Sender<Delta>) {
    let mut words = Vec::new();
    decoder.push(bytes, &mut words);
    for delta in words {
        // Full or closed: nobody takes them, and the reply does not wait for anybody.
        let _ = deltas.try_send(delta);
    }
}

fn client(address: &Address, timeouts: Timeouts) -> Result<Client, String> {
    // Another provider may have been first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(timeouts.connect)
        .pool_idle_timeout(Duration::from_secs(POOL_SECONDS))
        .redirect(reqwest::redirect::Policy::none());
    // A proxy cannot reach what only this machine can.
    let builder = if address.is_local { builder.no_proxy() } else { builder };
    // Reading the certificates of the system takes a while, and no redirect leads to where they
    // would be asked for.
    let is_plain = address.is_local && address.url.scheme() == "http";
    let builder = if is_plain { builder.tls_certs_only([]) } else { builder };
    builder.build().map_err(|error| format!("the HTTP client cannot be made: {}", cause(error)))
}

/// A success that says it is a stream, or says nothing of its kind.
fn is_stream(response: &Response) -> bool {
    let kind = content_type(response);
    response.status().is_success() && (kind.is_empty() || kind.starts_with("text/event-stream"))
}

fn content_type(response: &Response) -> &str {
    response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn no_answer(error: reqwest::Error, host: &str) -> Failure {
    let kind = match (error.is_connect(), error.is_timeout()) {
        (true, true) => FailureKind::ConnectTimeout,
        _ => FailureKind::Transport,
    };
    let what = if error.is_connect() { "no connection to" } else { "no answer from" };
    Failure::new(kind, &format!("{what} {host}: {}", cause(error)))
}

/// The innermost reason, which is the one that says something. Addresses can bear secrets.
fn cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = inner.to_string();
        source = inner.source();
    }
    text
}

/// How long the provider asks to wait. A date is left out: the clocks may differ.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name| {
        let text = headers.get(name).map(HeaderValue::to_str)?.ok()?;
        text.trim().parse::<f64>().ok()
    };
    let milliseconds = number("retry-after-ms").map(|milliseconds| milliseconds / 1000.0);
    Duration::try_from_secs_f64(milliseconds.or_else(|| number("retry-after"))?).ok()
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    let id = ["request-id", "x-request-id"].into_iter().find_map(|name| headers.get(name))?;
    id.to_str().ok().map(|id| events::text::head(id, REQUEST_ID_BYTES_MAX).to_owned())
}

#[cfg(test)]
mod tests;
