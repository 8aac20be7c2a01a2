//! Providers of models. Each has a pure part (`wire.rs`: request from items, reply from a stream)
//! and a thin one that moves bytes.

mod anthropic;
#[cfg(test)]
mod cassettes;
mod fault;
mod http;
mod openai;
#[cfg(test)]
mod properties;
mod registry;
mod render;
mod script;
mod sse;
mod stream;
#[cfg(test)]
mod testing;

use std::time::Duration;

use bytes::Bytes;
use events::event::model::{EndReason, FailureKind, ReasoningPart, Usage};
use events::text::{clean_str, head};
use events::{Hash, Item, RequestNumber, Spec};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use crate::limits::FAILURE_MESSAGE_BYTES_MAX;

pub use anthropic::Anthropic;
pub use http::Timeouts;
pub use openai::OpenAi;
pub use registry::{Providers, UnknownProvider};
pub use script::{Script, ScriptError};

/// A provider of models, named in a pod's model before the colon.
pub trait Provider: Send + Sync + 'static {
    /// A renderer of requests for this pod.
    fn renderer(&self, spec: &Spec) -> Box<dyn Renderer>;

    /// Sends a request and reads the reply to its proper end. Words are passed on as they come;
    /// when nobody takes them they are dropped. Dropping the future ends the request.
    fn send(&self, ask: Ask, deltas: mpsc::Sender<Delta>) -> BoxFuture<'static, Result<Reply, Failure>>;
}

/// Builds the body of a request from the items of a context, one after the other. The same items
/// give the same bytes on every machine, and one more item costs what it is large.
pub trait Renderer: Send {
    /// Takes the next item of the context.
    fn push(&mut self, item: &Item);

    /// The body with all items so far.
    fn body(&self) -> Body;
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// The bytes, in pieces that several requests may share.
    pub chunks: Vec<Bytes>,
    /// BLAKE3 of all bytes.
    pub digest: Hash,
}

impl Body {
    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.len() as u64).sum()
    }

    /// There is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All bytes in one piece.
    pub fn to_vec(&self) -> Vec<u8> {
        self.chunks.concat()
    }
}

/// One attempt at a request.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The request's number in its pod.
    pub request: RequestNumber,
    /// Which attempt at it this is, from 1.
    pub attempt: u32,
    /// The pod's spec at this request.
    pub spec: std::sync::Arc<Spec>,
    /// The body.
    pub body: Body,
}

/// Words as they come, for those who watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// Words for the user.
    Text(String),
    /// Reasoning.
    Reasoning(String),
}

/// A reply that ended properly.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// Its parts in the order in which they came.
    pub parts: Vec<ReplyPart>,
    /// What the provider says it took.
    pub usage: Option<Usage>,
    /// Why it ended.
    pub end: EndReason,
    /// The provider's id of the reply.
    pub provider_id: Option<String>,
}

/// A part of a reply, before calls have podwork's ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyPart {
    /// Words for the user.
    Text(String),
    /// Reasoning, to the byte.
    Reasoning(ReasoningPart),
    /// A call. Its arguments are a string of the model's; whether they parse is not yet known.
    Call {
        /// What the provider calls it.
        provider_id: String,
        /// The tool.
        tool: String,
        /// The arguments, as they came.
        raw: String,
    },
    /// A part of an unknown kind, as JSON.
    Opaque(String),
}

/// An attempt that came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// What the provider or the connection said, bounded and without secrets.
    pub message: String,
    /// HTTP status, when there was one.
    pub status: Option<u16>,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// The text that had come before the failure.
    pub draft: String,
    /// The provider's id of the request.
    pub provider_request_id: Option<String>,
}

impl Failure {
    /// A failure of this kind. The message may come from anywhere: it is cleaned and cut.
    pub fn new(kind: FailureKind, message: &str) -> Self {
        // Cut before it is cleaned as well: an error page can be large.
        let cleaned = clean_str(head(message, 4 * FAILURE_MESSAGE_BYTES_MAX));
        Self {
            kind,
            message: head(&cleaned, FAILURE_MESSAGE_BYTES_MAX).trim().to_owned(),
            status: None,
            retry_after: None,
            draft: String::new(),
            provider_request_id: None,
        }
    }
}
