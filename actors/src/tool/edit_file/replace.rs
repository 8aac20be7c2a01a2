//! The edit itself, from bytes to bytes. Pure.

use memchr::memmem;

use crate::limits::EDIT_PLACES_MAX;

/// What is to be replaced by what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edit<'a> {
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    /// Everywhere, rather than in the one place where it must be.
    pub(super) all: bool,
}

/// What came of an edit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Edited {
    pub(super) content: Vec<u8>,
    pub(super) summary: String,
}

/// Why nothing was changed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum EditError {
    #[error("not changed: old_text is empty; to create or fill a file, use write_file")]
    Empty,
    #[error("not changed: old_text and new_text are the same")]
    Same,
    #[error("not changed: old_text does not occur in the file{hint}")]
    Absent { hint: String },
    #[error(
        "not changed: old_text occurs {count} times, on {lines}; \
         give more lines around the one that is meant, or set all to true"
    )]
    Ambiguous { count: usize, lines: String },
    #[error("not changed: the file is not UTF-8, and new_text has characters other than ASCII")]
    Encoding,
}

/// Replaces. In a file whose lines end with CR LF both texts are read in that way; the rest of
/// the file stays as it is to the byte.
pub(super) fn edit(file: &[u8], edit: Edit<'_>) -> Result<Edited, EditError> {
    if edit.old.is_empty() {
        return Err(EditError::Empty);
    }
    if edit.old == edit.new {
        return Err(EditError::Same);
    }
    if !edit.new.is_ascii() && std::str::from_utf8(file).is_err() {
        return Err(EditError::Encoding);
    }
    let (old, new) = with_line_ends(file, edit);
    let places = places(file, old.as_bytes());
    match places.len() {
        0 => Err(EditError::Absent { hint: hint(file, &old) }),
        1 => Ok(replace(file, &old, &new, &places)),
        _ if edit.all => Ok(replace(file, &old, &new, &apart(&places, old.len()))),
        count => Err(EditError::Ambiguous { count, lines: name_lines(file, &places) }),
    }
}

/// The texts with the line ends that the file has.
fn with_line_ends(file: &[u8], edit: Edit<'_>) -> (String, String) {
    let crlf = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
    let ends = memchr::memchr_iter(b'\n', file).count();
    let crlf_ends = memmem::find_iter(file, b"\r\n").count();
    let only_crlf = crlf_ends > 0 && ends == crlf_ends;
    let as_it_is = memmem::find(file, edit.old.as_bytes()).is_some();
    if only_crlf || (crlf_ends > 0 && !as_it_is) {
        (crlf(edit.old), crlf(edit.new))
    } else {
        (edit.old.to_owned(), edit.new.to_owned())
    }
}

/// All places, also those that overlap: `aa` stands twice in `aaa`, and which is meant is open.
fn places(file: &[u8], old: &[u8]) -> Vec<usize> {
    let finder = memmem::Finder::new(old);
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = finder.find(&file[from..]) {
        places.push(from + at);
        from += at + 1;
    }
    places
}

/// Those places that do not overlap one before them.
fn apart(places: &[usize], length: usize) -> Vec<usize> {
    let mut free_from = 0;
    let mut apart = places.to_vec();
    apart.retain(|place| {
        let free = *place >= free_from;
        if free {
            free_from = place + length;
        }
        free
    });
    apart
}

fn replace(file: &[u8], old: &str, new: &str, places: &[usize]) -> Edited {
    let mut content = Vec::with_capacity(file.len() + places.len() * new.len());
    let mut kept_to = 0;
    for place in places {
        content.extend_from_slice(&file[kept_to..*place]);
        content.extend_from_slice(new.as_bytes());
        kept_to = place + old.len();
    }
    content.extend_from_slice(&file[kept_to..]);
    let summary = format!(
        "replaced {} on {}; {} lines became {}; the file now has {} bytes",
        times(places.len()),
        name_lines(file, places),
        old.lines().count(),
        new.lines().count(),
        content.len()
    );
    Edited { content, summary }
}

fn times(count: usize) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// The lines on which the places are, the first few of them by number.
fn name_lines(file: &[u8], places: &[usize]) -> String {
    let (mut line, mut counted_to) = (1, 0);
    let numbers: Vec<String> = places
        .iter()
        .take(EDIT_PLACES_MAX)
        .map(|place| {
            line += memchr::memchr_iter(b'\n', &file[counted_to..*place]).count();
            counted_to = *place;
            line.to_string()
        })
        .collect();
    let more = places.len() - numbers.len();
    let numbers = numbers.join(", ");
    match (places.len(), more) {
        (1, _) => format!("line {numbers}"),
        (_, 0) => format!("lines {numbers}"),
        _ => format!("lines {numbers} and {more} more"),
    }
}

/// Where the text would stand if white space did not count: the usual reason why it is not found.
fn hint(file: &[u8], old: &str) -> String {
    let wanted: Vec<String> = old.trim().lines().map(squeezed).collect();
    let file = String::from_utf8_lossy(file);
    let lines: Vec<String> = file.lines().map(squeezed).collect();
    let found = lines.windows(wanted.len().max(1)).position(|window| window == wanted);
    match found {
        Some(at) if wanted.len() == 1 => format!("; line {} differs from it only in white space", at + 1),
        Some(at) => {
            format!("; lines {} to {} differ from it only in white space", at + 1, at + wanted.len())
        }
        None => ": read the file and copy the text exactly".to_owned(),
    }
}

fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn once(file: &str, old: &str, new: &str) -> Result<String, String> {
        run(file, old, new, false)
    }

    fn run(file: &str, old: &str, new: &str, all: bool) -> Result<String, String> {
        edit(file.as_bytes(), Edit { old, new, all })
            .map(|edited| String::from_utf8(edited.content).expect("text"))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_one_place_is_replaced_and_the_rest_stays() {
        assert_eq!(once("a b c\n", "b", "x"), Ok("a x c\n".to_owned()));
        assert_eq!(once("a b c\n", " b", ""), Ok("a c\n".to_owned()));
        assert_eq!(once("whole", "whole", ""), Ok(String::new()));
        assert_eq!(once("no line end", "end", "end\n"), Ok("no line end\n".to_owned()));
    }

    #[test]
    fn a_text_that_occurs_more_than_once_is_named_with_its_lines() {
        let error = once("x\ny\nx x\n", "x", "z").expect_err("three times");
        assert!(error.contains("occurs 3 times, on lines 1, 3, 3;"), "{error}");
        let many = once(&"x\n".repeat(30), "x", "z").expect_err("thirty times");
        assert!(many.contains("lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 20 more"), "{many}");
    }

    #[test]
    fn occurrences_that_overlap_are_ambiguous() {
        assert!(once("aaa", "aa", "b").expect_err("two").contains("occurs 2 times"));
        assert_eq!(run("aaaaa", "aa", "b", true), Ok("bba".to_owned()));
    }

    #[test]
    fn all_occurrences_are_replaced_when_asked_for() {
        assert_eq!(run("x\ny\nx x\n", "x", "zz", true), Ok("zz\ny\nzz zz\n".to_owned()));
        assert_eq!(run("x", "x", "xx", true), Ok("xx".to_owned()));
    }

    #[test]
    fn a_text_that_is_not_there_is_an_error_with_a_hint() {
        let error = once("fn a() {\n\tlet x = 1;\n}\n", "fn a() {\n    let x = 1;", "").expect_err("tab");
        assert!(error.ends_with("; lines 1 to 2 differ from it only in white space"), "{error}");
        let error = once("a\nlet  x;\n", "let x;", "").expect_err("two blanks");
        assert!(error.ends_with("; line 2 differs from it only in white space"), "{error}");
        let error = once("a\n", "b", "").expect_err("absent");
        assert!(error.ends_with(": read the file and copy the text exactly"), "{error}");
        assert!(once("", " \n ", "x").is_err(), "blanks in an empty file");
    }

    #[test]
    fn an_edit_that_would_do_nothing_is_an_error() {
        assert_eq!(once("a", "", "b"), Err(EditError::Empty.to_string()));
        assert_eq!(once("a", "a", "a"), Err(EditError::Same.to_string()));
    }

    #[test]
    fn a_file_keeps_its_line_endings() {
        let file = "one\r\ntwo\r\nthree\r\n";
        assert_eq!(once(file, "one\ntwo", "1\n2\n2b"), Ok("1\r\n2\r\n2b\r\nthree\r\n".to_owned()));
        assert_eq!(once(file, "two", "2\n2b"), Ok("one\r\n2\r\n2b\r\nthree\r\n".to_owned()));
        assert_eq!(once(file, "one\r\ntwo", "1\r\n2"), Ok("1\r\n2\r\nthree\r\n".to_owned()));
        let mixed = "a\nb\r\nc\r\nd\n";
        assert_eq!(once(mixed, "b\nc", "B\nC"), Ok("a\nB\r\nC\r\nd\n".to_owned()));
        assert_eq!(once(mixed, "d\n", "D\n"), Ok("a\nb\r\nc\r\nD\n".to_owned()));
        assert_eq!(once("a\nb\n", "a", "a\r"), Ok("a\r\nb\n".to_owned()));
    }

    #[test]
    fn bytes_that_are_not_text_survive_an_edit_beside_them() {
        let file = b"caf\xe9 = 1\n";
        let edited = edit(file, Edit { old: "= 1", new: "= 2", all: false }).expect("ascii");
        assert_eq!(edited.content, b"caf\xe9 = 2\n");
        let error = edit(file, Edit { old: "= 1", new: "= é", all: false });
        assert_eq!(error, Err(EditError::Encoding));
    }

    #[test]
    fn the_summary_counts() {
        let edited = edit(b"a\nb\na\n", Edit { old: "a", new: "c\nd", all: true }).expect("twice");
        assert_eq!(
            edited.summary,
            "replaced 2 times on lines 1, 3; 1 lines became 2; the file now has 10 bytes"
        );
    }

    proptest! {
        #[test]
        fn replacing_all_is_what_the_standard_library_does(
            file in "[ab\n]{0,40}", old in "[ab\n]{1,3}", new in "[abc]{0,3}",
        ) {
            prop_assume!(old != new);
            let wanted = file.replace(&old, &new);
            match run(&file, &old, &new, true) {
                Ok(content) => prop_assert_eq!(content, wanted),
                Err(_) => prop_assert!(!file.contains(&old)),
            }
        }
    }
}
