//! Turns of a pod: a worker for each, which is lent the context and gives it back.

use events::event::turn::TurnOutcome;
use events::projection::Context;
use ractor::{Actor, ActorProcessingErr};
use tokio_util::sync::CancellationToken;

use crate::hook::Subject;
use crate::pod::{Pod, RunningTurn, decide};
use crate::worker::decide::{Ending, Turn};
use crate::worker::{WorkerActor, WorkerArguments};

impl Pod {
    pub(super) async fn start_worker(&mut self) -> Result<(), ActorProcessingErr> {
        let provider = match self.house.providers.of(self.view.spec()) {
            Ok(provider) => provider,
            Err(unknown) => {
                let ending = Ending::new(TurnOutcome::Failed, unknown.to_string());
                self.write(decide::close_turn(&self.view, &ending)).await?;
                return Box::pin(self.proceed()).await;
            }
        };
        let Some(context) = self.context.take() else { return Ok(()) };
        let cancel = CancellationToken::new();
        let view = &self.view;
        let turn = Turn {
            status: view.status.clone(),
            obligations: view.obligations.clone(),
            usage: view.usage.clone(),
            ..Turn::default()
        };
        let arguments = WorkerArguments {
            id: self.id,
            house: self.house.clone(),
            pod: self.myself.clone(),
            turn,
            context,
            provider,
            cancel: cancel.clone(),
            deltas: self.deltas.clone(),
            savings_estimator: savings_estimator(&self.view),
        };
        let spawned = Actor::spawn_linked(None, WorkerActor, arguments, self.myself.get_cell()).await;
        let actor = match spawned {
            Ok((actor, _)) => actor,
            Err(error) => {
                tracing::error!(pod = %self.id, %error, "the worker did not start; its turn ends as failed");
                self.worker_broke(&error.to_string()).await?;
                return Box::pin(self.proceed()).await;
            }
        };
        self.worker = Some(RunningTurn { actor, cancel });
        Ok(())
    }

    pub(super) async fn turn_over(&mut self, context: Context) -> Result<(), ActorProcessingErr> {
        self.worker = None;
        self.context = Some(context);
        let wanted = self.wanted.take();
        let Some(outcome) = self.view.status.outcome else { return Ok(()) };
        self.tell_hooks(Subject::TurnEnded { outcome, reason: self.view.status.reason.clone() });
        match outcome {
            TurnOutcome::Yielded if wanted.is_some() => {
                let drafts = wanted.map(|ending| decide::end_yielded(&self.view, &ending));
                self.write(drafts.unwrap_or_default()).await
            }
            // It had finished before it heard that it should pause.
            TurnOutcome::Finished if wanted.as_ref().is_some_and(|w| w.outcome == TurnOutcome::Paused) => {
                let reason = wanted.map(|ending| ending.reason).unwrap_or_default();
                self.write(decide::pause_idle(&self.view, &reason)).await
            }
            TurnOutcome::Finished if self.stopping.is_some() => Ok(()),
            TurnOutcome::Yielded => self.begin_compaction(self.view.status.reason.clone()).await,
            TurnOutcome::Finished => self.compact_if_due().await,
            TurnOutcome::Failed
            | TurnOutcome::Cancelled
            | TurnOutcome::Aborted
            | TurnOutcome::Paused
            | TurnOutcome::Exhausted => Ok(()),
        }
    }
}

/// What a content costs in tokens, from the provider's own count of this pod's input: as long as
/// it has counted nothing there is no data. Contents only; the frame of a result stays.
pub(super) fn savings_estimator(view: &Turn) -> crate::worker::request::SavingsEstimator {
    let is_measured = view.usage.last.is_some();
    Box::new(move |items, range| {
        if !is_measured {
            return 0;
        }
        let indices: Vec<usize> = range.collect();
        events::projection::prune::content_tokens(items, &indices)
    })
}
