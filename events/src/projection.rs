//! Views of a log: folds that can be thrown away and folded again.

use crate::Envelope;

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
