//! What a pod took, and what prune and compaction saved.

use events::projection::{Projection, UsageTotals};
use events::{Envelope, Event, PodId};
use serde::{Deserialize, Serialize};

/// One pod's usage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct UsageView {
    /// The pod.
    pub(crate) pod: PodId,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Generations below the pod that was asked for.
    pub(crate) depth: u32,
    /// Totals.
    #[serde(flatten)]
    pub(crate) totals: UsageTotals,
    /// Savings.
    pub(crate) savings: Savings,
}

/// What was not sent, thanks to prune and compaction: an estimate, in tokens over all requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Savings {
    /// Prunes.
    pub(crate) prunes: u64,
    /// Results whose content is left out.
    pub(crate) pruned_results: u64,
    /// Tokens that prunes kept out of the requests after them.
    pub(crate) pruned_tokens: u64,
    /// Compactions that finished.
    pub(crate) compactions: u64,
    /// Tokens that compactions kept out of the requests after them.
    pub(crate) compacted_tokens: u64,
    #[serde(skip)]
    by_prune: u64,
    #[serde(skip)]
    by_compaction: u64,
}

impl Projection for Savings {
    fn apply(&mut self, envelope: &Envelope) {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "only what saves, and what is saved by it, counts"
        )]
        match envelope.event() {
            Event::Pruned(pruned) => {
                self.prunes += 1;
                self.pruned_results += pruned.calls.len() as u64;
                self.by_prune = self.by_prune.saturating_add(pruned.tokens_saved);
            }
            Event::CompactionFinished(finished) => {
                self.compactions += 1;
                let saved = finished.tokens_before.saturating_sub(finished.tokens_after);
                self.by_compaction = self.by_compaction.saturating_add(saved);
                // The summary stands for what was pruned, too.
                self.by_prune = 0;
            }
            Event::RequestPrepared(_) => {
                self.pruned_tokens = self.pruned_tokens.saturating_add(self.by_prune);
                self.compacted_tokens = self.compacted_tokens.saturating_add(self.by_compaction);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use events::envelope::Place;
    use events::event::context::{CompactionFinished, Pruned};
    use events::event::model::{Origin, RequestPrepared};
    use events::{CallId, Draft, Hash, Position, RequestNumber, Seq, Timestamp, TurnNumber};

    use super::*;

    fn request() -> Event {
        let origin = Origin { provider: "openai".to_owned(), model: "x".to_owned() };
        let prepared = RequestPrepared {
            turn: TurnNumber(1),
            request: RequestNumber(1),
            origin,
            history_to: Seq(1),
            prunes: 0,
            compaction: None,
            items: 1,
            digest: Hash::of(b""),
            body_bytes: 1,
            estimated_tokens: 1,
        };
        prepared.into()
    }

    fn savings(events: Vec<Event>) -> Savings {
        let mut savings = Savings::default();
        for event in events {
            let place = Place {
                pod: PodId::from_bytes([1; 16]),
                seq: Seq(1),
                position: Position(1),
                at: Timestamp::default(),
            };
            savings.apply(&Envelope::seal(Draft::new(event), place));
        }
        savings
    }

    #[test]
    fn a_saving_counts_once_for_each_request_after_it() {
        let pruned = Pruned { calls: vec![CallId(1), CallId(2)], tokens_saved: 100, reason: String::new() };
        let finished = CompactionFinished {
            from_seq: Seq(1),
            kept_from: Seq(2),
            summary: "s".to_owned(),
            tokens_before: 1000,
            tokens_after: 400,
            worker: None,
            usage: None,
        };
        let events =
            vec![request(), pruned.into(), request(), request(), finished.into(), request(), request()];
        let savings = savings(events);
        assert_eq!((savings.prunes, savings.pruned_results, savings.pruned_tokens), (1, 2, 200));
        assert_eq!((savings.compactions, savings.compacted_tokens), (1, 1200));
    }
}
