//! From bytes to what a model sees. Pure: the same bytes give the same text, in whatever pieces
//! they come.
//!
//! The order matters: bytes are cleaned first and cut afterwards, so that what was cut is never
//! half an escape sequence and the bound holds for what is shown.

use events::{Hash, text};

use crate::limits::{OUTPUT_BYTES_MAX, OUTPUT_BYTES_MIN, SUMMARY_BYTES_MAX, TOOL_OUTPUT_KEPT_BYTES_MAX};

/// Room that a cut leaves for the note that says so.
const NOTE_BYTES: usize = 96;

/// A cut goes back to the end of a line when that costs at most one in this many of the bytes.
const LINE_CUT_SHARE: usize = 4;

/// Output as it arrives: its beginning, its end and its length, never more.
#[derive(Debug)]
pub(crate) struct Capture {
    kept: Vec<u8>,
    kept_max: usize,
    tail: Vec<u8>,
    tail_max: usize,
    total: u64,
}

/// What is made of output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// What the model sees.
    pub(crate) content: String,
    /// The bytes, as far as they were kept, when the content is not all of them.
    pub(crate) whole: Option<Vec<u8>>,
    /// Bytes before anything was cut.
    pub(crate) bytes: u64,
    /// In a few words for a summary: `no output`, `12 bytes of output`, and what was cut.
    pub(crate) measure: String,
}

impl Capture {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self::with_bounds(TOOL_OUTPUT_KEPT_BYTES_MAX, OUTPUT_BYTES_MAX)
    }

    fn with_bounds(kept_max: usize, tail_max: usize) -> Self {
        Self { kept: Vec::new(), kept_max, tail: Vec::new(), tail_max, total: 0 }
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (kept, rest) = bytes.split_at(bytes.len().min(self.kept_max - self.kept.len()));
        self.kept.extend_from_slice(kept);
        let rest = &rest[rest.len().saturating_sub(self.tail_max)..];
        self.tail.extend_from_slice(rest);
        // Moved only when it is twice too long, so that each byte is moved at most once.
        if self.tail.len() >= 2 * self.tail_max {
            self.tail.drain(..self.tail.len() - self.tail_max);
        }
    }

    /// Counts bytes that exist but were not read.
    pub(crate) fn skip(&mut self, bytes: u64) {
        self.total += bytes;
    }

    /// Makes of it what a model sees, in at most `bytes_max` bytes.
    pub(crate) fn show(self, bytes_max: u64) -> Shown {
        let bytes_max = bound(bytes_max);
        let bytes = self.total;
        let dropped = bytes - (self.kept.len() as u64);
        if is_binary(&self.kept) {
            let content = binary_note(bytes, &self.kept);
            let measure = format!("{bytes} bytes of binary output");
            return Shown { content, whole: Some(self.kept), bytes, measure };
        }
        let head = text::clean(&self.kept);
        if dropped == 0 && head.len() <= bytes_max {
            let measure =
                if bytes == 0 { "no output".to_owned() } else { format!("{bytes} bytes of output") };
            let whole = (head.as_bytes() != self.kept.as_slice()).then_some(self.kept);
            return Shown { content: head, whole, bytes, measure };
        }
        let content = if dropped == 0 {
            cut(&head, &head, head.len() as u64, bytes_max)
        } else {
            let last = &self.tail[self.tail.len().saturating_sub(self.tail_max)..];
            cut(&head, &text::clean(from_character(last)), bytes, bytes_max)
        };
        let measure = format!("{bytes} bytes of output, its middle left out");
        Shown { content, whole: Some(self.kept), bytes, measure }
    }
}

/// The pod's bound, within what makes sense.
pub(crate) fn bound(bytes_max: u64) -> usize {
    usize::try_from(bytes_max).unwrap_or(usize::MAX).clamp(OUTPUT_BYTES_MIN, OUTPUT_BYTES_MAX)
}

/// The beginning of `head` and the end of `tail`, which may be the same text, with a line between
/// them that says how much of `total` is not there.
fn cut(head: &str, tail: &str, total: u64, bytes_max: usize) -> String {
    let half = (bytes_max - NOTE_BYTES) / 2;
    let head = whole_lines(text::head(head, half));
    let tail = after_line_end(text::tail(tail, half));
    let left_out = total.saturating_sub((head.len() + tail.len()) as u64);
    let line_end = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    format!("{head}{line_end}[... {left_out} of {total} bytes left out ...]\n{tail}")
}

/// Without the last line, when that is short enough to give away.
fn whole_lines(head: &str) -> &str {
    match head.rfind('\n') {
        Some(at) if head.len() - at <= head.len() / LINE_CUT_SHARE => &head[..=at],
        _ => head,
    }
}

/// Without the first line, when that is short enough to give away.
fn after_line_end(tail: &str) -> &str {
    match tail.find('\n') {
        Some(at) if at < tail.len() / LINE_CUT_SHARE => &tail[at + 1..],
        _ => tail,
    }
}

/// Without the rest of a character whose beginning was dropped: at most three bytes.
fn from_character(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    &bytes[rest..]
}

/// Not text: more than three tenths are bytes that no text has. Programs, pictures and archives
/// have five to six; a list that NULs separate has one or two. Escape sequences, backspaces and the
/// accents of older encodings are no such sign.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    let controls = bytes.iter().filter(|byte| is_unprintable(**byte)).count();
    let invalid: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    (controls + invalid) * 10 > bytes.len() * 3
}

fn is_unprintable(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, 0x07 | 0x08 | b'\t' | b'\n' | 0x0b | 0x0c | b'\r' | 0x1b) || byte == 0x7f
}

fn binary_note(bytes: u64, kept: &[u8]) -> String {
    let hash = Hash::of(kept);
    if bytes == kept.len() as u64 {
        format!("[binary, {bytes} bytes, hash {hash}]")
    } else {
        format!("[binary, {bytes} bytes; the first {} have hash {hash}]", kept.len())
    }
}

/// One line for a summary: cleaned, without line ends, bounded.
pub(crate) fn one_line(line: &str) -> String {
    let cleaned = text::clean_str(line);
    let mut line = cleaned.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > SUMMARY_BYTES_MAX {
        line.truncate(text::head(&line, SUMMARY_BYTES_MAX - "…".len()).len());
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests;
