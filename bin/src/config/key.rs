//! The keys of the configuration: their names, what each expects, and how values are read.

use std::fmt;

use events::Model;
use serde::Serialize;
use toml::de::DeValue;

/// What a key expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `PROVIDER:NAME`.
    Model,
    /// A whole number from 1.
    Whole,
    /// A whole number from 0.
    WholeOrZero,
    /// A whole number from 1, or `"off"`.
    WholeOrOff,
    /// A number above zero, with decimals.
    Amount,
    /// A number from zero, with decimals.
    AmountOrZero,
    /// A list of names.
    Names,
}

/// The value of a key.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Value {
    /// A text.
    Text(String),
    /// A whole number.
    Whole(u64),
    /// A number with decimals.
    Amount(f64),
    /// A list of names.
    Names(Vec<String>),
    /// Nothing, on purpose.
    Off(Off),
}

/// Serialises as `"off"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Off {
    /// The only value.
    #[serde(rename = "off")]
    Off,
}

/// The word that turns a threshold off.
const OFF: &str = "off";

/// Keys with one place each, in the order in which they are shown.
pub(crate) const KEYS: &[(&str, Kind)] = &[
    ("model", Kind::Model),
    ("context.window_tokens", Kind::Whole),
    ("context.prune_protected_tokens", Kind::Whole),
    ("context.prune_min_savings", Kind::Whole),
    ("context.prune_excluded_tools", Kind::Names),
    ("context.compact_threshold", Kind::WholeOrOff),
    ("context.compact_request_threshold", Kind::WholeOrOff),
    ("context.retained_tokens", Kind::Whole),
    ("context.auto_read_budget", Kind::Whole),
    ("limits.requests_per_turn", Kind::Whole),
    ("limits.retries", Kind::WholeOrZero),
    ("limits.tool_seconds", Kind::Whole),
    ("limits.tool_output_bytes", Kind::Whole),
    ("limits.children", Kind::WholeOrZero),
    ("limits.depth", Kind::WholeOrZero),
    ("limits.max_requests", Kind::Whole),
    ("limits.max_tokens", Kind::Whole),
    ("limits.max_cost_usd", Kind::Amount),
    ("limits.max_seconds", Kind::Whole),
];

/// Keys of one model, below `models."PROVIDER:NAME"`.
pub(crate) const MODEL_KEYS: &[(&str, Kind)] = &[
    ("window_tokens", Kind::Whole),
    ("output_tokens_max", Kind::Whole),
    ("reasoning_tokens", Kind::Whole),
    ("prices.input", Kind::AmountOrZero),
    ("prices.cached_read", Kind::AmountOrZero),
    ("prices.cached_write", Kind::AmountOrZero),
    ("prices.output", Kind::AmountOrZero),
];

/// What the key of this name expects.
pub(crate) fn kind_of(name: &str) -> Option<Kind> {
    KEYS.iter().find(|(key, _)| *key == name).map(|(_, kind)| *kind)
}

/// Numbers that the program keeps in 32 bits.
fn is_narrow(name: &str) -> bool {
    matches!(name, "limits.requests_per_turn" | "limits.retries" | "limits.children" | "limits.depth")
}

/// The largest value of a key that is a whole number.
pub(crate) fn largest(name: &str) -> u64 {
    // Files cannot say more than TOML's 64-bit signed integers.
    if is_narrow(name) { u64::from(u32::MAX) } else { i64::MAX.unsigned_abs() }
}

impl Kind {
    /// What is expected, for an error message.
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Self::Model => "PROVIDER:NAME, such as \"openai:gpt-5\"",
            Self::Whole => "a whole number, at least 1",
            Self::WholeOrZero => "a whole number, at least 0",
            Self::WholeOrOff => "a whole number, at least 1, or \"off\"",
            Self::Amount => "a number above 0",
            Self::AmountOrZero => "a number, at least 0",
            Self::Names => "a list of names, such as [\"read_file\"]",
        }
    }

    /// Reads a value from a file.
    pub(crate) fn read_toml(self, value: &DeValue<'_>) -> Option<Value> {
        match self {
            Self::Model => self.read_text(value.as_str()?),
            Self::WholeOrOff if value.is_str() || value.as_bool() == Some(false) => {
                let off = value.as_str().is_none_or(|text| text == OFF);
                off.then_some(Value::Off(Off::Off))
            }
            Self::Whole | Self::WholeOrZero | Self::WholeOrOff => {
                let integer = value.as_integer()?;
                self.whole(u64::from_str_radix(integer.as_str(), integer.radix()).ok()?)
            }
            Self::Amount | Self::AmountOrZero => {
                let text = match value {
                    DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str(),
                    DeValue::Float(float) => float.as_str(),
                    DeValue::Integer(_)
                    | DeValue::String(_)
                    | DeValue::Boolean(_)
                    | DeValue::Datetime(_)
                    | DeValue::Array(_)
                    | DeValue::Table(_) => return None,
                };
                self.read_text(text)
            }
            Self::Names => {
                let names = value.as_array()?.iter().map(|name| name.get_ref().as_str().map(str::to_owned));
                names.collect::<Option<_>>().map(Value::Names)
            }
        }
    }

    /// Reads a value from a variable of the environment.
    pub(crate) fn read_text(self, text: &str) -> Option<Value> {
        let text = text.trim();
        match self {
            Self::Model => text.parse::<Model>().ok().map(|model| Value::Text(model.to_string())),
            Self::WholeOrOff if text == OFF => Some(Value::Off(Off::Off)),
            Self::Whole | Self::WholeOrZero | Self::WholeOrOff => {
                self.whole(text.replace('_', "").parse().ok()?)
            }
            Self::Amount | Self::AmountOrZero => {
                let amount: f64 = text.replace('_', "").parse().ok()?;
                let in_range = amount > 0.0 || (amount == 0.0 && self == Self::AmountOrZero);
                (amount.is_finite() && in_range).then_some(Value::Amount(amount))
            }
            Self::Names => {
                let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
                Some(Value::Names(names.map(str::to_owned).collect()))
            }
        }
    }

    fn whole(self, number: u64) -> Option<Value> {
        (number > 0 || self == Self::WholeOrZero).then_some(Value::Whole(number))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Whole(number) => number.fmt(f),
            Self::Amount(number) => number.fmt(f),
            Self::Names(names) if names.is_empty() => f.write_str("none"),
            Self::Names(names) => f.write_str(&names.join(", ")),
            Self::Off(_) => f.write_str(OFF),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: Kind, toml: &str) -> Option<Value> {
        kind.read_toml(DeValue::parse(toml).expect("TOML").get_ref())
    }

    #[test]
    fn a_size_is_a_whole_number_and_never_zero_or_negative() {
        assert_eq!(read(Kind::Whole, "8_000"), Some(Value::Whole(8000)));
        assert_eq!(read(Kind::Whole, "0x10"), Some(Value::Whole(16)));
        for toml in ["0", "-1", "1.5", "\"8000\"", "true", "[1]", "99999999999999999999"] {
            assert_eq!(read(Kind::Whole, toml), None, "{toml}");
        }
        assert_eq!(read(Kind::WholeOrZero, "0"), Some(Value::Whole(0)));
    }

    #[test]
    fn a_threshold_can_be_turned_off() {
        for toml in ["\"off\"", "false"] {
            assert_eq!(read(Kind::WholeOrOff, toml), Some(Value::Off(Off::Off)), "{toml}");
        }
        assert_eq!(Kind::WholeOrOff.read_text("off"), Some(Value::Off(Off::Off)));
        assert_eq!(read(Kind::WholeOrOff, "true"), None);
        assert_eq!(read(Kind::WholeOrOff, "\"on\""), None);
    }

    #[test]
    fn money_is_finite_and_not_negative() {
        assert_eq!(read(Kind::AmountOrZero, "0"), Some(Value::Amount(0.0)));
        assert_eq!(read(Kind::Amount, "2"), Some(Value::Amount(2.0)));
        assert_eq!(read(Kind::Amount, "1.25"), Some(Value::Amount(1.25)));
        for toml in ["0.0", "-1", "nan", "inf", "\"1\""] {
            assert_eq!(read(Kind::Amount, toml), None, "{toml}");
        }
    }

    #[test]
    fn a_model_names_its_provider() {
        assert_eq!(read(Kind::Model, "\"openai:x\""), Some(Value::Text("openai:x".to_owned())));
        assert_eq!(read(Kind::Model, "\"x\""), None);
    }

    #[test]
    fn names_are_a_list_in_files_and_comma_separated_in_the_environment() {
        let names = Value::Names(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(read(Kind::Names, "[\"a\", \"b\"]"), Some(names.clone()));
        assert_eq!(Kind::Names.read_text("a, b"), Some(names));
        assert_eq!(read(Kind::Names, "[1]"), None);
    }
}
