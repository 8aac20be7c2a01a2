//! Logs as text for others: losslessly, one envelope a line exactly as `log --json` shows it, or
//! the conversation alone in a form that many programs read.

use std::borrow::Borrow;

use events::Envelope;

mod messages;

pub(crate) use messages::messages;

/// The lines of a log, without line ends. Importing them gives the same events.
pub(crate) fn lines<E: Borrow<Envelope>>(log: impl IntoIterator<Item = E>) -> impl Iterator<Item = String> {
    log.into_iter().map(|envelope| {
        serde_json::to_string(envelope.borrow()).expect("an envelope is plain values and memory takes them")
    })
}
