//! The pod: one for each open session. It is the only writer of its log and owns the folds of it:
//! what the pod is, what it owes, what it took.
//!
//! The outside tells it through its handle: submit, notify, resume, cancel, pause, stop, compact.
//! Its worker tells it `Record` and `TurnOver`, the broker and the compactor what came of their
//! work. It tells its worker what is in the log.

use std::sync::Arc;

use events::projection::{Context, Projection};
use events::{Draft, PodId, Seq, Spec};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};
use store::{Append, AppendError, Attachment, Receipt};
use tokio::sync::{OwnedSemaphorePermit, broadcast, mpsc};
use tokio_util::sync::CancellationToken;

use crate::hook_broker::Round;
use crate::house::House;
use crate::provider::Delta;
use crate::worker::decide::Turn;
use crate::worker::{WorkerMessage, decide as turn_rules};

mod compaction;
mod control;
pub(crate) mod decide;
pub mod handle;
pub(crate) mod recover;
mod turns;

use handle::{PodError, Rest};

/// What a pod is told.
pub(crate) enum PodMessage {
    /// Input of a user.
    Submit { text: String, admitted: OwnedSemaphorePermit, reply: Answer<Seq> },
    /// Input of somebody else.
    Notify { source: String, text: String, admitted: OwnedSemaphorePermit, reply: Answer<Seq> },
    /// Go on with what was left unfinished.
    Resume { spec: Option<Box<Spec>>, reply: Answer<()> },
    /// Tell when nothing runs any more.
    Rest { reply: Answer<Rest> },
    /// A command waits in the lane that is read first.
    CommandWaits,
    /// The worker has something to be written down.
    Record { drafts: Vec<Draft>, attachments: Vec<Attachment>, ticket: u64 },
    /// The turn has ended and is written down.
    TurnOver { context: Box<Context> },
    /// Hooks have answered about a prompt.
    PromptAsked { text: String, admitted: OwnedSemaphorePermit, round: Round, reply: Answer<Seq> },
    /// Hooks have answered about a compaction.
    CompactionAsked { number: u64, reason: String, round: Round },
    /// Hooks have answered about something that already happened.
    AfterwardsAsked(Round),
    /// The compactor is done.
    Compacted { number: u64, result: Result<crate::compactor::Summary, String> },
}

/// Where an answer goes.
pub(crate) type Answer<T> = RpcReplyPort<Result<T, PodError>>;

/// Commands of a person: they are read before anything else.
pub(crate) enum Command {
    Cancel { reply: Answer<()> },
    Pause { reason: String, reply: Answer<()> },
    Stop { reason: String, reply: Answer<()> },
    Compact { reply: Answer<()> },
}

/// What a pod starts with.
pub(crate) struct PodArguments {
    pub(crate) id: PodId,
    pub(crate) house: Arc<House>,
    pub(crate) folded: Box<recover::Folded>,
    pub(crate) commands: mpsc::Receiver<Command>,
    pub(crate) deltas: broadcast::Sender<Delta>,
    /// The pod's actor before this one panicked.
    pub(crate) after_panic: Option<String>,
}

/// The actor.
pub(crate) struct PodActor;

/// An open session.
pub(crate) struct Pod {
    id: PodId,
    house: Arc<House>,
    myself: ActorRef<PodMessage>,
    /// The folds of the log.
    view: Turn,
    /// The context, while no worker has it.
    context: Option<Context>,
    worker: Option<RunningTurn>,
    /// How a person wants the running turn to end.
    wanted: Option<turn_rules::Ending>,
    compaction: Option<compaction::Running>,
    /// Compactions that were begun in this process: answers to an earlier one are not taken.
    compactions: u64,
    compaction_failures: u32,
    /// Somebody has asked this process to do the pod's work.
    is_awake: bool,
    commands: mpsc::Receiver<Command>,
    deltas: broadcast::Sender<Delta>,
    resting: Vec<Answer<Rest>>,
    stopping: Option<(String, Answer<()>)>,
}

struct RunningTurn {
    actor: ActorRef<WorkerMessage>,
    cancel: CancellationToken,
}

impl Pod {
    /// The one way into the log: append, apply, pass on.
    async fn record(
        &mut self,
        drafts: Vec<Draft>,
        attachments: Vec<Attachment>,
        ticket: Option<u64>,
    ) -> Result<Receipt, AppendError> {
        let append = Append { pod: self.id, expected: self.view.status.head, drafts };
        let receipt = self.house.writer.append(vec![append], attachments).await?;
        let was_measured = self.view.usage.last.is_some();
        for envelope in receipt.envelopes() {
            self.view.apply(envelope);
            if let Some(context) = &mut self.context {
                context.apply(envelope);
            }
        }
        if !was_measured && self.view.usage.last.is_some() {
            self.tell_worker(WorkerMessage::Measured(turns::savings_estimator(&self.view)));
        }
        self.tell_worker(WorkerMessage::Recorded { receipt: receipt.clone(), ticket });
        Ok(receipt)
    }

    /// As [`Self::record`], for what the pod itself has to say. A store that fails ends the actor:
    /// its successor reads what is really there.
    async fn write(&mut self, drafts: Vec<Draft>) -> Result<(), ActorProcessingErr> {
        if !drafts.is_empty() {
            self.record(drafts, Vec::new(), None).await.map_err(|error| self.broken(error))?;
        }
        Ok(())
    }

    fn broken(&mut self, error: AppendError) -> ActorProcessingErr {
        let error = PodError::from(error);
        tracing::error!(pod = %self.id, %error, "the pod cannot write its log and stops working");
        for waiting in self.resting.drain(..) {
            let _ = waiting.send(Err(error.clone()));
        }
        if let Some(worker) = self.worker.take() {
            worker.cancel.cancel();
            worker.actor.stop(None);
        }
        error.to_string().into()
    }

    /// Starts whatever is to be started, and tells those who wait when there is nothing.
    async fn proceed(&mut self) -> Result<(), ActorProcessingErr> {
        if self.worker.is_some() || self.compaction.is_some() {
            return Ok(());
        }
        if let Some((reason, reply)) = self.stopping.take() {
            self.write(decide::stopped(&reason)).await?;
            self.tell_hooks(crate::hook::Subject::PodStopped { reason });
            let _ = reply.send(Ok(()));
        }
        if self.is_awake {
            self.write(decide::next_turn(&self.view)).await?;
            if self.view.status.state == events::projection::State::Running {
                return self.start_worker().await;
            }
        }
        let rest = Rest::of(&self.view);
        for waiting in self.resting.drain(..) {
            let _ = waiting.send(Ok(rest.clone()));
        }
        Ok(())
    }
}

impl From<AppendError> for PodError {
    fn from(error: AppendError) -> Self {
        Self::Store(error.to_string())
    }
}

impl Actor for PodActor {
    type Msg = PodMessage;
    type State = Pod;
    type Arguments = PodArguments;

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let recover::Folded { view, context } = *arguments.folded;
        let mut pod = Pod {
            id: arguments.id,
            house: arguments.house,
            myself,
            view,
            context: Some(context),
            worker: None,
            compaction: None,
            compactions: 0,
            wanted: None,
            compaction_failures: 0,
            is_awake: false,
            commands: arguments.commands,
            deltas: arguments.deltas,
            resting: Vec::new(),
            stopping: None,
        };
        let settled = recover::settle(&pod.view, arguments.after_panic.as_deref());
        pod.write(settled).await?;
        Ok(pod)
    }

    async fn handle(
        &self,
        _myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        pod: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        while let Ok(command) = pod.commands.try_recv() {
            pod.command(command).await?;
        }
        match message {
            PodMessage::CommandWaits => {}
            PodMessage::Submit { text, admitted, reply } => pod.submit(text, admitted, reply).await?,
            PodMessage::PromptAsked { text, admitted, round, reply } => {
                pod.prompt_asked(text, admitted, round, reply).await?;
            }
            PodMessage::Notify { source, text, admitted, reply } => {
                let drafts = decide::notify(&pod.view, &source, &text);
                pod.accept(drafts, reply).await?;
                drop(admitted);
            }
            PodMessage::Resume { spec, reply } => pod.resume(spec, reply).await?,
            PodMessage::Rest { reply } => pod.resting.push(reply),
            PodMessage::Record { drafts, ticket, .. } if decide::is_overtaken(&pod.view, &drafts) => {
                pod.tell_worker(WorkerMessage::Overtaken { ticket });
                return Ok(());
            }
            PodMessage::Record { drafts, attachments, ticket } => {
                if let Err(error) = pod.record(drafts, attachments, Some(ticket)).await {
                    return Err(pod.broken(error));
                }
                return Ok(());
            }
            PodMessage::TurnOver { context } => pod.turn_over(*context).await?,
            PodMessage::CompactionAsked { number, reason, round } => {
                pod.compaction_asked(number, reason, round).await?;
            }
            PodMessage::AfterwardsAsked(round) => pod.write(round.drafts).await?,
            PodMessage::Compacted { number, result } => pod.compacted(number, result).await?,
        }
        pod.proceed().await
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        pod: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(cell, error) if pod.runs(&cell) => {
                tracing::error!(pod = %pod.id, %error, "the worker broke; its turn ends as failed");
                pod.worker_broke(&error.to_string()).await?;
                pod.proceed().await
            }
            SupervisionEvent::ActorFailed(..)
            | SupervisionEvent::ActorStarted(_)
            | SupervisionEvent::ActorTerminated(..)
            | SupervisionEvent::ProcessGroupChanged(_) => Ok(()),
        }
    }
}

impl Pod {
    fn runs(&self, cell: &ractor::ActorCell) -> bool {
        self.worker.as_ref().is_some_and(|worker| worker.actor.get_id() == cell.get_id())
    }

    /// The worker is gone with the context it had: both are made anew from the log.
    async fn worker_broke(&mut self, why: &str) -> Result<(), ActorProcessingErr> {
        if let Some(worker) = self.worker.take() {
            worker.cancel.cancel();
        }
        let folded = recover::fold(self.house.reader.clone(), self.id).await?;
        self.context = Some(folded.context);
        self.view = folded.view;
        let ending = decide::broken_turn(why);
        let drafts = decide::close_turn(&self.view, &ending);
        self.write(drafts).await
    }

    fn tell_worker(&self, message: WorkerMessage) {
        if let Some(worker) = &self.worker {
            // A worker that is gone is heard of by supervision.
            let _ = worker.actor.cast(message);
        }
    }

    fn tell_worker_to_end(&mut self, ending: turn_rules::Ending) -> bool {
        let Some(worker) = &self.worker else { return false };
        // Tools and the request hear of it at once, whatever the worker is doing.
        worker.cancel.cancel();
        self.wanted = Some(ending.clone());
        worker.actor.cast(WorkerMessage::Stop(ending)).is_ok()
    }
}
