//! Signatures of reasoning: made by the server over the words and over all that stood before
//! them, and checked when they come back. No state is kept; everything is in the signature.

use std::collections::BTreeMap;

use events::Hash;
use events::hash::Hasher;
use serde_json::{Value, json};

use super::Rule;

/// Bytes of a hash that stand in a signature.
const HASH_BYTES: usize = 12;

/// Someone who signs. Two with different names do not accept each other's signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    name: String,
}

impl Seal {
    /// A seal of its own.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into() }
    }

    /// Signs words that are made behind a prefix.
    pub fn sign(&self, prefix: &Prefix, text: &str) -> String {
        let before = short(prefix.hash());
        format!("{}{before}{}", self.mark(), self.proof(&before, text))
    }

    /// Checks words that came back.
    pub fn check(&self, signature: &str, prefix: &Prefix, text: &str) -> Result<(), Rule> {
        let Some(rest) = signature.strip_prefix(&self.mark()) else {
            return Err(Rule::ReasoningForeign);
        };
        let Some((before, proof)) = rest.split_at_checked(2 * HASH_BYTES) else {
            return Err(Rule::ReasoningAltered);
        };
        if proof != self.proof(before, text) {
            return Err(Rule::ReasoningAltered);
        }
        if before != short(prefix.hash()) {
            return Err(Rule::ReasoningMoved);
        }
        Ok(())
    }

    /// Encrypts words: nobody else can read them, and they come back as one piece.
    pub fn hide(&self, prefix: &Prefix, text: &str) -> String {
        format!("{}.{}", self.sign(prefix, text), hex(text.as_bytes()))
    }

    /// Checks hidden words that came back.
    pub fn check_hidden(&self, data: &str, prefix: &Prefix) -> Result<(), Rule> {
        let Some((signature, hidden)) = data.split_once('.') else {
            return Err(if data.starts_with(&self.mark()) {
                Rule::ReasoningAltered
            } else {
                Rule::ReasoningForeign
            });
        };
        let text = unhex(hidden).ok_or(Rule::ReasoningAltered)?;
        self.check(signature, prefix, &text)
    }

    /// Marks a part of a kind that clients do not know, so that it is recognised later.
    #[must_use]
    pub fn stamp(&self, part: &Value) -> Value {
        let mut stamped = part.clone();
        stamped["seal"] = self.stamp_of(part).into();
        stamped
    }

    /// The part is as it was stamped here.
    pub fn is_stamped(&self, part: &Value) -> bool {
        let mut plain = part.clone();
        let stamp = plain.as_object_mut().and_then(|fields| fields.remove("seal"));
        stamp == Some(Value::String(self.stamp_of(&plain)))
    }

    fn stamp_of(&self, part: &Value) -> String {
        self.proof("part", &canonical(part).to_string())
    }

    fn mark(&self) -> String {
        short(Hash::of(self.name.as_bytes()))[..8].to_owned()
    }

    fn proof(&self, before: &str, text: &str) -> String {
        short(Hash::of(format!("{}\0{before}\0{text}", self.name).as_bytes()))
    }
}

/// All blocks before a place, whatever messages they are spread over. Ids count by their order
/// and cache marks not at all: a client may choose both anew for each request.
#[derive(Clone, Debug, Default)]
pub struct Prefix {
    hasher: Hasher,
    calls: BTreeMap<String, usize>,
}

impl Prefix {
    /// The blocks of all messages of a body of the Messages dialect.
    pub fn of(body: &Value) -> Self {
        let mut prefix = Self::default();
        for message in body["messages"].as_array().into_iter().flatten() {
            let role = message["role"].as_str().unwrap_or_default();
            for block in blocks(&message["content"]) {
                prefix.push(role, &block);
            }
        }
        prefix
    }

    /// Takes the next block.
    pub fn push(&mut self, role: &str, block: &Value) {
        let mut plain = block.clone();
        if plain["type"] == "text" && plain["text"].as_str().is_some_and(|text| text.trim().is_empty()) {
            return;
        }
        if let Some(fields) = plain.as_object_mut() {
            fields.remove("cache_control");
            if let Some(id) = fields.remove("id") {
                let place = self.calls.len();
                self.calls.insert(id.as_str().unwrap_or_default().to_owned(), place);
            }
            if let Some(id) = fields.remove("tool_use_id") {
                let place = self.calls.get(id.as_str().unwrap_or_default());
                fields.insert("answers".to_owned(), json!(place));
                let content = blocks(fields.get("content").unwrap_or(&Value::Null));
                fields.insert("content".to_owned(), Value::Array(content));
                fields.retain(|name, value| name != "is_error" || value == &Value::Bool(true));
            }
        }
        self.hasher.update(format!("{role} {}\n", canonical(&plain)).as_bytes());
    }

    fn hash(&self) -> Hash {
        self.hasher.finish()
    }
}

/// Content as blocks: a plain string is one block of text.
pub(super) fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks
            .iter()
            .map(|block| {
                let mut plain = block.clone();
                if let Some(fields) = plain.as_object_mut() {
                    fields.remove("cache_control");
                }
                plain
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

/// The same value with its names in order, whatever the map type keeps.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<_, _> =
                fields.iter().map(|(name, value)| (name, canonical(value))).collect();
            Value::Array(sorted.into_iter().map(|(name, value)| json!([name, value])).collect())
        }
        Value::Array(values) => Value::Array(values.iter().map(canonical).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn short(hash: Hash) -> String {
    hex(&hash.as_bytes()[..HASH_BYTES])
}

fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).expect("half a byte is one digit");
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

fn unhex(text: &str) -> Option<String> {
    let pairs = text
        .as_bytes()
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok()));
    String::from_utf8(pairs.collect::<Option<Vec<u8>>>()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix {
        Prefix::of(&json!({"messages": [{"role": "user", "content": text}]}))
    }

    #[test]
    fn words_pass_only_as_they_were_signed_where_they_were_signed_by_whom_they_were_signed() {
        let seal = Seal::named("a");
        let signature = seal.sign(&prefix("x"), "thought");
        assert_eq!(seal.check(&signature, &prefix("x"), "thought"), Ok(()));
        assert_eq!(seal.check(&signature, &prefix("x"), "thoughts"), Err(Rule::ReasoningAltered));
        assert_eq!(seal.check(&signature, &prefix("x"), ""), Err(Rule::ReasoningAltered));
        assert_eq!(seal.check(&signature, &prefix("y"), "thought"), Err(Rule::ReasoningMoved));
        assert_eq!(Seal::named("b").check(&signature, &prefix("x"), "thought"), Err(Rule::ReasoningForeign));
        assert_eq!(seal.check("", &prefix("x"), "thought"), Err(Rule::ReasoningForeign));
        assert_eq!(seal.check(&signature[..10], &prefix("x"), "thought"), Err(Rule::ReasoningAltered));
    }

    #[test]
    fn hidden_words_pass_only_whole() {
        let seal = Seal::named("a");
        let data = seal.hide(&prefix("x"), "é");
        assert_eq!(seal.check_hidden(&data, &prefix("x")), Ok(()));
        assert_eq!(seal.check_hidden(&data, &prefix("y")), Err(Rule::ReasoningMoved));
        assert!(seal.check_hidden(&data[..data.len() - 2], &prefix("x")).is_err());
        assert_eq!(seal.check_hidden("data", &prefix("x")), Err(Rule::ReasoningForeign));
    }

    #[test]
    fn a_prefix_is_the_same_under_other_ids_cache_marks_and_message_bounds() {
        let once = json!({"messages": [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {"a": 1, "b": 2}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "r"}]},
        ]});
        let again = json!({"messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}},
            ]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "z", "name": "t", "input": {"b": 2, "a": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "z", "is_error": false,
                "content": [{"type": "text", "text": "r"}]}]},
        ]});
        assert_eq!(Prefix::of(&once).hash(), Prefix::of(&again).hash());
        let mut pruned = again;
        pruned["messages"][2]["content"][0]["content"] = "left out".into();
        assert_ne!(Prefix::of(&once).hash(), Prefix::of(&pruned).hash());
    }

    #[test]
    fn a_stamped_part_is_recognised_and_an_altered_one_is_not() {
        let seal = Seal::named("a");
        let stamped = seal.stamp(&json!({"type": "new_thing", "x": 1}));
        assert!(seal.is_stamped(&stamped));
        assert!(!Seal::named("b").is_stamped(&stamped));
        let mut altered = stamped;
        altered["x"] = 2.into();
        assert!(!seal.is_stamped(&altered));
    }
}
