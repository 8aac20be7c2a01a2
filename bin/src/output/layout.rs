//! Fitting text into the width of a terminal: cut and wrapped between characters as people see
//! them, and measured in columns.

use unicode_width::UnicodeWidthStr as _;

/// What stands where something was cut off.
const CUT: &str = "…";

/// Joins two characters into one that people see.
const ZERO_WIDTH_JOINER: char = '\u{200d}';

/// Columns that the text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// The text up to this many columns; what was cut off is marked.
pub(crate) fn cut(text: &str, columns_max: usize) -> String {
    if columns(text) <= columns_max {
        return text.to_owned();
    }
    let mut shown = String::new();
    for character in characters(text) {
        if columns(&shown) + columns(character) + columns(CUT) > columns_max {
            break;
        }
        shown.push_str(character);
    }
    if columns_max > 0 {
        shown.push_str(CUT);
    }
    shown
}

/// The text in lines of at most this many columns, broken at spaces where there are any and
/// between characters where not. Tabs become spaces. A character that is wider than a line has a
/// line of its own.
pub(crate) fn wrap(text: &str, columns_max: usize) -> Vec<String> {
    let columns_max = columns_max.max(1);
    text.split('\n').flat_map(|line| wrap_line(&line.replace('\t', "    "), columns_max)).collect()
}

fn wrap_line(line: &str, columns_max: usize) -> Vec<String> {
    if columns(line) <= columns_max {
        return vec![line.to_owned()];
    }
    let mut lines = Vec::new();
    let mut current = String::new();
    for word in line.split_inclusive(' ') {
        if columns(&current) + columns(word.trim_end_matches(' ')) <= columns_max {
            current.push_str(word);
            continue;
        }
        if !current.trim_end().is_empty() {
            lines.push(std::mem::take(&mut current));
        }
        for character in characters(word) {
            if !current.is_empty() && columns(&current) + columns(character) > columns_max {
                lines.push(std::mem::take(&mut current));
            }
            current.push_str(character);
        }
    }
    if !current.trim_end().is_empty() {
        lines.push(current);
    }
    for line in &mut lines {
        line.truncate(line.trim_end_matches(' ').len());
    }
    lines
}

/// The characters as people see them, near enough: a character with the marks and the joined
/// characters that follow it.
fn characters(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut joined = false;
        let end = rest.char_indices().skip(1).find(|(_, character)| {
            let mut bytes = [0; 4];
            let belongs = joined || columns(character.encode_utf8(&mut bytes)) == 0;
            joined = *character == ZERO_WIDTH_JOINER;
            !belongs
        });
        let (first, others) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        rest = others;
        (!first.is_empty()).then_some(first)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_is_cut_between_characters_that_people_see() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("longer", 5), "long…");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
        assert_eq!(cut("a👩‍👩‍👧b", 3), "a…");
        assert_eq!(cut("anything", 0), "");
    }

    #[test]
    fn text_is_wrapped_at_spaces_and_inside_long_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrap("a\n\nb", 9), ["a", "", "b"]);
        assert_eq!(wrap("日本語", 1), ["日", "本", "語"]);
        assert_eq!(wrap("", 4), [""]);
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_asked_and_no_letter_is_lost(text in "[a-z日é👩 \u{301}\u{200d}]{0,40}", width in 2_usize..12) {
            let lines = wrap(&text, width);
            for line in &lines {
                prop_assert!(columns(line) <= width || characters(line).count() == 1, "{line:?}");
            }
            let letters = |text: &str| text.chars().filter(|letter| *letter != ' ').collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
            prop_assert!(columns(&cut(&text, width)) <= width);
        }
    }
}
