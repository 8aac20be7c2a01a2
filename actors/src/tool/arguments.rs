//! Arguments of tools: declared once, told to the model as a schema, and read strictly, with
//! errors from which a model can mend its call. Pure.

use events::Arguments;
use serde_json::{Map, Value, json};

use super::nearest::nearest;

/// One argument of a tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    name: &'static str,
    kind: Kind,
    required: bool,
    about: &'static str,
}

/// What an argument is.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    /// A whole number within these bounds.
    Number {
        min: u64,
        max: Option<u64>,
    },
    Flag,
}

impl Field {
    /// A required text.
    pub(crate) const fn text(name: &'static str, about: &'static str) -> Self {
        Self { name, kind: Kind::Text, required: true, about }
    }

    /// An optional whole number, from one on.
    pub(crate) const fn number(name: &'static str, max: Option<u64>, about: &'static str) -> Self {
        Self { name, kind: Kind::Number { min: 1, max }, required: false, about }
    }

    /// An optional true or false.
    pub(crate) const fn flag(name: &'static str, about: &'static str) -> Self {
        Self { name, kind: Kind::Flag, required: false, about }
    }

    /// The same argument, which may be absent.
    pub(crate) const fn optional(mut self) -> Self {
        self.required = false;
        self
    }

    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            Kind::Text => json!({"type": "string"}),
            Kind::Number { min, max: None } => json!({"type": "integer", "minimum": min}),
            Kind::Number { min, max: Some(max) } => {
                json!({"type": "integer", "minimum": min, "maximum": max})
            }
            Kind::Flag => json!({"type": "boolean"}),
        };
        schema["description"] = json!(self.about);
        schema
    }

    fn accepts(&self, value: &Value) -> bool {
        match self.kind {
            Kind::Text => value.is_string(),
            Kind::Number { min, max } => {
                whole(value).is_some_and(|number| number >= min && max.is_none_or(|max| number <= max))
            }
            Kind::Flag => value.is_boolean(),
        }
    }

    fn wanted(&self) -> String {
        match self.kind {
            Kind::Text => "a text".to_owned(),
            Kind::Number { min, max: None } => format!("a whole number from {min}"),
            Kind::Number { min, max: Some(max) } => format!("a whole number from {min} to {max}"),
            Kind::Flag => "true or false".to_owned(),
        }
    }
}

/// JSON Schema of an object with these fields and no others.
pub(crate) fn schema(fields: &[Field]) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|field| (field.name.to_owned(), field.schema())).collect();
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Arguments that are what their fields say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decoded(Map<String, Value>);

/// Reads arguments. Null stands for an argument that is absent. The error names everything that
/// is wrong, in one line.
pub(crate) fn decode(fields: &[Field], arguments: &Arguments) -> Result<Decoded, String> {
    let mut object = arguments.object();
    object.retain(|_, value| !value.is_null());
    let mut wrong = Vec::new();
    for (name, value) in &object {
        match fields.iter().find(|field| field.name == name) {
            None => wrong.push(unknown(fields, name)),
            Some(field) if !field.accepts(value) => {
                wrong.push(format!("`{name}` must be {}, and is {}", field.wanted(), what_is(value)));
            }
            Some(_) => {}
        }
    }
    for field in fields.iter().filter(|field| field.required && !object.contains_key(field.name)) {
        wrong.push(format!("`{}` is missing ({})", field.name, field.wanted()));
    }
    if wrong.is_empty() { Ok(Decoded(object)) } else { Err(wrong.join("; ")) }
}

fn unknown(fields: &[Field], name: &str) -> String {
    let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
    match nearest(name, &names) {
        Some(near) => format!("there is no argument `{name}`: did you mean `{near}`?"),
        None => format!("there is no argument `{name}`: there is {}", names.join(", ")),
    }
}

/// As JSON Schema sees it, 10.0 is a whole number too.
fn whole(value: &Value) -> Option<u64> {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    value.as_u64().or_else(|| {
        let number = value.as_f64().filter(|number| (0.0..EXACT_MAX).contains(number))?;
        // Written without a fraction, a float below 2^53 is its whole number.
        if number.fract() == 0.0 { format!("{number:.0}").parse().ok() } else { None }
    })
}

fn what_is(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.len() <= 20 => format!("the text \"{text}\""),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

impl Decoded {
    /// A text that is required.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.optional_text(name).expect("decode has checked that the text is there")
    }

    /// A text that may be absent.
    pub(crate) fn optional_text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// A number that may be absent.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(whole)
    }

    /// A flag; absent, it is not set.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: [Field; 4] = [
        Field::text("path", "Path."),
        Field::text("glob", "Glob.").optional(),
        Field::number("limit", Some(600), "Lines."),
        Field::flag("all", "All of them."),
    ];

    fn read(raw: &str) -> Result<Decoded, String> {
        decode(&FIELDS, &Arguments::parse(raw).expect("an object"))
    }

    #[test]
    fn arguments_are_read_and_null_is_absent() {
        let decoded = read(r#"{"path":"a","glob":null,"limit":10.0,"all":true}"#).expect("valid");
        assert_eq!(decoded.text("path"), "a");
        assert_eq!(decoded.optional_text("glob"), None);
        assert_eq!(decoded.number("limit"), Some(10));
        assert!(decoded.flag("all"));
        assert!(!read(r#"{"path":"a"}"#).expect("valid").flag("all"));
    }

    #[test]
    fn an_error_names_the_argument_and_what_it_should_be() {
        let cases = [
            ("{}", "`path` is missing (a text)"),
            (r#"{"path":null}"#, "`path` is missing (a text)"),
            (r#"{"path":7}"#, "`path` must be a text, and is 7"),
            (r#"{"path":["a"]}"#, "`path` must be a text, and is a list"),
            (r#"{"path":"a","limit":0}"#, "`limit` must be a whole number from 1 to 600, and is 0"),
            (r#"{"path":"a","limit":601}"#, "`limit` must be a whole number from 1 to 600, and is 601"),
            (r#"{"path":"a","limit":-1}"#, "`limit` must be a whole number from 1 to 600, and is -1"),
            (r#"{"path":"a","limit":1.5}"#, "`limit` must be a whole number from 1 to 600, and is 1.5"),
            (
                r#"{"path":"a","limit":"9"}"#,
                "`limit` must be a whole number from 1 to 600, and is the text \"9\"",
            ),
            (r#"{"path":"a","all":"yes"}"#, "`all` must be true or false, and is the text \"yes\""),
            (r#"{"path":"a","zzz":1}"#, "there is no argument `zzz`: there is path, glob, limit, all"),
        ];
        for (raw, error) in cases {
            assert_eq!(read(raw), Err(error.to_owned()), "{raw}");
        }
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once_with_the_nearest_name() {
        assert_eq!(
            read(r#"{"file_path":"a","limit":true}"#),
            Err("there is no argument `file_path`: did you mean `path`?; \
                 `limit` must be a whole number from 1 to 600, and is true; \
                 `path` is missing (a text)"
                .to_owned())
        );
    }

    #[test]
    fn the_schema_says_what_is_read() {
        assert_eq!(
            schema(&FIELDS),
            json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Path."},
                    "glob": {"type": "string", "description": "Glob."},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 600, "description": "Lines."},
                    "all": {"type": "boolean", "description": "All of them."},
                },
                "required": ["path"],
                "additionalProperties": false,
            })
        );
    }
}
