//! JSON of unknown shape, read one level at a time: what podwork does not know keeps its bytes.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

/// An object whose values are not parsed yet. Of two values under one key the last one counts.
#[derive(Default)]
pub(crate) struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
    /// The object that this text is, if it is one.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok().map(Self)
    }

    /// The value under this key, as it stands; nothing for `null`.
    pub(crate) fn raw(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).map(|raw| raw.get()).filter(|raw| *raw != "null")
    }

    fn value<T: Deserialize<'a>>(&self, key: &str) -> Option<T> {
        serde_json::from_str(self.raw(key)?).ok()
    }

    /// The value under this key, if it is a string.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.value(key)
    }

    /// The value under this key, if it is a string that is not empty.
    pub(crate) fn name(&self, key: &str) -> Option<String> {
        self.text(key).filter(|text| !text.is_empty())
    }

    /// The value under this key, if it is a number that is not negative; what is finer than one
    /// is dropped.
    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        self.value(key).or_else(|| {
            let number = self.value::<f64>(key)?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be positive, and a cast from float saturates"
            )]
            (number >= 0.0).then_some(number as u64)
        })
    }

    /// The value under this key is `true`.
    pub(crate) fn flag(&self, key: &str) -> bool {
        self.value(key).unwrap_or(false)
    }

    /// The value under this key, if it is an object.
    pub(crate) fn fields(&self, key: &str) -> Option<Fields<'a>> {
        Self::parse(self.raw(key)?)
    }

    /// The elements of the value under this key, if it is an array.
    pub(crate) fn list(&self, key: &str) -> Option<Vec<&'a str>> {
        list(self.raw(key)?)
    }

    /// There is a value under this key, be it `null`.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The content under this key as blocks.
    pub(crate) fn blocks(&self, key: &str) -> Vec<Block<'a>> {
        self.raw(key).map(blocks).unwrap_or_default()
    }
}

/// The elements of the array that this text is, if it is one, as they stand.
pub(crate) fn list(text: &str) -> Option<Vec<&str>> {
    let elements: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    Some(elements.into_iter().map(RawValue::get).collect())
}

/// One block of a message's content.
pub(crate) enum Block<'a> {
    /// Words.
    Text(String),
    /// Anything else.
    Other {
        /// Its `type`, `unknown` without one.
        kind: String,
        /// The block as it stands.
        raw: &'a str,
        /// Its fields; none when it is no object.
        fields: Fields<'a>,
    },
}

/// The blocks of a content: a string is one block, an array has one an element.
fn blocks(content: &str) -> Vec<Block<'_>> {
    match list(content) {
        Some(elements) => elements.into_iter().map(block).collect(),
        None => vec![block(content)],
    }
}

fn block(raw: &str) -> Block<'_> {
    if let Ok(text) = serde_json::from_str(raw) {
        return Block::Text(text);
    }
    let fields = Fields::parse(raw).unwrap_or_default();
    let kind = fields.name("type").unwrap_or_else(|| "unknown".to_owned());
    match (kind.as_str(), fields.text("text")) {
        ("text" | "input_text" | "output_text", Some(text)) => Block::Text(text),
        _ => Block::Other { kind, raw, fields },
    }
}

/// A text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Closes what is open in a document that was cut: what stands before the last comma or bracket
/// stays, the rest is dropped. Nothing when not even the first bracket is there.
pub(crate) fn close_cut(text: &str) -> Option<String> {
    let last = structure(text).last()?;
    let kept = if last.1 == b',' { last.0 } else { last.0 + 1 };
    let mut open = Vec::new();
    for (_, byte) in structure(&text[..kept]) {
        match byte {
            b'{' => open.push('}'),
            b'[' => open.push(']'),
            b'}' | b']' => {
                open.pop();
            }
            _ => {}
        }
    }
    Some(text[..kept].chars().chain(open.into_iter().rev()).collect())
}

/// The brackets and commas outside of strings, with their places.
fn structure(text: &str) -> impl Iterator<Item = (usize, u8)> {
    let (mut in_string, mut escaped) = (false, false);
    text.bytes().enumerate().filter(move |(_, byte)| {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            return false;
        }
        in_string = *byte == b'"';
        matches!(byte, b'{' | b'[' | b'}' | b']' | b',')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_document_is_closed_before_what_was_cut() {
        let cases = [
            ("[{\"a\":1},{\"b\":[2,3", Some("[{\"a\":1},{\"b\":[2]}]")),
            ("{\"a\":\"x,[", Some("{}")),
            ("{\"a\":\"\\\",{\",\"b", Some("{\"a\":\"\\\",{\"}")),
            ("[1,2]", Some("[1,2]")),
            ("\"text", None),
            ("", None),
        ];
        for (cut, closed) in cases {
            assert_eq!(close_cut(cut).as_deref(), closed, "{cut}");
        }
    }

    #[test]
    fn a_value_keeps_its_bytes_and_a_null_is_none() {
        let fields =
            Fields::parse(r#"{"a": {"z":1.0,  "a":[]}, "b": null, "n": 12.7, "m": -1}"#).expect("an object");
        assert_eq!(fields.raw("a"), Some(r#"{"z":1.0,  "a":[]}"#));
        assert_eq!(fields.raw("b"), None);
        assert!(fields.has("b"));
        assert_eq!(fields.number("n"), Some(12));
        assert_eq!(fields.number("m"), None);
    }

    #[test]
    fn an_abyss_of_brackets_is_kept_and_not_entered() {
        let deep = format!("{{\"type\":\"x\",\"v\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        let fields = Fields::parse(&deep).expect("an object");
        assert_eq!(fields.raw("v").map(str::len), Some(200_001));
        let text = format!("[{deep}]");
        let blocks = blocks(&text);
        let [Block::Other { kind, .. }] = blocks.as_slice() else { panic!("one block that is no text") };
        assert_eq!(kind, "x");
    }
}
