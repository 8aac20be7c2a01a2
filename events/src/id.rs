//! Names of pods and places in a log.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Declares a number with a meaning of its own; as JSON and MessagePack it is a plain number.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// The number after this one.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number! {
    /// The place of an event in its pod's log: dense, from 1. Zero is the place before the first.
    Seq(u64)
}
number! {
    /// The place of an event among all events of a store, in the order of commits, from 1.
    Position(u64)
}
number! {
    /// The number of a request within its pod, from 1.
    RequestNumber(u32)
}
number! {
    /// The number of a turn within its pod, from 1.
    TurnNumber(u32)
}

/// The name of a pod: 16 bytes, written as a UUID. Whoever makes pods brings the bytes; nothing
/// is decided by their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodId([u8; 16]);

impl PodId {
    /// A pod's name from its bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes of the name.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for PodId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, byte) in self.0.iter().enumerate() {
            if matches!(place, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for PodId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PodId({self})")
    }
}

/// The text is not a name of the kind it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {wanted}")]
pub struct IdError {
    text: String,
    wanted: &'static str,
}

impl FromStr for PodId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let refuse = || IdError {
            text: text.to_owned(),
            wanted: "a pod id (32 hexadecimal digits, with or without hyphens)",
        };
        let digits: Vec<u8> = text
            .bytes()
            .filter(|byte| *byte != b'-')
            .map(|byte| char::from(byte).to_digit(16))
            .map(|digit| digit.and_then(|digit| u8::try_from(digit).ok()))
            .collect::<Option<_>>()
            .ok_or_else(refuse)?;
        if digits.len() != 32 {
            return Err(refuse());
        }
        let mut bytes = [0; 16];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair[0] << 4 | pair[1];
        }
        Ok(Self(bytes))
    }
}

impl Serialize for PodId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PodId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// podwork's own name of a tool call: the n-th call of its pod, from 1, written `c1`, `c2` and so
/// on. Pairing of calls and results goes by this id alone; what the provider calls the call is
/// opaque data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u32);

impl CallId {
    /// The call after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.0)
    }
}

impl FromStr for CallId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        text.strip_prefix('c')
            .and_then(|number| number.parse().ok())
            .map(Self)
            .ok_or_else(|| IdError { text: text.to_owned(), wanted: "a call id (such as c3)" })
    }
}

impl Serialize for CallId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CallId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_id_reads_back_what_it_writes() {
        let id = PodId::from_bytes(*b"0123456789abcdef");
        assert_eq!(id.to_string(), "30313233-3435-3637-3839-616263646566");
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!("not-an-id".parse::<PodId>().is_err());
        assert!("é0313233343536373839616263646566".parse::<PodId>().is_err());
    }

    #[test]
    fn a_call_id_reads_back_what_it_writes() {
        assert_eq!(CallId(3).to_string(), "c3");
        assert_eq!("c3".parse(), Ok(CallId(3)));
        assert!("3".parse::<CallId>().is_err());
        assert!("cx".parse::<CallId>().is_err());
    }
}
