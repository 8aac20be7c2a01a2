//! The compactor: has old exchanges summarised, one compaction at a time for each pod that asks.
//!
//! Pods tell it `Compact`; it tells them what the summary is. The summary is written from the
//! unpruned history. This is the plain form: one request to the pod's own model.

use std::sync::Arc;

use events::event::model::{EndReason, Usage};
use events::{Item, ItemBody, RequestNumber, Seq, Spec};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::limits::DELTAS_MAX;
use crate::provider::{Ask, Provider, ReplyPart};

pub(crate) mod decide;

/// What the compactor is told.
pub(crate) enum CompactorMessage {
    /// Summarise these items.
    Compact(Box<Compaction>),
}

/// A compaction to be done.
pub(crate) struct Compaction {
    pub(crate) spec: Arc<Spec>,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) items: Vec<Arc<Item>>,
    /// Cancelled when the summary is not wanted any more: its request ends with it.
    pub(crate) cancel: CancellationToken,
    pub(crate) reply_to: ReplyTo,
}

/// Who is told how it went.
pub(crate) type ReplyTo = Box<dyn FnOnce(Result<Summary, String>) + Send>;

/// What came of a compaction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) text: String,
    pub(crate) usage: Option<Usage>,
}

/// The actor.
pub(crate) struct Compactor;

/// What the outside holds.
#[derive(Clone)]
pub(crate) struct CompactorHandle {
    actor: ActorRef<CompactorMessage>,
}

impl CompactorHandle {
    /// Starts the compactor.
    pub(crate) async fn start() -> Result<Self, ractor::SpawnErr> {
        let (actor, _) = Actor::spawn(None, Compactor, ()).await?;
        Ok(Self { actor })
    }

    /// Asks for a summary.
    pub(crate) fn compact(&self, compaction: Compaction) {
        let message = CompactorMessage::Compact(Box::new(compaction));
        if let Err(ractor::MessagingErr::SendErr(CompactorMessage::Compact(compaction))) =
            self.actor.cast(message)
        {
            (compaction.reply_to)(Err("the compactor is gone".to_owned()));
        }
    }

    /// Stops the compactor.
    pub(crate) fn stop(&self) {
        self.actor.stop(None);
    }
}

impl Actor for Compactor {
    type Msg = CompactorMessage;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _myself: ActorRef<Self::Msg>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        (): &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let CompactorMessage::Compact(compaction) = message;
        let Compaction { spec, provider, items, cancel, reply_to } = *compaction;
        tokio::spawn(async move {
            let mut task = tokio::spawn(async move { summarise(&spec, provider.as_ref(), &items).await });
            let result = tokio::select! {
                result = &mut task => result.unwrap_or_else(|error| Err(format!("summarising broke: {error}"))),
                () = cancel.cancelled() => {
                    task.abort();
                    Err("it was given up".to_owned())
                }
            };
            reply_to(result);
        });
        Ok(())
    }
}

async fn summarise(spec: &Spec, provider: &dyn Provider, items: &[Arc<Item>]) -> Result<Summary, String> {
    let spec = decide::summariser(spec);
    let text = decide::transcript(items, spec.context.window_tokens);
    let mut renderer = provider.renderer(&spec);
    renderer.push(&Item { seq: Seq(0), body: ItemBody::User { text } });
    let ask = Ask { request: RequestNumber(0), attempt: 1, spec: Arc::new(spec), body: renderer.body() };
    // Nobody watches a summary being written.
    let (words, _) = mpsc::channel(DELTAS_MAX);
    let reply = provider.send(ask, words).await.map_err(|failure| failure.message)?;
    match reply.end {
        EndReason::Stop => {}
        EndReason::Calls => return Err("the summariser called a tool".to_owned()),
        EndReason::Length => return Err("the summary was cut at the limit of output tokens".to_owned()),
        EndReason::Refused => return Err("the summariser refused".to_owned()),
    }
    let texts = reply.parts.into_iter().filter_map(|part| match part {
        ReplyPart::Text(text) => Some(text),
        ReplyPart::Reasoning(_) | ReplyPart::Call { .. } | ReplyPart::Opaque(_) => None,
    });
    Ok(Summary { text: texts.collect::<Vec<_>>().join("\n"), usage: reply.usage })
}
