//! Lines of a file of any size, each held up to a bound.

use std::io::{self, BufRead};

/// One line, without its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// The line, or its beginning when it is longer than what is held.
    pub(crate) text: Vec<u8>,
    /// Bytes of the line that are not held.
    pub(crate) left_out: u64,
    /// It ends with a line feed: every line but the last.
    pub(crate) ended: bool,
}

/// What came of reading a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A whole line.
    Line,
    /// The reading was stopped within a line.
    Stopped,
    /// The file had ended.
    End,
}

/// Reads the next line into `line`, of which at most `held_max` bytes are held. All its bytes, its
/// end included, are passed in pieces to `go_on`, which says whether to read on: even a single
/// line may be longer than anybody wants to wait for.
pub(crate) fn next_line(
    reader: &mut impl BufRead,
    line: &mut Line,
    held_max: usize,
    mut go_on: impl FnMut(&[u8]) -> bool,
) -> io::Result<Next> {
    line.text.clear();
    (line.left_out, line.ended) = (0, false);
    let mut any = false;
    loop {
        let buffer = match reader.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if buffer.is_empty() {
            return Ok(if any { Next::Line } else { Next::End });
        }
        any = true;
        let end = memchr::memchr(b'\n', buffer);
        let text = &buffer[..end.unwrap_or(buffer.len())];
        let held = &text[..text.len().min(held_max - line.text.len())];
        line.text.extend_from_slice(held);
        line.left_out += (text.len() - held.len()) as u64;
        line.ended = end.is_some();
        let consumed = text.len() + usize::from(line.ended);
        let stop = !go_on(&buffer[..consumed]);
        reader.consume(consumed);
        if line.ended {
            return Ok(Next::Line);
        }
        if stop {
            return Ok(Next::Stopped);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_line_is_held_up_to_the_bound_and_the_rest_is_counted() {
        let mut reader = BufReader::with_capacity(3, b"0123456789\nab".as_slice());
        let mut line = Line::default();
        assert_eq!(next_line(&mut reader, &mut line, 4, |_| true).unwrap(), Next::Line);
        assert_eq!(line, Line { text: b"0123".to_vec(), left_out: 6, ended: true });
        assert_eq!(next_line(&mut reader, &mut line, 4, |_| true).unwrap(), Next::Line);
        assert_eq!(line, Line { text: b"ab".to_vec(), left_out: 0, ended: false });
        assert_eq!(next_line(&mut reader, &mut line, 4, |_| true).unwrap(), Next::End);
    }

    #[test]
    fn a_line_without_an_end_can_be_stopped() {
        let mut reader = BufReader::new(io::repeat(b'x'));
        let (mut line, mut seen) = (Line::default(), 0);
        let next = next_line(&mut reader, &mut line, 4, |piece| {
            seen += piece.len();
            seen < 100_000
        });
        assert_eq!(next.unwrap(), Next::Stopped);
        assert_eq!((line.text.as_slice(), line.left_out), (b"xxxx".as_slice(), seen as u64 - 4));
    }

    proptest! {
        #[test]
        fn the_lines_together_are_the_file(
            bytes in prop::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..200),
            capacity in 1..20_usize,
        ) {
            let mut reader = BufReader::with_capacity(capacity, bytes.as_slice());
            let (mut line, mut all, mut joined) = (Line::default(), Vec::new(), Vec::new());
            while next_line(&mut reader, &mut line, 1000, |piece| {
                all.extend_from_slice(piece);
                true
            })
            .unwrap() == Next::Line
            {
                joined.extend_from_slice(&line.text);
                joined.extend(line.ended.then_some(b'\n'));
            }
            prop_assert_eq!(&all, &bytes);
            prop_assert_eq!(&joined, &bytes);
        }
    }
}
