//! What a pod is: its model, its instructions, its tools and its limits. All of it is in the log,
//! so that a request can be rebuilt after the program has changed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A provider and the name it has for a model, written `provider:name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Model {
    /// `openai`, `anthropic`, `script`, or whatever a program that embeds podwork registers.
    pub provider: String,
    /// The provider's name of the model.
    pub name: String,
}

/// The text names no model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no model: write PROVIDER:NAME, such as openai:gpt-5 or script:FILE")]
pub struct ModelError(String);

impl FromStr for Model {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Self, ModelError> {
        match text.split_once(':') {
            Some((provider, name)) if !provider.is_empty() && !name.is_empty() => {
                Ok(Self { provider: provider.to_owned(), name: name.to_owned() })
            }
            _ => Err(ModelError(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Model {
    type Error = ModelError;

    fn try_from(text: String) -> Result<Self, ModelError> {
        text.parse()
    }
}

impl From<Model> for String {
    fn from(model: Model) -> Self {
        model.to_string()
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider, self.name)
    }
}

/// What a run of a tool may have done when nobody saw its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing outside changes: running it again is always right.
    ReadOnly,
    /// Running it twice is the same as running it once.
    Idempotent,
    /// Running it again may do harm: an unknown outcome stays unknown.
    Other,
}

/// A tool as the model is told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name that calls use.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of the arguments, an object; units are in the descriptions.
    pub schema: Value,
    /// Whether a call without an end may be run again.
    pub effect: Effect,
}

/// When old tool results are left out of the context and when old exchanges are summarised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextLimits {
    /// Size of the model's context window in tokens.
    pub window_tokens: u64,
    /// The end of the history whose tool results always keep their content, in tokens.
    pub prune_protected_tokens: u64,
    /// The least saving worth a prune, in tokens.
    pub prune_min_savings: u64,
    /// Tools whose results always keep their content.
    pub prune_excluded_tools: Vec<String>,
    /// Occupancy in tokens above which the pod compacts between turns.
    pub compact_threshold: Option<u64>,
    /// Occupancy in tokens above which the pod compacts between requests.
    pub compact_request_threshold: Option<u64>,
    /// The end of the history that a compaction leaves word for word, in tokens.
    pub retained_tokens: u64,
    /// What files that a compaction marks as required may take, in tokens.
    pub auto_read_budget: u64,
}

impl Default for ContextLimits {
    fn default() -> Self {
        Self {
            window_tokens: 128_000,
            prune_protected_tokens: 8000,
            prune_min_savings: 4096,
            prune_excluded_tools: Vec::new(),
            compact_threshold: Some(80_000),
            compact_request_threshold: Some(110_000),
            retained_tokens: 8000,
            auto_read_budget: 8000,
        }
    }
}

/// Bounds of one pod's work. Running into one is an event, and the pod pauses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Requests in one turn.
    pub requests_per_turn: u32,
    /// Attempts after the first failed one, for one request.
    pub retries: u32,
    /// Seconds a tool may run when the call names no other time.
    pub tool_seconds: u64,
    /// Bytes of one tool result that the model sees.
    pub tool_output_bytes: u64,
    /// Children alive at once.
    pub children: u32,
    /// Generations below this pod.
    pub depth: u32,
    /// Requests of the whole session.
    pub max_requests: Option<u64>,
    /// Input and output tokens of the whole session.
    pub max_tokens: Option<u64>,
    /// Cost of the whole session in US dollars.
    pub max_cost_usd: Option<f64>,
    /// Wall time of one turn in seconds.
    pub max_seconds: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests_per_turn: 200,
            retries: 5,
            tool_seconds: 120,
            tool_output_bytes: 16_384,
            children: 8,
            depth: 3,
            max_requests: None,
            max_tokens: None,
            max_cost_usd: None,
            max_seconds: None,
        }
    }
}

/// Prices of a model in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    /// Input that was not cached.
    pub input: f64,
    /// Input read from the provider's cache.
    pub cached_read: f64,
    /// Input written to the provider's cache.
    pub cached_write: f64,
    /// Output, reasoning included.
    pub output: f64,
}

/// All that makes a pod what it is. A change of it is an event; no compaction reaches it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// The model that is asked.
    pub model: Model,
    /// The system prompt.
    #[serde(default)]
    pub system: String,
    /// The tools, in the order in which the model is told of them.
    #[serde(default)]
    pub tools: Vec<ToolSpec>,
    /// The directory that tools work in, absolute.
    #[serde(default)]
    pub directory: String,
    /// Output tokens of one reply; the provider's own bound when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens_max: Option<u64>,
    /// Tokens that the model may reason with, where the provider asks for such a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// What the model costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
    /// Bounds of the work.
    #[serde(default)]
    pub limits: Limits,
    /// Prune and compaction.
    #[serde(default)]
    pub context: ContextLimits,
}

impl Spec {
    /// A pod for this model, without tools, with the limits that podwork comes with.
    pub fn new(model: Model) -> Self {
        Self {
            model,
            system: String::new(),
            tools: Vec::new(),
            directory: String::new(),
            output_tokens_max: None,
            reasoning_tokens: None,
            prices: None,
            limits: Limits::default(),
            context: ContextLimits::default(),
        }
    }

    /// What the model was told of the tool of this name.
    pub fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}
