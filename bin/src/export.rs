//! Logs as text: one envelope a line, exactly as `log --json` shows it. Nothing is lost: importing
//! the lines gives the same events.

use std::borrow::Borrow;

use events::Envelope;

/// The lines of a log, without line ends.
pub(crate) fn lines<E: Borrow<Envelope>>(log: impl IntoIterator<Item = E>) -> impl Iterator<Item = String> {
    log.into_iter().map(|envelope| {
        serde_json::to_string(envelope.borrow()).expect("an envelope is plain values and memory takes them")
    })
}
