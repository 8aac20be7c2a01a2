//! Requests to the model, and what it answered.

use serde::{Deserialize, Serialize};

use crate::item::{Call, Opaque, Reasoning};
use crate::{Hash, RequestNumber, Seq, TurnNumber};

/// Who wrote a reply: what is sealed goes back to the same origin only.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// The provider's name in the pod's model.
    pub provider: String,
    /// The model that was asked.
    pub model: String,
}

/// A request is about to be sent. It can be rebuilt from the log up to here; the digest says
/// whether that went right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestPrepared {
    /// The turn.
    pub turn: TurnNumber,
    /// The number of the request in its pod.
    pub request: RequestNumber,
    /// Who is asked.
    pub origin: Origin,
    /// The last event that the context was built from.
    pub history_to: Seq,
    /// How many prunes the context has seen.
    pub prunes: u32,
    /// The compaction whose summary opens the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Seq>,
    /// Items in the context.
    pub items: u64,
    /// BLAKE3 of the body that is sent.
    pub digest: Hash,
    /// Length of the body in bytes.
    pub body_bytes: u64,
    /// Estimated input tokens.
    pub estimated_tokens: u64,
}

/// The model answered, and the answer ended properly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplyReceived {
    /// The request.
    pub request: RequestNumber,
    /// Who answered.
    pub origin: Origin,
    /// The answer's parts in the order in which they came.
    pub parts: Vec<Part>,
    /// What the provider says it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Why the answer ended.
    pub end: EndReason,
    /// The provider's id of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
}

/// One part of a reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Part {
    /// Words for the user.
    Text {
        /// The words.
        text: String,
    },
    /// Reasoning. Its origin is the reply's.
    Reasoning(ReasoningPart),
    /// A call whose arguments parse.
    Call(Call),
    /// A call that was cut off or whose arguments do not parse: recorded, never run, and never
    /// shown to a provider as a call.
    BrokenCall {
        /// The tool, as far as it came.
        tool: String,
        /// The arguments, as far as they came.
        raw: String,
        /// What is wrong with it.
        why: String,
    },
    /// A part that podwork does not know.
    Opaque {
        /// The part as JSON, as it came.
        json: String,
    },
}

/// Reasoning inside a reply, which names the origin for all its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasoningPart {
    /// The readable words; empty when the provider hides them.
    #[serde(default)]
    pub text: String,
    /// The provider's signature of the text, to the byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Encrypted reasoning in place of the text, to the byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

impl ReasoningPart {
    /// The same reasoning with its origin.
    pub fn of(&self, origin: &Origin) -> Reasoning {
        Reasoning {
            text: self.text.clone(),
            signature: self.signature.clone(),
            data: self.data.clone(),
            origin: origin.clone(),
        }
    }
}

impl Part {
    /// An unknown part with its origin.
    pub fn opaque(json: &str, origin: &Origin) -> Opaque {
        Opaque { json: json.to_owned(), origin: origin.clone() }
    }
}

/// Why a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The model had said all.
    Stop,
    /// The model waits for the results of its calls.
    Calls,
    /// The limit of output tokens was reached: nothing of the reply is run.
    Length,
    /// The model or its provider refused.
    Refused,
}

/// Tokens of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All input tokens, those from and to the cache included.
    pub input_tokens: u64,
    /// Input tokens read from the provider's cache.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Input tokens written to the provider's cache.
    #[serde(default)]
    pub cache_write_tokens: u64,
    /// Output tokens, reasoning included.
    pub output_tokens: u64,
    /// Output tokens spent on reasoning.
    #[serde(default)]
    pub reasoning_tokens: u64,
}

/// An attempt at a request failed. What had come until then is kept for diagnosis and is never
/// shown to a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyFailed {
    /// The request.
    pub request: RequestNumber,
    /// Which attempt at it failed, from 1.
    pub attempt: u32,
    /// What kind of failure it was.
    pub kind: FailureKind,
    /// What the provider or the connection said.
    pub message: String,
    /// HTTP status, when there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Milliseconds that the provider asked to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Milliseconds until the next attempt; absent when there is none by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_in_ms: Option<u64>,
    /// The text that had come before the failure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub draft: String,
    /// The provider's id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_request_id: Option<String>,
}

/// Why an attempt failed, from the body and the event, not from the status alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The key is missing, wrong or has no rights.
    Auth,
    /// Too many requests.
    RateLimited,
    /// The provider has no capacity.
    Overloaded,
    /// The context is larger than the model's window.
    ContextTooLong,
    /// The provider does not accept the request for what it says.
    Refused,
    /// The provider finds the request malformed.
    InvalidRequest,
    /// There is no such model.
    ModelNotFound,
    /// The provider broke.
    Server,
    /// The stream ended before the reply did.
    Truncated,
    /// The stream is not what the provider's protocol says.
    Malformed,
    /// The reply had no part at all.
    Empty,
    /// No connection within its time.
    ConnectTimeout,
    /// No answer to the request within its time.
    HeadersTimeout,
    /// The answer fell silent.
    IdleTimeout,
    /// The connection broke or never was.
    Transport,
    /// The reply was larger than its limit.
    TooLarge,
    /// The script of a `script:` model has no reply for this request.
    ScriptEnded,
}

impl FailureKind {
    /// The same request may be accepted later.
    pub fn is_transient(self) -> bool {
        match self {
            Self::RateLimited
            | Self::Overloaded
            | Self::Server
            | Self::Truncated
            | Self::Malformed
            | Self::Empty
            | Self::ConnectTimeout
            | Self::HeadersTimeout
            | Self::IdleTimeout
            | Self::Transport => true,
            Self::Auth
            | Self::ContextTooLong
            | Self::Refused
            | Self::InvalidRequest
            | Self::ModelNotFound
            | Self::TooLarge
            | Self::ScriptEnded => false,
        }
    }
}
