//! Reading along: first what is there, then what comes.

use std::collections::VecDeque;
use std::sync::Arc;

use events::{Envelope, PodId, Position, Seq};
use tokio::sync::watch;

use crate::log::{ReadError, ReadLog};

/// A pod's log from a place on: first what is there, then what is appended, nothing twice and
/// nothing missed.
pub struct Follow {
    log: Arc<dyn ReadLog>,
    pod: PodId,
    next: Seq,
    page: VecDeque<Arc<Envelope>>,
    committed: watch::Receiver<Position>,
}

impl Follow {
    /// Events read from the store at a time.
    const PAGE_EVENTS_MAX: usize = 256;

    /// Follows the pod's log from `from` on.
    pub fn new(log: Arc<dyn ReadLog>, pod: PodId, from: Seq) -> Self {
        let committed = log.committed();
        Self { log, pod, next: from.max(Seq(1)), page: VecDeque::new(), committed }
    }

    /// The next event, as soon as it is durable; `None` when the store has closed.
    pub async fn next(&mut self) -> Option<Result<Arc<Envelope>, ReadError>> {
        loop {
            if let Some(envelope) = self.page.pop_front() {
                self.next = envelope.seq().next();
                return Some(Ok(envelope));
            }
            // Marked as seen before the read: what is committed after it wakes the wait below.
            self.committed.borrow_and_update();
            match self.log.read(self.pod, self.next, Self::PAGE_EVENTS_MAX) {
                Ok(page) => self.page = page.into(),
                Err(error) => return Some(Err(error)),
            }
            if self.page.is_empty() && self.committed.changed().await.is_err() {
                return None;
            }
        }
    }
}
