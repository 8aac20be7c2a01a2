//! Items: the entries of a history.

use serde::{Deserialize, Serialize};

use crate::event::model::Origin;
use crate::event::tool::CallOutcome;
use crate::{Arguments, CallId, Content, Seq};

/// One entry of the history. Items of one reply share the place of its event, and so form the
/// reply's block; the results that follow it close the exchange.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// The event that the item comes from.
    pub seq: Seq,
    /// What it is.
    #[serde(flatten)]
    pub body: ItemBody,
}

/// What an item is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ItemBody {
    /// What a user wrote.
    User {
        /// The words.
        text: String,
    },
    /// What the system puts before the model: a notification, a summary, the reason why a call
    /// was not run.
    System {
        /// The words.
        text: String,
    },
    /// What the model wrote.
    Text {
        /// The words.
        text: String,
    },
    /// What the model thought.
    Reasoning(Reasoning),
    /// What the model asked for.
    Call(Call),
    /// What came of a call.
    Result(CallResult),
    /// A part that podwork does not know, for the eyes of its origin only.
    Opaque(Opaque),
}

/// Reasoning of a model, with what its provider needs to take it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The readable words; empty when the provider hides them.
    #[serde(default)]
    pub text: String,
    /// The provider's signature of the text, sent back to the byte or not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Encrypted reasoning in place of the text, sent back to the byte or not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Who wrote it.
    pub origin: Origin,
}

impl Reasoning {
    /// The provider takes it back: it is signed or encrypted.
    pub fn is_sealed(&self) -> bool {
        self.signature.is_some() || self.data.is_some()
    }
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// podwork's own id.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// What the provider calls it: repeated, empty or odd as it may be.
    #[serde(default)]
    pub provider_id: String,
    /// The arguments as the model wrote them.
    #[serde(flatten)]
    pub arguments: Arguments,
}

/// The result of a tool call. The summary is always shown; the content can be pruned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    /// The call.
    pub call: CallId,
    /// The tool of the call.
    pub tool: String,
    /// How it ended.
    pub outcome: CallOutcome,
    /// One line: what happened.
    pub summary: String,
    /// All of it; `None` when it is left out of the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
}

/// A part of a reply that podwork does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opaque {
    /// The part as JSON, as it came.
    pub json: String,
    /// Who sent it.
    pub origin: Origin,
}
