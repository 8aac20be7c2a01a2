//! What a worker does: it asks hooks, sends requests and runs tools, each in a task that reports
//! back. What follows from what is said by the rules in `decide.rs`.

use std::time::Duration;

use events::Draft;
use events::event::hook::HookPoint;
use events::event::tool::CallOutcome;
use events::event::turn::TurnOutcome;
use events::item::Call;
use store::{Attachment, Receipt};
use tokio::time::Instant;

use crate::hook::{Subject, Summary, Verdict, preview};
use crate::hook_broker::Round;
use crate::interceptor::{Interception, RequestCopy};
use crate::limits::{DELTAS_MAX, TOOL_CALL_SECONDS_MAX, TOOL_SECONDS_MAX, TOOL_WIND_UP_MAX};
use crate::permit::permit;
use crate::provider::{Ask, Failure};
use crate::tool::{Scene, ToolOutput};
use crate::worker::decide::{self, After, Ending};
use crate::worker::{Deed, Fact, Worker, WorkerMessage};

impl Worker {
    /// Writes down what a task came to.
    pub(super) fn absorb(&mut self, fact: Fact) {
        match fact {
            Fact::Replied(_) if self.turn.obligations.request.is_none() || self.turn.stop.is_some() => {}
            Fact::Replied(Ok(reply)) => {
                self.model = None;
                let last_call = self.composer.context.history().last_call();
                if let Some((received, cause)) = decide::reply(&self.turn, last_call, reply) {
                    let subject = decide::reply_subject(&received);
                    let draft = Draft::new(received).caused_by(cause);
                    self.record(vec![draft], Vec::new(), Deed::Replied(subject));
                }
            }
            Fact::Replied(Err(failure)) => {
                self.model = None;
                let (drafts, after) = decide::failure(&self.turn, &failure, jitter());
                self.record(drafts, Vec::new(), Deed::After(after));
            }
            Fact::RetryDue => self.turn.sending = false,
            Fact::CallEnded { call, output, elapsed_ms } => self.call_ended(call, output, elapsed_ms),
            Fact::CallAsked { call, round } => self.call_asked(call, round),
            Fact::RequestAsked(round) => self.request_asked(round),
            Fact::AfterwardsAsked(round) => {
                self.turn.telling = self.turn.telling.saturating_sub(1);
                if let Some(ending) = ending(&round.verdict) {
                    self.stop(ending);
                }
                self.record_if_any(round.drafts);
            }
        }
    }

    fn record_if_any(&mut self, drafts: Vec<Draft>) {
        if !drafts.is_empty() {
            self.record(drafts, Vec::new(), Deed::Nothing);
        }
    }

    /// Does what was waiting for these events to be in the log.
    pub(super) fn carry_out(&mut self, deed: Deed, receipt: &Receipt) {
        match deed {
            Deed::Nothing | Deed::Finish => {}
            Deed::Run(calls) => calls.into_iter().for_each(|call| self.run(call, receipt)),
            Deed::Tell(subject) => self.tell(subject),
            Deed::Replied(subject) => {
                self.turn.sending = false;
                self.composer.catch_up(self.provider.as_ref(), self.turn.spec());
                self.composer.measure(&self.turn.usage);
                self.tell(subject);
            }
            Deed::After(After::Nothing) => self.turn.sending = false,
            Deed::After(After::SendIn(wait)) => self.wait(wait),
            Deed::After(After::End(ending)) => self.stop(ending),
        }
    }

    /// Those who watch are told; an answer other than continue ends the turn.
    fn tell(&mut self, subject: Subject) {
        if self.ask(subject, Fact::AfterwardsAsked) {
            self.turn.telling += 1;
        }
    }

    /// Asks hooks, if there is anybody to ask at this point.
    fn ask(&self, subject: Subject, fact: impl FnOnce(Round) -> Fact + Send + 'static) -> bool {
        if !self.house.hooks.has(subject.point()) {
            return false;
        }
        let summary = Summary { pod: self.id, turn: self.turn.status.turn, subject };
        let myself = self.myself.clone();
        // A worker that has ended needs no answer any more.
        let reply_to = Box::new(move |round| drop(myself.cast(WorkerMessage::Happened(fact(round)))));
        self.house.hooks.ask(summary, reply_to);
        true
    }

    /// Builds the next request: prune, then interceptors, then hooks, then the log.
    pub(super) fn compose(&mut self) {
        self.composer.catch_up(self.provider.as_ref(), self.turn.spec());
        let pruned = self.composer.weigh_prune(&self.prune_config, self.savings_estimator.as_ref());
        if let Some(pruned) = pruned {
            self.record(vec![pruned.into()], Vec::new(), Deed::Nothing);
            return;
        }
        let spec = self.turn.spec();
        let mut copy = RequestCopy {
            spec,
            occupancy_tokens: self.composer.occupancy_tokens(),
            is_compactable: self.composer.is_compactable(spec.context.retained_tokens),
            drafts: Vec::new(),
        };
        for interceptor in &self.interceptors {
            match interceptor.before_request(&mut copy) {
                Interception::Continue => {}
                Interception::Yield(reason) => return self.stop(Ending::new(TurnOutcome::Yielded, reason)),
            }
        }
        let drafts = copy.drafts;
        if !drafts.is_empty() {
            return self.record(drafts, Vec::new(), Deed::Nothing);
        }
        let subject = Subject::BeforeRequest {
            request: self.turn.status.request.next(),
            items: self.composer.items().len() as u64,
            estimated_tokens: self.composer.occupancy_tokens(),
        };
        self.turn.composing = self.ask(subject, Fact::RequestAsked);
        if !self.turn.composing {
            self.prepare(Vec::new());
        }
    }

    fn request_asked(&mut self, round: Round) {
        if !self.turn.composing {
            return self.record_if_any(round.drafts);
        }
        self.turn.composing = false;
        match ending(&round.verdict) {
            Some(ending) => {
                self.stop(ending);
                self.record_if_any(round.drafts);
            }
            None => self.prepare(round.drafts),
        }
    }

    /// Has the request written down, with the answers of the hooks before it. What arrived while
    /// they were asked is part of it.
    fn prepare(&mut self, mut drafts: Vec<Draft>) {
        self.composer.catch_up(self.provider.as_ref(), self.turn.spec());
        let body = self.composer.body();
        drafts.push(self.composer.prepared(&self.turn, &body));
        self.record(drafts, Vec::new(), Deed::Nothing);
    }

    /// Sends the prepared request. Its body is the context's settled items: what has arrived since
    /// it was written down waits behind them.
    pub(super) fn send(&mut self) {
        self.composer.catch_up(self.provider.as_ref(), self.turn.spec());
        let Some(debt) = &self.turn.obligations.request else { return };
        let body = self.composer.body();
        if body.digest != debt.prepared.digest {
            let reason = format!(
                "request {} cannot be rebuilt to the byte from the log: this version of podwork renders it in \
                 another way; a new request is built when you resume",
                debt.prepared.request
            );
            return self.stop(Ending::new(TurnOutcome::Paused, reason));
        }
        let ask = Ask {
            request: debt.prepared.request,
            attempt: debt.failed_attempts + 1,
            spec: self.turn.spec().clone().into(),
            body,
        };
        self.turn.sending = true;
        let (words, mut heard) = tokio::sync::mpsc::channel(DELTAS_MAX);
        let deltas = self.deltas.clone();
        self.tasks.spawn(async move {
            while let Some(delta) = heard.recv().await {
                // Nobody may be watching.
                let _ = deltas.send(delta);
            }
        });
        let (provider, myself) = (self.provider.clone(), self.myself.clone());
        let task = self.tasks.spawn(async move {
            // In a task of its own, so that a provider that panics is a failed attempt.
            let mut sending = tokio::task::JoinSet::new();
            sending.spawn(async move { provider.send(ask, words).await });
            let result = match sending.join_next().await {
                Some(Ok(result)) => result,
                Some(Err(error)) => Err(broken_provider(&error.to_string())),
                None => Err(broken_provider("it was never started")),
            };
            let _ = myself.cast(WorkerMessage::Happened(Fact::Replied(result)));
        });
        self.model = Some(task);
    }

    fn wait(&mut self, wait: Duration) {
        let myself = self.myself.clone();
        let task = self.tasks.spawn(async move {
            tokio::time::sleep(wait).await;
            let _ = myself.cast(WorkerMessage::Happened(Fact::RetryDue));
        });
        self.model = Some(task);
    }

    /// Hooks, for each call by itself.
    pub(super) fn gate(&mut self, calls: Vec<Call>) {
        let mut free = Vec::new();
        for call in calls {
            let subject = Subject::BeforeCall {
                call: call.call,
                tool: call.tool.clone(),
                arguments_preview: preview(call.arguments.raw()),
                arguments: call.arguments.object(),
            };
            let asked = call.clone();
            if self.ask(subject, move |round| Fact::CallAsked { call: asked, round }) {
                self.turn.asking.insert(call.call);
            } else {
                free.push(call);
            }
        }
        if !free.is_empty() {
            self.start(free, Vec::new());
        }
    }

    fn call_asked(&mut self, call: Call, round: Round) {
        let is_owed =
            self.turn.asking.remove(&call.call) && self.turn.obligations.calls.contains_key(&call.call);
        let mut drafts = round.drafts;
        match round.verdict {
            Verdict::Continue if is_owed && self.turn.stop.is_none() => self.start(vec![call], drafts),
            Verdict::Skip(reason) if is_owed => {
                let summary = format!("Denied, not run: {reason}");
                drafts.push(decide::unstarted(call.call, CallOutcome::Denied, &summary));
                self.record(drafts, Vec::new(), Deed::Nothing);
            }
            verdict @ (Verdict::Abort(_) | Verdict::Pause(_)) => {
                if let Some(ending) = ending(&verdict) {
                    self.stop(ending);
                }
                self.record_if_any(drafts);
            }
            Verdict::Continue | Verdict::Skip(_) => self.record_if_any(drafts),
        }
    }

    /// Has the starts written down and then runs the calls. A tool that nobody knows is answered
    /// at once.
    fn start(&mut self, calls: Vec<Call>, mut drafts: Vec<Draft>) {
        let (known, strange): (Vec<_>, Vec<_>) = calls.into_iter().partition(|call| {
            self.turn.spec().tool(&call.tool).is_some() && self.house.toolbox.find(&call.tool).is_some()
        });
        for call in &strange {
            let names: Vec<&str> = self.turn.spec().tools.iter().map(|tool| tool.name.as_str()).collect();
            let summary = format!("There is no tool `{}`. The tools are: {}.", call.tool, names.join(", "));
            drafts.push(decide::unstarted(call.call, CallOutcome::Failed, &summary));
        }
        drafts.extend(known.iter().map(|call| decide::start(&self.turn, call)));
        self.turn.running.extend(known.iter().map(|call| call.call));
        self.record(drafts, Vec::new(), Deed::Run(known));
    }

    /// Runs calls again whose start is in the log already. A note of it is written down first.
    pub(super) fn rerun(&mut self, calls: Vec<Call>) {
        let (calls, gone): (Vec<_>, Vec<_>) =
            calls.into_iter().partition(|call| self.house.toolbox.find(&call.tool).is_some());
        if !gone.is_empty() {
            let ends = gone.iter().map(|call| decide::unknown(call.call)).collect();
            return self.record(ends, Vec::new(), Deed::Nothing);
        }
        let note = "run again after a restart: its end was not seen, and it does no harm twice";
        let progress = calls.iter().map(|call| {
            events::event::tool::CallProgressed { call: call.call, note: note.to_owned() }.into()
        });
        let drafts = progress.collect();
        self.turn.running.extend(calls.iter().map(|call| call.call));
        self.record(drafts, Vec::new(), Deed::Run(calls));
    }

    fn run(&mut self, call: Call, receipt: &Receipt) {
        let Some(tool) = self.house.toolbox.find(&call.tool).cloned() else { return };
        let spec = self.turn.spec();
        let scene = Scene {
            pod: self.id,
            directory: spec.directory.clone().into(),
            seconds: spec.limits.tool_seconds.min(TOOL_SECONDS_MAX),
            output_bytes: spec.limits.tool_output_bytes,
            cancel: self.cancel.child_token(),
        };
        let (id, cancel, myself) = (call.call, self.cancel.clone(), self.myself.clone());
        let deadline = Duration::from_secs(scene.seconds.max(TOOL_CALL_SECONDS_MAX)) + TOOL_WIND_UP_MAX * 2;
        let permitted = permit(call, receipt);
        self.tasks.spawn(async move {
            let began = Instant::now();
            let mut running = std::pin::pin!(crate::tool::run_guarded(tool, permitted, scene));
            let overdue = async {
                cancel.cancelled().await;
                tokio::time::sleep(TOOL_WIND_UP_MAX).await;
            };
            let output = tokio::select! {
                output = &mut running => output,
                () = tokio::time::sleep(deadline) => out_of_time(deadline),
                () = overdue => interrupted(),
            };
            let elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            let _ = myself.cast(WorkerMessage::Happened(Fact::CallEnded { call: id, output, elapsed_ms }));
        });
    }

    fn call_ended(&mut self, call: events::CallId, mut output: ToolOutput, elapsed_ms: u64) {
        self.turn.running.remove(&call);
        let Some(debt) = self.turn.obligations.calls.get(&call) else { return };
        let tool = debt.call.tool.clone();
        for interceptor in &self.interceptors {
            interceptor.after_call(self.turn.spec(), &mut output);
        }
        let draft = decide::result(&self.turn, call, &output, elapsed_ms);
        let subject = Subject::AfterCall {
            call,
            tool,
            outcome: output.outcome,
            summary: output.summary.clone(),
            result_preview: preview(&output.content),
        };
        let attachments = output.whole.map(Attachment::new).into_iter().collect();
        let deed =
            if self.house.hooks.has(HookPoint::AfterCall) { Deed::Tell(subject) } else { Deed::Nothing };
        self.record(vec![draft], attachments, deed);
    }
}

/// How a turn ends after such a verdict.
fn ending(verdict: &Verdict) -> Option<Ending> {
    match verdict {
        Verdict::Continue => None,
        Verdict::Skip(reason) | Verdict::Abort(reason) => Some(Ending::new(TurnOutcome::Aborted, reason)),
        Verdict::Pause(reason) => Some(Ending::new(TurnOutcome::Paused, reason)),
    }
}

/// A tool that did not keep to its own time is given up by the house.
fn out_of_time(deadline: Duration) -> ToolOutput {
    ToolOutput::failed(format!(
        "The tool did not end within {} seconds and was given up.",
        deadline.as_secs()
    ))
}

fn interrupted() -> ToolOutput {
    ToolOutput {
        outcome: CallOutcome::Interrupted,
        summary: "Interrupted: the turn was stopped and the tool did not end in time.".to_owned(),
        content: String::new(),
        whole: None,
        bytes: 0,
    }
}

fn broken_provider(why: &str) -> Failure {
    Failure {
        kind: events::event::model::FailureKind::Malformed,
        message: format!("the provider's code broke: {why}"),
        status: None,
        retry_after: None,
        draft: String::new(),
        provider_request_id: None,
    }
}

/// A number between 0 and 1 that differs from pod to pod. The keys of the standard library's
/// hashers are random, and waits need no better randomness.
fn jitter() -> f64 {
    use std::hash::BuildHasher;
    let random = std::hash::RandomState::new().hash_one(0_u8) >> 12;
    #[expect(clippy::cast_precision_loss, reason = "52 bits fit")]
    let jitter = random as f64 / (1_u64 << 52) as f64;
    jitter
}
