//! Server-sent events from bytes, as they arrive: pure, incremental and bounded. The format is
//! that of the WHATWG HTML standard, section 9.2.

use crate::limits::STREAM_EVENT_BYTES_MAX;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event. Ids and retry times are of no use for requests that cannot be continued.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its name; empty when it has none.
    pub(crate) name: String,
    /// Its data; lines are separated by a line feed.
    pub(crate) data: String,
}

/// An event or a line is larger than its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// The decoder. Comments and events without data are left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sse {
    /// The line that has not ended yet, as bytes: characters may be cut anywhere.
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    has_line: bool,
    /// The last line ended with a carriage return, and a line feed may belong to it.
    after_return: bool,
}

impl Sse {
    /// Takes the next bytes and gives the events that they complete, also those before an error.
    pub(crate) fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), TooLong> {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &rest[..end.unwrap_or(rest.len())];
            if self.line.len() + self.event.data.len() + part.len() > STREAM_EVENT_BYTES_MAX {
                return Err(TooLong);
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { break };
            self.after_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            events.extend(self.end_line());
        }
        Ok(())
    }

    /// What had come of the last event when the stream ended. The standard drops it; some servers
    /// leave out the last line end, and whoever can tell that the data is whole may take it.
    pub(crate) fn finish(&mut self) -> Option<Event> {
        self.end_line().or_else(|| self.end_event())
    }

    fn end_line(&mut self) -> Option<Event> {
        let bytes = std::mem::take(&mut self.line);
        let is_first = !std::mem::replace(&mut self.has_line, true);
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).filter(|_| is_first).unwrap_or(&bytes);
        if bytes.is_empty() {
            return self.end_event();
        }
        let line = String::from_utf8_lossy(bytes);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            // A comment, whose field is empty, or a field without use.
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.event);
        std::mem::take(&mut self.has_data).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(stream: &[u8], chunk: usize) -> Vec<(String, String)> {
        let (mut sse, mut events) = (Sse::default(), Vec::new());
        for part in stream.chunks(chunk) {
            sse.push(part, &mut events).expect("within the limit");
        }
        events.into_iter().map(|event| (event.name, event.data)).collect()
    }

    fn expect(stream: &str, events: &[(&str, &str)]) {
        let events: Vec<_> =
            events.iter().map(|(name, data)| ((*name).to_owned(), (*data).to_owned())).collect();
        for chunk in 1..=stream.len() {
            assert_eq!(decode(stream.as_bytes(), chunk), events, "{stream:?} in pieces of {chunk}");
        }
    }

    #[test]
    fn events_are_the_same_wherever_the_bytes_are_cut() {
        expect("data: a\n\ndata:b\n\n", &[("", "a"), ("", "b")]);
        expect("event: x\ndata: 1\ndata: 2\n\n", &[("x", "1\n2")]);
        expect("\u{feff}data: é👩‍👩‍👧\r\n\r\n", &[("", "é👩‍👩‍👧")]);
        expect("data: a\r\rdata: b\r\n\r\n", &[("", "a"), ("", "b")]);
        expect("event: x\r\ndata: 1\r\ndata: 2\r\n\r\n", &[("x", "1\n2")]);
        expect("data\n\ndata:  a\n\n", &[("", ""), ("", " a")]);
    }

    #[test]
    fn comments_and_events_without_data_are_left_out() {
        expect(": ping\n\nevent: x\n\nid: 1\nretry: 2\nother: 3\n: c\ndata: a\n\n", &[("", "a")]);
    }

    #[test]
    fn an_event_that_does_not_end_is_kept_for_the_end_only() {
        let (mut sse, mut events) = (Sse::default(), Vec::new());
        sse.push(b"event: x\ndata: a\ndata: b", &mut events).expect("short");
        assert_eq!(events, []);
        assert_eq!(sse.finish(), Some(Event { name: "x".to_owned(), data: "a\nb".to_owned() }));
        assert_eq!(sse.finish(), None);
    }

    #[test]
    fn a_line_without_an_end_takes_bounded_memory() {
        let (mut sse, mut events) = (Sse::default(), Vec::new());
        let piece = vec![b'x'; 1024 * 1024];
        let refused = (0..100).any(|_| sse.push(&piece, &mut events).is_err());
        assert!(refused);
        assert!(sse.line.len() <= STREAM_EVENT_BYTES_MAX);
    }

    #[test]
    fn an_event_of_many_lines_is_bounded_as_well() {
        let (mut sse, mut events) = (Sse::default(), Vec::new());
        let piece = b"data: 0123456789abcdef\n".repeat(50_000);
        assert!((0..100).any(|_| sse.push(&piece, &mut events).is_err()));
    }

    #[test]
    fn events_before_one_that_is_too_long_are_given() {
        let (mut sse, mut events) = (Sse::default(), Vec::new());
        let stream = [b"data: a\n\n".as_slice(), &vec![b'x'; STREAM_EVENT_BYTES_MAX + 1]].concat();
        assert_eq!(sse.push(&stream, &mut events), Err(TooLong));
        assert_eq!(events.len(), 1);
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_the_same_in_any_pieces(
            bytes in prop::collection::vec(prop::sample::select(b"data: \r\n\xc3\xa9\xf0x:ev".to_vec()), 0..200),
            chunk in 1_usize..50,
        ) {
            prop_assert_eq!(decode(&bytes, chunk), decode(&bytes, usize::MAX));
        }
    }
}
