//! From what a transcript says to the events of a log that podwork could have written itself:
//! turns that begin and end, requests before replies, one end for each call.

use std::collections::{BTreeMap, BTreeSet};

use actors::provider::ReplyPart;
use events::event::imported::RecordImported;
use events::event::model::{Origin, Part, ReplyFailed, ReplyReceived};
use events::event::pod::{PodOpened, SpecChanged};
use events::event::tool::{CallEnded, CallOutcome, CallStarted};
use events::event::turn::{InputReceived, Notified, TurnEnded, TurnOutcome, TurnStarted};
use events::item::Call;
use events::{Arguments, CallId, Model, RequestNumber, Seq, Spec, Timestamp, TurnNumber};

use super::rebuild::Rebuild;
use super::source::Problems;
use super::transcript::{Answer, Entry, Failed, Output, Transcript, What};
use super::{Format, Session};
use log::Log;

mod context;
mod log;
mod order;
mod tools;
mod words;

/// The model of a transcript that names none.
const UNKNOWN_MODEL: &str = "unknown";

/// Makes the log of a session. `rebuild` gives what computes the digests of its requests.
pub(crate) fn session<R: Rebuild>(transcript: Transcript, rebuild: impl FnOnce() -> R) -> Session {
    let spec = spec(&transcript);
    let entries = order::results_in_place(transcript.entries);
    let results = order::results_before_next_reply(&entries);
    let name = transcript.name;
    let at = entries.iter().find_map(|entry| entry.at);
    let mut builder = Builder {
        log: Log::new(rebuild(), at),
        format: transcript.format,
        spec: spec.clone(),
        state: State::Idle,
        turn: TurnNumber::default(),
        request: RequestNumber::default(),
        awaited: None,
        last_call: CallId(0),
        open: Vec::new(),
        named: BTreeMap::new(),
        began: None,
        problems: transcript.problems,
    };
    let imported = Some(transcript.format.to_string());
    builder.log.push(None, PodOpened { spec, name: name.clone(), parent: None, imported });
    for (entry, results) in entries.into_iter().zip(results) {
        builder.log.at = entry.at.or(builder.log.at);
        builder.take(entry, &results);
    }
    builder.end_of_transcript();
    Session {
        name,
        spec: builder.spec,
        drafts: builder.log.into_drafts(),
        problems: builder.problems.into_list(),
    }
}

fn spec(transcript: &Transcript) -> Spec {
    let first = transcript.entries.iter().filter_map(Entry::answer).find_map(|answer| answer.model.clone());
    let name = first.or_else(|| transcript.model.clone()).unwrap_or_else(|| UNKNOWN_MODEL.to_owned());
    let mut spec = Spec::new(Model { provider: transcript.provider.clone(), name });
    spec.system.clone_from(&transcript.system);
    spec.directory.clone_from(&transcript.directory);
    spec.tools = tools::of(transcript);
    spec
}

/// Where the turn stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// There is none.
    Idle,
    /// The model or a tool works.
    Running,
    /// The model has said all; another reply may still follow.
    Answered,
}

/// A request without a reply.
struct Awaited {
    seq: Seq,
    failed_attempts: u32,
}

/// A call without an end.
struct Open {
    call: CallId,
    provider_id: String,
    started: Seq,
    at: Option<Timestamp>,
}

struct Builder<R> {
    log: Log<R>,
    format: Format,
    spec: Spec,
    state: State,
    turn: TurnNumber,
    request: RequestNumber,
    awaited: Option<Awaited>,
    last_call: CallId,
    open: Vec<Open>,
    /// The newest call under each id of the provider.
    named: BTreeMap<String, CallId>,
    began: Option<context::Began>,
    problems: Problems,
}

impl<R: Rebuild> Builder<R> {
    fn take(&mut self, entry: Entry, results: &order::Results) {
        let line = entry.line;
        match entry.what {
            What::Input(text) => self.input(line, &text, results.any),
            What::Notice { source, text } => self.notice(line, source, &text),
            What::Reply(answer) => self.reply(line, answer, &results.ids),
            What::Result(output) => self.result(line, &output),
            What::Failure(failed) => self.failure(failed),
            What::Interrupt(words) => self.interrupt(words),
            What::TurnEnd => self.end_turn(TurnOutcome::Finished, ""),
            What::CompactionBegan { reason, tokens_before } => self.compaction_began(reason, tokens_before),
            What::Summary(text) => self.summary(line, &text),
            What::Pruned { calls, tokens_saved, reason } => self.prune(line, &calls, tokens_saved, reason),
            What::Record { record, raw } => self.keep(record, raw),
        }
    }

    fn keep(&mut self, record: impl Into<String>, raw: String) {
        let format = self.format.to_string();
        self.log.push(None, RecordImported { format, record: record.into(), raw: raw.into() });
    }

    /// Text that every provider takes.
    fn sound(&mut self, line: usize, text: &str) -> String {
        words::sound(text).unwrap_or_else(|cleaned| {
            self.problems.note(line, "control characters were taken out of the text");
            cleaned
        })
    }

    fn input(&mut self, line: usize, text: &str, results_follow: bool) {
        self.abandon_compaction();
        if !self.open.is_empty() && !results_follow {
            self.end_turn(TurnOutcome::Cancelled, "the transcript has no results for the last calls");
        }
        if self.state == State::Answered {
            self.end_turn(TurnOutcome::Finished, "");
        }
        let text = self.sound(line, text);
        let seq = self.log.push(None, InputReceived { text });
        if self.state == State::Idle {
            self.start_turn(Some(seq));
        }
    }

    fn notice(&mut self, line: usize, source: String, text: &str) {
        if self.state == State::Answered {
            self.end_turn(TurnOutcome::Finished, "");
        }
        let text = self.sound(line, text);
        self.log.push(None, Notified { source, text });
    }

    fn start_turn(&mut self, cause: Option<Seq>) {
        self.turn = self.turn.next();
        self.log.push(cause, TurnStarted { turn: self.turn });
        self.state = State::Running;
    }

    fn end_turn(&mut self, outcome: TurnOutcome, reason: &str) {
        self.end_calls(CallOutcome::Unknown);
        self.awaited = None;
        if self.state != State::Idle {
            let reason = reason.to_owned();
            self.log.push(None, TurnEnded { turn: self.turn, outcome, reason });
            self.state = State::Idle;
        }
    }

    fn interrupt(&mut self, words: String) {
        if self.state == State::Idle {
            self.keep("interrupt", words);
        } else {
            self.end_calls(CallOutcome::Interrupted);
            self.end_turn(TurnOutcome::Cancelled, &words);
        }
    }

    fn end_of_transcript(&mut self) {
        self.abandon_compaction();
        match self.state {
            State::Idle => {}
            State::Running => {
                self.end_turn(TurnOutcome::Cancelled, "the transcript ends here, in the middle of the turn");
            }
            State::Answered => self.end_turn(TurnOutcome::Finished, ""),
        }
    }

    fn origin(&self) -> Origin {
        Origin { provider: self.spec.model.provider.clone(), model: self.spec.model.name.clone() }
    }

    /// Makes sure that a request of this turn waits for a reply.
    fn await_reply(&mut self) -> Seq {
        if self.state == State::Idle {
            self.start_turn(None);
        }
        self.state = State::Running;
        if let Some(awaited) = &self.awaited {
            return awaited.seq;
        }
        self.request = self.request.next();
        let seq = self.log.prepare(self.turn, self.request, &self.spec);
        self.awaited = Some(Awaited { seq, failed_attempts: 0 });
        seq
    }

    fn failure(&mut self, failed: Failed) {
        self.end_calls(CallOutcome::Unknown);
        self.abandon_compaction();
        let cause = self.await_reply();
        let attempt = self.awaited.as_mut().map_or(1, |awaited| {
            awaited.failed_attempts += 1;
            awaited.failed_attempts
        });
        let reason = failed.message.clone();
        let event = ReplyFailed {
            request: self.request,
            attempt,
            kind: failed.kind,
            message: failed.message,
            status: failed.status,
            retry_after_ms: None,
            next_attempt_in_ms: failed.next_attempt_in_ms,
            draft: String::new(),
            provider_request_id: None,
        };
        self.log.push(Some(cause), event);
        if failed.next_attempt_in_ms.is_none() {
            self.end_turn(TurnOutcome::Failed, &reason);
        }
    }

    fn reply(&mut self, line: usize, answer: Answer, answered: &BTreeSet<String>) {
        self.end_calls(CallOutcome::Unknown);
        self.abandon_compaction();
        if let Some(name) = answer.model.filter(|name| *name != self.spec.model.name) {
            self.awaited = None;
            self.spec.model.name = name;
            self.log.push(None, SpecChanged { spec: self.spec.clone() });
        }
        let cause = self.await_reply();
        self.awaited = None;
        let parts: Vec<Part> = answer.parts.into_iter().map(|part| self.part(line, part, answered)).collect();
        let calls: Vec<Call> = parts.iter().filter_map(words::call).cloned().collect();
        let end = words::end(answer.end, &parts);
        let event = ReplyReceived {
            request: self.request,
            origin: self.origin(),
            parts,
            usage: answer.usage,
            end,
            provider_id: answer.provider_id,
        };
        let reply = self.log.push(Some(cause), event);
        if calls.is_empty() {
            self.state = State::Answered;
        }
        for call in calls {
            self.start_call(reply, call);
        }
    }

    fn start_call(&mut self, reply: Seq, call: Call) {
        let event = CallStarted { call: call.call, tool: call.tool, arguments: call.arguments };
        let started = self.log.push(Some(reply), event);
        self.named.insert(call.provider_id.clone(), call.call);
        self.open.push(Open { call: call.call, provider_id: call.provider_id, started, at: self.log.at });
    }

    fn part(&mut self, line: usize, part: ReplyPart, answered: &BTreeSet<String>) -> Part {
        let (provider_id, tool, raw) = match part {
            ReplyPart::Text(text) => return Part::Text { text: self.sound(line, &text) },
            ReplyPart::Reasoning(reasoning) => return Part::Reasoning(reasoning),
            ReplyPart::Opaque(json) => return Part::Opaque { json },
            ReplyPart::Call { provider_id, tool, raw } => (provider_id, tool, raw),
        };
        let arguments = match Arguments::parse(&raw) {
            Ok(arguments) => arguments,
            Err(error) => {
                let why = error.to_string();
                self.problems.note(line, format!("the call of `{tool}` is damaged: {why}"));
                if !answered.contains(&provider_id) {
                    return Part::BrokenCall { tool, raw, why };
                }
                // It was run, whatever became of its arguments on the way into the transcript.
                words::unparsed(&raw)
            }
        };
        self.last_call = self.last_call.next();
        Part::Call(Call { call: self.last_call, tool: words::tool_name(&tool), provider_id, arguments })
    }

    fn result(&mut self, line: usize, output: &Output) {
        let Some(place) = self.open.iter().position(|open| open.provider_id == output.call) else {
            self.problems
                .note(line, format!("a result of `{}` without an open call is kept as it came", output.call));
            return self.keep("result_without_call", words::orphan(output));
        };
        let open = self.open.remove(place);
        let text = self.sound(line, &output.text);
        let event = CallEnded {
            call: open.call,
            outcome: output.outcome,
            summary: words::summary(output.outcome, &text),
            content_bytes: output.text.len() as u64,
            content: text.into(),
            content_hash: None,
            elapsed_ms: words::elapsed_ms(open.at, self.log.at),
        };
        self.log.push(Some(open.started), event);
    }

    /// Ends what has no result, so that the next request answers every call.
    fn end_calls(&mut self, outcome: CallOutcome) {
        for open in std::mem::take(&mut self.open) {
            let event = CallEnded {
                call: open.call,
                outcome,
                summary: words::NO_RESULT.to_owned(),
                content: String::new().into(),
                content_hash: None,
                content_bytes: 0,
                elapsed_ms: 0,
            };
            self.log.push(Some(open.started), event);
        }
    }
}
