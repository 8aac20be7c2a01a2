//! What the context leaves out from now on. The history is never touched.

use serde::{Deserialize, Serialize};

use crate::event::model::Usage;
use crate::{CallId, PodId, Seq};

/// The contents of these results are left out of the context from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pruned {
    /// The calls whose results lose their content, in the order of the history.
    pub calls: Vec<CallId>,
    /// Estimated tokens that each request saves.
    pub tokens_saved: u64,
    /// Why it pays.
    pub reason: String,
}

/// A compaction began: advisory until it is finished or failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionStarted {
    /// The first event whose items are summarised.
    pub from_seq: Seq,
    /// The first event whose items are kept word for word.
    pub kept_from: Seq,
    /// Why it began.
    pub reason: String,
    /// Estimated tokens of the context before.
    pub tokens_before: u64,
}

/// A summary stands in the place of the range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionFinished {
    /// The first event whose items are summarised.
    pub from_seq: Seq,
    /// The first event whose items are kept word for word.
    pub kept_from: Seq,
    /// The summary.
    pub summary: String,
    /// Estimated tokens of the context before.
    pub tokens_before: u64,
    /// Estimated tokens of the context after.
    pub tokens_after: u64,
    /// The pod that wrote the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<PodId>,
    /// What the summary took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// A compaction came to nothing; the context is as before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionFailed {
    /// Why.
    pub reason: String,
}

/// A compaction was wanted and could not begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionSkipped {
    /// Why.
    pub reason: String,
}
