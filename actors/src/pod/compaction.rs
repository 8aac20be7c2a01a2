//! Compactions of a pod: a transaction from `compaction_started` to finished or failed.

use std::sync::Arc;

use events::estimate::item_tokens;
use events::event::context::{CompactionFailed, CompactionFinished, CompactionSkipped, CompactionStarted};
use events::event::model::Origin;
use events::event::turn::{Paused, TurnOutcome, TurnStarted};
use events::projection::State;
use events::{Item, Seq};
use ractor::ActorProcessingErr;
use tokio_util::sync::CancellationToken;

use crate::compactor::{self, Compaction, Summary};
use crate::hook::{Subject, Verdict};
use crate::hook_broker::Round;
use crate::limits::COMPACTION_FAILURES_MAX;
use crate::pod::handle::PodError;
use crate::pod::{Answer, Pod, PodMessage, decide};
use crate::worker::decide::Ending;

/// A compaction that is under way in this process.
pub(super) enum Running {
    /// Hooks are asked whether it may begin.
    Asked,
    /// The summary is being written.
    Summarising { from_seq: Seq, kept_from: Seq, tokens_before: u64, cancel: CancellationToken },
}

impl Pod {
    /// Between turns, when the context has grown beyond its threshold.
    pub(super) async fn compact_if_due(&mut self) -> Result<(), ActorProcessingErr> {
        let Some(threshold) = self.view.spec().context.compact_threshold else { return Ok(()) };
        // The newest reply has just been counted by the provider.
        let tokens =
            self.view.usage.last.map_or(0, |last| last.input_tokens.saturating_add(last.output_tokens));
        if tokens <= threshold || self.compaction_failures >= COMPACTION_FAILURES_MAX {
            return Ok(());
        }
        self.begin_compaction(format!("{tokens} tokens are above the threshold of {threshold}")).await
    }

    pub(super) async fn compact_on_demand(&mut self, reply: Answer<()>) -> Result<(), ActorProcessingErr> {
        let answer = match self.view.status.state {
            State::Stopped => Err(PodError::Stopped),
            _ if self.worker.is_some() || self.compaction.is_some() => Err(PodError::Busy),
            State::Idle | State::Running | State::Paused => {
                self.begin_compaction("asked for by the user".to_owned()).await?;
                Ok(())
            }
        };
        let _ = reply.send(answer);
        Ok(())
    }

    pub(super) async fn begin_compaction(&mut self, reason: String) -> Result<(), ActorProcessingErr> {
        let subject = Subject::BeforeCompaction { estimated_tokens: self.occupancy_tokens() };
        if !self.house.hooks.has(subject.point()) {
            return self.start_compaction(reason).await;
        }
        self.compaction = Some(Running::Asked);
        self.compactions += 1;
        let number = self.compactions;
        let myself = self.myself.clone();
        let answer = move |round| drop(myself.cast(PodMessage::CompactionAsked { number, reason, round }));
        self.house.hooks.ask(self.summary(subject), Box::new(answer));
        Ok(())
    }

    pub(super) async fn compaction_asked(
        &mut self,
        number: u64,
        reason: String,
        round: Round,
    ) -> Result<(), ActorProcessingErr> {
        self.write(round.drafts).await?;
        if !matches!(self.compaction, Some(Running::Asked)) || number != self.compactions {
            return Ok(());
        }
        self.compaction = None;
        match round.verdict {
            Verdict::Continue => self.start_compaction(reason).await,
            Verdict::Skip(why) | Verdict::Abort(why) | Verdict::Pause(why) => {
                self.skip_compaction(&why).await
            }
        }
    }

    async fn start_compaction(&mut self, reason: String) -> Result<(), ActorProcessingErr> {
        let spec = self.view.spec().clone();
        let Some(context) = &self.context else { return Ok(()) };
        let Some(kept_from) = compactor::decide::kept_from(context, spec.context.retained_tokens) else {
            return self.skip_compaction("nothing is old enough to be summarised").await;
        };
        let Ok(provider) = self.house.providers.of(&spec) else {
            return self.skip_compaction("the pod's provider is not known here").await;
        };
        let history = context.history();
        let range = &history.items()[context.kept_from()..history.unit_from(kept_from)];
        let from_seq = range.first().map_or(Seq(1), |item| item.seq);
        // What an earlier compaction left stands in front, so that the new summary carries it on.
        let mut items: Vec<Arc<Item>> = context.head();
        items.extend_from_slice(range);
        let tokens_before = self.occupancy_tokens();
        self.write(vec![CompactionStarted { from_seq, kept_from, reason, tokens_before }.into()]).await?;
        let cancel = CancellationToken::new();
        self.compaction =
            Some(Running::Summarising { from_seq, kept_from, tokens_before, cancel: cancel.clone() });
        self.compactions += 1;
        let number = self.compactions;
        let myself = self.myself.clone();
        let reply_to = Box::new(move |result| drop(myself.cast(PodMessage::Compacted { number, result })));
        self.house.compactor.compact(Compaction { spec: Arc::new(spec), provider, items, cancel, reply_to });
        Ok(())
    }

    pub(super) async fn compacted(
        &mut self,
        number: u64,
        result: Result<Summary, String>,
    ) -> Result<(), ActorProcessingErr> {
        if number != self.compactions {
            return Ok(());
        }
        let Some(Running::Summarising { from_seq, kept_from, tokens_before, .. }) = self.compaction.take()
        else {
            return Ok(());
        };
        let accepted = result.and_then(|summary| {
            let mut finished = CompactionFinished {
                from_seq,
                kept_from,
                summary: compactor::decide::frame(&summary.text),
                tokens_before,
                tokens_after: 0,
                worker: None,
                usage: summary.usage,
            };
            finished.tokens_after = self.tokens_with(&finished);
            let threshold = self.view.spec().context.compact_request_threshold;
            compactor::decide::accept(&summary.text, tokens_before, finished.tokens_after, threshold)?;
            Ok(finished)
        });
        let was_yielded = self.view.status.outcome == Some(TurnOutcome::Yielded);
        match accepted {
            Ok(finished) => {
                self.compaction_failures = 0;
                let mut drafts = vec![finished.into()];
                if was_yielded {
                    drafts.push(TurnStarted { turn: self.view.status.turn }.into());
                }
                self.write(drafts).await
            }
            Err(reason) => {
                self.compaction_failures += 1;
                self.write(vec![CompactionFailed { reason: reason.clone() }.into()]).await?;
                self.pause_if_yielded(&reason).await
            }
        }
    }

    async fn skip_compaction(&mut self, reason: &str) -> Result<(), ActorProcessingErr> {
        self.write(vec![CompactionSkipped { reason: reason.to_owned() }.into()]).await?;
        self.pause_if_yielded(reason).await
    }

    /// A turn that made room for a compaction that came to nothing waits for a person.
    async fn pause_if_yielded(&mut self, why: &str) -> Result<(), ActorProcessingErr> {
        if self.view.status.outcome != Some(TurnOutcome::Yielded) || self.view.status.state != State::Idle {
            return Ok(());
        }
        let reason = format!(
            "{}, and it could not be compacted: {why}. Raise the window or the threshold, or fork from an earlier \
             event, and resume",
            self.view.status.reason
        );
        self.write(vec![Paused { reason }.into()]).await
    }

    /// Ends a compaction that is under way, and with it the turn that had made room for it.
    pub(super) async fn give_up_compaction(
        &mut self,
        why: &str,
        ending: &Ending,
    ) -> Result<(), ActorProcessingErr> {
        let mut drafts = match self.compaction.take() {
            None => return Ok(()),
            Some(Running::Asked) => Vec::new(),
            Some(Running::Summarising { cancel, .. }) => {
                cancel.cancel();
                vec![CompactionFailed { reason: why.to_owned() }.into()]
            }
        };
        drafts.extend(decide::end_yielded(&self.view, ending));
        self.write(drafts).await
    }

    fn origin(&self) -> Origin {
        let model = &self.view.spec().model;
        Origin { provider: model.provider.clone(), model: model.name.clone() }
    }

    /// Estimated tokens of the context as it stands.
    fn occupancy_tokens(&self) -> u64 {
        let Some(context) = &self.context else { return 0 };
        context.items(&self.origin()).iter().map(|item| item_tokens(item)).sum()
    }

    /// Estimated tokens of the context with this summary in it: the projection itself is asked.
    fn tokens_with(&self, finished: &CompactionFinished) -> u64 {
        let Some(context) = &self.context else { return 0 };
        context.items_with(finished, &self.origin()).iter().map(|item| item_tokens(item)).sum()
    }
}
