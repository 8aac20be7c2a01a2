//! Building requests: the context as a body, one new item at a time.

use std::ops::Range;
use std::sync::Arc;

use events::estimate::item_tokens;
use events::event::context::Pruned;
use events::event::model::{Origin, RequestPrepared};
use events::projection::context::{Advance, Cursor};
use events::projection::prune::{PruneConfig, content_tokens, prunable_indices};
use events::projection::{Context, UsageTotals};
use events::{CallId, Draft, Item, ItemBody, Seq, Spec};

use crate::provider::{Body, Provider, Renderer};
use crate::worker::decide::Turn;

/// Estimates what leaving out the contents of a range of items would save, in tokens; 0 means
/// that there is no data, and then nothing is pruned.
pub type SavingsEstimator = Box<dyn Fn(&[Item], Range<usize>) -> u64 + Send + Sync>;

/// The context of a turn as it grows, and its rendering.
pub(crate) struct Composer {
    pub(crate) context: Context,
    renderer: Box<dyn Renderer>,
    cursor: Cursor,
    origin: Origin,
    items: Vec<Arc<Item>>,
    estimated_tokens: u64,
    /// What the provider counted for the newest reply and its input, and what was estimated for
    /// the items at that moment.
    measured: Option<Measured>,
    /// Below this many estimated tokens a prune is not weighed again. It grows with the context,
    /// so that weighing, which looks at all items, costs each item a constant share.
    weigh_prune_at: u64,
}

#[derive(Clone, Copy)]
struct Measured {
    tokens: u64,
    estimated_then: u64,
}

impl Composer {
    pub(crate) fn new(context: Context, provider: &dyn Provider, spec: &Spec) -> Self {
        let origin = Origin { provider: spec.model.provider.clone(), model: spec.model.name.clone() };
        Self {
            context,
            renderer: provider.renderer(spec),
            cursor: Cursor::default(),
            origin,
            items: Vec::new(),
            estimated_tokens: 0,
            measured: None,
            weigh_prune_at: 0,
        }
    }

    /// Takes what has come into the context since the last time.
    pub(crate) fn catch_up(&mut self, provider: &dyn Provider, spec: &Spec) {
        let more = match self.context.advance(&mut self.cursor, &self.origin) {
            Advance::More(more) => more,
            Advance::Anew(all) => {
                self.renderer = provider.renderer(spec);
                self.items.clear();
                self.estimated_tokens = 0;
                self.measured = None;
                self.weigh_prune_at = 0;
                all
            }
        };
        for item in &more {
            self.renderer.push(item);
            self.estimated_tokens += item_tokens(item);
        }
        self.items.extend(more);
    }

    /// The provider has counted the context up to its newest reply.
    pub(crate) fn measure(&mut self, usage: &UsageTotals) {
        let Some(last) = usage.last.filter(|_| self.context.is_as_requested()) else { return };
        let newer = self.items.iter().rev().take_while(|item| !is_of_the_model(item));
        let newer_tokens: u64 = newer.map(|item| item_tokens(item)).sum();
        let tokens = last.input_tokens.saturating_add(last.output_tokens);
        self.measured = Some(Measured { tokens, estimated_then: self.estimated_tokens - newer_tokens });
    }

    /// Tokens of the context: what the provider counted last, and an estimate of what came after.
    pub(crate) fn occupancy_tokens(&self) -> u64 {
        match self.measured {
            Some(measured) => {
                measured.tokens.saturating_add(self.estimated_tokens.saturating_sub(measured.estimated_then))
            }
            None => self.estimated_tokens,
        }
    }

    /// The items of the context.
    pub(crate) fn items(&self) -> &[Arc<Item>] {
        &self.items
    }

    /// The body as it stands.
    pub(crate) fn body(&self) -> Body {
        self.renderer.body()
    }

    /// What the request is written down as.
    pub(crate) fn prepared(&self, turn: &Turn, body: &Body) -> Draft {
        let request = RequestPrepared {
            turn: turn.status.turn,
            request: turn.status.request.next(),
            origin: self.origin.clone(),
            history_to: turn.status.head,
            prunes: self.context.prunes(),
            compaction: self.context.compaction(),
            items: self.items.len() as u64,
            digest: body.digest,
            body_bytes: body.len(),
            estimated_tokens: self.occupancy_tokens(),
        };
        Draft::new(request).caused_by(Some(turn.status.head).filter(|head| *head > Seq(0)))
    }

    /// Whether there is anything before the retained end that a compaction could take.
    pub(crate) fn is_compactable(&self, retained_tokens: u64) -> bool {
        let kept = crate::compactor::decide::kept_from(&self.context, retained_tokens);
        kept.is_some()
    }

    /// Whether a prune pays now, and which.
    pub(crate) fn weigh_prune(
        &mut self,
        config: &PruneConfig,
        estimator: Option<&SavingsEstimator>,
    ) -> Option<Pruned> {
        if self.estimated_tokens < self.weigh_prune_at {
            return None;
        }
        let growth =
            (self.estimated_tokens / PRUNE_GROWTH_SHARE).max(config.min_savings / PRUNE_GROWTH_SHARE);
        self.weigh_prune_at = self.estimated_tokens + growth;
        weigh_prune(&self.items, config, estimator)
    }
}

fn weigh_prune(
    items: &[Arc<Item>],
    config: &PruneConfig,
    estimator: Option<&SavingsEstimator>,
) -> Option<Pruned> {
    let indices = prunable_indices(items, config);
    let (Some(first), Some(last)) = (indices.first(), indices.last()) else {
        tracing::debug!(reason = "no candidates", "not pruned");
        return None;
    };
    let flat: Vec<Item> = items.iter().map(|item| Item::clone(item)).collect();
    let range = *first..last + 1;
    let all: Vec<usize> =
        range.clone().filter(|index| matches!(items[*index].body, ItemBody::Result(_))).collect();
    let (candidates, whole) = (content_tokens(items, &indices), content_tokens(items, &all).max(1));
    let savings = estimator.map_or(0, |estimate| estimate(&flat, range)) * candidates / whole;
    let rewritten: u64 =
        items[*first..].iter().map(|item| item_tokens(item)).sum::<u64>().saturating_sub(savings);
    let reason = match savings {
        0 => "no data",
        _ if savings < config.min_savings => "below min savings",
        _ if savings.saturating_mul(REMAINING_REQUESTS) < rewritten.saturating_mul(REWRITE_TO_READ) => {
            "does not pay"
        }
        _ => "pays",
    };
    tracing::debug!(savings, rewritten, candidates = indices.len(), reason, "prune evaluated");
    (reason == "pays").then(|| Pruned {
        calls: indices.iter().filter_map(|index| call_of(&items[*index])).collect(),
        tokens_saved: savings,
        reason: format!("{savings} tokens less in each request, for {rewritten} written to the cache once"),
    })
}

/// The context grows by this share of itself before a prune is weighed again.
const PRUNE_GROWTH_SHARE: u64 = 16;

/// How many more requests a turn is taken to make when a prune is weighed.
const REMAINING_REQUESTS: u64 = 10;

/// How many times as much a token costs that is written to the provider's cache as one that is
/// read from it, without prices: 1.25 to 0.1.
const REWRITE_TO_READ: u64 = 12;

fn is_of_the_model(item: &Item) -> bool {
    match item.body {
        ItemBody::Text { .. } | ItemBody::Reasoning(_) | ItemBody::Call(_) | ItemBody::Opaque(_) => true,
        ItemBody::User { .. } | ItemBody::System { .. } | ItemBody::Result(_) => false,
    }
}

fn call_of(item: &Item) -> Option<CallId> {
    match &item.body {
        ItemBody::Result(result) => Some(result.call),
        ItemBody::User { .. }
        | ItemBody::System { .. }
        | ItemBody::Text { .. }
        | ItemBody::Reasoning(_)
        | ItemBody::Call(_)
        | ItemBody::Opaque(_) => None,
    }
}
