//! The worker: one for each running turn. It owns the turn's context, its request, its reply and
//! its calls; it decides by `decide.rs` and has its pod write everything down.
//!
//! The pod tells it `Recorded`, `Overtaken`, `Measured` and `Stop`; tasks that it started tell it
//! what came of them; it tells the pod `Record` and `TurnOver`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use events::Envelope;
use events::projection::prune::PruneConfig;
use events::projection::{Context, Projection};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::house::House;
use crate::interceptor::Interceptor;
use crate::pod::PodMessage;
use crate::provider::{Delta, Failure, Provider, Reply};
use crate::tool::ToolOutput;

pub(crate) mod decide;
mod deed;
pub(crate) mod request;
mod retry;

use decide::{Ending, Step, Turn};
use request::{Composer, SavingsEstimator};

/// What a worker is told.
pub(crate) enum WorkerMessage {
    /// Events of the pod are in the log; with them, a ticket that the worker drew when it asked
    /// for them.
    Recorded { receipt: store::Receipt, ticket: Option<u64> },
    /// The provider has counted something of the pod for the first time: what a prune saves can be
    /// estimated from now on.
    Measured(SavingsEstimator),
    /// What this ticket stands for was not written down: events had come that it did not know.
    Overtaken { ticket: u64 },
    /// Something that the worker started has come to something.
    Happened(Fact),
    /// The turn is to end so.
    Stop(Ending),
}

/// What tasks report.
pub(crate) enum Fact {
    /// An attempt at the request is over.
    Replied(Result<Reply, Failure>),
    /// The time has come to send the request again.
    RetryDue,
    /// A tool is done.
    CallEnded { call: events::CallId, output: ToolOutput, elapsed_ms: u64 },
    /// Hooks have answered about a call.
    CallAsked { call: events::item::Call, round: crate::hook_broker::Round },
    /// Hooks have answered about the next request.
    RequestAsked(crate::hook_broker::Round),
    /// Hooks have answered about something that already happened.
    AfterwardsAsked(crate::hook_broker::Round),
}

/// What a worker starts with.
pub(crate) struct WorkerArguments {
    pub(crate) id: events::PodId,
    pub(crate) house: Arc<House>,
    pub(crate) pod: ActorRef<PodMessage>,
    pub(crate) turn: Turn,
    pub(crate) context: Context,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) cancel: CancellationToken,
    pub(crate) deltas: broadcast::Sender<Delta>,
    pub(crate) savings_estimator: SavingsEstimator,
}

/// The actor.
pub(crate) struct WorkerActor;

/// A turn's worker.
pub struct Worker {
    id: events::PodId,
    house: Arc<House>,
    pod: ActorRef<PodMessage>,
    myself: ActorRef<WorkerMessage>,
    turn: Turn,
    composer: Composer,
    provider: Arc<dyn Provider>,
    interceptors: Vec<Box<dyn Interceptor>>,
    prune_config: PruneConfig,
    savings_estimator: Option<SavingsEstimator>,
    inbox: VecDeque<Fact>,
    pending: Option<Pending>,
    next_ticket: u64,
    tasks: JoinSet<()>,
    model: Option<tokio::task::AbortHandle>,
    cancel: CancellationToken,
    deltas: broadcast::Sender<Delta>,
}

/// What is done when the events that a ticket stands for are in the log.
struct Pending {
    ticket: u64,
    deed: Deed,
}

/// What follows an append. Whatever reaches outside takes the receipt.
pub(crate) enum Deed {
    /// Nothing: the next step is computed anew.
    Nothing,
    /// Run these calls.
    Run(Vec<events::item::Call>),
    /// Ask those who watch about what just happened.
    Tell(crate::hook::Subject),
    /// The reply is there: measure it, and ask those who watch.
    Replied(crate::hook::Subject),
    /// See what comes after a failed attempt.
    After(decide::After),
    /// The turn is over.
    Finish,
}

impl Worker {
    /// Sets what a prune may not touch and what it must save.
    pub fn set_prune_config(&mut self, config: PruneConfig) {
        self.prune_config = config;
    }

    /// Sets the estimate of what a prune would save. Without one nothing is pruned.
    pub fn set_savings_estimator(&mut self, estimator: SavingsEstimator) {
        self.savings_estimator = Some(estimator);
    }

    fn new(arguments: WorkerArguments, myself: ActorRef<WorkerMessage>) -> Self {
        let spec = arguments.turn.spec();
        let limits = &spec.context;
        let prune_config = PruneConfig {
            protected_tokens: limits.prune_protected_tokens,
            min_savings: limits.prune_min_savings,
            excluded_tools: limits.prune_excluded_tools.clone(),
        };
        let mut composer = Composer::new(arguments.context, arguments.provider.as_ref(), spec);
        composer.catch_up(arguments.provider.as_ref(), spec);
        composer.measure(&arguments.turn.usage);
        let mut worker = Self {
            id: arguments.id,
            house: arguments.house,
            pod: arguments.pod,
            myself,
            turn: arguments.turn,
            composer,
            provider: arguments.provider,
            interceptors: crate::interceptor::chain(),
            prune_config: PruneConfig::default(),
            savings_estimator: None,
            inbox: VecDeque::new(),
            pending: None,
            next_ticket: 1,
            tasks: JoinSet::new(),
            model: None,
            cancel: arguments.cancel,
            deltas: arguments.deltas,
        };
        worker.set_prune_config(prune_config);
        worker.set_savings_estimator(arguments.savings_estimator);
        worker
    }

    fn apply(&mut self, envelope: &Envelope) {
        self.turn.apply(envelope);
        self.composer.context.apply(envelope);
    }

    /// Has these events written down; what follows them waits for the receipt.
    fn record(&mut self, drafts: Vec<events::Draft>, attachments: Vec<store::Attachment>, deed: Deed) {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.pending = Some(Pending { ticket, deed });
        let sent = self.pod.cast(PodMessage::Record { drafts, attachments, ticket });
        if sent.is_err() {
            // The pod is gone, and with it the way into the log: nothing more may be done.
            self.myself.stop(Some("the pod is gone".to_owned()));
        }
    }

    /// Goes on as far as possible without waiting.
    fn advance(&mut self) {
        // Tasks that are done are forgotten, so that a long turn does not collect them.
        while self.tasks.try_join_next().is_some() {}
        while self.pending.is_none() {
            if let Some(fact) = self.inbox.pop_front() {
                self.absorb(fact);
                continue;
            }
            match decide::next(&self.turn) {
                Step::Wait => return,
                Step::Record(drafts) => self.record(drafts, Vec::new(), Deed::Nothing),
                Step::Compose => self.compose(),
                Step::Send => self.send(),
                Step::Gate(calls) => self.gate(calls),
                Step::Rerun(calls) => self.rerun(calls),
                Step::End(ending) => {
                    self.tasks.abort_all();
                    let drafts = decide::ended(&self.turn, &ending);
                    self.record(drafts, Vec::new(), Deed::Finish);
                }
            }
        }
    }

    /// Ends the turn when its wall time is over.
    fn watch_the_time(&mut self) {
        let Some(seconds) = self.turn.spec().limits.max_seconds else { return };
        let myself = self.myself.clone();
        self.tasks.spawn(async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            let _ = myself.cast(WorkerMessage::Stop(decide::out_of_time(seconds)));
        });
    }

    fn stop(&mut self, ending: Ending) {
        if self.turn.stop.is_none() {
            self.turn.stop = Some(ending);
        }
        if let Some(model) = self.model.take() {
            model.abort();
        }
        self.turn.sending = false;
        self.turn.composing = false;
        self.cancel.cancel();
    }
}

impl Actor for WorkerActor {
    type Msg = WorkerMessage;
    type State = Worker;
    type Arguments = WorkerArguments;

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(Worker::new(arguments, myself))
    }

    async fn post_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        worker: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        worker.watch_the_time();
        worker.advance();
        Ok(())
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        worker: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            WorkerMessage::Recorded { receipt, ticket } => {
                for envelope in receipt.envelopes() {
                    worker.apply(envelope);
                }
                if worker.pending.as_ref().is_some_and(|pending| Some(pending.ticket) == ticket)
                    && let Some(pending) = worker.pending.take()
                {
                    if matches!(pending.deed, Deed::Finish) {
                        let context = Box::new(std::mem::take(&mut worker.composer.context));
                        // A pod that is gone needs no report: its successor reads the log.
                        let _ = worker.pod.cast(PodMessage::TurnOver { context });
                        myself.stop(None);
                        return Ok(());
                    }
                    worker.carry_out(pending.deed, &receipt);
                }
            }
            WorkerMessage::Measured(estimator) => worker.set_savings_estimator(estimator),
            WorkerMessage::Overtaken { ticket } => {
                worker.pending.take_if(|pending| pending.ticket == ticket);
            }
            WorkerMessage::Happened(fact) => worker.inbox.push_back(fact),
            WorkerMessage::Stop(ending) => worker.stop(ending),
        }
        worker.advance();
        Ok(())
    }
}
