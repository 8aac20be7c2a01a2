//! Text that may be large: kept beside the event by its hash, and once only.

use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Hash;

/// The content of a tool result. In an event that was read it is always the text; `Apart` is its
/// form inside a record, between [`crate::codec::split`] and [`crate::codec::join`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The text itself.
    Text(String),
    /// The text lies elsewhere, under its hash.
    Apart {
        /// BLAKE3 of the text's bytes.
        hash: Hash,
        /// Length of the text in bytes.
        bytes: u64,
    },
}

impl Content {
    /// The text; empty when it lies apart.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Apart { .. } => "",
        }
    }

    /// Length in bytes, wherever the text lies.
    pub fn len(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Apart { bytes, .. } => *bytes,
        }
    }

    /// There is no text at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for Content {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Apart { hash, bytes } => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("hash", hash)?;
                map.serialize_entry("bytes", bytes)?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a text, or a hash and a length")
    }

    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Content, E> {
        Ok(Content::Text(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content, A::Error> {
        let (mut hash, mut bytes) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "hash" => hash = Some(map.next_value()?),
                "bytes" => bytes = Some(map.next_value()?),
                _ => {
                    map.next_value::<serde::de::IgnoredAny>()?;
                }
            }
        }
        match (hash, bytes) {
            (Some(hash), Some(bytes)) => Ok(Content::Apart { hash, bytes }),
            _ => Err(A::Error::custom("a content kept apart has a hash and a length")),
        }
    }
}
