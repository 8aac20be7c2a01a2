//! What a command asks of the process that holds the store, and what it answers: the same values
//! whether that is this process or another one.
//!
//! Over a socket each value is one line of JSON: one request, then lines of answers, of which the
//! last one is a result or an error. While the answers come, the asker may send controls.

use std::path::PathBuf;
use std::sync::Arc;

use events::{Envelope, PodId, RequestNumber, Seq, Spec};
use serde::{Deserialize, Serialize};

use crate::args::target::PodName;
use crate::exit::Problem;
use crate::spec_patch::SpecPatch;
use crate::view::context::{ContextView, Difference};
use crate::view::pods::PodView;
use crate::view::turn::TurnView;
use crate::view::usage::UsageView;

/// The version of what is spoken over the socket. Both sides must speak the same one.
pub(crate) const PROTOCOL: u32 = 1;

/// The first line that an asker sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// What the asker speaks.
    pub(crate) protocol: u32,
    /// What it asks.
    pub(crate) request: Request,
}

/// What a command asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(crate) enum Request {
    /// Opens a pod and runs a turn.
    Run {
        /// What the pod is.
        spec: Box<Spec>,
        /// What to call it.
        name: Option<String>,
        /// What it is to do.
        prompt: String,
    },
    /// Settles what was in flight, goes on with an unfinished turn, then submits the prompt.
    Resume {
        /// Which pod.
        pod: PodName,
        /// What it is to do next.
        prompt: Option<String>,
        /// What it is from now on.
        patch: Box<SpecPatch>,
    },
    /// Input of a user.
    Send {
        /// Which pod.
        pod: PodName,
        /// The words.
        text: String,
    },
    /// Input of something else.
    Notify {
        /// Which pod.
        pod: PodName,
        /// Who.
        source: String,
        /// The words.
        text: String,
    },
    /// All pods.
    Pods,
    /// The events of a pod.
    Log {
        /// Which pod.
        pod: PodName,
        /// The first event.
        from: Seq,
        /// Go on as events are written.
        follow: bool,
    },
    /// What a request sent.
    Context {
        /// Which pod.
        pod: PodName,
        /// Which request; the next one when there is no number.
        request: Option<RequestNumber>,
        /// The request to compare it with.
        since: Option<RequestNumber>,
    },
    /// What a pod took.
    Usage {
        /// Which pod.
        pod: PodName,
        /// With its children.
        tree: bool,
    },
    /// A new pod with a shared past.
    Fork {
        /// Which pod.
        pod: PodName,
        /// The last shared event.
        at: Option<Seq>,
        /// What to call the fork.
        name: Option<String>,
    },
    /// A compaction now.
    Compact {
        /// Which pod.
        pod: PodName,
    },
    /// No work until it is resumed.
    Pause {
        /// Which pod.
        pod: PodName,
        /// Why.
        reason: String,
    },
    /// The end of the running turn.
    Cancel {
        /// Which pod.
        pod: PodName,
    },
    /// The end of the pod.
    Stop {
        /// Which pod.
        pod: PodName,
        /// With its children.
        tree: bool,
        /// Why.
        reason: String,
    },
    /// A pod from a transcript.
    Import {
        /// The transcript, absolute.
        file: PathBuf,
        /// Its format.
        format: Option<String>,
    },
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Answer {
    /// The request is being worked on.
    Accepted,
    /// The pod that the answers are about.
    Pod {
        /// Its id.
        pod: PodId,
        /// What people call it.
        name: Option<String>,
    },
    /// An event, durable.
    Event {
        /// The event.
        event: Arc<Envelope>,
    },
    /// Words of the model as they come.
    Delta {
        /// The words.
        text: String,
        /// They are reasoning.
        reasoning: bool,
    },
    /// Something for a person to know.
    Note {
        /// The words.
        text: String,
    },
    /// Whoever holds the store is about to let go of it; what was asked for goes on elsewhere.
    Leaving,
    /// The last line: what came of it.
    Result {
        /// The result.
        result: Box<Outcome>,
    },
    /// The last line: why nothing came of it.
    Error {
        /// The problem.
        problem: Problem,
    },
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// A turn ended.
    Turn(TurnView),
    /// A pod did what it was asked.
    Done {
        /// The pod.
        pod: PodId,
        /// What people call it.
        name: Option<String>,
        /// What was done, for people.
        text: String,
    },
    /// The pods.
    Pods {
        /// One row each.
        pods: Vec<PodView>,
    },
    /// A log came to its end.
    Log,
    /// A context.
    Context {
        /// The context.
        context: Box<ContextView>,
        /// What changed since another one.
        difference: Option<Difference>,
    },
    /// What pods took.
    Usage {
        /// The pod, and its children.
        pods: Vec<UsageView>,
    },
    /// Pods were made of a transcript.
    Imported {
        /// One for each session.
        sessions: Vec<Imported>,
    },
}

/// A pod that was made of a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Imported {
    /// The pod.
    pub(crate) pod: PodId,
    /// What the transcript calls it.
    pub(crate) name: Option<String>,
    /// Events in its log.
    pub(crate) events: u64,
    /// What could not be read as it should.
    pub(crate) problems: Vec<String>,
}

/// What an asker says while the answers come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Control {
    /// End the turn as cancelled.
    Cancel,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads_back<T>(value: &T)
    where
        T: Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
    {
        let line = serde_json::to_string(value).expect("serialises");
        assert!(!line.contains('\n'));
        assert_eq!(&serde_json::from_str::<T>(&line).expect("reads back"), value, "{line}");
    }

    #[test]
    fn requests_and_answers_read_back() {
        let pod = PodId::from_bytes([3; 16]);
        let spec = Spec::new("openai:x".parse().expect("a model"));
        let request = Request::Run { spec: Box::new(spec), name: None, prompt: "a\nb".to_owned() };
        reads_back(&Hello { protocol: PROTOCOL, request });
        reads_back(&Request::Resume {
            pod: PodName::Last,
            prompt: None,
            patch: Box::new(SpecPatch::default()),
        });
        reads_back(&Request::Cancel { pod: PodName::Named("x".to_owned()) });
        reads_back(&Answer::Accepted);
        reads_back(&Answer::Error { problem: Problem::usage("no") });
        let usage = UsageView {
            pod,
            name: None,
            depth: 0,
            totals: events::projection::UsageTotals::default(),
            savings: crate::view::usage::Savings::default(),
        };
        reads_back(&Answer::Result { result: Box::new(Outcome::Usage { pods: vec![usage] }) });
        reads_back(&Control::Cancel);
    }

    #[test]
    fn events_read_back() {
        use events::envelope::Place;
        use events::event::tool::{CallEnded, CallOutcome, CallStarted};
        let place = Place {
            pod: PodId::from_bytes([3; 16]),
            seq: Seq(4),
            position: events::Position(0),
            at: events::Timestamp::from_micros(5),
        };
        let arguments = events::Arguments::parse("{\"b\": 1,\"a\":\"\\u00e9\"}").expect("an object");
        let started = CallStarted { call: events::CallId(1), tool: "bash".to_owned(), arguments };
        let ended = CallEnded {
            call: events::CallId(1),
            outcome: CallOutcome::Ok,
            summary: "ok".to_owned(),
            content: "text".into(),
            content_hash: None,
            content_bytes: 4,
            elapsed_ms: 1,
        };
        for draft in [events::Draft::new(started), events::Draft::new(ended)] {
            reads_back(&Answer::Event { event: Arc::new(Envelope::seal(draft, place)) });
        }
    }
}
