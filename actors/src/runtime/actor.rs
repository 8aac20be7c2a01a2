//! The runtime's actor: opens pods, knows which are live, and starts one again whose actor broke.
//!
//! The outside tells it open, take, fork, import and shutdown; tasks that it started tell it
//! `Ready`; supervision tells it which pods have ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use events::event::pod::{PodForked, PodOpened};
use events::event::turn::TurnOutcome;
use events::{Draft, Event, PodId, Seq};
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};
use store::Append;
use tokio::sync::{Semaphore, broadcast, mpsc};

use crate::house::House;
use crate::limits::{DELTAS_MAX, POD_COMMANDS_MAX, POD_MAILBOX_MESSAGES_MAX, POD_RESTARTS_MAX};
use crate::pod::handle::PodHandle;
use crate::pod::{PodActor, PodArguments, decide, recover};
use crate::runtime::{Opening, RuntimeError};
use crate::worker::decide::Ending;

/// What the runtime is told.
pub(crate) enum RuntimeMessage {
    Open {
        opening: Box<Opening>,
        reply: Answer,
    },
    Take {
        pod: PodId,
        reply: Answer,
    },
    Fork {
        from: PodId,
        at: Option<Seq>,
        name: Option<String>,
        reply: Answer,
    },
    Import {
        drafts: Vec<Draft>,
        reply: Answer,
    },
    /// A pod's actor has started, or has not.
    Ready {
        pod: PodId,
        result: Result<PodHandle, RuntimeError>,
    },
    Shutdown {
        reply: RpcReplyPort<()>,
    },
}

type Answer = RpcReplyPort<Result<PodHandle, RuntimeError>>;

/// The actor.
pub(crate) struct RuntimeActor;

/// The table of live pods.
pub(crate) struct RuntimeState {
    house: Arc<House>,
    myself: ActorRef<RuntimeMessage>,
    pods: BTreeMap<PodId, Entry>,
    restarts: BTreeMap<PodId, u32>,
}

enum Entry {
    Opening(Vec<Answer>),
    Live(PodHandle),
}

impl Actor for RuntimeActor {
    type Msg = RuntimeMessage;
    type State = RuntimeState;
    type Arguments = Arc<House>;

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        house: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(RuntimeState { house, myself, pods: BTreeMap::new(), restarts: BTreeMap::new() })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            RuntimeMessage::Open { opening, reply } => {
                let opened =
                    PodOpened { spec: opening.spec, name: opening.name, parent: None, imported: None };
                state.create(vec![opened.into()], reply);
            }
            RuntimeMessage::Import { drafts, reply } => match check_import(&drafts) {
                Ok(()) => state.create(drafts, reply),
                Err(error) => drop(reply.send(Err(error))),
            },
            RuntimeMessage::Fork { from, at, name, reply } => state.fork(from, at, name, reply),
            RuntimeMessage::Take { pod, reply } => state.take(pod, reply),
            RuntimeMessage::Ready { pod, result } => state.ready(pod, &result),
            RuntimeMessage::Shutdown { reply } => {
                for entry in state.pods.values() {
                    if let Entry::Live(handle) = entry {
                        handle.actor.stop(Some("shutdown".to_owned()));
                    }
                }
                state.house.hooks.stop();
                state.house.compactor.stop();
                let _ = reply.send(());
                myself.stop(None);
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(cell, error) => state.pod_broke(&cell, &error.to_string()),
            SupervisionEvent::ActorTerminated(cell, _, _) => drop(state.forget(&cell)),
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

/// Only a whole log can become a pod: a fork's would need the past that it shares.
fn check_import(drafts: &[Draft]) -> Result<(), RuntimeError> {
    let refuse = |why: &str| Err(RuntimeError::NotALog(why.to_owned()));
    match drafts.first().map(|draft| &draft.event) {
        Some(Event::PodOpened(_)) => {}
        Some(_) => return refuse("its first event is not `pod_opened`"),
        None => return refuse("it has no event"),
    }
    let opens_again = |draft: &&Draft| matches!(draft.event, Event::PodOpened(_));
    if drafts.iter().skip(1).find(opens_again).is_some() {
        return refuse("it opens a pod twice");
    }
    Ok(())
}

impl RuntimeState {
    fn create(&mut self, drafts: Vec<Draft>, reply: Answer) {
        let pod = new_pod_id();
        let house = self.house.clone();
        self.opening(pod, reply, async move {
            house.writer.append(vec![Append { pod, expected: Seq(0), drafts }], Vec::new()).await?;
            Ok(None)
        });
    }

    fn fork(&mut self, from: PodId, at: Option<Seq>, name: Option<String>, reply: Answer) {
        let pod = new_pod_id();
        let house = self.house.clone();
        self.opening(pod, reply, async move {
            let head = house.reader.head(from)?.ok_or(RuntimeError::NoSuchPod(from))?.seq;
            let at = at.unwrap_or(head);
            if at == Seq(0) || at > head {
                return Err(RuntimeError::NoSuchPlace { pod: from, at, head });
            }
            let folded = recover::fold_to(house.reader.clone(), from, at).await?;
            let reason = "the pod was forked in the middle of this turn";
            let ending = Ending::new(TurnOutcome::Cancelled, reason);
            let mut drafts = vec![PodForked { from, at_seq: at, name }.into()];
            drafts.extend(decide::close_turn(&folded.view, &ending));
            house.writer.append(vec![Append { pod, expected: at, drafts }], Vec::new()).await?;
            Ok(None)
        });
    }

    fn take(&mut self, pod: PodId, reply: Answer) {
        match self.pods.get_mut(&pod) {
            Some(Entry::Live(handle)) => drop(reply.send(Ok(handle.clone()))),
            Some(Entry::Opening(waiting)) => waiting.push(reply),
            None => self.opening(pod, reply, async move { Ok(None) }),
        }
    }

    /// Has a pod opened in a task, after what must happen first.
    fn opening(
        &mut self,
        pod: PodId,
        reply: Answer,
        first: impl Future<Output = Result<Option<String>, RuntimeError>> + Send + 'static,
    ) {
        self.pods.insert(pod, Entry::Opening(vec![reply]));
        let (house, myself) = (self.house.clone(), self.myself.clone());
        tokio::spawn(async move {
            let task = tokio::spawn(start(pod, house, myself.get_cell(), first));
            let result = task.await.unwrap_or_else(|error| Err(RuntimeError::Broken(error.to_string())));
            // A runtime that is gone has nobody left to tell.
            let _ = myself.cast(RuntimeMessage::Ready { pod, result });
        });
    }

    fn ready(&mut self, pod: PodId, result: &Result<PodHandle, RuntimeError>) {
        let waiting = match self.pods.remove(&pod) {
            Some(Entry::Opening(waiting)) => waiting,
            Some(Entry::Live(_)) | None => Vec::new(),
        };
        if let Ok(handle) = result {
            self.pods.insert(pod, Entry::Live(handle.clone()));
        }
        for reply in waiting {
            let _ = reply.send(result.clone());
        }
    }

    fn forget(&mut self, cell: &ActorCell) -> Option<PodId> {
        let is_it =
            |entry: &Entry| matches!(entry, Entry::Live(handle) if handle.actor.get_id() == cell.get_id());
        let pod = self.pods.iter().find(|(_, entry)| is_it(entry)).map(|(pod, _)| *pod)?;
        self.pods.remove(&pod);
        Some(pod)
    }

    /// A pod's actor broke: another one takes the pod up from its log, a few times.
    fn pod_broke(&mut self, cell: &ActorCell, why: &str) {
        let Some(pod) = self.forget(cell) else { return };
        let restarts = self.restarts.entry(pod).or_default();
        *restarts += 1;
        tracing::error!(%pod, restarts = *restarts, why, "a pod's actor broke");
        if *restarts > POD_RESTARTS_MAX {
            return;
        }
        let why = why.to_owned();
        self.pods.insert(pod, Entry::Opening(Vec::new()));
        let (house, myself) = (self.house.clone(), self.myself.clone());
        tokio::spawn(async move {
            let result = start(pod, house, myself.get_cell(), async move { Ok(Some(why)) }).await;
            let _ = myself.cast(RuntimeMessage::Ready { pod, result });
        });
    }
}

/// Folds a pod's log and starts its actor. What its last process left running is ended first.
async fn start(
    pod: PodId,
    house: Arc<House>,
    runtime: ActorCell,
    first: impl Future<Output = Result<Option<String>, RuntimeError>>,
) -> Result<PodHandle, RuntimeError> {
    let after_panic = first.await?;
    if house.reader.head(pod)?.is_none() {
        return Err(RuntimeError::NoSuchPod(pod));
    }
    let folded = recover::fold(house.reader.clone(), pod).await?;
    if !folded.view.obligations.calls.is_empty() {
        tokio::task::spawn_blocking(move || crate::tool::sweep_pod(pod))
            .await
            .map_err(|error| RuntimeError::Broken(error.to_string()))?;
    }
    let (commands_in, commands) = mpsc::channel(POD_COMMANDS_MAX);
    let deltas = broadcast::Sender::new(DELTAS_MAX);
    let arguments = PodArguments {
        id: pod,
        house,
        folded: Box::new(folded),
        commands,
        deltas: deltas.clone(),
        after_panic,
    };
    let (actor, _) = Actor::spawn_linked(None, PodActor, arguments, runtime).await?;
    let admission = Arc::new(Semaphore::new(POD_MAILBOX_MESSAGES_MAX));
    Ok(PodHandle { id: pod, actor, commands: commands_in, deltas, admission })
}

fn new_pod_id() -> PodId {
    PodId::from_bytes(uuid::Uuid::now_v7().into_bytes())
}
