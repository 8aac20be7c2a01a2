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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::task::{Context, Poll, Waker};

    use events::envelope::Place;
    use events::event::turn::InputReceived;
    use events::{Draft, Hash, Timestamp};

    use super::*;
    use crate::log::PodHead;

    /// A log that gets its next event right after each read that finds none: in the moment
    /// between catching up and waiting.
    struct Late {
        events: AtomicU64,
        committed: watch::Sender<Position>,
    }

    impl ReadLog for Late {
        fn head(&self, _: PodId) -> Result<Option<PodHead>, ReadError> {
            Ok(None)
        }

        fn pods(&self) -> Result<Vec<PodHead>, ReadError> {
            Ok(Vec::new())
        }

        fn read(&self, pod: PodId, from: Seq, _: usize) -> Result<Vec<Arc<Envelope>>, ReadError> {
            let events = self.events.load(Ordering::Relaxed);
            let page: Vec<_> = (from.0..=events)
                .map(|seq| {
                    let draft = Draft::new(InputReceived { text: String::new() });
                    let (seq, position, at) = (Seq(seq), Position(seq), Timestamp::default());
                    Arc::new(Envelope::seal(draft, Place { pod, seq, position, at }))
                })
                .collect();
            if page.is_empty() {
                self.events.store(events + 1, Ordering::Relaxed);
                self.committed.send_replace(Position(events + 1));
            }
            Ok(page)
        }

        fn content(&self, _: Hash) -> Result<Option<Vec<u8>>, ReadError> {
            Ok(None)
        }

        fn committed(&self) -> watch::Receiver<Position> {
            self.committed.subscribe()
        }
    }

    #[test]
    fn what_is_appended_between_the_read_and_the_wait_is_not_missed() {
        let late = Late { events: AtomicU64::new(0), committed: watch::Sender::new(Position(0)) };
        let mut follow = Follow::new(Arc::new(late), PodId::from_bytes([1; 16]), Seq(1));
        for seq in 1..=10 {
            let next = std::pin::pin!(follow.next());
            let polled = next.poll(&mut Context::from_waker(Waker::noop()));
            let Poll::Ready(Some(Ok(event))) = polled else { panic!("event {seq} is missed: {polled:?}") };
            assert_eq!(event.seq(), Seq(seq));
        }
    }
}
