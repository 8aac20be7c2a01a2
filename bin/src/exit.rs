//! How a command ends: the exit codes that scripts rely on, and what a person is told.

use std::fmt;

use actors::{PodError, RuntimeError};
use events::event::turn::TurnOutcome;
use serde::{Deserialize, Serialize};
use store::ReadError;

/// The end of a command, as its exit code says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Exit {
    /// The turn finished, or the command did its work.
    Done,
    /// The turn failed or was aborted.
    Failed,
    /// Wrong usage or configuration.
    Usage,
    /// A person must answer, or a limit was reached.
    Paused,
    /// The store cannot be used.
    Store,
    /// Cancelled by Ctrl-C; the turn is recorded so and can be resumed.
    Cancelled,
}

impl Exit {
    /// The number that the process ends with.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Paused => 3,
            Self::Store => 4,
            Self::Cancelled => 130,
        }
    }

    /// What a turn's end means for the command that ran it.
    pub(crate) const fn of(outcome: TurnOutcome) -> Self {
        match outcome {
            TurnOutcome::Finished => Self::Done,
            TurnOutcome::Failed | TurnOutcome::Aborted => Self::Failed,
            TurnOutcome::Paused | TurnOutcome::Exhausted | TurnOutcome::Yielded => Self::Paused,
            TurnOutcome::Cancelled => Self::Cancelled,
        }
    }
}

/// Why a command could not do its work, for a person, and the exit code that goes with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Problem {
    /// The exit code.
    pub(crate) exit: Exit,
    /// What went wrong; further lines say what can be done about it.
    pub(crate) message: String,
}

impl Problem {
    /// Wrong usage or configuration.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into() }
    }

    /// The store cannot be used.
    pub(crate) fn store(message: impl Into<String>) -> Self {
        Self { exit: Exit::Store, message: message.into() }
    }

    /// The work itself failed.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { exit: Exit::Failed, message: message.into() }
    }

    /// The same problem with a line that says what to do.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl AsRef<str>) -> Self {
        self.message.push('\n');
        self.message.push_str(hint.as_ref());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        Self::store(error.to_string())
    }
}

impl From<RuntimeError> for Problem {
    fn from(error: RuntimeError) -> Self {
        let text = error.to_string();
        match error {
            RuntimeError::NoSuchPod(_) | RuntimeError::NoSuchPlace { .. } | RuntimeError::NotALog(_) => {
                Self::usage(text)
            }
            RuntimeError::Read(_) | RuntimeError::Append(_) => Self::store(text),
            RuntimeError::Broken(_) | RuntimeError::Closed => Self::failed(text),
        }
    }
}

impl From<PodError> for Problem {
    fn from(error: PodError) -> Self {
        let text = error.to_string();
        match error {
            PodError::Stopped | PodError::Empty | PodError::TooLarge { .. } => Self::usage(text),
            PodError::Store(_) => Self::store(text),
            PodError::Busy | PodError::Refused(_) | PodError::Gone => Self::failed(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_of_a_turn_has_the_exit_code_that_scripts_rely_on() {
        let table = [
            (TurnOutcome::Finished, 0),
            (TurnOutcome::Failed, 1),
            (TurnOutcome::Aborted, 1),
            (TurnOutcome::Paused, 3),
            (TurnOutcome::Exhausted, 3),
            (TurnOutcome::Yielded, 3),
            (TurnOutcome::Cancelled, 130),
        ];
        for (outcome, code) in table {
            assert_eq!(Exit::of(outcome).code(), code, "{outcome:?}");
        }
        assert_eq!(Exit::Usage.code(), 2);
        assert_eq!(Exit::Store.code(), 4);
    }
}
