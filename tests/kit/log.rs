//! Logs as short sentences, with dense places and sealed as a store would.
//!
//! ```
//! use events::projection::History;
//! use kit::log::{called, given};
//!
//! given()
//!     .opened()
//!     .input("list the files")
//!     .turn()
//!     .request()
//!     .reply([called("bash", &serde_json::json!({"command": "ls"}))])
//!     .started(1)
//!     .ended(1, "README.md")
//!     .then(|history: &History| assert_eq!(history.items().len(), 3));
//! ```

use events::envelope::Place;
use events::event::context::{CompactionFinished, CompactionStarted, Pruned};
use events::event::model::{
    EndReason, FailureKind, Origin, Part, ReasoningPart, ReplyFailed, ReplyReceived, RequestPrepared, Usage,
};
use events::event::pod::{PodForked, PodOpened, SpecChanged};
use events::event::tool::{CallEnded, CallOutcome, CallStarted};
use events::event::turn::{InputReceived, Notified, TurnEnded, TurnOutcome, TurnStarted};
use events::item::Call;
use events::spec::Effect;
use events::{
    Arguments, CallId, Draft, Envelope, Event, Hash, Model, PodId, Position, Projection, RequestNumber, Seq,
    Spec, Timestamp, ToolSpec, TurnNumber, project,
};
use serde_json::{Value, json};

pub mod arbitrary;
pub mod plausible;
pub mod text;

pub use arbitrary::arbitrary_log;
pub use plausible::plausible_log;

/// The moment of the first event; each one after it comes a second later.
const FIRST_MICROS: i64 = 1_767_323_045_000_000;

/// A log that grows.
#[derive(Clone, Debug)]
pub struct Log {
    pod: PodId,
    spec: Spec,
    envelopes: Vec<Envelope>,
    calls: u32,
    requests: u32,
    turns: u32,
}

/// A log without any event.
pub fn given() -> Log {
    Log {
        pod: PodId::from_bytes(*b"a pod of a test."),
        spec: spec("anthropic:test"),
        envelopes: Vec::new(),
        calls: 0,
        requests: 0,
        turns: 0,
    }
}

/// A pod for this model with a tool of each effect.
pub fn spec(model: &str) -> Spec {
    let tool = |name: &str, effect| ToolSpec {
        name: name.to_owned(),
        description: format!("The tool {name}."),
        schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        effect,
    };
    let mut spec = Spec::new(model.parse().expect("a test names a model"));
    "You work in a test.".clone_into(&mut spec.system);
    spec.tools = vec![
        tool("bash", Effect::Other),
        tool("read_file", Effect::ReadOnly),
        tool("write_file", Effect::Idempotent),
    ];
    spec
}

/// The origin of replies of this model.
pub fn origin(model: &Model) -> Origin {
    Origin { provider: model.provider.clone(), model: model.name.clone() }
}

/// A part of a reply: words.
pub fn said(text: impl Into<String>) -> Part {
    Part::Text { text: text.into() }
}

/// A part of a reply: signed reasoning.
pub fn thought(text: impl Into<String>, signature: impl Into<String>) -> Part {
    Part::Reasoning(ReasoningPart { text: text.into(), signature: Some(signature.into()), data: None })
}

/// A part of a reply: a call. The log gives it the next id.
pub fn called(tool: impl Into<String>, arguments: &Value) -> Part {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    Part::Call(Call {
        call: CallId(0),
        tool: tool.into(),
        provider_id: String::new(),
        arguments: Arguments::from_object(&arguments),
    })
}

impl Log {
    /// Adds any event.
    #[must_use]
    pub fn event(self, event: impl Into<Event>) -> Self {
        self.draft(Draft::new(event))
    }

    /// Adds any draft.
    #[must_use]
    pub fn draft(mut self, draft: Draft) -> Self {
        let seq = self.envelopes.len() as u64 + 1;
        let at = Timestamp::from_micros(FIRST_MICROS + 1_000_000 * i64::try_from(seq).unwrap_or(0));
        let place = Place { pod: self.pod, seq: Seq(seq), position: Position(seq), at };
        self.envelopes.push(Envelope::seal(draft, place));
        self
    }

    /// The pod is opened for a model that signs its reasoning.
    #[must_use]
    pub fn opened(self) -> Self {
        self.opened_with(spec("anthropic:test"))
    }

    /// The pod is opened.
    #[must_use]
    pub fn opened_with(mut self, spec: Spec) -> Self {
        self.spec = spec.clone();
        self.event(PodOpened { spec, name: None, parent: None, imported: None })
    }

    /// The pod gets another model.
    #[must_use]
    pub fn model(mut self, model: &str) -> Self {
        self.spec.model = model.parse().expect("a test names a model");
        let spec = self.spec.clone();
        self.event(SpecChanged { spec })
    }

    /// The rest of the log belongs to a fork of the pod.
    #[must_use]
    pub fn forked(mut self) -> Self {
        let (from, at_seq) = (self.pod, self.last());
        let mut bytes = *self.pod.as_bytes();
        bytes[15] = bytes[15].wrapping_add(1);
        self.pod = PodId::from_bytes(bytes);
        self.event(PodForked { from, at_seq, name: None })
    }

    /// A user writes.
    #[must_use]
    pub fn input(self, text: impl Into<String>) -> Self {
        self.event(InputReceived { text: text.into() })
    }

    /// Something other than a user writes.
    #[must_use]
    pub fn notified(self, source: impl Into<String>, text: impl Into<String>) -> Self {
        self.event(Notified { source: source.into(), text: text.into() })
    }

    /// The next turn begins.
    #[must_use]
    pub fn turn(mut self) -> Self {
        self.turns += 1;
        let turn = TurnNumber(self.turns);
        self.event(TurnStarted { turn })
    }

    /// The turn ends.
    #[must_use]
    pub fn turn_ended(self, outcome: TurnOutcome) -> Self {
        let turn = TurnNumber(self.turns);
        self.event(TurnEnded { turn, outcome, reason: String::new() })
    }

    /// The next request is prepared.
    #[must_use]
    pub fn request(mut self) -> Self {
        self.requests += 1;
        let prepared = RequestPrepared {
            turn: TurnNumber(self.turns),
            request: RequestNumber(self.requests),
            origin: origin(&self.spec.model),
            history_to: self.last(),
            prunes: 0,
            compaction: None,
            items: 0,
            digest: Hash::of(b""),
            body_bytes: 0,
            estimated_tokens: 0,
        };
        self.event(prepared)
    }

    /// The model answers; calls without an id get the next ones.
    #[must_use]
    pub fn reply(self, parts: impl IntoIterator<Item = Part>) -> Self {
        self.reply_ending(parts, None)
    }

    /// The same with an end that is not the obvious one.
    #[must_use]
    pub fn reply_ending(
        mut self,
        parts: impl IntoIterator<Item = Part>,
        end: impl Into<Option<EndReason>>,
    ) -> Self {
        let mut parts: Vec<Part> = parts.into_iter().collect();
        let mut has_calls = false;
        for part in &mut parts {
            if let Part::Call(call) = part {
                has_calls = true;
                if call.call == CallId(0) {
                    self.calls += 1;
                    call.call = CallId(self.calls);
                }
            }
        }
        let obvious = if has_calls { EndReason::Calls } else { EndReason::Stop };
        let reply = ReplyReceived {
            request: RequestNumber(self.requests),
            origin: origin(&self.spec.model),
            parts,
            usage: Some(Usage { input_tokens: 100, output_tokens: 10, ..Usage::default() }),
            end: end.into().unwrap_or(obvious),
            provider_id: None,
        };
        self.event(reply)
    }

    /// The model says something and is done.
    #[must_use]
    pub fn says(self, text: impl Into<String>) -> Self {
        self.reply([said(text)])
    }

    /// An attempt fails.
    #[must_use]
    pub fn failed(self, kind: FailureKind, attempt: u32) -> Self {
        let request = RequestNumber(self.requests);
        self.event(ReplyFailed {
            request,
            attempt,
            kind,
            message: "it failed".to_owned(),
            status: None,
            retry_after_ms: None,
            next_attempt_in_ms: None,
            draft: "half a sen".to_owned(),
            provider_request_id: None,
        })
    }

    /// A call starts, with the arguments that the model gave.
    #[must_use]
    pub fn started(self, call: u32) -> Self {
        let (tool, arguments) = self.call(CallId(call)).unwrap_or_default();
        self.event(CallStarted { call: CallId(call), tool, arguments })
    }

    /// A call ends well.
    #[must_use]
    pub fn ended(self, call: u32, content: impl Into<String>) -> Self {
        self.ended_as(call, CallOutcome::Ok, content)
    }

    /// A call ends.
    #[must_use]
    pub fn ended_as(self, call: u32, outcome: CallOutcome, content: impl Into<String>) -> Self {
        let content = content.into();
        self.event(CallEnded {
            call: CallId(call),
            outcome,
            summary: format!("{}: {} bytes", outcome.as_str(), content.len()),
            content_bytes: content.len() as u64,
            content: content.into(),
            content_hash: None,
            elapsed_ms: 1,
        })
    }

    /// The contents of these results are left out from now on.
    #[must_use]
    pub fn pruned(self, calls: impl IntoIterator<Item = u32>) -> Self {
        let calls = calls.into_iter().map(CallId).collect();
        self.event(Pruned { calls, tokens_saved: 5000, reason: "it pays".to_owned() })
    }

    /// A summary stands in the place of everything before this event.
    #[must_use]
    pub fn compacted(self, kept_from: u64, summary: impl Into<String>) -> Self {
        let (from_seq, kept_from) = (Seq(1), Seq(kept_from));
        let reason = "too large".to_owned();
        self.event(CompactionStarted { from_seq, kept_from, reason, tokens_before: 1000 }).event(
            CompactionFinished {
                from_seq,
                kept_from,
                summary: summary.into(),
                tokens_before: 1000,
                tokens_after: 100,
                worker: None,
                usage: None,
            },
        )
    }

    /// All events.
    pub fn envelopes(&self) -> &[Envelope] {
        &self.envelopes
    }

    /// All events, for good.
    pub fn into_envelopes(self) -> Vec<Envelope> {
        self.envelopes
    }

    /// The place of the last event.
    pub fn last(&self) -> Seq {
        Seq(self.envelopes.len() as u64)
    }

    /// The id of the newest call.
    pub fn last_call(&self) -> u32 {
        self.calls
    }

    /// A view of the log.
    pub fn view<P: Projection>(&self) -> P {
        project(&self.envelopes)
    }

    /// Shows a view of the log to an expectation, and goes on.
    #[must_use]
    pub fn and<P: Projection>(self, expect: impl FnOnce(&P)) -> Self {
        expect(&self.view());
        self
    }

    /// Shows a view of the log to an expectation.
    pub fn then<P: Projection>(self, expect: impl FnOnce(&P)) {
        expect(&self.view());
    }

    /// The tool and the arguments of a call.
    fn call(&self, wanted: CallId) -> Option<(String, Arguments)> {
        let replies = self.envelopes.iter().rev().filter_map(|envelope| match envelope.event() {
            Event::ReplyReceived(reply) => Some(&reply.parts),
            _ => None,
        });
        replies.flatten().find_map(|part| match part {
            Part::Call(call) if call.call == wanted => Some((call.tool.clone(), call.arguments.clone())),
            _ => None,
        })
    }
}
