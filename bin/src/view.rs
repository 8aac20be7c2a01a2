//! What commands show, computed from logs by whoever holds the store, and small enough to be sent
//! to another process.

use std::sync::Arc;

use events::{Envelope, PodId, Seq};
use store::ReadLog;

use crate::exit::Problem;

pub(crate) mod context;
pub(crate) mod pods;
pub(crate) mod turn;
pub(crate) mod usage;

/// Events read from the store at a time.
const PAGE_EVENTS_MAX: usize = 512;

/// Passes the events of a log from `from` on to `take`, page by page, until the log ends or `take`
/// says no.
pub(crate) fn each_event(
    log: &dyn ReadLog,
    pod: PodId,
    from: Seq,
    mut take: impl FnMut(&Arc<Envelope>) -> bool,
) -> Result<(), Problem> {
    let mut next = from;
    loop {
        let page = log.read(pod, next, PAGE_EVENTS_MAX)?;
        for envelope in &page {
            if !take(envelope) {
                return Ok(());
            }
        }
        match page.last() {
            Some(last) if page.len() == PAGE_EVENTS_MAX => next = last.seq().next(),
            _ => return Ok(()),
        }
    }
}
