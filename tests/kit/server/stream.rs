//! A body of server-sent events, and the places where it may be broken off.

use serde_json::Value;

use super::answer::At;

/// Characters of one delta: few, so that short texts come in several.
const DELTA_CHARACTERS: usize = 12;

/// The events of a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stream {
    pub(super) events: Vec<String>,
}

impl Stream {
    pub(super) fn event(&mut self, event: impl Into<String>) {
        self.events.push(event.into());
    }

    pub(super) fn data(&mut self, data: &Value) {
        self.event(format!("data: {data}\n\n"));
    }

    pub(super) fn named(&mut self, name: &str, data: &Value) {
        self.event(format!("event: {name}\ndata: {data}\n\n"));
    }

    /// The body before and after a place.
    pub(super) fn split(&self, at: At) -> (Vec<u8>, Vec<u8>) {
        let whole = self.events.concat().into_bytes();
        let place = match at {
            At::Bytes(bytes) => bytes,
            At::Events(events) => self.events.iter().take(events).map(String::len).sum(),
        };
        let (before, after) = whole.split_at(place.min(whole.len()));
        (before.to_vec(), after.to_vec())
    }
}

/// A text as the deltas that it comes in. The empty text comes as one.
pub(super) fn pieces(text: &str, mut each: impl FnMut(&str)) {
    let mut rest = text;
    loop {
        let end = rest.char_indices().nth(DELTA_CHARACTERS).map_or(rest.len(), |(place, _)| place);
        let (piece, after) = rest.split_at(end);
        each(piece);
        if after.is_empty() {
            return;
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_put_together_are_the_text() {
        for text in ["", "short", "é👩‍👩‍👧 and some more words that do not fit into one"] {
            let mut together = String::new();
            pieces(text, |piece| together.push_str(piece));
            assert_eq!(together, text);
        }
    }

    #[test]
    fn a_stream_splits_after_bytes_and_after_events() {
        let mut stream = Stream::default();
        stream.event("one\n\n");
        stream.event("two\n\n");
        assert_eq!(stream.split(At::Events(1)), (b"one\n\n".to_vec(), b"two\n\n".to_vec()));
        assert_eq!(stream.split(At::Bytes(1)), (b"o".to_vec(), b"ne\n\ntwo\n\n".to_vec()));
        assert_eq!(stream.split(At::Events(9)).1, b"");
    }
}
