//! Configuration files: from TOML to keys and values, each with its line.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::key::{KEYS, Kind, MODEL_KEYS, kind_of, largest};
use crate::config::{Entry, Layer, Origin, Value, model_key};
use crate::exit::Problem;
use crate::nearest::nearest;

/// Sections that belong to a later version: read over, their author would think them in force.
const NOT_YET: &[(&str, &str)] = &[
    ("permissions", "permissions: every tool that the pod has is allowed"),
    ("hook", "command hooks: none would be asked"),
];

/// Reads a file's text into a layer.
pub(crate) fn read(path: &Path, text: &str) -> Result<Layer, Problem> {
    let file = File { path, text };
    let document = DeTable::parse(text).map_err(|error| {
        let place = error.span().map_or(0, |span| span.start);
        file.problem(place, error.message())
    })?;
    let mut layer = Layer::new();
    file.table(&mut layer, "", document.get_ref())?;
    Ok(layer)
}

struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

type Key<'a> = Spanned<std::borrow::Cow<'a, str>>;

impl File<'_> {
    fn line(&self, place: usize) -> usize {
        let before = self.text.get(..place).unwrap_or(self.text);
        before.bytes().filter(|byte| *byte == b'\n').count() + 1
    }

    fn problem(&self, place: usize, what: &str) -> Problem {
        Problem::usage(format!("{}:{}: {what}", self.path.display(), self.line(place)))
    }

    fn table(&self, layer: &mut Layer, prefix: &str, table: &DeTable<'_>) -> Result<(), Problem> {
        for (key, value) in table {
            let name = if prefix.is_empty() {
                key.get_ref().to_string()
            } else {
                format!("{prefix}.{}", key.get_ref())
            };
            self.entry(layer, &name, key, value)?;
        }
        Ok(())
    }

    fn entry(
        &self,
        layer: &mut Layer,
        name: &str,
        key: &Key<'_>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), Problem> {
        let place = key.span().start;
        if let Some((section, what)) = NOT_YET.iter().find(|(section, _)| *section == name) {
            let text =
                format!("this version of podwork does not support `{section}` yet ({what}); take it out");
            return Err(self.problem(place, &text));
        }
        if let Some(kind) = kind_of(name) {
            return self.insert(layer, name, kind, (place, value));
        }
        let is_section =
            KEYS.iter().any(|(key, _)| key.split_once('.').is_some_and(|(first, _)| first == name));
        match value.get_ref().as_table() {
            Some(models) if name == "models" => self.models(layer, models),
            Some(section) if is_section => self.table(layer, name, section),
            None if is_section || name == "models" => {
                Err(self.problem(place, &format!("`{name}` is a section: write [{name}] above its keys")))
            }
            _ => Err(self.problem(place, &unknown(name))),
        }
    }

    fn models(&self, layer: &mut Layer, models: &DeTable<'_>) -> Result<(), Problem> {
        for (model, value) in models {
            let place = model.span().start;
            let section = format!("models.\"{}\"", model.get_ref());
            if Kind::Model.read_text(model.get_ref()).is_none() {
                let text = format!(
                    "`{section}` names no model; expected is {}",
                    "[models.\"PROVIDER:NAME\"], such as [models.\"openai:gpt-5\"]"
                );
                return Err(self.problem(place, &text));
            }
            let Some(table) = value.get_ref().as_table() else {
                return Err(self.problem(place, &format!("`{section}` is a section, not a value")));
            };
            self.model(layer, model.get_ref(), "", table)?;
        }
        Ok(())
    }

    fn model(
        &self,
        layer: &mut Layer,
        model: &str,
        prefix: &str,
        table: &DeTable<'_>,
    ) -> Result<(), Problem> {
        for (key, value) in table {
            let leaf = format!("{prefix}{}", key.get_ref());
            let name = model_key(model, &leaf);
            let place = key.span().start;
            let known = MODEL_KEYS.iter().find(|(known, _)| *known == leaf);
            match (known, value.get_ref().as_table()) {
                (Some((_, kind)), _) => self.insert(layer, &name, *kind, (place, value))?,
                (None, Some(prices)) if leaf == "prices" => self.model(layer, model, "prices.", prices)?,
                (None, None) if leaf == "prices" => {
                    let text = format!(
                        "`{name}` is a table of US dollars for a million tokens: \
                         {{ input = 1.25, cached_read = 0.125, cached_write = 1.25, output = 10 }}"
                    );
                    return Err(self.problem(place, &text));
                }
                _ => {
                    let near = nearest(&leaf, MODEL_KEYS.iter().map(|(key, _)| *key)).unwrap_or_default();
                    let text = format!("unknown key `{name}`; the nearest known one is `{near}`");
                    return Err(self.problem(place, &text));
                }
            }
        }
        Ok(())
    }

    fn insert(
        &self,
        layer: &mut Layer,
        name: &str,
        kind: Kind,
        (place, value): (usize, &Spanned<DeValue<'_>>),
    ) -> Result<(), Problem> {
        let read = kind.read_toml(value.get_ref()).filter(|value| fits(name, value));
        let Some(value) = read else {
            let found = self.text.get(value.span()).unwrap_or_default();
            let found = events::text::head(found.lines().next().unwrap_or_default(), SHOWN_BYTES_MAX);
            let text = format!("`{name}` is {found}; expected is {}", kind.expected());
            return Err(self.problem(place, &text));
        };
        let origin = Origin::File { path: self.path.to_owned(), line: self.line(place) };
        layer.insert(name.to_owned(), Entry { value, origin });
        Ok(())
    }
}

/// Bytes of a bad value that its error message shows.
const SHOWN_BYTES_MAX: usize = 60;

/// A whole number is not larger than what the program can hold for this key.
pub(crate) fn fits(name: &str, value: &Value) -> bool {
    match value {
        Value::Whole(number) => *number <= largest(name),
        Value::Text(_) | Value::Amount(_) | Value::Names(_) | Value::Off(_) => true,
    }
}

/// Says what somebody may have meant by an unknown key.
fn unknown(name: &str) -> String {
    let sections = ["context", "limits", "models"];
    let near = if let Some(full) = KEYS.iter().map(|(key, _)| *key).find(|key| is_leaf(key, name)) {
        full
    } else {
        let known = KEYS.iter().map(|(key, _)| *key).chain(sections);
        nearest(name, known).unwrap_or("model")
    };
    format!("unknown key `{name}`; the nearest known one is `{near}`")
}

/// The name is the key without its section: somebody forgot the section's head, or moved it.
fn is_leaf(key: &str, name: &str) -> bool {
    let leaf = name.rsplit('.').next().unwrap_or(name);
    key.split_once('.').is_some_and(|(_, rest)| rest == leaf)
}
