//! `podwork config`: the merged configuration and where each value comes from. Keys of providers
//! are never shown.

use serde::Serialize;

use crate::config::environment::{OF_PROVIDERS, Secret};
use crate::config::{Config, Environment, Origin, Value};
use crate::output::style::Tone;
use crate::output::table::Cell;

/// One line of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Line {
    /// The key.
    pub(crate) key: String,
    /// Its value.
    pub(crate) value: Value,
    /// Where it comes from.
    pub(crate) origin: String,
}

/// What stands for a secret.
const HIDDEN: &str = "(set, hidden)";

/// All lines: the store, the keys in the order in which the documentation has them, models, and
/// what providers take from the environment.
pub(crate) fn lines(config: &Config, environment: &Environment, store: (String, Origin)) -> Vec<Line> {
    let (path, origin) = store;
    let mut lines =
        vec![Line { key: "store".to_owned(), value: Value::Text(path), origin: origin.to_string() }];
    let line = |key: &str| {
        let entry = config.entries().get(key)?;
        Some(Line { key: key.to_owned(), value: entry.value.clone(), origin: entry.origin.to_string() })
    };
    let known = super::key::KEYS.iter().map(|(key, _)| *key);
    lines.extend(known.filter_map(line));
    let models = config.entries().keys().filter(|key| key.starts_with("models."));
    lines.extend(models.filter_map(|key| line(key)));
    for (name, secret) in OF_PROVIDERS {
        if let Some(value) = environment.variable(name) {
            let value = match secret {
                Secret::Yes => HIDDEN.to_owned(),
                Secret::No => without_credentials(value),
            };
            let origin = Origin::Variable((*name).to_owned()).to_string();
            lines.push(Line { key: (*name).to_owned(), value: Value::Text(value), origin });
        }
    }
    lines
}

/// An address without the user and the password that may stand in it.
fn without_credentials(address: &str) -> String {
    match address.split_once("://") {
        Some((scheme, rest)) => {
            let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            let (authority, path) = rest.split_at(authority_end);
            let host = authority.rsplit('@').next().unwrap_or(authority);
            let hidden = if host.len() < authority.len() { "…@" } else { "" };
            format!("{scheme}://{hidden}{host}{path}")
        }
        None => address.to_owned(),
    }
}

/// The lines as cells of a table.
pub(crate) fn rows(lines: &[Line]) -> Vec<Vec<Cell>> {
    let row = |line: &Line| {
        let built_in = line.origin.starts_with("built-in");
        let tone = if built_in { Tone::Plain } else { Tone::Strong };
        vec![
            (Tone::Plain, line.key.clone()),
            (tone, line.value.to_string()),
            (Tone::Faint, line.origin.clone()),
        ]
    };
    let head = ["key", "value", "from"].map(|text| (Tone::Faint, text.to_owned())).to_vec();
    std::iter::once(head).chain(lines.iter().map(row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_providers_are_never_shown() {
        let variables = [
            ("OPENAI_API_KEY", "sk-secret"),
            ("OPENAI_BASE_URL", "http://user:secret@127.0.0.1:1/v1"),
            ("ANTHROPIC_API_KEY", ""),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let environment = Environment { variables, ..Environment::default() };
        let store = ("/s.redb".to_owned(), Origin::Flag("--store"));
        let lines = lines(&Config::merge([]), &environment, store);
        let json = serde_json::to_string(&lines).expect("serialises");
        assert!(!json.contains("secret"), "{json}");
        assert!(
            json.contains(r#"{"key":"OPENAI_API_KEY","value":"(set, hidden)","origin":"OPENAI_API_KEY"}"#)
        );
        assert!(json.contains("http://…@127.0.0.1:1/v1"), "{json}");
        assert!(!json.contains("ANTHROPIC_API_KEY"), "an empty variable is none");
    }

    #[test]
    fn each_value_stands_with_its_origin() {
        let store = ("/s.redb".to_owned(), Origin::Flag("--store"));
        let lines = lines(&Config::merge([]), &Environment::default(), store);
        assert_eq!(lines[0].key, "store");
        let retries = lines.iter().find(|line| line.key == "limits.retries").expect("is shown");
        assert_eq!((retries.value.to_string().as_str(), retries.origin.as_str()), ("5", "built-in"));
        assert_eq!(rows(&lines).len(), lines.len() + 1, "with a head");
    }
}
