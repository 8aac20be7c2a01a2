//! A store for as long as the process lives: for tests, and for programs that want no file.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use events::{Envelope, Hash, PodId, Position, Seq};
use tokio::sync::watch;

use crate::clock::Clock;
use crate::committed::Committed;
use crate::log::{
    Append, AppendError, AppendLog, Attachment, PodHead, ReadError, ReadLog, Receipt, StoreFuture,
};
use crate::place::{Placed, Start, place};

/// A store in memory. It keeps the same promises as the one on disk, but for surviving.
#[derive(Debug)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: RwLock<State>,
    committed: Committed,
    clock: Clock,
}

#[derive(Debug, Default)]
struct State {
    logs: Vec<Log>,
    names: HashMap<PodId, usize>,
    contents: HashMap<Hash, Vec<u8>>,
    last: Position,
    closed: bool,
}

/// One pod's own events; what a fork shares is read from where it lies.
#[derive(Debug)]
struct Log {
    pod: PodId,
    shared: Option<Past>,
    events: Vec<Arc<Envelope>>,
}

/// The past of a fork: another log up to one of its events.
#[derive(Clone, Copy, Debug)]
struct Past {
    log: usize,
    at: Seq,
}

impl Log {
    fn start(&self) -> Seq {
        self.shared.map_or(Seq(1), |past| past.at.next())
    }

    fn head(&self) -> Option<PodHead> {
        let (first, last) = (self.events.first()?, self.events.last()?);
        Some(PodHead { pod: self.pod, seq: last.seq(), first: first.position(), last: last.position() })
    }
}

impl MemoryStore {
    /// An empty store with the system's clock.
    pub fn new() -> Self {
        Self::with_clock(Clock::system())
    }

    /// An empty store with a clock of one's own.
    pub fn with_clock(clock: Clock) -> Self {
        let committed = Committed::new(Position(0));
        Self { shared: Arc::new(Shared { state: RwLock::default(), committed, clock }) }
    }

    /// Takes no more events and tells those who follow that none will come. Dropping the store
    /// does the same.
    pub fn close(&self) {
        self.shared.state.write().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.shared.committed.end();
    }

    /// The reading half, for whoever only watches.
    pub fn reader(&self) -> Arc<dyn ReadLog> {
        Arc::<Shared>::clone(&self.shared)
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.close();
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Shared {
    /// A panic while the lock was held cannot leave half an append behind: all of it is judged and
    /// encoded before the first event is put in.
    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, appends: Vec<Append>, attachments: Vec<Attachment>) -> Result<Receipt, AppendError> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.closed {
            return Err(AppendError::Closed { why: "it was closed".into() });
        }
        let start = Start { position: state.last.next(), at: self.clock.now() };
        let placed = place(appends, &attachments, start, |pod| {
            Ok::<_, Infallible>(state.log(pod).and_then(Log::head).map(|head| head.seq))
        });
        let Ok(placed) = placed;
        let placed = placed?;
        for attachment in attachments {
            state.contents.entry(attachment.hash()).or_insert_with(|| attachment.bytes().to_vec());
        }
        let receipt = Receipt::new(placed.iter().map(|placed| Arc::clone(&placed.envelope)).collect());
        for event in placed {
            state.put(event);
        }
        // Under the lock, so that the positions that are told never go back.
        self.committed.advance(state.last);
        Ok(receipt)
    }
}

impl State {
    fn log(&self, pod: PodId) -> Option<&Log> {
        self.names.get(&pod).map(|&number| &self.logs[number])
    }

    fn put(&mut self, placed: Placed) {
        let Placed { envelope, record, fork } = placed;
        for (hash, bytes) in record.contents {
            self.contents.entry(hash).or_insert(bytes);
        }
        self.last = envelope.position();
        let pod = envelope.pod();
        let number = self.names.get(&pod).copied().unwrap_or_else(|| {
            let shared = fork.map(|(from, at)| Past { log: self.names[&from], at });
            self.logs.push(Log { pod, shared, events: Vec::new() });
            self.names.insert(pod, self.logs.len() - 1);
            self.logs.len() - 1
        });
        self.logs[number].events.push(envelope);
    }

    /// The event at this place of the log, its shared past included.
    fn event(&self, log: &Log, seq: Seq) -> Option<Arc<Envelope>> {
        let mut log = log;
        while seq < log.start() {
            log = &self.logs[log.shared?.log];
        }
        let place = usize::try_from(seq.0 - log.start().0).ok()?;
        log.events.get(place).map(Arc::clone)
    }
}

impl ReadLog for Shared {
    fn head(&self, pod: PodId) -> Result<Option<PodHead>, ReadError> {
        Ok(self.state().log(pod).and_then(Log::head))
    }

    fn pods(&self) -> Result<Vec<PodHead>, ReadError> {
        Ok(self.state().logs.iter().filter_map(Log::head).collect())
    }

    fn read(&self, pod: PodId, from: Seq, events_max: usize) -> Result<Vec<Arc<Envelope>>, ReadError> {
        let state = self.state();
        let Some(log) = state.log(pod) else { return Ok(Vec::new()) };
        let from = from.max(Seq(1)).0;
        Ok((from..=u64::MAX).take(events_max).map_while(|seq| state.event(log, Seq(seq))).collect())
    }

    fn content(&self, hash: Hash) -> Result<Option<Vec<u8>>, ReadError> {
        Ok(self.state().contents.get(&hash).cloned())
    }

    fn committed(&self) -> watch::Receiver<Position> {
        self.committed.subscribe()
    }
}

impl ReadLog for MemoryStore {
    fn head(&self, pod: PodId) -> Result<Option<PodHead>, ReadError> {
        self.shared.head(pod)
    }

    fn pods(&self) -> Result<Vec<PodHead>, ReadError> {
        self.shared.pods()
    }

    fn read(&self, pod: PodId, from: Seq, events_max: usize) -> Result<Vec<Arc<Envelope>>, ReadError> {
        self.shared.read(pod, from, events_max)
    }

    fn content(&self, hash: Hash) -> Result<Option<Vec<u8>>, ReadError> {
        self.shared.content(hash)
    }

    fn committed(&self) -> watch::Receiver<Position> {
        self.shared.committed()
    }
}

impl AppendLog for MemoryStore {
    fn append(
        &self,
        appends: Vec<Append>,
        attachments: Vec<Attachment>,
    ) -> StoreFuture<'_, Result<Receipt, AppendError>> {
        Box::pin(async move { self.shared.append(appends, attachments) })
    }
}
