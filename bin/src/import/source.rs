//! The bytes of a transcript as text: lines for formats of one record a line, one document for
//! the others. What is broken is noted and never stops the rest.

use std::borrow::Cow;

use events::text::mend_surrogates;
use serde_json::value::RawValue;

use super::json::{Fields, close_cut};
use super::{ImportError, Problem};

/// Bytes of one line. Real records stay below a few megabytes; a longer line is no transcript.
const LINE_BYTES_MAX: usize = 100 * 1024 * 1024;

/// Problems that are kept word for word: more of them help nobody.
const PROBLEMS_MAX: usize = 1000;

/// Places in a broken line at which a whole record is looked for.
const SALVAGE_TRIES_MAX: usize = 200;

/// Bytes that are read at most in looking for it: each try may read the rest of the line.
const SALVAGE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// What went wrong so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Problems {
    list: Vec<Problem>,
    left_out: usize,
}

impl Problems {
    /// Notes a problem with this line of the file.
    pub(crate) fn note(&mut self, line: usize, why: impl Into<String>) {
        if self.list.len() < PROBLEMS_MAX {
            self.list.push(Problem { line, why: why.into() });
        } else {
            self.left_out += 1;
        }
    }

    /// Adds what went wrong elsewhere.
    pub(crate) fn append(&mut self, other: Self) {
        self.left_out += other.left_out;
        for problem in other.list {
            self.note(problem.line, problem.why);
        }
    }

    /// All problems in the order of the file, and a last one for those that are only counted.
    pub(crate) fn into_list(mut self) -> Vec<Problem> {
        self.list.sort_by_key(|problem| problem.line);
        if self.left_out > 0 {
            let line = self.list.last().map_or(0, |problem| problem.line);
            self.list.push(Problem { line, why: format!("{} more problems like these", self.left_out) });
        }
        self.list
    }
}

/// One line of a file.
pub(crate) struct Line<'a> {
    /// Its number, from 1.
    pub(crate) number: usize,
    /// The line, valid Unicode, with whole surrogate pairs only.
    pub(crate) text: Cow<'a, str>,
}

/// The lines that are not blank.
pub(crate) fn lines<'a>(bytes: &'a [u8], problems: &mut Problems) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    for (index, line) in without_mark(bytes).split(|byte| *byte == b'\n').enumerate() {
        let number = index + 1;
        let line = line.trim_ascii();
        if line.len() > LINE_BYTES_MAX {
            problems.note(
                number,
                format!("left out: the line has {} bytes, allowed are {LINE_BYTES_MAX}", line.len()),
            );
        } else if !line.is_empty() {
            lines.push(Line { number, text: decode(line, number, problems) });
        }
    }
    lines
}

fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

fn decode<'a>(bytes: &'a [u8], line: usize, problems: &mut Problems) -> Cow<'a, str> {
    let text = String::from_utf8_lossy(bytes);
    if let Cow::Owned(_) = text {
        problems.note(line, "bytes that are not UTF-8 were replaced by U+FFFD");
    }
    match text {
        Cow::Borrowed(text) => mend_surrogates(text),
        Cow::Owned(text) => Cow::Owned(mend_surrogates(&text).into_owned()),
    }
}

/// A record that stands whole at the end of a broken line: two lines that a crash has joined.
/// Gives what stands before it and the record. `is_record` tells a record from an object that
/// merely is a part of one.
pub(crate) fn salvage(line: &str, is_record: impl Fn(&Fields) -> bool) -> Option<(&str, &str)> {
    let tries = (SALVAGE_BYTES_MAX / line.len().max(1)).min(SALVAGE_TRIES_MAX);
    line.match_indices("{\"").skip(1).take(tries).find_map(|(at, _)| {
        let (before, record) = line.split_at(at);
        Fields::parse(record).filter(&is_record)?;
        Some((before, record))
    })
}

/// The whole file as one JSON document. One that was cut is closed where it was cut.
pub(crate) fn document(bytes: &[u8], problems: &mut Problems) -> Result<String, ImportError> {
    let text = decode(without_mark(bytes).trim_ascii(), 1, problems).into_owned();
    let Err(error) = serde_json::from_str::<&RawValue>(&text) else { return Ok(text) };
    let start = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
    let end = text.floor_char_boundary(start + error.column());
    let closed = close_cut(&text[..end]).filter(|closed| serde_json::from_str::<&RawValue>(closed).is_ok());
    match closed {
        Some(closed) => {
            problems.note(error.line(), format!("the document ends here for us: {error}"));
            Ok(closed)
        }
        None => Err(ImportError::NotJson { line: error.line(), why: error.to_string() }),
    }
}

/// Numbers of lines for places that are asked for in order.
pub(crate) struct LineNumbers<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> LineNumbers<'a> {
    /// The lines of this document.
    pub(crate) fn of(text: &'a str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// The line on which this part of the document begins.
    pub(crate) fn line(&mut self, part: &str) -> usize {
        let place = part.as_ptr().addr().saturating_sub(self.text.as_ptr().addr());
        if let Some(between) = self.text.get(self.at..place) {
            self.line += between.matches('\n').count();
            self.at = place;
        }
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_a_mark_and_windows_line_ends_are_no_records() {
        let mut problems = Problems::default();
        let lines = lines(b"\xef\xbb\xbf{}\r\n\n  \n[1]", &mut problems);
        let seen: Vec<(usize, &str)> = lines.iter().map(|line| (line.number, &*line.text)).collect();
        assert_eq!(seen, [(1, "{}"), (4, "[1]")]);
        assert!(problems.into_list().is_empty());
    }

    #[test]
    fn invalid_bytes_are_replaced_and_noted() {
        let mut problems = Problems::default();
        let lines = lines(b"\"a\xff\"\n\"\\ud800\"", &mut problems);
        assert_eq!(lines[0].text, "\"a\u{fffd}\"");
        assert_eq!(lines[1].text, "\"\\ufffd\"");
        assert_eq!(problems.into_list().len(), 1);
    }

    #[test]
    fn the_whole_record_of_two_joined_lines_is_found() {
        let joined = r#"{"type":"user","message":{"a":{"b":1},"co{"type":"x","v":{"type":"y"}}"#;
        let (before, record) = salvage(joined, |fields| fields.has("type")).expect("found");
        assert_eq!(record, r#"{"type":"x","v":{"type":"y"}}"#);
        assert!(before.ends_with("\"co"));
        assert!(salvage(r#"{"a":{"b":1}"#, |fields| fields.has("type")).is_none());
    }

    #[test]
    fn problems_beyond_the_limit_are_counted() {
        let mut problems = Problems::default();
        for line in 0..PROBLEMS_MAX + 5 {
            problems.note(line, "odd");
        }
        let list = problems.into_list();
        assert_eq!(list.len(), PROBLEMS_MAX + 1);
        assert_eq!(list[PROBLEMS_MAX].why, "5 more problems like these");
    }
}
