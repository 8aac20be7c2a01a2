//! How a turn came out: the last line of `--json`, and the exit code.

use events::PodId;
use events::event::turn::TurnOutcome;
use events::projection::UsageTotals;
use serde::{Deserialize, Serialize};

use crate::exit::Exit;

/// The result of a command that ran a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TurnView {
    /// The pod.
    pub(crate) pod: PodId,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// How the turn ended; none when there was no turn to run.
    pub(crate) outcome: Option<TurnOutcome>,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    /// The last words.
    pub(crate) text: String,
    /// What the pod took so far.
    pub(crate) usage: UsageTotals,
}

impl TurnView {
    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        self.outcome.map_or(Exit::Done, Exit::of)
    }
}
