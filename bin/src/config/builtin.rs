//! The values that podwork comes with.

use events::spec::{ContextLimits, Limits};

use crate::config::key::{Off, Value};
use crate::config::{Entry, Layer, Origin};

/// The layer below all others.
pub(crate) fn layer() -> Layer {
    let context = ContextLimits::default();
    let limits = Limits::default();
    let threshold = |threshold: Option<u64>| threshold.map_or(Value::Off(Off::Off), Value::Whole);
    let values = [
        ("context.window_tokens", Some(Value::Whole(context.window_tokens))),
        ("context.prune_protected_tokens", Some(Value::Whole(context.prune_protected_tokens))),
        ("context.prune_min_savings", Some(Value::Whole(context.prune_min_savings))),
        ("context.prune_excluded_tools", Some(Value::Names(context.prune_excluded_tools))),
        ("context.compact_threshold", Some(threshold(context.compact_threshold))),
        ("context.compact_request_threshold", Some(threshold(context.compact_request_threshold))),
        ("context.retained_tokens", Some(Value::Whole(context.retained_tokens))),
        ("context.auto_read_budget", Some(Value::Whole(context.auto_read_budget))),
        ("limits.requests_per_turn", Some(Value::Whole(limits.requests_per_turn.into()))),
        ("limits.retries", Some(Value::Whole(limits.retries.into()))),
        ("limits.tool_seconds", Some(Value::Whole(limits.tool_seconds))),
        ("limits.tool_output_bytes", Some(Value::Whole(limits.tool_output_bytes))),
        ("limits.children", Some(Value::Whole(limits.children.into()))),
        ("limits.depth", Some(Value::Whole(limits.depth.into()))),
        ("limits.max_requests", limits.max_requests.map(Value::Whole)),
        ("limits.max_tokens", limits.max_tokens.map(Value::Whole)),
        ("limits.max_cost_usd", limits.max_cost_usd.map(Value::Amount)),
        ("limits.max_seconds", limits.max_seconds.map(Value::Whole)),
    ];
    let given = values.into_iter().filter_map(|(key, value)| {
        value.map(|value| (key.to_owned(), Entry { value, origin: Origin::BuiltIn }))
    });
    given.collect()
}

/// Built-in values that are measured on the built-in window, and the largest share of a smaller
/// window that each may take, in sixteenths. Left as they are, a small window would overflow long
/// before the first compaction.
const SIXTEENTHS: &[(&str, u64)] = &[
    ("context.compact_threshold", 10),
    ("context.compact_request_threshold", 14),
    ("context.retained_tokens", 4),
    ("context.prune_protected_tokens", 4),
    ("context.auto_read_budget", 2),
];

/// Makes built-in values smaller where the window is small. What a person set stays.
pub(crate) fn fit_to_window(entries: &mut Layer) {
    let Some(Value::Whole(window)) = entries.get("context.window_tokens").map(|entry| entry.value.clone())
    else {
        return;
    };
    for (key, sixteenths) in SIXTEENTHS {
        let Some(entry) = entries.get_mut(*key).filter(|entry| is_ours(&entry.origin)) else { continue };
        if let Value::Whole(tokens) = entry.value {
            let share = (window / 16).saturating_mul(*sixteenths).max(1);
            if share < tokens {
                *entry = Entry { value: Value::Whole(share), origin: Origin::Fitted };
            }
        }
    }
}

fn is_ours(origin: &Origin) -> bool {
    match origin {
        Origin::BuiltIn | Origin::Fitted => true,
        Origin::File { .. } | Origin::Variable(_) | Origin::Flag(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::config::key::KEYS;

    fn whole(key: &str, number: u64, origin: Origin) -> Layer {
        Layer::from([(key.to_owned(), Entry { value: Value::Whole(number), origin })])
    }

    #[test]
    fn every_built_in_value_belongs_to_a_known_key() {
        for key in layer().keys() {
            assert!(KEYS.iter().any(|(known, _)| known == key), "{key}");
        }
    }

    #[test]
    fn nothing_is_fitted_to_the_built_in_window() {
        assert_eq!(Config::merge([]).entries(), &layer());
    }

    #[test]
    fn a_small_window_makes_thresholds_smaller_but_not_those_of_a_person() {
        let flag = || Origin::Flag("--window");
        let mut layer = whole("context.window_tokens", 2048, flag());
        layer.extend(whole("context.retained_tokens", 5000, Origin::Variable("X".to_owned())));
        let config = Config::merge([layer]);
        assert_eq!(config.value("context.compact_threshold"), Some(&Value::Whole(1280)));
        assert_eq!(config.value("context.compact_request_threshold"), Some(&Value::Whole(1792)));
        assert_eq!(config.value("context.prune_protected_tokens"), Some(&Value::Whole(512)));
        assert_eq!(config.value("context.retained_tokens"), Some(&Value::Whole(5000)));
    }
}
