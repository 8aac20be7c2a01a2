//! Views of a log: folds that can be thrown away and folded again.
//!
//! History is all items; the context is the history seen through compaction and prune and made
//! valid for a provider. The other views say what the pod is, what it owes and what it took.

use crate::Envelope;

pub mod context;
pub mod history;
pub mod obligations;
pub mod prune;
pub mod status;
pub mod usage;

pub use context::{Context, Cursor};
pub use history::{Anomaly, History};
pub use obligations::Obligations;
pub use status::{State, Status};
pub use usage::UsageTotals;

/// A view of a log. It is incremental (one more event costs the same however many came before)
/// and total (any log gives a value, never a panic).
pub trait Projection: Default {
    /// Takes the next event.
    fn apply(&mut self, envelope: &Envelope);
}

/// The view of a whole log.
pub fn project<'a, P: Projection>(log: impl IntoIterator<Item = &'a Envelope>) -> P {
    let mut view = P::default();
    for envelope in log {
        view.apply(envelope);
    }
    view
}
