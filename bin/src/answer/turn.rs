//! Requests that run turns.

use std::sync::Arc;

use actors::provider::Delta;
use actors::{Opening, PodHandle, Rest};
use events::event::turn::TurnOutcome;
use events::projection::{Projection as _, State, Status};
use events::{Envelope, PodId, Seq, Spec};
use store::{Follow, ReadError, ReadLog};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc};

use super::{Line, Named, find, open};
use crate::args::target::PodName;
use crate::door::protocol::{Answer, Control, Outcome};
use crate::exit::Problem;
use crate::office::Office;
use crate::spec_patch::SpecPatch;
use crate::view::each_event;
use crate::view::turn::TurnView;

/// Words for a pod.
pub(super) enum Words {
    /// Of a user.
    User(String),
    /// Of something else.
    Notification {
        /// Who.
        source: String,
        /// The words.
        text: String,
    },
}

/// Opens a pod and runs a turn.
pub(super) async fn run(
    office: &Office,
    line: &mut Line,
    spec: Spec,
    name: Option<String>,
    prompt: String,
) -> Result<Outcome, Problem> {
    office.runtime.providers().of(&spec).map_err(|error| Problem::usage(error.to_string()))?;
    let pod = office.runtime.open(Opening { spec, name: name.clone() }).await?;
    let named = Named { id: pod.id(), name };
    line.about(&named).await;
    let _attending = office.attend(pod.id());
    let mut watch = Watch::new(office, &pod, Seq(1));
    pod.submit(prompt).await?;
    watch.until_rest(office, line, &named).await.map(Outcome::Turn)
}

/// Goes on with an unfinished turn, then submits the prompt. A turn that a person cancelled is
/// taken up again only when there is no prompt: the prompt says what to do instead.
pub(super) async fn resume(
    office: &Office,
    line: &mut Line,
    wanted: &PodName,
    prompt: Option<String>,
    patch: &SpecPatch,
) -> Result<Outcome, Problem> {
    let log = office.runtime.log();
    let named = find(&*log, wanted)?;
    line.about(&named).await;
    if office.is_attended(named.id) {
        let Some(prompt) = prompt else {
            return Err(Problem::usage("a turn of this pod is running; `podwork log --follow` shows it"));
        };
        if *patch != SpecPatch::default() {
            return Err(Problem::usage(
                "a turn of this pod is running: its model, tools and limits change between turns",
            ));
        }
        return submit(office, line, wanted, Words::User(prompt)).await;
    }
    let before = status(&*log, named.id)?;
    let spec = before.spec.as_ref().and_then(|spec| patch.apply(spec));
    if let Some(spec) = &spec {
        office.runtime.providers().of(spec).map_err(|error| Problem::usage(error.to_string()))?;
    }
    let _attending = office.attend(named.id);
    let (pod, head) = open(office, named.id).await?;
    let mut watch = Watch::new(office, &pod, head.next());
    // Flags change the turn that is gone on with, so with flags it is gone on with.
    let redirected =
        before.outcome == Some(TurnOutcome::Cancelled) && before.state == State::Idle && spec.is_none();
    if !(redirected && prompt.is_some()) {
        pod.resume(spec).await?;
        let turn = watch.until_rest(office, line, &named).await?;
        if prompt.is_none() {
            if watch.shown == 0 {
                line.note("There was nothing to go on with.").await;
            }
            return Ok(Outcome::Turn(turn));
        }
        if turn.outcome.is_some_and(TurnOutcome::is_resumable) {
            line.note("The unfinished turn did not finish, so the prompt was not submitted.").await;
            return Ok(Outcome::Turn(turn));
        }
    }
    pod.submit(prompt.unwrap_or_default()).await?;
    watch.until_rest(office, line, &named).await.map(Outcome::Turn)
}

/// Gives a pod words: steers the turn that runs, and else runs one.
pub(super) async fn submit(
    office: &Office,
    line: &mut Line,
    wanted: &PodName,
    words: Words,
) -> Result<Outcome, Problem> {
    let log = office.runtime.log();
    let named = find(&*log, wanted)?;
    line.about(&named).await;
    let is_running = office.is_attended(named.id) && status(&*log, named.id)?.state == State::Running;
    let _attending = office.attend(named.id);
    let (pod, head) = open(office, named.id).await?;
    let mut watch = Watch::new(office, &pod, head.next());
    let at = match words {
        Words::User(text) => pod.submit(text).await,
        Words::Notification { source, text } => pod.notify(source, text).await,
    };
    let at = at?;
    if is_running {
        line.behind = Some(pod);
        let text = format!("event {at}: the running turn gets it with its next request");
        return Ok(Outcome::Done { pod: named.id, name: named.name, text });
    }
    watch.until_rest(office, line, &named).await.map(Outcome::Turn)
}

/// Where a pod stands.
pub(super) fn status(log: &dyn ReadLog, pod: PodId) -> Result<Status, Problem> {
    let mut status = Status::default();
    each_event(log, pod, Seq(1), |envelope| {
        status.apply(envelope);
        true
    })?;
    Ok(status)
}

/// Shows an asker what a pod does.
pub(super) struct Watch {
    pod: PodHandle,
    follow: Follow,
    next: Seq,
    deltas: broadcast::Receiver<Delta>,
    /// Events that were shown.
    pub(super) shown: u64,
}

impl Watch {
    /// From this event on, which may not be there yet.
    pub(super) fn new(office: &Office, pod: &PodHandle, from: Seq) -> Self {
        Self {
            pod: pod.clone(),
            follow: Follow::new(office.runtime.log(), pod.id(), from),
            next: from,
            deltas: pod.deltas(),
            shown: 0,
        }
    }

    /// Shows all until the pod has nothing more to do. An asker who has gone away changes nothing:
    /// the turn goes on to its end.
    async fn until_rest(
        &mut self,
        office: &Office,
        line: &mut Line,
        named: &Named,
    ) -> Result<TurnView, Problem> {
        let mut controls = line.controls.take();
        let rest = {
            let pod = self.pod.clone();
            // Beside the work rather than within it: a cancel is heard while the asker is slow.
            let cancelling = async {
                cancelled(office, &mut controls).await;
                // A pod that is gone has no turn to cancel.
                let _ = pod.cancel().await;
                std::future::pending::<()>().await;
            };
            tokio::select! {
                rest = self.show_until_rest(line) => rest,
                () = cancelling => unreachable!("it waits for ever"),
            }
        };
        line.controls = controls;
        let rest = rest?;
        self.catch_up(office, line).await?;
        Ok(TurnView {
            pod: named.id,
            name: named.name.clone(),
            outcome: rest.outcome,
            reason: rest.reason,
            text: rest.text,
            usage: rest.usage,
        })
    }

    async fn show_until_rest(&mut self, line: &Line) -> Result<Rest, Problem> {
        let pod = self.pod.clone();
        let rest = pod.rest();
        tokio::pin!(rest);
        loop {
            tokio::select! {
                // Words come before the event of the reply that they are part of.
                biased;
                delta = self.deltas.recv() => mention(line, delta),
                event = self.follow.next() => self.show(line, event).await?,
                rest = &mut rest => return Ok(rest?),
            }
        }
    }

    /// Shows what is in the log already.
    pub(super) async fn catch_up(&mut self, office: &Office, line: &Line) -> Result<(), Problem> {
        let head = office.runtime.log().head(self.pod.id())?;
        let head = head.map_or(Seq(0), |head| head.seq);
        while self.next <= head {
            let event = self.follow.next().await;
            self.show(line, event).await?;
        }
        Ok(())
    }

    async fn show(
        &mut self,
        line: &Line,
        event: Option<Result<Arc<Envelope>, ReadError>>,
    ) -> Result<(), Problem> {
        let Some(event) = event else {
            return Err(Problem::store("the store was closed while the turn ran"));
        };
        let event = event?;
        self.next = event.seq().next();
        self.shown += 1;
        line.say(Answer::Event { event }).await;
        Ok(())
    }
}

/// Waits until the asker, or the person before the process that holds the store, wants the turn to
/// end. An asker who has gone away wants nothing.
async fn cancelled(office: &Office, controls: &mut Option<mpsc::Receiver<Control>>) {
    let asked = async {
        let control = match controls {
            Some(controls) => controls.recv().await,
            None => None,
        };
        if control.is_none() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = asked => {}
        () = office.cancelled() => {}
    }
}

fn mention(line: &Line, delta: Result<Delta, RecvError>) {
    match delta {
        Ok(Delta::Text(text)) => line.mention(Answer::Delta { text, reasoning: false }),
        Ok(Delta::Reasoning(text)) => line.mention(Answer::Delta { text, reasoning: true }),
        // Some were lost; the log has them all. It closes with the pod, which is held here.
        Err(RecvError::Lagged(_) | RecvError::Closed) => {}
    }
}
