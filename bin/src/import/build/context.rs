//! Compactions and prunes that a transcript tells of.

use events::Seq;
use events::estimate::text_tokens;
use events::event::context::{CompactionFailed, CompactionFinished, CompactionStarted, Pruned};
use events::event::turn::TurnOutcome;

use super::{Builder, State};
use crate::import::rebuild::Rebuild;

/// A compaction whose summary has not come yet.
pub(super) struct Began {
    reason: String,
    tokens_before: u64,
}

impl<R: Rebuild> Builder<R> {
    pub(super) fn compaction_began(&mut self, reason: String, tokens_before: u64) {
        self.abandon_compaction();
        if self.state == State::Answered {
            self.end_turn(TurnOutcome::Finished, "");
        }
        self.began = Some(Began { reason, tokens_before });
    }

    /// All before the summary is left out of the context from here on.
    pub(super) fn summary(&mut self, line: usize, text: &str) {
        let began = self.began.take().unwrap_or(Began { reason: "unknown".to_owned(), tokens_before: 0 });
        let summary = self.sound(line, text);
        if summary.trim().is_empty() {
            self.problems.note(line, "an empty summary compacts nothing");
            self.began = Some(began);
            return self.abandon_compaction();
        }
        self.awaited = None;
        // The start and the finish come next; what follows them is kept.
        let kept_from = self.log.next().next().next();
        let started = self.start_compaction(&began, kept_from);
        let finished = CompactionFinished {
            from_seq: Seq(1),
            kept_from,
            tokens_before: began.tokens_before,
            tokens_after: text_tokens(&summary),
            summary,
            worker: None,
            usage: None,
        };
        self.log.push(Some(started), finished);
    }

    fn start_compaction(&mut self, began: &Began, kept_from: Seq) -> Seq {
        let started = CompactionStarted {
            from_seq: Seq(1),
            kept_from,
            reason: began.reason.clone(),
            tokens_before: began.tokens_before,
        };
        self.log.push(None, started)
    }

    /// A compaction that is not followed by its summary has come to nothing.
    pub(super) fn abandon_compaction(&mut self) {
        if let Some(began) = self.began.take() {
            let kept_from = self.log.next();
            let started = self.start_compaction(&began, kept_from);
            let reason = "the transcript has no summary for it".to_owned();
            self.log.push(Some(started), CompactionFailed { reason });
        }
    }

    pub(super) fn prune(&mut self, line: usize, calls: &[String], tokens_saved: u64, reason: String) {
        let known: Vec<_> = calls.iter().filter_map(|id| self.named.get(id)).copied().collect();
        if known.len() < calls.len() {
            let unknown = calls.len() - known.len();
            self.problems.note(line, format!("{unknown} of the pruned calls are not in the transcript"));
        }
        if known.is_empty() {
            return;
        }
        self.awaited = None;
        self.log.push(None, Pruned { calls: known, tokens_saved, reason });
    }
}
