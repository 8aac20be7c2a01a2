//! The arguments of a tool call, as the model wrote them.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::text::mend_surrogates;

/// A JSON object, kept as the string that the provider sent: sent back it is the same to the
/// byte, and read it is a parsed copy. Whoever holds one holds a call whose arguments parse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    raw: String,
}

/// The string is not a JSON object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the arguments are not a JSON object: {why}")]
pub struct ArgumentsError {
    /// What the parser says.
    pub why: String,
}

impl Arguments {
    /// Takes the string that a provider sent. An empty one stands for no arguments, and half of a
    /// surrogate pair becomes U+FFFD, since no provider would take it back.
    pub fn parse(raw: &str) -> Result<Self, ArgumentsError> {
        if raw.trim().is_empty() {
            return Ok(Self { raw: "{}".to_owned() });
        }
        let raw = mend_surrogates(raw);
        match serde_json::from_str::<Map<String, Value>>(&raw) {
            Ok(_) => Ok(Self { raw: raw.into_owned() }),
            Err(error) => Err(ArgumentsError { why: error.to_string() }),
        }
    }

    /// Arguments made here rather than by a model.
    pub fn from_object(object: &Map<String, Value>) -> Self {
        Self { raw: Value::Object(object.clone()).to_string() }
    }

    /// The string as the provider sent it.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// A parsed copy.
    pub fn object(&self) -> Map<String, Value> {
        serde_json::from_str(&self.raw).expect("arguments are parsed when they are made")
    }

    /// The raw string, when writing the parsed copy would not give the same bytes.
    fn raw_if_odd(&self) -> Option<&str> {
        let canonical = Value::Object(self.object()).to_string();
        (canonical != self.raw).then_some(self.raw.as_str())
    }
}

/// The empty object.
impl Default for Arguments {
    fn default() -> Self {
        Self { raw: "{}".to_owned() }
    }
}

/// How arguments lie in an event, flattened into it: `arguments` for people and programs, and
/// the string of the provider beside it where the two differ.
#[derive(Serialize, Deserialize)]
struct Form {
    arguments: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arguments_raw: Option<String>,
}

impl Serialize for Arguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let arguments_raw = self.raw_if_odd().map(str::to_owned);
        Form { arguments: self.object(), arguments_raw }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = Form::deserialize(deserializer)?;
        match form.arguments_raw {
            Some(raw) => Self::parse(&raw).map_err(D::Error::custom),
            None => Ok(Self::from_object(&form.arguments)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_string_of_the_provider_survives_to_the_byte() {
        for raw in ["{}", "{\"a\": 1, \"b\":2}", "{\"b\":1,\"a\":1.0}", "{\"z\":\"\\u00e9\"}"] {
            let arguments = Arguments::parse(raw).expect("valid");
            let json = serde_json::to_string(&arguments).expect("serialises");
            let back: Arguments = serde_json::from_str(&json).expect("reads back");
            assert_eq!(back.raw(), raw);
        }
    }

    #[test]
    fn an_empty_string_stands_for_no_arguments() {
        assert_eq!(Arguments::parse(" \n").expect("valid").raw(), "{}");
    }

    #[test]
    fn what_is_not_an_object_is_no_call() {
        for raw in ["[]", "1", "{\"path\":\"a", "{} {}", "null"] {
            assert!(Arguments::parse(raw).is_err(), "{raw}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_replaced() {
        let arguments = Arguments::parse(r#"{"a":"x\ud99cy"}"#).expect("mended");
        assert_eq!(arguments.object()["a"], "x\u{fffd}y");
    }
}
