//! Hooks: those who watch. A hook sees a read-only summary and answers with a verdict; it cannot
//! reach the context, the log or a tool.

use std::time::Duration;

use events::event::hook::{HookPoint, HookRole};
use events::event::tool::CallOutcome;
use events::event::turn::TurnOutcome;
use events::{CallId, PodId, RequestNumber, TurnNumber};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::limits::{HOOK_TIMEOUT, PREVIEW_BYTES_MAX};

/// Somebody who is asked. Hooks are registered when the runtime starts and are frozen then.
pub trait Hook: Send + Sync + 'static {
    /// The name that events carry.
    fn name(&self) -> &str;

    /// Where it wants to be asked.
    fn points(&self) -> &[HookPoint];

    /// What its silence means: of a guard it is a no, of an observer nothing.
    fn role(&self) -> HookRole;

    /// How long it may take; then it has given no answer.
    fn timeout(&self) -> Duration {
        HOOK_TIMEOUT
    }

    /// Looks at what is about to happen, or has, and says what should come of it.
    fn ask<'a>(&'a self, summary: &'a Summary) -> BoxFuture<'a, Verdict>;
}

/// What a hook says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing against it.
    Continue,
    /// Not this call; elsewhere the same as abort.
    Skip(String),
    /// The turn ends here.
    Abort(String),
    /// The turn waits for a person.
    Pause(String),
}

/// What a hook sees: values that lead nowhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The pod.
    pub pod: PodId,
    /// Its newest turn.
    pub turn: TurnNumber,
    /// What it is about.
    pub subject: Subject,
}

/// What a hook is asked about, by point.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// Input arrived.
    PromptSubmitted {
        /// Its beginning.
        preview: String,
        /// All of it, in bytes.
        bytes: u64,
    },
    /// A request is built.
    BeforeRequest {
        /// Its number.
        request: RequestNumber,
        /// Items in the context.
        items: u64,
        /// Estimated input tokens.
        estimated_tokens: u64,
    },
    /// A reply is in the log.
    AfterReply {
        /// The request.
        request: RequestNumber,
        /// The beginning of its words.
        preview: String,
        /// How many calls it has.
        calls: u64,
    },
    /// A call is about to run.
    BeforeCall {
        /// The call.
        call: CallId,
        /// The tool.
        tool: String,
        /// The beginning of the arguments as the model wrote them.
        arguments_preview: String,
        /// A copy of the arguments.
        arguments: Map<String, Value>,
    },
    /// A call has ended.
    AfterCall {
        /// The call.
        call: CallId,
        /// The tool.
        tool: String,
        /// How it ended.
        outcome: CallOutcome,
        /// What happened, in one line.
        summary: String,
        /// The beginning of the result.
        result_preview: String,
    },
    /// A turn has ended.
    TurnEnded {
        /// How.
        outcome: TurnOutcome,
        /// Why.
        reason: String,
    },
    /// A compaction is about to start.
    BeforeCompaction {
        /// Estimated tokens of the context.
        estimated_tokens: u64,
    },
    /// The pod has stopped.
    PodStopped {
        /// Why.
        reason: String,
    },
}

impl Subject {
    /// The point at which it is asked about.
    pub fn point(&self) -> HookPoint {
        match self {
            Self::PromptSubmitted { .. } => HookPoint::PromptSubmitted,
            Self::BeforeRequest { .. } => HookPoint::BeforeRequest,
            Self::AfterReply { .. } => HookPoint::AfterReply,
            Self::BeforeCall { .. } => HookPoint::BeforeCall,
            Self::AfterCall { .. } => HookPoint::AfterCall,
            Self::TurnEnded { .. } => HookPoint::TurnEnded,
            Self::BeforeCompaction { .. } => HookPoint::BeforeCompaction,
            Self::PodStopped { .. } => HookPoint::PodStopped,
        }
    }

    /// The call it is about.
    pub fn call(&self) -> Option<CallId> {
        match self {
            Self::BeforeCall { call, .. } | Self::AfterCall { call, .. } => Some(*call),
            Self::PromptSubmitted { .. }
            | Self::BeforeRequest { .. }
            | Self::AfterReply { .. }
            | Self::TurnEnded { .. }
            | Self::BeforeCompaction { .. }
            | Self::PodStopped { .. } => None,
        }
    }
}

/// The beginning of a text, as a hook sees it.
pub(crate) fn preview(text: &str) -> String {
    events::text::head(text, PREVIEW_BYTES_MAX).to_owned()
}
