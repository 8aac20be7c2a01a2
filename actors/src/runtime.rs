//! The runtime: one for each process. It owns the way into the store and the table of live pods.

use std::sync::Arc;

use events::{Draft, PodId, Seq, Spec};
use ractor::{Actor, ActorRef, RpcReplyPort};
use store::{AppendLog, ReadError, ReadLog};
use tokio::sync::oneshot;

use crate::compactor::CompactorHandle;
use crate::hook::Hook;
use crate::hook_broker::HookBrokerHandle;
use crate::house::House;
use crate::pod::handle::PodHandle;
use crate::provider::Providers;
use crate::tool::Toolbox;

mod actor;

use actor::{RuntimeActor, RuntimeMessage};

/// What a new pod is to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Opening {
    /// What it is.
    pub spec: Spec,
    /// What people call it.
    pub name: Option<String>,
}

/// Why the runtime did not do what it was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RuntimeError {
    /// There is no such pod.
    #[error("there is no pod {0}")]
    NoSuchPod(PodId),
    /// The place is not in the pod's log.
    #[error("pod {pod} has events 1 to {head}; there is no event {at}")]
    NoSuchPlace {
        /// The pod.
        pod: PodId,
        /// The place that was named.
        at: Seq,
        /// The last event of its log.
        head: Seq,
    },
    /// What was to be imported is not a log.
    #[error("this is not a pod's log: {0}")]
    NotALog(String),
    /// The log could not be read.
    #[error("{0}")]
    Read(String),
    /// The log could not be written.
    #[error("{0}")]
    Append(String),
    /// An actor could not be started.
    #[error("podwork itself broke: {0}")]
    Broken(String),
    /// The runtime was shut down.
    #[error("the runtime was shut down")]
    Closed,
}

impl From<ReadError> for RuntimeError {
    fn from(error: ReadError) -> Self {
        Self::Read(error.to_string())
    }
}

impl From<store::AppendError> for RuntimeError {
    fn from(error: store::AppendError) -> Self {
        Self::Append(error.to_string())
    }
}

impl From<ractor::SpawnErr> for RuntimeError {
    fn from(error: ractor::SpawnErr) -> Self {
        Self::Broken(error.to_string())
    }
}

/// What a runtime is made of before it starts.
pub struct RuntimeBuilder {
    reader: Arc<dyn ReadLog>,
    writer: Arc<dyn AppendLog>,
    providers: Providers,
    toolbox: Toolbox,
    hooks: Vec<Arc<dyn Hook>>,
}

impl RuntimeBuilder {
    /// The providers that models are asked of.
    #[must_use]
    pub fn providers(mut self, providers: Providers) -> Self {
        self.providers = providers;
        self
    }

    /// The tools that pods may use; each pod's spec says which it has.
    #[must_use]
    pub fn toolbox(mut self, toolbox: Toolbox) -> Self {
        self.toolbox = toolbox;
        self
    }

    /// Adds a hook. Hooks are asked in the order in which they were added.
    #[must_use]
    pub fn hook(mut self, hook: impl Hook) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// Starts the actors. From here on providers, tools and hooks are frozen.
    pub async fn start(self) -> Result<Runtime, RuntimeError> {
        let house = House {
            reader: self.reader,
            writer: self.writer,
            providers: self.providers,
            toolbox: self.toolbox,
            hooks: HookBrokerHandle::start(self.hooks).await?,
            compactor: CompactorHandle::start().await?,
        };
        let house = Arc::new(house);
        let (actor, _) = Actor::spawn(None, RuntimeActor, house.clone()).await?;
        Ok(Runtime { actor, house })
    }
}

/// A running podwork. Clones are the same runtime.
#[derive(Clone)]
pub struct Runtime {
    actor: ActorRef<RuntimeMessage>,
    house: Arc<House>,
}

impl Runtime {
    /// A runtime over this store, with the providers of the environment and the standard tools
    /// unless others are set.
    pub fn builder(reader: Arc<dyn ReadLog>, writer: Arc<dyn AppendLog>) -> RuntimeBuilder {
        RuntimeBuilder {
            reader,
            writer,
            providers: Providers::standard(&|name| std::env::var(name).ok()),
            toolbox: Toolbox::standard(),
            hooks: Vec::new(),
        }
    }

    /// The log, for reading.
    pub fn log(&self) -> Arc<dyn ReadLog> {
        self.house.reader.clone()
    }

    /// The providers.
    pub fn providers(&self) -> &Providers {
        &self.house.providers
    }

    /// Opens a new pod.
    pub async fn open(&self, opening: Opening) -> Result<PodHandle, RuntimeError> {
        self.ask(|reply| RuntimeMessage::Open { opening: Box::new(opening), reply }).await
    }

    /// A pod that is in the store. It starts nothing by itself: input and `resume` do.
    pub async fn pod(&self, pod: PodId) -> Result<PodHandle, RuntimeError> {
        self.ask(|reply| RuntimeMessage::Take { pod, reply }).await
    }

    /// A new pod that shares the past of another one up to an event, or all of it.
    pub async fn fork(
        &self,
        from: PodId,
        at: Option<Seq>,
        name: Option<String>,
    ) -> Result<PodHandle, RuntimeError> {
        self.ask(|reply| RuntimeMessage::Fork { from, at, name, reply }).await
    }

    /// Makes a pod of events that happened elsewhere; the first must be `pod_opened`.
    pub async fn import(&self, drafts: Vec<Draft>) -> Result<PodId, RuntimeError> {
        let handle = self.ask(|reply| RuntimeMessage::Import { drafts, reply }).await?;
        Ok(handle.id())
    }

    /// Stops all work at once. What runs is taken up again when its pod is opened the next time.
    pub async fn shutdown(&self) {
        let (port, answer) = oneshot::channel();
        if self.actor.cast(RuntimeMessage::Shutdown { reply: RpcReplyPort::from(port) }).is_ok() {
            // A runtime that is gone has shut down.
            let _ = answer.await;
        }
    }

    async fn ask<T>(
        &self,
        message: impl FnOnce(RpcReplyPort<Result<T, RuntimeError>>) -> RuntimeMessage,
    ) -> Result<T, RuntimeError> {
        let (port, answer) = oneshot::channel();
        self.actor.cast(message(RpcReplyPort::from(port))).map_err(|_| RuntimeError::Closed)?;
        answer.await.map_err(|_| RuntimeError::Closed)?
    }
}
