//! What the renderers of all dialects share: the growing body, and the rules that make a context
//! sendable.

use std::borrow::Cow;
use std::fmt::Write as _;

use bytes::Bytes;
use events::CallId;
use events::hash::Hasher;
use events::item::CallResult;
use serde::Serialize;

use super::Body;
use crate::limits::{BODY_PIECE_BYTES, WIRE_NAME_BYTES_MAX};

/// What is put before a conversation that would begin with the assistant, which providers refuse.
pub(crate) const OPENING: &str = "(The conversation goes on from here.)";

/// What stands in the place of a content that was pruned.
const PRUNED: &str = "[The output was left out of the context to save room.]";

/// What a result without any words says.
const SILENT: &str = "(no output)";

/// A body that only grows: closed pieces are shared by all bodies made after them, and hashed
/// once.
#[derive(Default)]
pub(crate) struct Pieces {
    closed: Vec<Bytes>,
    open: Vec<u8>,
    hasher: Hasher,
}

impl Pieces {
    /// Adds bytes at the end.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.open.extend_from_slice(bytes);
        if self.open.len() >= BODY_PIECE_BYTES {
            self.hasher.update(&self.open);
            self.closed.push(Bytes::from(std::mem::take(&mut self.open)));
        }
    }

    /// The body so far, with this end.
    pub(crate) fn body(&self, end: &[u8]) -> Body {
        let last = [self.open.as_slice(), end].concat();
        let mut hasher = self.hasher.clone();
        hasher.update(&last);
        let mut chunks = Vec::with_capacity(self.closed.len() + 1);
        chunks.extend(self.closed.iter().cloned());
        chunks.push(Bytes::from(last));
        Body { chunks, digest: hasher.finish() }
    }
}

/// A value as JSON. The key order is that of the type, and of a sorted map for free values.
pub(crate) fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("strings, numbers and JSON values always serialise")
}

/// Text as a JSON string, quotes included. JSON can say NUL, but servers written in C cut the
/// text there or refuse the request for ever.
pub(crate) fn json_text(text: &str) -> Vec<u8> {
    json(&if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) })
}

/// Arguments in which no string has a NUL: the escape of one becomes that of U+FFFD, for the same
/// reason as in [`json_text`].
pub(crate) fn without_nul(arguments: &str) -> Cow<'_, str> {
    const NUL: &str = "\\u0000";
    if !arguments.contains(NUL) {
        return Cow::Borrowed(arguments);
    }
    let mut mended = String::with_capacity(arguments.len());
    let mut rest = arguments;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        mended.push_str(before);
        if let Some(after) = escape.strip_prefix(NUL) {
            mended.push_str("\\ufffd");
            rest = after;
        } else {
            // The backslash and what it escapes, which may be a backslash.
            let length = 1 + escape[1..].chars().next().map_or(0, char::len_utf8);
            mended.push_str(&escape[..length]);
            rest = &escape[length..];
        }
    }
    Cow::Owned(mended + rest)
}

/// Text as it stands between the quotes of a JSON string.
pub(crate) fn json_text_inside(text: &str) -> Vec<u8> {
    let mut quoted = json_text(text);
    quoted.pop();
    quoted.remove(0);
    quoted
}

/// No dialect has a role that every server accepts for words of the system in the middle of a
/// conversation, so they travel in a user message. The frame says on both sides who speaks: the
/// words may come from anywhere, and what follows them in the same message is the user's own.
pub(crate) fn framed(system: &str) -> String {
    format!("[system message, not written by the user]\n{system}\n[end of the system message]")
}

/// Providers refuse texts without a visible character, some also those that they wrote.
pub(crate) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// What a call is named on the wire. It is derived from podwork's own id, so that it is unique in
/// every request and made of characters that every provider accepts.
pub(crate) fn wire_id(call: CallId) -> String {
    format!("call_{call}")
}

/// A tool's name as providers accept it back. A model can call what does not exist by a name that
/// its own provider would refuse in every later request.
pub(crate) fn wire_name(tool: &str) -> String {
    let accepted = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let name: String = tool.chars().take(WIRE_NAME_BYTES_MAX).map(accepted).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// The words of a result: the summary, then the content or what stands in its place.
pub(crate) fn result_text(result: &CallResult) -> String {
    let mut text = result.summary.trim_end().to_owned();
    let content = result.content.as_ref().map_or(PRUNED, events::Content::as_str);
    if !is_blank(content) {
        let gap = if text.is_empty() { "" } else { "\n\n" };
        write!(text, "{gap}{content}").expect("writing to a string does not fail");
    }
    if is_blank(&text) { SILENT.to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use events::event::tool::CallOutcome;
    use events::{Content, Hash};

    use super::*;

    #[test]
    fn a_body_is_the_same_however_its_bytes_arrived() {
        let bytes: Vec<u8> = (0..200_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        let mut pieces = Pieces::default();
        for part in bytes.chunks(777) {
            pieces.push(part);
        }
        let body = pieces.body(b"]}");
        assert_eq!(body.to_vec(), [bytes.as_slice(), b"]}"].concat());
        assert_eq!(body.digest, Hash::of(&body.to_vec()));
        assert_eq!(body.chunks.len(), 4);
    }

    #[test]
    fn later_bodies_share_the_closed_pieces_of_earlier_ones() {
        let mut pieces = Pieces::default();
        pieces.push(&vec![b'x'; BODY_PIECE_BYTES]);
        let earlier = pieces.body(b"");
        pieces.push(b"more");
        assert_eq!(earlier.chunks[0].as_ptr(), pieces.body(b"").chunks[0].as_ptr());
    }

    #[test]
    fn names_that_a_provider_would_refuse_are_mended() {
        let long = "x".repeat(300);
        for (tool, name) in [("read_file", "read_file"), ("a.b c/é", "a_b_c__"), ("", "unnamed")] {
            assert_eq!(wire_name(tool), name);
        }
        assert_eq!(wire_name(&long).len(), WIRE_NAME_BYTES_MAX);
    }

    #[test]
    fn a_result_always_has_words() {
        let result = |summary: &str, content: Option<&str>| {
            result_text(&CallResult {
                call: CallId(1),
                tool: "bash".to_owned(),
                outcome: CallOutcome::Ok,
                summary: summary.to_owned(),
                content: content.map(Content::from),
            })
        };
        assert_eq!(result("done", Some("a\nb")), "done\n\na\nb");
        assert_eq!(result("done", Some(" ")), "done");
        assert_eq!(result("", Some("a")), "a");
        assert_eq!(result("", Some("")), SILENT);
        assert_eq!(result("done", None), format!("done\n\n{PRUNED}"));
    }

    #[test]
    fn text_with_a_nul_is_sent_without_it() {
        assert_eq!(json_text("a\0b"), "\"a\u{fffd}b\"".as_bytes());
        assert_eq!(without_nul(r#"{"a":"\u0000\\u0000\n"}"#), r#"{"a":"\ufffd\\u0000\n"}"#);
        assert_eq!(json_text_inside("a\"b"), b"a\\\"b");
    }
}
