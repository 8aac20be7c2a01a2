//! The environment, read once: variables, directories, and which of the variables are keys.

use std::path::PathBuf;

use crate::config::file::fits;
use crate::config::key::KEYS;
use crate::config::{Entry, Layer, Origin};
use crate::exit::Problem;
use crate::nearest::{distance, nearest};

/// What all our variables begin with.
const PREFIX: &str = "PODWORK_";

/// Variables that are no keys of the configuration.
const OTHERS: &[&str] = &["PODWORK_STORE", "PODWORK_CONFIG", "PODWORK_LOG"];

/// Variables that providers read: shown by `podwork config`, keys only as being there.
pub(crate) const OF_PROVIDERS: &[(&str, Secret)] = &[
    ("OPENAI_API_KEY", Secret::Yes),
    ("OPENAI_BASE_URL", Secret::No),
    ("ANTHROPIC_API_KEY", Secret::Yes),
    ("ANTHROPIC_BASE_URL", Secret::No),
];

/// Whether a value must never be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secret {
    /// It must not.
    Yes,
    /// It may.
    No,
}

/// What the program finds around it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// The directory that the program was started in.
    pub(crate) working_directory: PathBuf,
    /// `$XDG_CONFIG_HOME`, or its default.
    pub(crate) config_directory: Option<PathBuf>,
    /// `$XDG_DATA_HOME`, or its default.
    pub(crate) data_directory: Option<PathBuf>,
    /// `$PODWORK_CONFIG`.
    pub(crate) config_file: Option<PathBuf>,
    /// `$PODWORK_STORE`.
    pub(crate) store: Option<PathBuf>,
    /// Variables that are valid Unicode and concern us or a provider.
    pub(crate) variables: Vec<(String, String)>,
}

impl Environment {
    /// Looks around.
    pub(crate) fn read() -> Result<Self, Problem> {
        use etcetera::BaseStrategy;
        let working_directory = std::env::current_dir()
            .map_err(|error| Problem::usage(format!("the working directory is not there: {error}")))?;
        let strategy = etcetera::base_strategy::Xdg::new().ok();
        let path = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let concerns_us = |name: &str| {
            name.starts_with(PREFIX) || OF_PROVIDERS.iter().any(|(provider, _)| *provider == name)
        };
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok().filter(|name| concerns_us(name))?;
            Some((name, value.to_string_lossy().into_owned()))
        });
        Ok(Self {
            working_directory,
            config_directory: strategy.as_ref().map(BaseStrategy::config_dir),
            data_directory: strategy.as_ref().map(BaseStrategy::data_dir),
            config_file: path("PODWORK_CONFIG"),
            store: path("PODWORK_STORE"),
            variables: variables.collect(),
        })
    }

    /// The value of one of the variables, unless it is empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// The keys among the variables. An empty variable is none; an unknown one is refused when it
    /// is plainly meant for us.
    pub(crate) fn layer(&self) -> Result<Layer, Problem> {
        let mut layer = Layer::new();
        for (name, text) in &self.variables {
            let known = KEYS.iter().find(|(key, _)| variable_of(key) == *name);
            let Some((key, kind)) = known else {
                refuse_near_miss(name)?;
                continue;
            };
            if text.is_empty() {
                continue;
            }
            let Some(value) = kind.read_text(text).filter(|value| fits(key, value)) else {
                let text = format!("{name} is `{text}`; expected is {}", kind.expected());
                return Err(Problem::usage(text));
            };
            layer.insert((*key).to_owned(), Entry { value, origin: Origin::Variable(name.clone()) });
        }
        Ok(layer)
    }
}

/// The variable of a key: `limits.retries` is `PODWORK_LIMITS_RETRIES`.
fn variable_of(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "_").to_uppercase())
}

/// Letters that may differ before an unknown variable is taken for somebody else's.
const TYPO_LETTERS_MAX: usize = 2;

/// Other programs may have variables that begin like ours, so only what looks like a key of ours
/// is refused.
fn refuse_near_miss(name: &str) -> Result<(), Problem> {
    if OTHERS.contains(&name) || !name.starts_with(PREFIX) {
        return Ok(());
    }
    let known: Vec<String> = KEYS.iter().map(|(key, _)| variable_of(key)).collect();
    let all = known.iter().map(String::as_str).chain(OTHERS.iter().copied());
    let near = nearest(name, all).unwrap_or("PODWORK_MODEL");
    let of_a_section = ["PODWORK_CONTEXT_", "PODWORK_LIMITS_"].iter().any(|start| name.starts_with(start));
    if of_a_section || distance(name, near) <= TYPO_LETTERS_MAX {
        let text = format!("unknown variable {name}; the nearest known one is {near}");
        return Err(Problem::usage(text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Value;

    fn layer(name: &str, value: &str) -> Result<Layer, Problem> {
        let variables = vec![(name.to_owned(), value.to_owned())];
        Environment { variables, ..Environment::default() }.layer()
    }

    #[test]
    fn every_key_has_a_variable() {
        let layer = layer("PODWORK_CONTEXT_WINDOW_TOKENS", "32_000").expect("reads");
        assert_eq!(layer["context.window_tokens"].value, Value::Whole(32_000));
        assert_eq!(layer["context.window_tokens"].origin.to_string(), "PODWORK_CONTEXT_WINDOW_TOKENS");
    }

    #[test]
    fn an_empty_variable_is_none() {
        assert_eq!(layer("PODWORK_MODEL", ""), Ok(Layer::new()));
    }

    #[test]
    fn a_bad_or_misspelt_variable_is_refused_and_a_foreign_one_is_not() {
        let refused = |name, value| layer(name, value).expect_err(name).message;
        assert_eq!(
            refused("PODWORK_MODEL", "gpt"),
            "PODWORK_MODEL is `gpt`; expected is PROVIDER:NAME, such as \"openai:gpt-5\""
        );
        assert_eq!(
            refused("PODWORK_MODLE", "a:b"),
            "unknown variable PODWORK_MODLE; the nearest known one is PODWORK_MODEL"
        );
        assert!(refused("PODWORK_LIMITS_TRIES", "1").ends_with("PODWORK_LIMITS_RETRIES"));
        assert!(refused("PODWORK_STOER", "x").ends_with("PODWORK_STORE"));
        assert_eq!(layer("PODWORK_SHARED", "x"), Ok(Layer::new()));
        assert_eq!(layer("PODWORK_STORE", "x"), Ok(Layer::new()));
    }
}
