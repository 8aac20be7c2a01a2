//! Questions that a person answers.

use serde::{Deserialize, Serialize};

use crate::CallId;

/// A call waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionAsked {
    /// The call.
    pub call: CallId,
    /// What is asked.
    pub question: String,
}

/// The question has its answer, or nobody needs one any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionAnswered {
    /// The call.
    pub call: CallId,
    /// The answer.
    pub answer: PermissionAnswer,
    /// Why, for the model and for people.
    #[serde(default)]
    pub reason: String,
}

/// An answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionAnswer {
    /// The call may run.
    Allowed,
    /// It may not.
    Denied,
    /// The turn ended before anybody answered.
    Withdrawn,
}
