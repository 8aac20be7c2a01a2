//! Transcripts of other programs become logs: pure functions from bytes to events.
//!
//! A reader for each format turns the bytes into a [`transcript::Transcript`], which says what
//! happened in words that all formats share; the [`build`] module turns that into the events of a
//! log that podwork could have written itself. What podwork has no word for is kept as it came
//! (`record_imported`), and what is broken is a [`Problem`], never a failure of the rest.

use std::fmt;
use std::str::FromStr;

use events::{Draft, Spec};

mod anthropic;
mod build;
mod claude_code;
mod codex;
mod detect;
mod json;
mod messages;
mod mini_swe_agent;
mod podwork;
mod rebuild;
mod source;
mod tau_bench;
mod transcript;

#[cfg(test)]
mod contexts;
#[cfg(test)]
pub(crate) mod hostile;
#[cfg(test)]
mod outline;
#[cfg(test)]
mod real;

/// A format of transcripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// The sessions of Claude Code.
    ClaudeCode,
    /// The rollouts of Codex.
    Codex,
    /// Messages of OpenAI's Chat Completions: an array, or a request's body.
    OpenAiMessages,
    /// Messages of Anthropic's Messages: an array, or a request's body.
    AnthropicMessages,
    /// The contexts of Kimi CLI: a message a line.
    KimiContext,
    /// The trajectories of mini-swe-agent.
    MiniSweAgent,
    /// The results of tau-bench: one session a run.
    TauBench,
    /// podwork's own export: an event a line, nothing lost.
    Podwork,
}

impl Format {
    /// All formats.
    pub(crate) const ALL: [Self; 8] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::OpenAiMessages,
        Self::AnthropicMessages,
        Self::KimiContext,
        Self::MiniSweAgent,
        Self::TauBench,
        Self::Podwork,
    ];

    /// The name that `--format` takes and that the log keeps.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code-jsonl",
            Self::Codex => "codex-rollout-jsonl",
            Self::OpenAiMessages => "openai-messages",
            Self::AnthropicMessages => "anthropic-messages",
            Self::KimiContext => "kimi-context-jsonl",
            Self::MiniSweAgent => "mini-swe-agent-traj",
            Self::TauBench => "tau-bench-results",
            Self::Podwork => "podwork-jsonl",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// There is no such format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no format that podwork reads; it reads {}", format_names())]
pub(crate) struct FormatError {
    name: String,
}

fn format_names() -> String {
    Format::ALL.map(Format::as_str).join(", ")
}

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(name: &str) -> Result<Self, FormatError> {
        Self::ALL
            .into_iter()
            .find(|format| format.as_str() == name)
            .ok_or_else(|| FormatError { name: name.to_owned() })
    }
}

/// A session that a transcript holds, as the drafts of a whole log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Session {
    /// What the transcript calls it.
    pub(crate) name: Option<String>,
    /// What the pod is at the session's end.
    pub(crate) spec: Spec,
    /// The log, from `pod_opened` on, with the times of the transcript.
    pub(crate) drafts: Vec<Draft>,
    /// What could not be read as it should.
    pub(crate) problems: Vec<Problem>,
}

/// Something in a transcript that is not as it should be. What it is about is left out, kept as
/// it came, or mended, as `why` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The line of the file, from 1.
    pub(crate) line: usize,
    /// What is wrong.
    pub(crate) why: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

/// Why a file is no transcript.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ImportError {
    /// There is nothing in it.
    #[error("the file is empty")]
    Empty,
    /// It is nothing that podwork knows.
    #[error(
        "this is no transcript that podwork recognises; name one of its formats with --format: {}",
        format_names()
    )]
    Unrecognised,
    /// It is not JSON.
    #[error("line {line}: this is not JSON: {why}")]
    NotJson {
        /// The line.
        line: usize,
        /// What the parser says.
        why: String,
    },
    /// It is JSON of another shape.
    #[error("this is not {format}: {why}")]
    OtherShape {
        /// The format.
        format: Format,
        /// What is missing.
        why: String,
    },
}

/// Reads a transcript: every session in it, at least one. Without a format it is recognised from
/// the first records.
pub(crate) fn read(bytes: &[u8], format: Option<Format>) -> Result<Vec<Session>, ImportError> {
    if bytes.trim_ascii().is_empty() {
        return Err(ImportError::Empty);
    }
    let format = match format {
        Some(format) => format,
        None => detect::format(bytes).ok_or(ImportError::Unrecognised)?,
    };
    let transcripts = match format {
        Format::Podwork => return podwork::read(bytes),
        Format::ClaudeCode => vec![claude_code::read(bytes)],
        Format::Codex => vec![codex::read(bytes)],
        Format::OpenAiMessages => vec![messages::read(bytes)?],
        Format::KimiContext => vec![messages::read_lines(bytes)],
        Format::AnthropicMessages => vec![anthropic::read(bytes)?],
        Format::MiniSweAgent => vec![mini_swe_agent::read(bytes)?],
        Format::TauBench => tau_bench::read(bytes)?,
    };
    Ok(transcripts.into_iter().map(|transcript| build::session(transcript, rebuild::bodies)).collect())
}
