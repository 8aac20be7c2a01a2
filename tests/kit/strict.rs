//! What real providers refuse, as pure functions over the body of a request.
//!
//! Each rule is one that some provider or some compatible server was seen to enforce. Where they
//! differ, the strictest one is meant: a request that passes here passes everywhere. The rules of
//! one dialect are in a file of its own.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

pub mod anthropic;
pub mod openai;
pub mod seal;

pub use seal::Seal;

/// Bytes of a body that stand for one token. Providers count differently; a test needs a number
/// that it can compute.
pub const BYTES_PER_TOKEN: u64 = 4;

/// Estimated input tokens of a body of this many bytes.
pub fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(BYTES_PER_TOKEN)
}

/// A rule that a request can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The body is JSON in valid UTF-8 without halves of surrogate pairs.
    Json,
    /// The key, the version and the kind of the body stand in the headers.
    Header,
    /// Every field is one that the provider knows.
    UnknownField,
    /// A field that must be there is there, and is of its type.
    Field,
    /// The body fits into the window of the model.
    Window,
    /// No text has a NUL.
    Nul,
    /// Turns have roles that the provider knows, and parts that the role may have.
    Role,
    /// The first turn is the user's.
    FirstTurn,
    /// The last turn is not the assistant's.
    LastTurn,
    /// No role has two turns in a row.
    Alternation,
    /// A turn of the system stands in front, and there is at most one.
    SystemPlace,
    /// A turn has something in it.
    EmptyTurn,
    /// A text has characters in it.
    EmptyText,
    /// Each call is answered in the block right after its turn.
    CallWithoutAnswer,
    /// Each answer belongs to a call of the turn right before its block.
    AnswerWithoutCall,
    /// Answers come before any other words.
    AnswerPlace,
    /// Answers come in the order of the calls, and each once.
    AnswerOrder,
    /// No two calls of a request have the same id.
    RepeatedId,
    /// Ids are made of letters, digits, `_` and `-`, and are neither empty nor too long.
    Id,
    /// Names of tools are made of letters, digits, `_` and `-`, and no two tools share one.
    ToolName,
    /// The schema of a tool describes an object.
    ToolSchema,
    /// Arguments of a call are a JSON object.
    Arguments,
    /// Signed reasoning is as it was signed.
    ReasoningAltered,
    /// Signed reasoning stands behind what it was made on.
    ReasoningMoved,
    /// Reasoning was signed by this provider.
    ReasoningForeign,
    /// Reasoning has a signature, and a turn does not end with it.
    ReasoningPlace,
    /// A part of an unknown kind is one that this provider sent.
    UnknownPart,
    /// At most four cache marks, and none on reasoning.
    CacheMark,
    /// The budgets of output and of reasoning fit together.
    Budget,
}

/// A rule was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which rule.
    pub rule: Rule,
    /// Where in the body, as a path.
    pub at: String,
    /// How.
    pub why: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({:?})", self.at, self.why, self.rule)
    }
}

/// What the rules are measured with.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Window of the model; no bound when absent.
    pub window_tokens: Option<u64>,
    /// Who signs reasoning. When absent, signatures are not checked, only that there is one.
    pub seal: Option<Seal>,
    /// The last turn must not be the assistant's. A context that nobody sends may end with one.
    pub answerable: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self { window_tokens: None, seal: None, answerable: true }
    }
}

/// Reads a body as a provider does.
pub fn parse(raw: &[u8]) -> Result<Value, Vec<Broken>> {
    serde_json::from_slice(raw)
        .map_err(|error| vec![Broken { rule: Rule::Json, at: "body".to_owned(), why: error.to_string() }])
}

/// Collects what is broken.
struct Judge<'a> {
    rules: &'a Rules,
    broken: Vec<Broken>,
    ids: BTreeSet<String>,
}

impl<'a> Judge<'a> {
    /// Begins with the rules that are the same for every dialect.
    fn of(body: &Value, rules: &'a Rules) -> Self {
        let mut judge = Self { rules, broken: Vec::new(), ids: BTreeSet::new() };
        judge.no_nul("body", body);
        let size = tokens(body.to_string().len());
        if let Some(window) = rules.window_tokens
            && size > window
        {
            judge.refuse(Rule::Window, "body", format!("about {size} tokens, the window has {window}"));
        }
        judge
    }

    fn refuse(&mut self, rule: Rule, at: &str, why: impl Into<String>) {
        self.broken.push(Broken { rule, at: at.to_owned(), why: why.into() });
    }

    fn verdict(self) -> Result<(), Vec<Broken>> {
        if self.broken.is_empty() { Ok(()) } else { Err(self.broken) }
    }

    fn no_nul(&mut self, at: &str, value: &Value) {
        match value {
            Value::String(text) if text.contains('\0') => self.refuse(Rule::Nul, at, "the text has a NUL"),
            Value::Array(values) => {
                for (place, value) in values.iter().enumerate() {
                    self.no_nul(&format!("{at}[{place}]"), value);
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    if name.contains('\0') {
                        self.refuse(Rule::Nul, at, "a name has a NUL");
                    }
                    self.no_nul(&format!("{at}.{name}"), value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn fields(&mut self, at: &str, value: &Value, known: &[&str]) {
        let Some(fields) = value.as_object() else {
            return self.refuse(Rule::Field, at, "should be an object");
        };
        for name in fields.keys() {
            if !known.contains(&name.as_str()) {
                self.refuse(Rule::UnknownField, at, format!("extra field `{name}` is not permitted"));
            }
        }
    }

    fn string<'v>(&mut self, at: &str, value: &'v Value, field: &str) -> &'v str {
        value[field].as_str().unwrap_or_else(|| {
            self.refuse(Rule::Field, at, format!("`{field}` should be a string"));
            ""
        })
    }

    fn array<'v>(&mut self, at: &str, value: &'v Value, field: &str) -> &'v [Value] {
        value[field].as_array().map_or_else(
            || {
                self.refuse(Rule::Field, at, format!("`{field}` should be an array"));
                &[][..]
            },
            Vec::as_slice,
        )
    }

    fn is_wire_name(text: &str, length_max: usize) -> bool {
        (1..=length_max).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    }

    fn call_id(&mut self, at: &str, id: &str, length_max: usize) {
        if !Self::is_wire_name(id, length_max) {
            self.refuse(Rule::Id, at, format!("`{id}` should match ^[a-zA-Z0-9_-]{{1,{length_max}}}$"));
        }
        if !self.ids.insert(id.to_owned()) {
            self.refuse(Rule::RepeatedId, at, format!("the id `{id}` is not unique"));
        }
    }

    fn tool_name(&mut self, at: &str, name: &str, length_max: usize) {
        if !Self::is_wire_name(name, length_max) {
            self.refuse(
                Rule::ToolName,
                at,
                format!("`{name}` should match ^[a-zA-Z0-9_-]{{1,{length_max}}}$"),
            );
        }
    }

    /// Names of tools that stand in the list of tools: each at most once.
    fn listed_tool(&mut self, at: &str, name: &str, length_max: usize, seen: &mut BTreeSet<String>) {
        self.tool_name(at, name, length_max);
        if !seen.insert(name.to_owned()) {
            self.refuse(Rule::ToolName, at, format!("the tool `{name}` is listed twice"));
        }
    }

    fn schema(&mut self, at: &str, schema: &Value) {
        if schema["type"] != "object" {
            return self.refuse(Rule::ToolSchema, at, "the schema should be of type object");
        }
        if !matches!(schema["properties"], Value::Object(_) | Value::Null) {
            self.refuse(Rule::ToolSchema, at, "the properties should be an object");
        }
        if let Some(fields) = schema.as_object() {
            for combined in ["oneOf", "anyOf", "allOf"] {
                if fields.contains_key(combined) {
                    self.refuse(Rule::ToolSchema, at, format!("`{combined}` is not supported at the top"));
                }
            }
        }
    }
}
