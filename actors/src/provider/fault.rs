//! What went wrong, from what a provider says: pure. The words of the body decide before the
//! status does, since statuses are shared between failures that need different answers.

use std::fmt::Write as _;

use events::event::model::FailureKind;
use events::text::head;
use serde_json::Value;

use super::Failure;

/// Types and codes of errors, as OpenAI, Anthropic, llama.cpp, vLLM and others write them.
const TYPES: &[(FailureKind, &[&str])] = &[
    (
        FailureKind::ContextTooLong,
        &[
            "context_length_exceeded",
            "exceed_context_size_error",
            "model_context_window_exceeded",
            "request_too_large",
        ],
    ),
    (
        FailureKind::Auth,
        &[
            "authentication_error",
            "invalid_api_key",
            "permission_error",
            "permission_denied",
            "unauthenticated",
            "insufficient_quota",
            "billing_error",
            "billing_hard_limit_reached",
            "account_deactivated",
        ],
    ),
    (FailureKind::Overloaded, &["overloaded_error", "overloaded", "unavailable_error", "unavailable"]),
    (FailureKind::RateLimited, &["rate_limit_error", "rate_limit_exceeded", "resource_exhausted"]),
    (FailureKind::ModelNotFound, &["model_not_found"]),
    (
        FailureKind::Refused,
        &["content_filter", "content_policy_violation", "responsibleaipolicyviolation", "invalid_prompt"],
    ),
];

/// Words by which providers say that the context is too long, where no code says it.
const TOO_LONG: &[&str] = &[
    "context length",
    "context window",
    "context size",
    "context limit",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "maximum prompt length",
    "maximum model length",
    "maximum number of tokens",
    "reduce the length of the messages",
];

/// Words by which providers say that nothing more is paid for.
const UNPAID: &[&str] = &["credit balance is too low", "exceeded your current quota", "insufficient balance"];

/// An answer that is no stream of events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer<'a> {
    /// HTTP status.
    pub(crate) status: u16,
    /// Kind of the body, as the server says it.
    pub(crate) content_type: &'a str,
    /// Where a redirect points.
    pub(crate) location: Option<&'a str>,
    /// The beginning of the body.
    pub(crate) body: &'a [u8],
}

/// The failure that an answer stands for.
pub(crate) fn of_answer(answer: Answer<'_>) -> Failure {
    let Answer { status, content_type, .. } = answer;
    let text = String::from_utf8_lossy(answer.body);
    let json: Option<Value> = serde_json::from_str(&text).ok().filter(|json| has_error(json, status));
    let failure = match json {
        Some(json) => {
            let said = Said::of(&json);
            Failure::new(said.kind(Some(status)), &format!("the provider answered {status}{said}"))
        }
        None if (300..400).contains(&status) => {
            let to = answer.location.unwrap_or("elsewhere");
            let message =
                format!("the server answered {status} and redirects to {to}; is the base URL right?");
            Failure::new(FailureKind::InvalidRequest, &message)
        }
        None if status < 300 => {
            let shown = if content_type.is_empty() { "an unknown kind" } else { content_type };
            let message = format!(
                "the server answered with {shown} in place of an event stream; is the base URL right?"
            );
            Failure::new(FailureKind::Malformed, &message)
        }
        None => {
            let said = Said { message: page(&text), ..Said::default() };
            Failure::new(said.kind(Some(status)), &format!("the server answered {status}{said}"))
        }
    };
    Failure { status: Some(status), ..failure }
}

/// The failure that an event inside a stream stands for.
pub(crate) fn in_stream(json: &Value) -> Failure {
    let said = Said::of(json);
    Failure::new(said.kind(None), &format!("the provider broke off the reply{said}"))
}

/// Some servers send errors with status 200.
fn has_error(json: &Value, status: u16) -> bool {
    status >= 300 || !json["error"].is_null() || json["object"] == "error" || json["type"] == "error"
}

/// What a person can read in a page that was meant for a browser, or in plain text.
fn page(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let title = lower.find("<title>").map(|at| at + "<title>".len());
    match title.and_then(|from| Some((from, from + lower[from..].find("</title>")?))) {
        Some((from, to)) => text[from..to].trim().to_owned(),
        None if lower.contains("<html") => String::new(),
        None => head(text.trim(), 300).to_owned(),
    }
}

/// What an error says of itself.
#[derive(Debug, Default)]
struct Said {
    /// Type, code and status, in lower case.
    types: Vec<String>,
    /// A code that is a number, as proxies send the status of somebody else.
    code: Option<u16>,
    message: String,
}

impl Said {
    fn of(json: &Value) -> Self {
        // Some wrap the object into a list.
        let outer = json.as_array().and_then(|list| list.first()).unwrap_or(json);
        let inner = if outer["error"].is_object() { &outer["error"] } else { outer };
        let texts = [&inner["type"], &inner["code"], &inner["status"], &inner["error_type"]];
        let types = texts.into_iter().filter_map(Value::as_str).map(str::to_ascii_lowercase);
        let code = inner["code"].as_u64().and_then(|code| u16::try_from(code).ok());
        let messages = [&inner["message"], &outer["message"], &outer["error"], &outer["detail"]];
        let message = messages
            .into_iter()
            .find(|message| !message.is_null())
            .map(|message| message.as_str().map_or_else(|| message.to_string(), str::to_owned));
        let mut message = message.unwrap_or_else(|| json.to_string());
        // What stands behind a router says it better.
        if let Some(raw) = inner["metadata"]["raw"].as_str() {
            write!(message, ": {raw}").expect("writing to a string does not fail");
        }
        Self { types: types.filter(|kind| kind != "error").collect(), code, message }
    }

    fn kind(&self, status: Option<u16>) -> FailureKind {
        let lower = self.message.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let code = self.code.filter(|code| (400..600).contains(code));
        let status = status.filter(|status| *status >= 300).or(code);
        // A limit of tokens for each minute is spoken of in the same words as the window.
        if status != Some(429) && says(TOO_LONG) {
            return FailureKind::ContextTooLong;
        }
        if says(UNPAID) {
            return FailureKind::Auth;
        }
        // The order of the table counts: a spent quota is typed as a rate limit as well.
        let typed = |(_, names): &&(FailureKind, &[&str])| {
            self.types.iter().any(|kind| names.contains(&kind.as_str()))
        };
        match (TYPES.iter().find(typed), status) {
            (Some((FailureKind::RateLimited, _)), Some(413)) => FailureKind::ContextTooLong,
            (Some((kind, _)), _) => *kind,
            (None, _) if self.is_type("not_found_error") && lower.contains("model") => {
                FailureKind::ModelNotFound
            }
            (None, Some(status)) => by_status(status, &lower),
            (None, None) if lower.contains("overloaded") => FailureKind::Overloaded,
            (None, None) if self.is_type("invalid_request_error") => FailureKind::InvalidRequest,
            (None, None) => FailureKind::Server,
        }
    }

    fn is_type(&self, name: &str) -> bool {
        self.types.iter().any(|kind| kind == name)
    }
}

fn by_status(status: u16, message: &str) -> FailureKind {
    match status {
        401..=403 => FailureKind::Auth,
        404 if message.contains("model") => FailureKind::ModelNotFound,
        413 => FailureKind::ContextTooLong,
        429 => FailureKind::RateLimited,
        503 | 529 => FailureKind::Overloaded,
        500.. if message.contains("overloaded") => FailureKind::Overloaded,
        // 408 and 409: the server gave up on the request, and asks for it again.
        408 | 409 | 500.. => FailureKind::Server,
        _ => FailureKind::InvalidRequest,
    }
}

/// As the end of a sentence.
impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(kind) = self.types.first() {
            write!(f, " ({kind})")?;
        }
        if self.message.is_empty() { Ok(()) } else { write!(f, ": {}", self.message) }
    }
}

#[cfg(test)]
mod tests;
