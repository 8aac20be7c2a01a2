//! OpenAI's Chat Completions, as any compatible server speaks it.

pub(crate) mod wire;

use std::sync::Arc;

use events::Spec;
use futures_util::future::BoxFuture;
use reqwest::header::AUTHORIZATION;
use tokio::sync::mpsc;

use self::wire::reply::ChatReply;
use self::wire::request::OpenAiRenderer;
use super::http::{Endpoint, Http, Secret, Timeouts};
use super::stream::Decoder;
use super::{Ask, Delta, Failure, Provider, Renderer, Reply};

const VENDOR: &str = "https://api.openai.com/v1";

/// A server that speaks Chat Completions.
#[derive(Clone, Debug)]
pub struct OpenAi {
    endpoint: Endpoint,
    http: Arc<Http>,
}

impl OpenAi {
    /// The server at this address, which ends with `/v1` as a rule. A server on this machine
    /// needs no key.
    pub fn at(base_url: &str, key: Option<&str>) -> Self {
        let endpoint = Endpoint {
            base_url: base_url.to_owned(),
            key: key.and_then(Secret::new),
            url_variable: "OPENAI_BASE_URL",
            key_variable: "OPENAI_API_KEY",
        };
        let http = Arc::new(Http::new(endpoint.timeouts()));
        Self { endpoint, http }
    }

    /// The server that `OPENAI_BASE_URL` names, or the vendor's, with the key in
    /// `OPENAI_API_KEY`.
    pub fn from_env(env: &impl Fn(&str) -> Option<String>) -> Self {
        let url = env("OPENAI_BASE_URL").filter(|url| !url.trim().is_empty());
        Self::at(url.as_deref().unwrap_or(VENDOR), env("OPENAI_API_KEY").as_deref())
    }

    /// The same with other deadlines.
    #[must_use]
    pub fn with_timeouts(self, timeouts: Timeouts) -> Self {
        Self { http: Arc::new(Http::new(timeouts)), ..self }
    }
}

impl Provider for OpenAi {
    fn renderer(&self, spec: &Spec) -> Box<dyn Renderer> {
        Box::new(OpenAiRenderer::new(spec))
    }

    fn send(&self, ask: Ask, deltas: mpsc::Sender<Delta>) -> BoxFuture<'static, Result<Reply, Failure>> {
        let Self { endpoint, http } = self.clone();
        Box::pin(async move {
            let address = endpoint.address("/chat/completions", AUTHORIZATION, "Bearer ")?;
            http.exchange(address, &ask.body, Decoder::new(ChatReply::default()), &deltas).await
        })
    }
}
