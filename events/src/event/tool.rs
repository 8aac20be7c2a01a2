//! Tool calls. A call without an end is an obligation.

use serde::{Deserialize, Serialize};

use crate::{Arguments, CallId, Content, Hash};

/// A tool is about to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStarted {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// What it is given.
    #[serde(flatten)]
    pub arguments: Arguments,
}

/// A running tool said how far it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallProgressed {
    /// The call.
    pub call: CallId,
    /// How far, for people.
    pub note: String,
}

/// A call has its result: exactly one for each call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallEnded {
    /// The call.
    pub call: CallId,
    /// How it ended.
    pub outcome: CallOutcome,
    /// One line: what happened. Always shown to the model.
    pub summary: String,
    /// What the model sees of the output, cleaned and cut; can be pruned from the context.
    #[serde(default)]
    pub content: Content,
    /// Where the whole output lies, as bytes, when the content is not all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<Hash>,
    /// Bytes of output before anything was cut.
    #[serde(default)]
    pub content_bytes: u64,
    /// How long it ran, in milliseconds.
    #[serde(default)]
    pub elapsed_ms: u64,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// The tool did its work.
    Ok,
    /// The tool, or the attempt to run it, failed.
    Failed,
    /// A guard said no; it was not run.
    Denied,
    /// It was never run.
    CancelledBeforeStart,
    /// It was stopped while it ran; side effects may have happened.
    Interrupted,
    /// Nobody saw its end; side effects may have happened.
    Unknown,
}

impl CallOutcome {
    /// Providers are told that the call went wrong.
    pub fn is_error(self) -> bool {
        self != Self::Ok
    }

    /// The name in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::CancelledBeforeStart => "cancelled_before_start",
            Self::Interrupted => "interrupted",
            Self::Unknown => "unknown",
        }
    }
}
