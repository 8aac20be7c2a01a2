//! What a provider can have against a request that is well formed, in the words of the vendors.

use serde_json::{Value, json};

use super::Dialect;

/// An error of the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// 429, with or without a time to wait.
    RateLimited {
        /// Seconds in `retry-after`.
        retry_after_seconds: Option<u64>,
    },
    /// The account has no money: 429 as well in one dialect, and no retry helps.
    QuotaSpent,
    /// No capacity: 529 or 503.
    Overloaded,
    /// 503 of a server that is starting or stopping.
    Unavailable,
    /// 500.
    Broken,
    /// 401.
    Unauthorized,
    /// 404 for the model.
    ModelNotFound,
    /// The context is larger than the window, as the vendor says it.
    ContextTooLong,
    /// The same, as llama.cpp says it.
    ContextTooLongLlama,
    /// The same, as vLLM says it.
    ContextTooLongVllm,
    /// The same, when input and output together are too much.
    ContextTooLongWithOutput,
    /// The body has too many bytes: 413.
    TooLarge,
    /// The request is malformed: 400 with these words.
    Invalid(String),
}

impl Trouble {
    /// The status that the vendor of this dialect answers with.
    pub fn status(&self, dialect: Dialect) -> u16 {
        match (self, dialect) {
            (Self::RateLimited { .. }, _) | (Self::QuotaSpent, Dialect::OpenAi) => 429,
            (Self::Overloaded, Dialect::Anthropic) => 529,
            (Self::Overloaded, Dialect::OpenAi) | (Self::Unavailable, _) => 503,
            (Self::Broken, _) => 500,
            (Self::Unauthorized, _) => 401,
            (Self::ModelNotFound, _) => 404,
            (Self::TooLarge, _) => 413,
            (
                Self::QuotaSpent
                | Self::ContextTooLong
                | Self::ContextTooLongLlama
                | Self::ContextTooLongVllm
                | Self::ContextTooLongWithOutput
                | Self::Invalid(_),
                _,
            ) => 400,
        }
    }

    /// The header that says how long to wait.
    pub(super) fn retry_after(&self) -> Option<u64> {
        if let Self::RateLimited { retry_after_seconds } = self { *retry_after_seconds } else { None }
    }

    /// The body of the answer, and of the event inside a stream.
    pub fn body(&self, dialect: Dialect) -> Value {
        match self {
            Self::ContextTooLongLlama => json!({"error": {
                "code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 5000, "n_ctx": 4096,
                "message": "the request exceeds the available context size, try increasing it",
            }}),
            Self::ContextTooLongVllm => json!({
                "object": "error", "type": "BadRequestError", "param": null, "code": 400,
                "message": "This model's maximum context length is 4096 tokens. However, you requested \
                    5000 tokens (4000 in the messages, 1000 in the completion). Please reduce the length \
                    of the messages or completion.",
            }),
            Self::RateLimited { .. }
            | Self::QuotaSpent
            | Self::Overloaded
            | Self::Unavailable
            | Self::Broken
            | Self::Unauthorized
            | Self::ModelNotFound
            | Self::ContextTooLong
            | Self::ContextTooLongWithOutput
            | Self::TooLarge
            | Self::Invalid(_) => match dialect {
                Dialect::OpenAi => self.openai(),
                Dialect::Anthropic => self.anthropic(),
            },
        }
    }

    fn openai(&self) -> Value {
        let (kind, code, message) = match self {
            Self::RateLimited { .. } => {
                ("tokens", Some("rate_limit_exceeded"), "Rate limit reached for the model on tokens per min.")
            }
            Self::QuotaSpent => (
                "insufficient_quota",
                Some("insufficient_quota"),
                "You exceeded your current quota, please check your plan and billing details.",
            ),
            Self::Overloaded | Self::Unavailable => {
                ("server_error", None, "The engine is currently overloaded, please try again later")
            }
            Self::Unauthorized => {
                ("invalid_request_error", Some("invalid_api_key"), "Incorrect API key provided: sk-****.")
            }
            Self::ModelNotFound => (
                "invalid_request_error",
                Some("model_not_found"),
                "The model does not exist or you do not have access to it.",
            ),
            Self::ContextTooLong | Self::ContextTooLongWithOutput => (
                "invalid_request_error",
                Some("context_length_exceeded"),
                "This model's maximum context length is 128000 tokens. However, your messages resulted in \
                 130000 tokens. Please reduce the length of the messages.",
            ),
            Self::TooLarge => ("invalid_request_error", None, "Request body too large."),
            Self::Invalid(why) => ("invalid_request_error", None, why.as_str()),
            Self::Broken | Self::ContextTooLongLlama | Self::ContextTooLongVllm => {
                ("server_error", None, "The server had an error while processing your request.")
            }
        };
        json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
    }

    fn anthropic(&self) -> Value {
        let (kind, message) = match self {
            Self::RateLimited { .. } => {
                ("rate_limit_error", "This request would exceed your organization's rate limit.")
            }
            Self::QuotaSpent => (
                "invalid_request_error",
                "Your credit balance is too low to access the API. Please go to Plans & Billing.",
            ),
            Self::Overloaded | Self::Unavailable => ("overloaded_error", "Overloaded"),
            Self::Unauthorized => ("authentication_error", "invalid x-api-key"),
            Self::ModelNotFound => ("not_found_error", "model: no-such-model"),
            Self::ContextTooLong => {
                ("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
            }
            Self::ContextTooLongWithOutput => (
                "invalid_request_error",
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input \
                 length or `max_tokens` and try again",
            ),
            Self::TooLarge => ("request_too_large", "Request exceeds the maximum size"),
            Self::Invalid(why) => ("invalid_request_error", why.as_str()),
            Self::Broken | Self::ContextTooLongLlama | Self::ContextTooLongVllm => {
                ("api_error", "Internal server error")
            }
        };
        json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_kit"})
    }
}
