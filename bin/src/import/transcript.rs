//! What a transcript says, in words that all formats share. Readers make it, [`super::build`]
//! makes events of it.

use actors::provider::ReplyPart;
use events::event::model::{EndReason, FailureKind, Usage};
use events::event::tool::CallOutcome;
use events::{Timestamp, ToolSpec};

use super::Format;
use super::json::{Block, Fields};
use super::source::Problems;

/// One session.
pub(crate) struct Transcript {
    /// Where it comes from.
    pub(crate) format: Format,
    /// What it is called there.
    pub(crate) name: Option<String>,
    /// The provider in the pod's model.
    pub(crate) provider: String,
    /// The model that was asked, when the transcript names one for all of it.
    pub(crate) model: Option<String>,
    /// The system prompt.
    pub(crate) system: String,
    /// The directory of the work.
    pub(crate) directory: String,
    /// The tools that the model was told of, as far as the transcript says.
    pub(crate) tools: Vec<ToolSpec>,
    /// What happened, in order.
    pub(crate) entries: Vec<Entry>,
    /// Something other than records has happened.
    pub(crate) has_begun: bool,
    /// What could not be read.
    pub(crate) problems: Problems,
}

impl Transcript {
    /// A session in which nothing has happened yet.
    pub(crate) fn new(format: Format, provider: &str) -> Self {
        Self {
            format,
            name: None,
            provider: provider.to_owned(),
            model: None,
            system: String::new(),
            directory: String::new(),
            tools: Vec::new(),
            entries: Vec::new(),
            has_begun: false,
            problems: Problems::default(),
        }
    }

    /// Adds a part to the system prompt.
    pub(crate) fn add_system(&mut self, text: &str) {
        if !self.system.is_empty() && !text.is_empty() {
            self.system.push_str("\n\n");
        }
        self.system.push_str(text);
    }

    /// Something happened.
    pub(crate) fn push(&mut self, line: usize, at: Option<Timestamp>, what: impl Into<What>) {
        let what = what.into();
        self.has_begun |= !matches!(what, What::Record { .. });
        self.entries.push(Entry { line, at, what });
    }

    /// A user sent these blocks. What is no text is kept as it came; where there is nothing else,
    /// a word stands in its place, since the model answered to something.
    pub(crate) fn push_input(&mut self, line: usize, at: Option<Timestamp>, blocks: Vec<Block>) {
        let (mut is_said, mut unseen) = (false, None);
        for block in blocks {
            match block {
                Block::Text(text) => {
                    self.push(line, at, What::Input(text));
                    is_said = true;
                }
                Block::Other { kind, raw, .. } => {
                    self.keep(line, at, &format!("user/{kind}"), raw);
                    unseen = Some(kind);
                }
            }
        }
        if let (false, Some(kind)) = (is_said, unseen) {
            self.push(line, at, What::Input(format!("[{kind}]")));
        }
    }

    /// The parts of a model's answer, of blocks that `part` knows by their kind. One that it does
    /// not know is kept as it came and never sent: nobody can tell whether a provider would take
    /// it back from a transcript.
    pub(crate) fn parts(
        &mut self,
        line: usize,
        at: Option<Timestamp>,
        blocks: Vec<Block>,
        part: impl Fn(&str, &Fields) -> Option<ReplyPart>,
    ) -> Vec<ReplyPart> {
        let mut parts = Vec::new();
        for block in blocks {
            match block {
                Block::Text(text) => parts.push(ReplyPart::Text(text)),
                Block::Other { kind, raw, fields } => match part(&kind, &fields) {
                    Some(part) => parts.push(part),
                    None => self.keep(line, at, &format!("assistant/{kind}"), raw),
                },
            }
        }
        parts
    }

    /// Something happened that is kept as it came.
    pub(crate) fn keep(&mut self, line: usize, at: Option<Timestamp>, record: &str, raw: &str) {
        self.push(line, at, What::Record { record: record.to_owned(), raw: raw.to_owned() });
    }
}

/// One thing that happened.
pub(crate) struct Entry {
    /// The line of the file.
    pub(crate) line: usize,
    /// When.
    pub(crate) at: Option<Timestamp>,
    /// What.
    pub(crate) what: What,
}

impl Entry {
    /// The model's answer, if it is one.
    pub(crate) fn answer(&self) -> Option<&Answer> {
        if let What::Reply(answer) = &self.what { Some(answer) } else { None }
    }
}

/// What can happen in a transcript.
pub(crate) enum What {
    /// A user wrote something.
    Input(String),
    /// Somebody else did.
    Notice {
        /// Who.
        source: String,
        /// The words.
        text: String,
    },
    /// The model answered.
    Reply(Answer),
    /// A tool answered.
    Result(Output),
    /// A request failed.
    Failure(Failed),
    /// The user stopped the turn; these are the transcript's words for it.
    Interrupt(String),
    /// The turn came to its end.
    TurnEnd,
    /// A compaction began; a summary follows.
    CompactionBegan {
        /// Why.
        reason: String,
        /// Tokens of the context before.
        tokens_before: u64,
    },
    /// A summary takes the place of everything before.
    Summary(String),
    /// The results of these calls lose their content.
    Pruned {
        /// What the provider calls them.
        calls: Vec<String>,
        /// Tokens that it saves.
        tokens_saved: u64,
        /// Why.
        reason: String,
    },
    /// Anything else, as it came.
    Record {
        /// Its kind in its format.
        record: String,
        /// The record.
        raw: String,
    },
}

/// What the model answered to one request.
#[derive(Default)]
pub(crate) struct Answer {
    /// Its parts in order.
    pub(crate) parts: Vec<ReplyPart>,
    /// The model, when the transcript names it.
    pub(crate) model: Option<String>,
    /// What it took.
    pub(crate) usage: Option<Usage>,
    /// Why it ended, when the transcript says so and there are no calls.
    pub(crate) end: Option<EndReason>,
    /// The provider's id of the answer.
    pub(crate) provider_id: Option<String>,
}

/// What came of a call.
pub(crate) struct Output {
    /// What the provider calls the call.
    pub(crate) call: String,
    /// The text.
    pub(crate) text: String,
    /// How the call ended.
    pub(crate) outcome: CallOutcome,
}

/// A request that failed.
pub(crate) struct Failed {
    /// How.
    pub(crate) kind: FailureKind,
    /// What was said.
    pub(crate) message: String,
    /// HTTP status.
    pub(crate) status: Option<u16>,
    /// Milliseconds until the next attempt; none when there is no further one.
    pub(crate) next_attempt_in_ms: Option<u64>,
}

impl From<Answer> for What {
    fn from(answer: Answer) -> Self {
        Self::Reply(answer)
    }
}

impl From<Output> for What {
    fn from(output: Output) -> Self {
        Self::Result(output)
    }
}

impl From<Failed> for What {
    fn from(failed: Failed) -> Self {
        Self::Failure(failed)
    }
}
