//! What the outside holds of a pod.

use std::sync::Arc;

use events::event::turn::TurnOutcome;
use events::projection::{State, UsageTotals};
use events::{PodId, Seq, Spec};
use ractor::{ActorRef, RpcReplyPort};
use tokio::sync::{Semaphore, broadcast, mpsc, oneshot};

use crate::limits::INPUT_BYTES_MAX;
use crate::pod::{Answer, Command, PodMessage};
use crate::provider::Delta;
use crate::worker::decide::Turn;

/// An open pod. Clones are the same pod.
#[derive(Clone)]
pub struct PodHandle {
    pub(crate) id: PodId,
    pub(crate) actor: ActorRef<PodMessage>,
    pub(crate) commands: mpsc::Sender<Command>,
    pub(crate) deltas: broadcast::Sender<Delta>,
    pub(crate) admission: Arc<Semaphore>,
}

/// Why a pod did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PodError {
    /// The pod was stopped.
    #[error("the pod was stopped and takes no more work; fork it to go on from here")]
    Stopped,
    /// The text has no visible character.
    #[error("the text is empty")]
    Empty,
    /// The text is larger than its limit.
    #[error(
        "the text has {bytes} bytes; at most {INPUT_BYTES_MAX} are taken: put it in a file and name the file"
    )]
    TooLarge {
        /// Its length.
        bytes: usize,
    },
    /// Too much waits for the pod already.
    #[error("the pod is busy; try again when it has caught up")]
    Busy,
    /// A hook objects.
    #[error("refused by a hook: {0}")]
    Refused(String),
    /// The store failed; what is in the log is safe, and the pod stops working.
    #[error("{0}")]
    Store(String),
    /// The pod's actor has ended.
    #[error("the pod is not open any more; what is in its log is safe, open it again")]
    Gone,
}

/// A pod that has come to a rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Rest {
    /// What the pod does now.
    pub state: State,
    /// How the newest turn ended; `None` when there was none.
    pub outcome: Option<TurnOutcome>,
    /// Why it ended so, or why the pod is paused.
    pub reason: String,
    /// The words of the newest reply of the newest turn.
    pub text: String,
    /// What the pod took since it was opened.
    pub usage: UsageTotals,
}

impl Rest {
    pub(crate) fn of(view: &Turn) -> Self {
        Self {
            state: view.status.state,
            outcome: view.status.outcome,
            reason: view.status.reason.clone(),
            text: view.status.text.clone(),
            usage: view.usage.clone(),
        }
    }
}

impl PodHandle {
    /// The pod's name.
    pub fn id(&self) -> PodId {
        self.id
    }

    /// Input of a user; its place in the log, where it is durable. It starts a turn, or steers the
    /// one that runs.
    pub async fn submit(&self, text: impl Into<String>) -> Result<Seq, PodError> {
        let admitted = self.admission.clone().try_acquire_owned().map_err(|_| PodError::Busy)?;
        let text = text.into();
        self.ask(|reply| PodMessage::Submit { text, admitted, reply }).await
    }

    /// Input of something other than a user; its place in the log, where it is durable.
    pub async fn notify(&self, source: impl Into<String>, text: impl Into<String>) -> Result<Seq, PodError> {
        let admitted = self.admission.clone().try_acquire_owned().map_err(|_| PodError::Busy)?;
        let (source, text) = (source.into(), text.into());
        self.ask(|reply| PodMessage::Notify { source, text, admitted, reply }).await
    }

    /// Goes on with a turn that is not finished, if there is one; with a spec, as that from now on.
    pub async fn resume(&self, spec: Option<Spec>) -> Result<(), PodError> {
        self.ask(|reply| PodMessage::Resume { spec: spec.map(Box::new), reply }).await
    }

    /// Ends the running turn as cancelled. It answers when that is under way; [`Self::rest`] tells
    /// when it is done.
    pub async fn cancel(&self) -> Result<(), PodError> {
        self.command(|reply| Command::Cancel { reply }).await
    }

    /// Ends the running turn as paused, and starts none until the pod is resumed.
    pub async fn pause(&self, reason: impl Into<String>) -> Result<(), PodError> {
        let reason = reason.into();
        self.command(|reply| Command::Pause { reason, reply }).await
    }

    /// Ends the running turn as cancelled, and the pod with it.
    pub async fn stop(&self, reason: impl Into<String>) -> Result<(), PodError> {
        let reason = reason.into();
        self.command(|reply| Command::Stop { reason, reply }).await
    }

    /// Puts a summary in the place of what is old. It answers when that is under way.
    pub async fn compact(&self) -> Result<(), PodError> {
        self.command(|reply| Command::Compact { reply }).await
    }

    /// Waits until the pod has nothing to do.
    pub async fn rest(&self) -> Result<Rest, PodError> {
        let (port, answer) = oneshot::channel();
        let reply = RpcReplyPort::from(port);
        self.actor.cast(PodMessage::Rest { reply }).map_err(|_| PodError::Gone)?;
        answer.await.map_err(|_| PodError::Gone)?
    }

    /// Submits and waits: one whole turn.
    pub async fn run(&self, text: impl Into<String>) -> Result<Rest, PodError> {
        self.submit(text).await?;
        self.rest().await
    }

    /// The model's words as they come. Who lags behind loses some; the log has them all.
    pub fn deltas(&self) -> broadcast::Receiver<Delta> {
        self.deltas.subscribe()
    }

    async fn ask<T>(&self, message: impl FnOnce(Answer<T>) -> PodMessage) -> Result<T, PodError> {
        let (port, answer) = oneshot::channel();
        self.actor.cast(message(RpcReplyPort::from(port))).map_err(|_| PodError::Gone)?;
        answer.await.map_err(|_| PodError::Gone)?
    }

    async fn command(&self, command: impl FnOnce(Answer<()>) -> Command) -> Result<(), PodError> {
        let (port, answer) = oneshot::channel();
        let command = command(RpcReplyPort::from(port));
        self.commands.try_send(command).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => PodError::Busy,
            mpsc::error::TrySendError::Closed(_) => PodError::Gone,
        })?;
        self.actor.cast(PodMessage::CommandWaits).map_err(|_| PodError::Gone)?;
        answer.await.map_err(|_| PodError::Gone)?
    }
}
