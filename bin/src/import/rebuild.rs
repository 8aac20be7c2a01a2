//! What the requests of an imported session would have been: the transcript does not have their
//! bodies, the log says what they must be.

use std::sync::Arc;

use actors::provider::{Providers, Renderer};
use events::estimate::{item_tokens, text_tokens};
use events::event::model::Origin;
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

/// Rebuilds the bodies with the context projection and the providers' own renderers.
pub(crate) fn bodies() -> Bodies {
    Bodies {
        // Rendering needs no key and no address.
        providers: Providers::standard(&|_| None),
        context: Context::default(),
        cursor: Cursor::default(),
        sum: Sum::default(),
    }
}

/// The context of the log so far, and the body that goes with it.
pub(crate) struct Bodies {
    providers: Providers,
    context: Context,
    cursor: Cursor,
    sum: Sum,
}

/// The items so far, rendered and added up.
#[derive(Default)]
struct Sum {
    renderer: Option<Box<dyn Renderer>>,
    items: u64,
    tokens: u64,
}

impl Sum {
    fn of(providers: &Providers, spec: &Spec, items: &[Arc<Item>]) -> Self {
        let renderer = providers.of(spec).ok().map(|provider| provider.renderer(spec));
        let mut sum = Self { renderer, items: 0, tokens: text_tokens(&spec.system) };
        sum.add(items);
        sum
    }

    fn add(&mut self, items: &[Arc<Item>]) {
        for item in items {
            self.items += 1;
            self.tokens += item_tokens(item);
            if let Some(renderer) = &mut self.renderer {
                renderer.push(item);
            }
        }
    }

    fn digest_and_bytes(&self) -> (Hash, u64) {
        let body = self.renderer.as_ref().map(|renderer| renderer.body());
        body.map_or((Hash::of(&[]), 0), |body| (body.digest, body.len()))
    }
}

impl Rebuild for Bodies {
    fn take(&mut self, envelope: &Envelope) {
        self.context.apply(envelope);
    }

    fn request(&mut self, spec: &Spec) -> Rebuilt {
        let origin = Origin { provider: spec.model.provider.clone(), model: spec.model.name.clone() };
        let unsettled;
        let sum = if self.context.history().unsettled().is_empty() {
            match self.context.advance(&mut self.cursor, &origin) {
                Advance::More(items) => self.sum.add(&items),
                Advance::Anew(items) => self.sum = Sum::of(&self.providers, spec, &items),
            }
            &self.sum
        } else {
            unsettled = Sum::of(&self.providers, spec, &self.context.items(&origin));
            &unsettled
        };
        let (digest, body_bytes) = sum.digest_and_bytes();
        Rebuilt {
            prunes: self.context.prunes(),
            compaction: self.context.compaction(),
            items: sum.items,
            digest,
            body_bytes,
            estimated_tokens: sum.tokens,
        }
    }
}
