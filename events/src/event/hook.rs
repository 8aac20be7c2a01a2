//! What hooks answered, and how they failed to.

use serde::{Deserialize, Serialize};

use crate::CallId;

/// A moment at which hooks are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookPoint {
    /// Input arrived and is not yet accepted.
    PromptSubmitted,
    /// A request is built and not yet sent.
    BeforeRequest,
    /// A reply is in the log.
    AfterReply,
    /// A call is about to run.
    BeforeCall,
    /// A call has ended.
    AfterCall,
    /// A turn has ended.
    TurnEnded,
    /// A compaction is about to start.
    BeforeCompaction,
    /// A pod has stopped.
    PodStopped,
}

/// What a hook says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookVerdict {
    /// Nothing against it.
    Continue,
    /// Not this one: the call is denied, the turn goes on.
    Skip,
    /// The turn ends.
    Abort,
    /// The turn waits for a person.
    Pause,
}

/// What a missing answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookRole {
    /// No answer is a no.
    Guard,
    /// No answer is nothing.
    Observer,
}

/// A hook answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookAnswered {
    /// The hook's name.
    pub hook: String,
    /// Where it was asked.
    pub point: HookPoint,
    /// What it said.
    pub verdict: HookVerdict,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
    /// The call it was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
}

/// A hook gave no answer; its role decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookFailed {
    /// The hook's name.
    pub hook: String,
    /// Where it was asked.
    pub point: HookPoint,
    /// What its silence means.
    pub role: HookRole,
    /// What happened to it.
    pub reason: String,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
    /// The call it was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
}
