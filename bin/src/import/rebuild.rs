//! What the requests of an imported session would have been: the transcript does not have their
//! bodies, the log says what they must be.

use std::sync::Arc;

use events::estimate::item_tokens;
use events::event::model::Origin;
use events::hash::Hasher;
use events::projection::Projection;
use events::projection::context::{Advance, Context, Cursor};
use events::{Envelope, Hash, Item, Seq, Spec};

/// Follows a log and says what a request at its end would be.
pub(crate) trait Rebuild {
    /// Takes the next event.
    fn take(&mut self, envelope: &Envelope);

    /// The request that the log so far amounts to, for a pod of this spec.
    fn request(&mut self, spec: &Spec) -> Rebuilt;
}

/// What the log keeps of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rebuilt {
    /// Prunes that the context has seen.
    pub(crate) prunes: u32,
    /// The compaction that opens the context.
    pub(crate) compaction: Option<Seq>,
    /// Items in the context.
    pub(crate) items: u64,
    /// Hash of the body.
    pub(crate) digest: Hash,
    /// Length of the body in bytes.
    pub(crate) body_bytes: u64,
    /// Estimated input tokens.
    pub(crate) estimated_tokens: u64,
}

/// Rebuilds the bodies with the context projection.
pub(crate) fn bodies() -> Bodies {
    Bodies { context: Context::default(), cursor: Cursor::default(), sum: Sum::default() }
}

/// The context of the log so far, and the body that goes with it.
pub(crate) struct Bodies {
    context: Context,
    cursor: Cursor,
    sum: Sum,
}

/// The items so far, added up.
#[derive(Clone, Default)]
struct Sum {
    items: u64,
    hasher: Hasher,
    bytes: u64,
    tokens: u64,
}

impl Sum {
    fn add(&mut self, items: &[Arc<Item>]) {
        for item in items {
            let json = serde_json::to_vec(item).expect("an item is plain values");
            self.items += 1;
            self.bytes += json.len() as u64;
            self.tokens += item_tokens(item);
            self.hasher.update(&json);
        }
    }
}

impl Rebuild for Bodies {
    fn take(&mut self, envelope: &Envelope) {
        self.context.apply(envelope);
    }

    fn request(&mut self, spec: &Spec) -> Rebuilt {
        let origin = Origin { provider: spec.model.provider.clone(), model: spec.model.name.clone() };
        let mut sum = if self.context.history().unsettled().is_empty() {
            match self.context.advance(&mut self.cursor, &origin) {
                Advance::More(items) => self.sum.add(&items),
                Advance::Anew(items) => {
                    self.sum = Sum::default();
                    self.sum.add(&items);
                }
            }
            self.sum.clone()
        } else {
            let mut sum = Sum::default();
            sum.add(&self.context.items(&origin));
            sum
        };
        sum.tokens += events::estimate::text_tokens(&spec.system);
        Rebuilt {
            prunes: self.context.prunes(),
            compaction: self.context.compaction(),
            items: sum.items,
            digest: sum.hasher.finish(),
            body_bytes: sum.bytes,
            estimated_tokens: sum.tokens,
        }
    }
}
