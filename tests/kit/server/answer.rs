//! What the server answers, in no dialect yet.

use events::event::model::{EndReason, Usage};
use serde_json::Value;

use super::trouble::Trouble;

/// One answer of the script: what is said, and how it goes wrong on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub(super) kind: Kind,
    pub(super) delivery: Delivery,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A stream with a reply in it.
    Reply(Reply),
    /// An error in the shape of the vendor.
    Trouble(Trouble),
    /// Whatever the test wants: status, headers, body.
    Http { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
    /// Bytes that are no HTTP at all.
    Bytes(Vec<u8>),
}

/// A reply of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reply {
    pub(super) parts: Vec<Part>,
    pub(super) end: Option<EndReason>,
    pub(super) usage: UsageStyle,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Text(String),
    Reasoning(String),
    HiddenReasoning(String),
    Call { id: Option<String>, tool: String, raw: String },
    Unknown(Value),
}

/// How a reply says what it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsageStyle {
    /// As the vendor does, with what the server counted.
    #[default]
    Counted,
    /// As the vendor does, with these numbers.
    Given(Usage),
    /// Beside the end reason rather than in a chunk of its own, as some compatible servers do.
    /// The Messages dialect has one style only.
    BesideTheEnd,
    /// Not at all.
    Absent,
}

/// How the bytes of an answer travel.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Delivery {
    pub(super) piece_bytes: Option<usize>,
    pub(super) stall_before_headers: bool,
    pub(super) break_off: Option<(At, Then)>,
}

/// A place in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// After so many bytes of the body.
    Bytes(usize),
    /// After so many events.
    Events(usize),
}

/// What happens at the place.
#[derive(Clone, Debug, PartialEq)]
pub enum Then {
    /// The connection breaks.
    Cut,
    /// The body ends properly, the reply does not.
    End,
    /// Nothing, until the test releases it; then the stream goes on.
    Stall,
    /// An event that says what is wrong, and the end of the body.
    Trouble(Trouble),
    /// Comments without end.
    KeepAlive,
    /// Bytes that are no event of the dialect, and the end of the body.
    Garbage,
}

impl Answer {
    fn of(kind: Kind) -> Self {
        Self { kind, delivery: Delivery::default() }
    }

    /// A reply without any part yet.
    pub fn empty() -> Self {
        Self::of(Kind::Reply(Reply::default()))
    }

    /// A reply that says this.
    pub fn text(text: impl Into<String>) -> Self {
        Self::empty().and_text(text)
    }

    /// A reply that calls this tool.
    pub fn call(tool: impl Into<String>, arguments: &Value) -> Self {
        Self::empty().and_call(tool, arguments)
    }

    /// A reply that calls these tools at once.
    pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        calls.into_iter().fold(Self::empty(), |answer, (tool, arguments)| answer.and_call(tool, &arguments))
    }

    /// A reply that thinks first. The Messages dialect signs it.
    pub fn reasoning(text: impl Into<String>) -> Self {
        Self::empty().and_reasoning(text)
    }

    /// An error instead of a stream.
    pub fn trouble(trouble: Trouble) -> Self {
        Self::of(Kind::Trouble(trouble))
    }

    /// Too many requests: ask again after so many seconds.
    pub fn rate_limited(retry_after_seconds: impl Into<Option<u64>>) -> Self {
        Self::trouble(Trouble::RateLimited { retry_after_seconds: retry_after_seconds.into() })
    }

    /// No capacity: 529 in the Messages dialect, 503 in the other.
    pub fn overloaded() -> Self {
        Self::trouble(Trouble::Overloaded)
    }

    /// The key is not accepted.
    pub fn unauthorized() -> Self {
        Self::trouble(Trouble::Unauthorized)
    }

    /// The context is larger than the window, as the vendor says it.
    pub fn context_too_long() -> Self {
        Self::trouble(Trouble::ContextTooLong)
    }

    /// Any response.
    pub fn http(status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self::of(Kind::Http { status, headers, body: body.into() })
    }

    /// A page of a proxy in place of the provider.
    pub fn html() -> Self {
        let page =
            "<!doctype html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>";
        Self::http(502, &[("content-type", "text/html")], page)
    }

    /// A page with the status of a success.
    pub fn html_with_status_200() -> Self {
        Self::http(200, &[("content-type", "text/html")], "<html><body>Please log in</body></html>")
    }

    /// A redirect to somewhere else.
    pub fn redirect(to: &str) -> Self {
        Self::http(302, &[("location", to)], "")
    }

    /// A stream that is none.
    pub fn garbage() -> Self {
        Self::http(
            200,
            &[("content-type", "text/event-stream")],
            b"\xff\xfe\0garbage\n\ndata: {\n\n".to_vec(),
        )
    }

    /// Bytes that are no HTTP.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self::of(Kind::Bytes(bytes.into()))
    }

    fn and(mut self, part: Part) -> Self {
        if let Kind::Reply(reply) = &mut self.kind {
            reply.parts.push(part);
        }
        self
    }

    /// More words.
    #[must_use]
    pub fn and_text(self, text: impl Into<String>) -> Self {
        self.and(Part::Text(text.into()))
    }

    /// More reasoning.
    #[must_use]
    pub fn and_reasoning(self, text: impl Into<String>) -> Self {
        self.and(Part::Reasoning(text.into()))
    }

    /// Reasoning that the client cannot read. The other dialect has none.
    #[must_use]
    pub fn and_hidden_reasoning(self, text: impl Into<String>) -> Self {
        self.and(Part::HiddenReasoning(text.into()))
    }

    /// One more call, with an id of the server's.
    #[must_use]
    pub fn and_call(self, tool: impl Into<String>, arguments: &Value) -> Self {
        self.and(Part::Call { id: None, tool: tool.into(), raw: arguments.to_string() })
    }

    /// One more call with an id, and with arguments that may be no JSON at all.
    #[must_use]
    pub fn and_raw_call(
        self,
        id: impl Into<String>,
        tool: impl Into<String>,
        raw: impl Into<String>,
    ) -> Self {
        self.and(Part::Call { id: Some(id.into()), tool: tool.into(), raw: raw.into() })
    }

    /// A part of a kind that no client knows: an object with a `type` of its own. The Messages
    /// dialect marks it with a seal and takes it back only with that.
    #[must_use]
    pub fn and_unknown(self, part: Value) -> Self {
        self.and(Part::Unknown(part))
    }

    /// Why the reply ends, if not for the obvious reason.
    #[must_use]
    pub fn ending(mut self, end: EndReason) -> Self {
        if let Kind::Reply(reply) = &mut self.kind {
            reply.end = Some(end);
        }
        self
    }

    /// How the reply says what it took.
    #[must_use]
    pub fn usage(mut self, usage: UsageStyle) -> Self {
        if let Kind::Reply(reply) = &mut self.kind {
            reply.usage = usage;
        }
        self
    }

    /// The body travels in pieces of this many bytes.
    #[must_use]
    pub fn in_pieces_of(mut self, bytes: usize) -> Self {
        self.delivery.piece_bytes = Some(bytes.max(1));
        self
    }

    /// The request is read and nothing comes back until the test releases it.
    #[must_use]
    pub fn stalling_before_headers(mut self) -> Self {
        self.delivery.stall_before_headers = true;
        self
    }

    /// Something happens in the middle.
    #[must_use]
    pub fn breaking_off(mut self, at: At, then: Then) -> Self {
        self.delivery.break_off = Some((at, then));
        self
    }

    /// The connection breaks after so many bytes of the body.
    #[must_use]
    pub fn cut_after_bytes(self, bytes: usize) -> Self {
        self.breaking_off(At::Bytes(bytes), Then::Cut)
    }

    /// The connection breaks after so many events.
    #[must_use]
    pub fn cut_after_events(self, events: usize) -> Self {
        self.breaking_off(At::Events(events), Then::Cut)
    }

    /// Silence after so many events, until the test releases it.
    #[must_use]
    pub fn stalling_after_events(self, events: usize) -> Self {
        self.breaking_off(At::Events(events), Then::Stall)
    }

    /// An error inside the stream after so many events.
    #[must_use]
    pub fn trouble_after_events(self, events: usize, trouble: Trouble) -> Self {
        self.breaking_off(At::Events(events), Then::Trouble(trouble))
    }
}
