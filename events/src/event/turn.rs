//! Input, and the work that it causes.

use serde::{Deserialize, Serialize};

use crate::TurnNumber;

/// A user wrote something. It starts a turn, or steers the one that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputReceived {
    /// The words.
    pub text: String,
}

/// Something other than a user wrote: a child, a timer, another program. No order to anybody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notified {
    /// Who.
    pub source: String,
    /// The words.
    pub text: String,
}

/// A turn began, or went on after it had ended as anything but finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnStarted {
    /// Which one.
    pub turn: TurnNumber,
}

/// A turn's work came to a rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnEnded {
    /// Which one.
    pub turn: TurnNumber,
    /// How.
    pub outcome: TurnOutcome,
    /// Why, for people; empty for a turn that simply finished.
    #[serde(default)]
    pub reason: String,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnOutcome {
    /// The model had no more to do.
    Finished,
    /// Something broke that another attempt would not mend.
    Failed,
    /// A user stopped it.
    Cancelled,
    /// A hook ended it.
    Aborted,
    /// It waits for a person; `resume` goes on with it.
    Paused,
    /// It made room for a compaction and goes on after it.
    Yielded,
    /// A budget of the session was spent.
    Exhausted,
}

impl TurnOutcome {
    /// `resume` goes on with a turn that ended so.
    pub fn is_resumable(self) -> bool {
        match self {
            Self::Failed
            | Self::Cancelled
            | Self::Aborted
            | Self::Paused
            | Self::Yielded
            | Self::Exhausted => true,
            Self::Finished => false,
        }
    }

    /// The name in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Aborted => "aborted",
            Self::Paused => "paused",
            Self::Yielded => "yielded",
            Self::Exhausted => "exhausted",
        }
    }
}

/// The pod starts no work by itself until it is resumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    /// Why, and what a person can do about it.
    pub reason: String,
}

/// A person let the pod go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {}
