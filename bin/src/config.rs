//! The configuration: layers, of which a later one overrules an earlier one key by key.
//!
//! Built-in values, `$XDG_CONFIG_HOME/podwork/config.toml`, the nearest `podwork.toml` upward from
//! the working directory (or the file that `--config` names), `PODWORK_*`, flags. Each value
//! remembers where it comes from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use events::Model;

use crate::args::WorkFlags;
use crate::exit::Problem;

pub(crate) mod builtin;
pub(crate) mod environment;
pub(crate) mod file;
pub(crate) mod key;
pub(crate) mod settings;
pub(crate) mod show;

pub(crate) use environment::Environment;
pub(crate) use key::Value;

/// Name of the file that is looked for upward from the working directory.
const PROJECT_FILE: &str = "podwork.toml";

/// Bytes of a configuration file that are read: larger ones are no configuration.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Keys and values of one place.
pub(crate) type Layer = BTreeMap<String, Entry>;

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// The value.
    pub(crate) value: Value,
    /// Where it comes from.
    pub(crate) origin: Origin,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The program.
    BuiltIn,
    /// The program, made smaller to fit a small window.
    Fitted,
    /// A file.
    File {
        /// The file.
        path: PathBuf,
        /// The line of the key, from 1.
        line: usize,
    },
    /// A variable of the environment.
    Variable(String),
    /// A flag.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in"),
            Self::Fitted => f.write_str("built-in, fitted to the window"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

/// The name of a model's key.
pub(crate) fn model_key(model: &str, leaf: &str) -> String {
    format!("models.\"{model}\".{leaf}")
}

/// All layers merged.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    entries: Layer,
}

impl Config {
    /// Reads and merges all layers.
    pub(crate) fn load(
        environment: &Environment,
        file: Option<&Path>,
        flags: Option<&WorkFlags>,
    ) -> Result<Self, Problem> {
        let mut layers = Vec::new();
        if let Some(directory) = &environment.config_directory {
            layers.extend(read_if_there(&directory.join("podwork").join("config.toml"))?);
        }
        match file.or(environment.config_file.as_deref()) {
            Some(named) => {
                let layer = read_if_there(named)?;
                let missing = || Problem::usage(format!("{}: there is no such file", named.display()));
                layers.push(layer.ok_or_else(missing)?);
            }
            None => layers.extend(nearest_upward(&environment.working_directory)?),
        }
        layers.push(environment.layer()?);
        layers.extend(flags.map(flag_layer).transpose()?);
        Ok(Self::merge(layers))
    }

    /// The built-in values, overruled by the layers, of which later ones win.
    pub(crate) fn merge(layers: impl IntoIterator<Item = Layer>) -> Self {
        let mut entries = builtin::layer();
        entries.extend(layers.into_iter().flatten());
        builtin::fit_to_window(&mut entries);
        Self { entries }
    }

    /// All keys that have a value, by name.
    pub(crate) fn entries(&self) -> &Layer {
        &self.entries
    }

    /// The value of a key.
    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        self.entries.get(key).map(|entry| &entry.value)
    }

    fn origin(&self, key: &str) -> Option<&Origin> {
        self.entries.get(key).map(|entry| &entry.origin)
    }
}

fn read_if_there(path: &Path) -> Result<Option<Layer>, Problem> {
    let unreadable = |error: std::io::Error| {
        Problem::usage(format!("{}: the configuration cannot be read: {error}", path.display()))
    };
    let size = match std::fs::metadata(path) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    if size > FILE_BYTES_MAX {
        let text = format!("{}: {size} bytes are too many for a configuration", path.display());
        return Err(Problem::usage(text));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    file::read(path, &text).map(Some)
}

fn nearest_upward(directory: &Path) -> Result<Option<Layer>, Problem> {
    for directory in directory.ancestors() {
        if let Some(layer) = read_if_there(&directory.join(PROJECT_FILE))? {
            return Ok(Some(layer));
        }
    }
    Ok(None)
}

fn flag_layer(flags: &WorkFlags) -> Result<Layer, Problem> {
    let model = match &flags.model {
        Some(text) => {
            let model: Model = text.parse().map_err(|error| Problem::usage(format!("--model: {error}")))?;
            Some(Value::Text(model.to_string()))
        }
        None => None,
    };
    let values = [
        ("model", "--model", model),
        ("context.window_tokens", "--window", flags.window.map(Value::Whole)),
        ("limits.max_requests", "--max-requests", flags.max_requests.map(Value::Whole)),
        ("limits.max_tokens", "--max-tokens", flags.max_tokens.map(Value::Whole)),
        ("limits.max_cost_usd", "--max-cost", flags.max_cost.map(Value::Amount)),
        ("limits.max_seconds", "--max-seconds", flags.max_seconds.map(Value::Whole)),
    ];
    let given = values.into_iter().filter_map(|(key, flag, value)| {
        value.map(|value| (key.to_owned(), Entry { value, origin: Origin::Flag(flag) }))
    });
    Ok(given.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(directory: &Path) -> Environment {
        Environment { working_directory: directory.to_owned(), ..Environment::default() }
    }

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    #[test]
    fn later_layers_win_key_by_key() {
        let home = tempfile::tempdir().expect("a directory");
        let project = home.path().join("project/deep/er");
        std::fs::create_dir_all(&project).expect("made");
        write(
            &home.path().join("xdg/podwork/config.toml"),
            "model = \"openai:user\"\n[limits]\nretries = 1\nchildren = 1\ndepth = 1\n",
        );
        write(
            &home.path().join("project/podwork.toml"),
            "[limits]\nretries = 2\nchildren = 2\n[context]\nretained_tokens = 77\n",
        );
        write(&home.path().join("podwork.toml"), "[limits]\ntool_seconds = 9\n");
        let mut environment = environment(&project);
        environment.config_directory = Some(home.path().join("xdg"));
        environment.variables = vec![("PODWORK_LIMITS_RETRIES".to_owned(), "3".to_owned())];
        let flags = WorkFlags { model: Some("openai:flag".to_owned()), ..WorkFlags::default() };

        let config = Config::load(&environment, None, Some(&flags)).expect("loads");
        let is = |key: &str, value: Value, origin: &str| {
            let entry = &config.entries()[key];
            assert_eq!(entry.value, value, "{key}");
            assert!(entry.origin.to_string().ends_with(origin), "{key} is from {}", entry.origin);
        };
        is("model", Value::Text("openai:flag".to_owned()), "--model");
        is("limits.retries", Value::Whole(3), "PODWORK_LIMITS_RETRIES");
        is("limits.children", Value::Whole(2), "project/podwork.toml:3");
        is("limits.depth", Value::Whole(1), "config.toml:5");
        is("limits.tool_seconds", Value::Whole(120), "built-in");
        is("context.retained_tokens", Value::Whole(77), "project/podwork.toml:5");
    }

    #[test]
    fn a_named_file_takes_the_place_of_the_nearest_and_must_be_there() {
        let home = tempfile::tempdir().expect("a directory");
        write(&home.path().join("podwork.toml"), "[limits]\nretries = 2\n");
        write(&home.path().join("other.toml"), "[limits]\nchildren = 4\n");
        let environment = environment(home.path());
        let config = Config::load(&environment, Some(&home.path().join("other.toml")), None).expect("loads");
        assert_eq!(config.value("limits.children"), Some(&Value::Whole(4)));
        assert_eq!(config.value("limits.retries"), Some(&Value::Whole(5)));
        let problem =
            Config::load(&environment, Some(Path::new("/nowhere.toml")), None).expect_err("refused");
        assert_eq!(problem, Problem::usage("/nowhere.toml: there is no such file"));
    }

    #[test]
    fn what_is_wrong_in_a_file_is_named_with_its_line() {
        let cases = [
            ("modle = \"a:b\"", 1, "unknown key `modle`; the nearest known one is `model`"),
            (
                "[context]\nwindow_token = 1",
                2,
                "unknown key `context.window_token`; the nearest known one is `context.window_tokens`",
            ),
            (
                "window_tokens = 1",
                1,
                "unknown key `window_tokens`; the nearest known one is `context.window_tokens`",
            ),
            (
                "[models.\"openai:x\"]\n\nprice = 1",
                3,
                "unknown key `models.\"openai:x\".price`; the nearest known one is `prices.input`",
            ),
            (
                "[limits]\nretries = -1 # no",
                2,
                "`limits.retries` is -1; expected is a whole number, at least 0",
            ),
            (
                "[context]\nwindow_tokens = 0",
                2,
                "`context.window_tokens` is 0; expected is a whole number, at least 1",
            ),
            ("limits = 5", 1, "`limits` is a section: write [limits] above its keys"),
            ("[models.gpt]\n", 1, "`models.\"gpt\"` names no model;"),
            (
                "[permissions]\ndefault_action = \"ask\"",
                1,
                "this version of podwork does not support `permissions` yet",
            ),
            ("[[hook]]\nname = \"x\"", 1, "this version of podwork does not support `hook` yet"),
        ];
        for (text, line, message) in cases {
            let problem = file::read(Path::new("podwork.toml"), text).expect_err(text);
            let expected = format!("podwork.toml:{line}: {message}");
            assert!(problem.message.starts_with(&expected), "{}\nis not\n{expected}", problem.message);
            assert_eq!(problem.exit.code(), 2, "{text}");
        }
    }

    #[test]
    fn a_file_that_is_no_toml_is_named_with_its_line() {
        let problem = file::read(Path::new("podwork.toml"), "model = \"a:b\"\n[limits\n").expect_err("bad");
        assert!(problem.message.starts_with("podwork.toml:2: "), "{}", problem.message);
    }

    #[test]
    fn prices_of_a_model_can_stand_in_one_line() {
        let text = "[models.\"openai:x\"]\nwindow_tokens = 9\nprices = { input = 1, output = 2.5 }\n";
        let layer = file::read(Path::new("podwork.toml"), text).expect("reads");
        assert_eq!(layer[&model_key("openai:x", "window_tokens")].value, Value::Whole(9));
        assert_eq!(layer[&model_key("openai:x", "prices.output")].value, Value::Amount(2.5));
    }
}
