//! What a pod does when somebody wants something of it.

use events::Spec;
use events::projection::State;
use ractor::ActorProcessingErr;
use store::AppendError;
use tokio::sync::OwnedSemaphorePermit;

use crate::hook::{Subject, Summary, preview};
use crate::hook_broker::Round;
use crate::pod::handle::PodError;
use crate::pod::{Answer, Command, Pod, PodMessage, decide};

impl Pod {
    pub(super) async fn submit(
        &mut self,
        text: String,
        admitted: OwnedSemaphorePermit,
        reply: Answer<events::Seq>,
    ) -> Result<(), ActorProcessingErr> {
        if let Err(error) = decide::admit(&self.view, &text) {
            let _ = reply.send(Err(error));
            return Ok(());
        }
        let subject = Subject::PromptSubmitted { preview: preview(&text), bytes: text.len() as u64 };
        if !self.house.hooks.has(subject.point()) {
            let drafts = decide::submit(&self.view, &text);
            return self.accept(drafts, reply).await;
        }
        let myself = self.myself.clone();
        let answer = move |round| {
            // When the pod is gone, the caller hears so by the reply port that is dropped here.
            let _ = myself.cast(PodMessage::PromptAsked { text, admitted, round, reply });
        };
        self.house.hooks.ask(self.summary(subject), Box::new(answer));
        Ok(())
    }

    pub(super) async fn prompt_asked(
        &mut self,
        text: String,
        admitted: OwnedSemaphorePermit,
        round: Round,
        reply: Answer<events::Seq>,
    ) -> Result<(), ActorProcessingErr> {
        let refusal = decide::refused(&round.verdict);
        self.write(round.drafts).await?;
        drop(admitted);
        if let Some(error) = refusal {
            let _ = reply.send(Err(error));
            return Ok(());
        }
        let drafts = decide::submit(&self.view, &text);
        self.accept(drafts, reply).await
    }

    /// Writes down what came in, and says where. The pod is awake from then on.
    pub(super) async fn accept(
        &mut self,
        drafts: Result<Vec<events::Draft>, PodError>,
        reply: Answer<events::Seq>,
    ) -> Result<(), ActorProcessingErr> {
        let drafts = match drafts {
            Ok(drafts) => drafts,
            Err(error) => {
                let _ = reply.send(Err(error));
                return Ok(());
            }
        };
        match self.record(drafts, Vec::new(), None).await {
            Ok(receipt) => {
                self.is_awake = true;
                let seq = receipt.envelopes().last().map_or(events::Seq(0), |envelope| envelope.seq());
                let _ = reply.send(Ok(seq));
                Ok(())
            }
            // The store says no and is well: whoever asked may ask again.
            Err(error @ AppendError::Refused { .. }) => {
                let _ = reply.send(Err(error.into()));
                Ok(())
            }
            Err(error) => {
                let _ = reply.send(Err(PodError::Store(error.to_string())));
                Err(self.broken(error))
            }
        }
    }

    pub(super) async fn resume(
        &mut self,
        spec: Option<Box<Spec>>,
        reply: Answer<()>,
    ) -> Result<(), ActorProcessingErr> {
        if self.worker.is_some() || self.compaction.is_some() {
            let _ = reply.send(Ok(()));
            return Ok(());
        }
        match decide::resume(&self.view, spec.as_deref()) {
            Ok(drafts) => {
                self.write(drafts).await?;
                self.is_awake = true;
                let _ = reply.send(Ok(()));
            }
            Err(error) => drop(reply.send(Err(error))),
        }
        Ok(())
    }

    pub(super) async fn command(&mut self, command: Command) -> Result<(), ActorProcessingErr> {
        match command {
            Command::Cancel { reply } => {
                self.give_up_compaction("cancelled by the user", &decide::cancelled()).await?;
                if !self.tell_worker_to_end(decide::cancelled()) {
                    self.write(decide::close_turn(&self.view, &decide::cancelled())).await?;
                }
                let _ = reply.send(Ok(()));
            }
            Command::Pause { reply, .. } if self.view.status.state == State::Stopped => {
                let _ = reply.send(Err(PodError::Stopped));
            }
            Command::Pause { reason, reply } => {
                self.give_up_compaction("paused by the user", &decide::paused(&reason)).await?;
                if !self.tell_worker_to_end(decide::paused(&reason)) {
                    self.write(decide::pause_idle(&self.view, &reason)).await?;
                }
                let _ = reply.send(Ok(()));
            }
            Command::Stop { reply, .. } if self.view.status.state == State::Stopped => {
                let _ = reply.send(Ok(()));
            }
            Command::Stop { reason, reply } => {
                self.give_up_compaction("the pod is stopped", &decide::cancelled()).await?;
                if !self.tell_worker_to_end(decide::cancelled()) {
                    self.write(decide::close_turn(&self.view, &decide::cancelled())).await?;
                }
                self.is_awake = false;
                self.stopping = Some((reason, reply));
            }
            Command::Compact { reply } => self.compact_on_demand(reply).await?,
        }
        Ok(())
    }

    pub(super) fn summary(&self, subject: Subject) -> Summary {
        Summary { pod: self.id, turn: self.view.status.turn, subject }
    }

    /// Those who watch are told of something that already happened. What they answer is written
    /// down and changes nothing.
    pub(super) fn tell_hooks(&self, subject: Subject) {
        if self.house.hooks.has(subject.point()) {
            let myself = self.myself.clone();
            let answer = move |round| drop(myself.cast(PodMessage::AfterwardsAsked(round)));
            self.house.hooks.ask(self.summary(subject), Box::new(answer));
        }
    }
}
