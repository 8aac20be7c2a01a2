//! What a pod took: tokens by kind, requests, attempts, and what it cost.

use serde::{Deserialize, Serialize};

use crate::event::model::Usage;
use crate::projection::Projection;
use crate::spec::Prices;
use crate::{Envelope, Event};

/// Totals of a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UsageTotals {
    /// Requests that were prepared.
    pub requests: u64,
    /// Attempts that failed.
    pub failed_attempts: u64,
    /// Tool calls that ended.
    pub calls: u64,
    /// All input tokens, cached ones included.
    pub input_tokens: u64,
    /// Input tokens read from the provider's cache.
    pub cached_tokens: u64,
    /// Input tokens written to the provider's cache.
    pub cache_write_tokens: u64,
    /// Output tokens, reasoning included.
    pub output_tokens: u64,
    /// Output tokens spent on reasoning.
    pub reasoning_tokens: u64,
    /// US dollars, by the prices that were in force; zero without prices.
    pub cost_usd: f64,
    /// Replies that had a cost nobody knew, for want of prices.
    pub unpriced_replies: u64,
    /// The usage that the newest reply reported.
    pub last: Option<Usage>,
    #[serde(skip)]
    prices: Option<Prices>,
}

impl UsageTotals {
    fn add(&mut self, usage: &Usage) {
        self.input_tokens = self.input_tokens.saturating_add(usage.input_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(usage.cached_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(usage.cache_write_tokens);
        self.output_tokens = self.output_tokens.saturating_add(usage.output_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(usage.reasoning_tokens);
        match &self.prices {
            Some(prices) => self.cost_usd += cost_usd(usage, prices),
            None => self.unpriced_replies += 1,
        }
    }

    /// Input and output tokens together.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// What one reply cost in US dollars. Cached reads and writes are parts of the input.
pub fn cost_usd(usage: &Usage, prices: &Prices) -> f64 {
    let plain =
        usage.input_tokens.saturating_sub(usage.cached_tokens).saturating_sub(usage.cache_write_tokens);
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    let price = |tokens: u64, per_million: f64| tokens as f64 * per_million / 1e6;
    price(plain, prices.input)
        + price(usage.cached_tokens, prices.cached_read)
        + price(usage.cache_write_tokens, prices.cached_write)
        + price(usage.output_tokens, prices.output)
}

impl Projection for UsageTotals {
    fn apply(&mut self, envelope: &Envelope) {
        match envelope.event() {
            Event::PodOpened(opened) => self.prices = opened.spec.prices,
            Event::SpecChanged(changed) => self.prices = changed.spec.prices,
            Event::RequestPrepared(_) => self.requests += 1,
            Event::ReplyFailed(_) => self.failed_attempts += 1,
            Event::CallEnded(_) => self.calls += 1,
            Event::ReplyReceived(reply) => {
                self.last = reply.usage.or(self.last);
                self.add(&reply.usage.unwrap_or_default());
            }
            Event::CompactionFinished(finished) => {
                if let Some(usage) = &finished.usage {
                    self.add(usage);
                }
            }
            Event::PodForked(_)
            | Event::PodStopped(_)
            | Event::InputReceived(_)
            | Event::Notified(_)
            | Event::TurnStarted(_)
            | Event::TurnEnded(_)
            | Event::Paused(_)
            | Event::Resumed(_)
            | Event::CallStarted(_)
            | Event::CallProgressed(_)
            | Event::PermissionAsked(_)
            | Event::PermissionAnswered(_)
            | Event::HookAnswered(_)
            | Event::HookFailed(_)
            | Event::Pruned(_)
            | Event::CompactionStarted(_)
            | Event::CompactionFailed(_)
            | Event::CompactionSkipped(_)
            | Event::ChildSpawned(_)
            | Event::ChildEnded(_)
            | Event::MessageSent(_)
            | Event::LimitReached(_)
            | Event::RecordImported(_) => {}
        }
    }
}
