//! One place where text from outside becomes text that every provider accepts.

use std::borrow::Cow;

/// The longest beginning of `text` that has at most `bytes_max` bytes and ends between
/// characters.
pub fn head(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// The longest end of `text` that has at most `bytes_max` bytes and begins between characters.
pub fn tail(text: &str, bytes_max: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes_max))..]
}

/// Replaces escapes that stand for half of a surrogate pair by the escape of U+FFFD, in JSON that
/// was not parsed yet. The strict parser would refuse the whole document for one of them.
pub fn mend_surrogates(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let mut mended = String::new();
    let mut kept_to = 0;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match escape_at(json, at) {
            None => at += 2,
            Some(unit) if !(0xd800..0xe000).contains(&unit) => at += 6,
            Some(unit) if unit < 0xdc00 && is_low_half(escape_at(json, at + 6)) => at += 12,
            Some(_) => {
                mended.push_str(&json[kept_to..at]);
                mended.push_str("\\ufffd");
                at += 6;
                kept_to = at;
            }
        }
    }
    if kept_to == 0 {
        return Cow::Borrowed(json);
    }
    mended.push_str(&json[kept_to..]);
    Cow::Owned(mended)
}

fn is_low_half(unit: Option<u32>) -> bool {
    unit.is_some_and(|unit| (0xdc00..0xe000).contains(&unit))
}

/// The code unit of the `\uXXXX` that begins at this byte.
fn escape_at(json: &str, at: usize) -> Option<u32> {
    let digits = json.get(at..)?.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

/// Text for a model from bytes of any origin: invalid UTF-8 replaced, escape sequences of
/// terminals left out, control characters other than tab and line end replaced by U+FFFD, and
/// carriage returns resolved as a terminal shows them.
pub fn clean(bytes: &[u8]) -> String {
    clean_str(&String::from_utf8_lossy(bytes))
}

/// As [`clean`], for text that is valid Unicode already.
pub fn clean_str(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\x1b' => skip_escape(&mut characters),
            '\u{9b}' => skip_control_sequence(&mut characters),
            '\r' => match characters.peek() {
                Some('\n') => {}
                _ => cleaned.push('\n'),
            },
            '\t' | '\n' => cleaned.push(character),
            _ if character.is_control() => cleaned.push('\u{fffd}'),
            _ => cleaned.push(character),
        }
    }
    cleaned
}

type Characters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// ECMA-48: after ESC, `[` begins a control sequence, one of `]PX^_` a string that ends with BEL
/// or ESC `\`, and anything else is a sequence of intermediates and one final character.
fn skip_escape(characters: &mut Characters<'_>) {
    match characters.peek() {
        Some('[') => {
            characters.next();
            skip_control_sequence(characters);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            characters.next();
            skip_string(characters);
        }
        _ => {
            while characters.next_if(|next| (' '..='/').contains(next)).is_some() {}
            characters.next_if(|next| ('0'..='~').contains(next));
        }
    }
}

fn skip_control_sequence(characters: &mut Characters<'_>) {
    while characters.next_if(|next| (' '..='?').contains(next)).is_some() {}
    characters.next_if(|next| ('@'..='~').contains(next));
}

/// A string that never ends would swallow all that follows, so a line end closes it as well.
fn skip_string(characters: &mut Characters<'_>) {
    while let Some(next) = characters.next_if(|next| *next != '\n') {
        if next == '\x07' || next == '\u{9c}' {
            return;
        }
        if next == '\x1b' {
            characters.next_if_eq(&'\\');
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_is_cut_between_characters_only() {
        let text = "a👩‍👩‍👧b";
        for bytes_max in 0..=text.len() {
            assert!(text.starts_with(head(text, bytes_max)));
            assert!(text.ends_with(tail(text, bytes_max)));
            assert!(head(text, bytes_max).len() <= bytes_max);
            assert!(tail(text, bytes_max).len() <= bytes_max);
        }
    }

    #[test]
    fn half_pairs_are_mended_and_whole_ones_kept() {
        let cases = [
            (r#"{"a":"\ud99c"}"#, r#"{"a":"\ufffd"}"#),
            (r#"{"a":"\ud83d\ude00"}"#, r#"{"a":"\ud83d\ude00"}"#),
            (r#"{"a":"\ude00\ud83d"}"#, r#"{"a":"\ufffd\ufffd"}"#),
            (r#"{"a":"\ud83d\ud83d\ude00"}"#, r#"{"a":"\ufffd\ud83d\ude00"}"#),
            (r#"{"a":"\\ud99c"}"#, r#"{"a":"\\ud99c"}"#),
            (r#"{"a":"\ud9"}"#, r#"{"a":"\ud9"}"#),
            ("\\", "\\"),
        ];
        for (json, mended) in cases {
            assert_eq!(mend_surrogates(json), mended);
        }
    }

    #[test]
    fn terminal_noise_is_cleaned() {
        let cases: [(&[u8], &str); 8] = [
            (b"\x1b[31mred\x1b[0m", "red"),
            (b"\x1b]0;title\x07text", "text"),
            (b"\x1b]8;;x\x1b\\link", "link"),
            (b"a\0b\x07", "a\u{fffd}b\u{fffd}"),
            (b"one\r\ntwo\rthree", "one\ntwo\nthree"),
            (b"caf\xe9", "caf\u{fffd}"),
            (b"\x1b(Bplain\x1b", "plain"),
            (b"\x1b]never ends\nnext", "\nnext"),
        ];
        for (bytes, text) in cases {
            assert_eq!(clean(bytes), text);
        }
    }

    proptest! {
        #[test]
        fn cleaned_text_has_no_control_characters_and_cleaning_it_again_changes_nothing(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let cleaned = clean(&bytes);
            prop_assert!(cleaned.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
            prop_assert_eq!(clean_str(&cleaned), cleaned);
        }

        #[test]
        fn mended_json_parses_whenever_only_half_pairs_were_wrong(units in prop::collection::vec(0xd700_u32..0xe100, 0..8)) {
            let escapes: Vec<String> = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let escapes = escapes.concat();
            let json = format!("\"{escapes}\"");
            prop_assert!(serde_json::from_str::<String>(&mend_surrogates(&json)).is_ok());
        }
    }
}
