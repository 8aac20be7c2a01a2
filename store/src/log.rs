//! What every store promises. The conformance suite in `tests/kit` says the same as tests.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use events::{Draft, Envelope, Hash, PodId, Position, Seq};
use tokio::sync::watch;

/// A future that a store returns.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Events that are to follow one pod's log.
///
/// A log whose first draft is `pod_forked` begins right after the event that it names: its past is
/// read from the other pod's log and is not copied, and `expected` is that event's place.
#[derive(Clone, Debug, PartialEq)]
pub struct Append {
    /// The pod.
    pub pod: PodId,
    /// The place of the last event that the writer knows; zero for a new log.
    pub expected: Seq,
    /// What follows it.
    pub drafts: Vec<Draft>,
}

/// Bytes that an event names by their hash and that are kept once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    hash: Hash,
    bytes: Vec<u8>,
}

impl Attachment {
    /// Bytes under their hash.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { hash: Hash::of(&bytes), bytes }
    }

    /// BLAKE3 of the bytes: what an event names them by.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Proof that an append is durable: whatever has an effect asks for one.
#[derive(Clone, Debug)]
pub struct Receipt {
    envelopes: Arc<[Arc<Envelope>]>,
}

impl Receipt {
    /// Stores make receipts, after the commit.
    pub(crate) fn new(envelopes: Vec<Arc<Envelope>>) -> Self {
        Self { envelopes: envelopes.into() }
    }

    /// The events as they now stand in the log, in the order of the drafts.
    pub fn envelopes(&self) -> &[Arc<Envelope>] {
        &self.envelopes
    }
}

/// Why nothing, or nobody knows what, was appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The log is not where the writer thinks. Nothing was appended.
    #[error("the log of pod {pod} stands at {actual}, not at {expected}: somebody else wrote to it")]
    Conflict {
        /// The pod.
        pod: PodId,
        /// What the writer thought.
        expected: Seq,
        /// Where the log stands.
        actual: Seq,
    },
    /// The append breaks a limit or a rule. Nothing was appended.
    #[error("{why}")]
    Refused {
        /// What is wrong with it.
        why: String,
    },
    /// The store failed while it wrote. The events may be in the log or not; the store takes
    /// nothing more until it is opened again.
    #[error("the store failed while writing, and whether the events are kept is unknown: {why}")]
    OutcomeUnknown {
        /// What failed.
        why: String,
    },
    /// The store failed before or was closed. Nothing was appended.
    #[error("the store takes no more events: {why}")]
    Closed {
        /// What happened to it.
        why: String,
    },
}

/// Why a log could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A record is not what was written.
    #[error("event {seq} of pod {pod} is damaged: {why}")]
    Damaged {
        /// The pod.
        pod: PodId,
        /// The place.
        seq: Seq,
        /// What is wrong.
        why: String,
    },
    /// A record of a newer version of podwork.
    #[error("event {seq} of pod {pod} cannot be read by this version of podwork: {why}")]
    Newer {
        /// The pod.
        pod: PodId,
        /// The place.
        seq: Seq,
        /// What is new.
        why: String,
    },
    /// The store could not be read at all.
    #[error("the store could not be read: {why}")]
    Failed {
        /// What failed.
        why: String,
    },
}

/// Where a pod's log stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodHead {
    /// The pod.
    pub pod: PodId,
    /// Its last event.
    pub seq: Seq,
    /// The place of its first own event among all events of the store: pods sort by it.
    pub first: Position,
    /// The place of its last event among all events of the store.
    pub last: Position,
}

/// Reading. The calls block for as long as a page of the log takes to read.
pub trait ReadLog: Send + Sync + 'static {
    /// Where the pod's log stands; `None` when there is no such pod.
    fn head(&self, pod: PodId) -> Result<Option<PodHead>, ReadError>;

    /// All pods, in the order in which they were opened.
    fn pods(&self) -> Result<Vec<PodHead>, ReadError>;

    /// At most `events_max` events of the pod's log from `from` on, the shared past of a fork
    /// included. Fewer than asked for means that the log ends there.
    fn read(&self, pod: PodId, from: Seq, events_max: usize) -> Result<Vec<Arc<Envelope>>, ReadError>;

    /// The bytes under this hash; `None` when there are none.
    fn content(&self, hash: Hash) -> Result<Option<Vec<u8>>, ReadError>;

    /// The position of the last durable event, as it moves.
    fn committed(&self) -> watch::Receiver<Position>;
}

/// Writing: the only way into the log.
pub trait AppendLog: Send + Sync + 'static {
    /// Appends to one or several logs and attaches bytes, all or nothing, and answers when it is
    /// durable. Each event gets the next place of its log.
    ///
    /// Whoever drops the future gives up the answer, not the append: it may still be carried out.
    fn append(
        &self,
        appends: Vec<Append>,
        attachments: Vec<Attachment>,
    ) -> StoreFuture<'_, Result<Receipt, AppendError>>;
}
