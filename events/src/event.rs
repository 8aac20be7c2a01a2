//! What can happen to a pod. The list is closed: a new kind stops the build wherever somebody has
//! to think about it.

use serde::{Deserialize, Serialize};

pub mod child;
pub mod context;
pub mod hook;
pub mod imported;
pub mod limit;
pub mod model;
pub mod permission;
pub mod pod;
pub mod tool;
pub mod turn;

use child::{ChildEnded, ChildSpawned, MessageSent};
use context::{CompactionFailed, CompactionFinished, CompactionSkipped, CompactionStarted, Pruned};
use hook::{HookAnswered, HookFailed};
use imported::RecordImported;
use limit::LimitReached;
use model::{ReplyFailed, ReplyReceived, RequestPrepared};
use permission::{PermissionAnswered, PermissionAsked};
use pod::{PodForked, PodOpened, PodStopped, SpecChanged};
use tool::{CallEnded, CallProgressed, CallStarted};
use turn::{InputReceived, Notified, Paused, Resumed, TurnEnded, TurnStarted};

/// Declares the closed list: for each event its type and its name in the log, and the schema
/// version that is written today.
macro_rules! events {
    ($($name:ident = $kind:literal),* $(,)?) => {
        /// One thing that happened to a pod.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "type")]
        #[expect(missing_docs, reason = "each variant is described at the type that it holds")]
        pub enum Event {
            $(#[serde(rename = $kind)] $name($name)),*
        }

        impl Event {
            /// The names of all kinds, as `type` shows them.
            pub const KINDS: &'static [&'static str] = &[$($kind),*];

            /// The name of the kind, as `type` shows it.
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$name(_) => $kind),* }
            }

            /// Writes the event's own fields, without its kind.
            pub(crate) fn write_fields<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $(Self::$name(fields) => fields.serialize(serializer)),* }
            }

            /// Reads the fields of an event of this kind; `None` when there is no such kind.
            pub(crate) fn read_fields<'de, D: serde::Deserializer<'de>>(
                kind: &str,
                deserializer: D,
            ) -> Option<Result<Self, D::Error>> {
                match kind {
                    $($kind => Some($name::deserialize(deserializer).map(Self::$name)),)*
                    _ => None,
                }
            }
        }

        $(impl From<$name> for Event {
            fn from(event: $name) -> Self {
                Self::$name(event)
            }
        })*
    };
}

events! {
    PodOpened = "pod_opened",
    PodForked = "pod_forked",
    SpecChanged = "spec_changed",
    PodStopped = "pod_stopped",
    InputReceived = "input_received",
    Notified = "notified",
    TurnStarted = "turn_started",
    TurnEnded = "turn_ended",
    Paused = "paused",
    Resumed = "resumed",
    RequestPrepared = "request_prepared",
    ReplyReceived = "reply_received",
    ReplyFailed = "reply_failed",
    CallStarted = "call_started",
    CallProgressed = "call_progressed",
    CallEnded = "call_ended",
    PermissionAsked = "permission_asked",
    PermissionAnswered = "permission_answered",
    HookAnswered = "hook_answered",
    HookFailed = "hook_failed",
    Pruned = "pruned",
    CompactionStarted = "compaction_started",
    CompactionFinished = "compaction_finished",
    CompactionFailed = "compaction_failed",
    CompactionSkipped = "compaction_skipped",
    ChildSpawned = "child_spawned",
    ChildEnded = "child_ended",
    MessageSent = "message_sent",
    LimitReached = "limit_reached",
    RecordImported = "record_imported",
}

impl Event {
    /// The version of the event's schema that this program writes and reads. It grows when a
    /// reader of the version before could not make sense of what is written now.
    pub fn schema_version(&self) -> u16 {
        Self::SCHEMA_VERSION
    }

    /// The newest schema version that this program reads, of any kind.
    pub const SCHEMA_VERSION: u16 = 1;
}
