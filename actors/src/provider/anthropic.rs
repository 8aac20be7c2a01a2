//! Anthropic's Messages, as any compatible server speaks it.

pub(crate) mod wire;

use std::sync::Arc;

use events::Spec;
use futures_util::future::BoxFuture;
use reqwest::header::{HeaderName, HeaderValue};
use tokio::sync::mpsc;

use self::wire::reply::MessageReply;
use self::wire::request::AnthropicRenderer;
use super::http::{Endpoint, Http, Secret, Timeouts};
use super::stream::Decoder;
use super::{Ask, Delta, Failure, Provider, Renderer, Reply};

const VENDOR: &str = "https://api.anthropic.com";

/// The version of the protocol that the wire modules speak.
const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

/// A server that speaks Messages.
#[derive(Clone, Debug)]
pub struct Anthropic {
    endpoint: Endpoint,
    http: Arc<Http>,
}

impl Anthropic {
    /// The server at this address, without `/v1`. A server on this machine needs no key.
    pub fn at(base_url: &str, key: Option<&str>) -> Self {
        // Written with it often enough, since the other dialect wants it.
        let base_url = base_url.trim().trim_end_matches('/').trim_end_matches("/v1");
        let endpoint = Endpoint {
            base_url: base_url.to_owned(),
            key: key.and_then(Secret::new),
            url_variable: "ANTHROPIC_BASE_URL",
            key_variable: "ANTHROPIC_API_KEY",
        };
        let http = Arc::new(Http::new(endpoint.timeouts()));
        Self { endpoint, http }
    }

    /// The server that `ANTHROPIC_BASE_URL` names, or the vendor's, with the key in
    /// `ANTHROPIC_API_KEY`.
    pub fn from_env(env: &impl Fn(&str) -> Option<String>) -> Self {
        let url = env("ANTHROPIC_BASE_URL").filter(|url| !url.trim().is_empty());
        Self::at(url.as_deref().unwrap_or(VENDOR), env("ANTHROPIC_API_KEY").as_deref())
    }

    /// The same with other deadlines.
    #[must_use]
    pub fn with_timeouts(self, timeouts: Timeouts) -> Self {
        Self { http: Arc::new(Http::new(timeouts)), ..self }
    }
}

impl Provider for Anthropic {
    fn renderer(&self, spec: &Spec) -> Box<dyn Renderer> {
        Box::new(AnthropicRenderer::new(spec))
    }

    fn send(&self, ask: Ask, deltas: mpsc::Sender<Delta>) -> BoxFuture<'static, Result<Reply, Failure>> {
        let Self { endpoint, http } = self.clone();
        Box::pin(async move {
            let key = HeaderName::from_static("x-api-key");
            let mut address = endpoint.address("/v1/messages", key, "")?;
            address.headers.insert(HeaderName::from_static("anthropic-version"), VERSION);
            http.exchange(address, &ask.body, Decoder::new(MessageReply::default()), &deltas).await
        })
    }
}
