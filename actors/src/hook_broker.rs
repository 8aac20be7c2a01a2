//! The hook broker: asks hooks, one round after the other hook by hook, and lets no hook harm
//! anybody but itself.
//!
//! Pods and workers tell it `Ask`; it tells whoever asked how the round went. The hooks are frozen
//! when it starts. A round runs in a task of its own, each hook in another, so that a hook that
//! panics or hangs holds nobody.

use std::sync::Arc;
use std::time::Duration;

use events::Draft;
use events::event::hook::{HookPoint, HookRole};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::time::Instant;

use crate::hook::{Hook, Summary, Verdict};

mod decide;

pub(crate) use decide::{Answer, Round};

/// What the broker is told.
pub(crate) enum HookBrokerMessage {
    /// Ask all hooks of the summary's point and tell how it went.
    Ask(Summary, ReplyTo),
}

/// Who is told how a round went.
pub(crate) type ReplyTo = Box<dyn FnOnce(Round) + Send>;

/// The actor.
pub(crate) struct HookBroker;

/// What the outside holds.
#[derive(Clone)]
pub(crate) struct HookBrokerHandle {
    actor: ActorRef<HookBrokerMessage>,
    hooks: Arc<[Registered]>,
}

/// A hook and what it said of itself when it was registered: later it is only asked, in a task of
/// its own.
#[derive(Clone)]
pub(crate) struct Registered {
    hook: Arc<dyn Hook>,
    name: String,
    points: Vec<HookPoint>,
    role: HookRole,
    timeout: Duration,
}

impl Registered {
    fn of(hook: Arc<dyn Hook>) -> Self {
        Self {
            name: hook.name().to_owned(),
            points: hook.points().to_vec(),
            role: hook.role(),
            timeout: hook.timeout().max(Duration::from_millis(1)),
            hook,
        }
    }
}

impl HookBrokerHandle {
    /// Starts the broker with these hooks.
    pub(crate) async fn start(hooks: Vec<Arc<dyn Hook>>) -> Result<Self, ractor::SpawnErr> {
        let hooks: Arc<[Registered]> = hooks.into_iter().map(Registered::of).collect();
        let (actor, _) = Actor::spawn(None, HookBroker, hooks.clone()).await?;
        Ok(Self { actor, hooks })
    }

    /// Somebody wants to be asked at this point.
    pub(crate) fn has(&self, point: HookPoint) -> bool {
        self.hooks.iter().any(|hook| hook.points.contains(&point))
    }

    /// Asks. When the broker is gone, nobody who could object is left to ask: that is an abort.
    pub(crate) fn ask(&self, summary: Summary, reply_to: ReplyTo) {
        if let Err(ractor::MessagingErr::SendErr(HookBrokerMessage::Ask(_, reply_to))) =
            self.actor.cast(HookBrokerMessage::Ask(summary, reply_to))
        {
            let verdict = Verdict::Abort("the hook broker is gone".to_owned());
            reply_to(Round { verdict, drafts: Vec::<Draft>::new() });
        }
    }

    /// Stops the broker.
    pub(crate) fn stop(&self) {
        self.actor.stop(None);
    }
}

impl Actor for HookBroker {
    type Msg = HookBrokerMessage;
    type State = Arc<[Registered]>;
    type Arguments = Arc<[Registered]>;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        hooks: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(hooks)
    }

    async fn handle(
        &self,
        _myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        hooks: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let HookBrokerMessage::Ask(summary, reply_to) = message;
        let point = summary.subject.point();
        let asked: Vec<_> = hooks.iter().filter(|hook| hook.points.contains(&point)).cloned().collect();
        tokio::spawn(async move { reply_to(round(asked, Arc::new(summary)).await) });
        Ok(())
    }
}

async fn round(hooks: Vec<Registered>, summary: Arc<Summary>) -> Round {
    let mut round = Round::default();
    for hook in hooks {
        let began = Instant::now();
        let answer = ask(&hook, summary.clone()).await;
        let asked = decide::Asked { name: &hook.name, role: hook.role, elapsed: began.elapsed() };
        if round.take(&asked, &summary.subject, answer) {
            break;
        }
    }
    round
}

/// Asks one hook, in a task of its own and within its time.
async fn ask(registered: &Registered, summary: Arc<Summary>) -> Answer {
    let (hook, timeout) = (registered.hook.clone(), registered.timeout);
    let mut task = tokio::spawn(async move { hook.ask(&summary).await });
    match tokio::time::timeout(timeout, &mut task).await {
        Ok(Ok(verdict)) => Answer::Verdict(verdict),
        Ok(Err(error)) => {
            Answer::Missing(if error.is_panic() { "it panicked".into() } else { error.to_string() })
        }
        Err(_) => {
            task.abort();
            Answer::Missing(format!("it gave no answer within {} ms", timeout.as_millis()))
        }
    }
}
