//! A pod's own life.

use serde::{Deserialize, Serialize};

use crate::{PodId, Seq, Spec};

/// A pod was opened: the first event of a log that shares no past.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PodOpened {
    /// What the pod is.
    pub spec: Spec,
    /// The name people call it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The pod that spawned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<PodId>,
    /// The format of the transcript that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<String>,
}

/// A pod was forked: the first event of its own, right after the past that it shares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PodForked {
    /// The pod whose past is shared.
    pub from: PodId,
    /// The last event that is shared; this one has the place after it.
    pub at_seq: Seq,
    /// The name people call the fork by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The pod is something else from now on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpecChanged {
    /// What it is now, as a whole.
    pub spec: Spec,
}

/// The pod takes no more work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PodStopped {
    /// Why, for people.
    #[serde(default)]
    pub reason: String,
}
