//! Other pods.

use serde::{Deserialize, Serialize};

use crate::PodId;
use crate::event::turn::TurnOutcome;

/// The pod has a child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildSpawned {
    /// The child.
    pub child: PodId,
    /// What its parent calls it.
    pub name: String,
}

/// A child came to its end: exactly once for each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildEnded {
    /// The child.
    pub child: PodId,
    /// How.
    pub outcome: TurnOutcome,
    /// Its last words.
    #[serde(default)]
    pub text: String,
}

/// The pod wrote to another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageSent {
    /// To whom.
    pub to: PodId,
    /// The words.
    pub text: String,
}
