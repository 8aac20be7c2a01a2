//! The store on disk: one redb file.
//!
//! - `check` finds out what a file is, before anything is written to it
//! - `gate` holds writes back until that is known, `create` makes a new file
//! - `table` says what lies where, `blob` keeps large contents
//! - `scribe` gathers appends into commits, `ledger` writes them, `read` reads pages
//! - `space` stops all writing before the disk is full

mod blob;
mod check;
mod create;
mod error;
mod gate;
mod ledger;
mod read;
mod scribe;
mod space;
mod table;

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use events::{Envelope, Hash, PodId, Position, Seq};
use redb::backends::FileBackend;
use redb::{Builder, Database, ReadTransaction, ReadableDatabase, StorageBackend};
use tokio::sync::watch;

use crate::clock::Clock;
use crate::committed::Committed;
use crate::log::{
    Append, AppendError, AppendLog, Attachment, PodHead, ReadError, ReadLog, Receipt, StoreFuture,
};
use check::Finding;
pub use error::OpenError;
use error::{TableError, guarded};
use gate::Gate;
use scribe::Scribe;
use space::Space;

/// Memory that redb keeps pages in. The system keeps them too, so a small cache costs little, and
/// an idle process stays small.
const CACHE_BYTES: usize = 16 * 1024 * 1024;

/// How a store that is no file is called in errors.
const NO_PATH: &str = "the storage backend";

/// A store in one file. Whoever holds it may append; readers get [`DiskStore::reader`].
pub struct DiskStore {
    shared: Arc<Shared>,
    scribe: Arc<Scribe>,
}

/// The half that reads, and all that the scribe shares with it.
struct Shared {
    /// `None` when the store has closed.
    database: RwLock<Option<Database>>,
    committed: Committed,
}

impl DiskStore {
    /// Opens the store at this path, and makes one where there is none. A file that is no store of
    /// this version, or that somebody has open, is left byte for byte as it is.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::open_with_clock(path, Clock::system())
    }

    /// The same, with a clock of one's own.
    pub fn open_with_clock(path: &Path, clock: Clock) -> Result<Self, OpenError> {
        let found = std::fs::metadata(path);
        let found = match found {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create::create(path, &clock)?;
                std::fs::metadata(path)
            }
            found => found,
        };
        let kind = found.map_err(OpenError::io("open", path))?.file_type();
        if !kind.is_file() {
            let what = if kind.is_dir() { "it is a directory" } else { "it is not a regular file" };
            return Err(Finding::Foreign(what.to_owned()).at(path));
        }
        let file =
            OpenOptions::new().read(true).write(true).open(path).map_err(OpenError::io("open", path))?;
        check::head(&file).map_err(OpenError::io("read", path))?.map_err(|finding| finding.at(path))?;
        let backend = FileBackend::new(file).map_err(|error| check::refused(error, path))?;
        Self::over(&Gate::shut(backend), path, clock, Space::around(path))
    }

    /// A store on something else than a file; an empty backend becomes a new store. For tests that
    /// lose power and for programs that keep bytes in their own way.
    pub fn with_backend(backend: impl StorageBackend, clock: Clock) -> Result<Self, OpenError> {
        let path = Path::new(NO_PATH);
        let new = backend.len().map_err(OpenError::io("read", path))? == 0;
        let gate = Gate::shut(backend);
        if new {
            gate.open().map_err(OpenError::io("write", path))?;
            let database = open_database(&gate, path)?;
            create::initialise(&database, &clock)
                .map_err(|error| OpenError::io("write", path)(error.into_io()))?;
            return Self::start(database, path, clock, Space::unknown());
        }
        Self::over(&gate, path, clock, Space::unknown())
    }

    fn over(gate: &Gate, path: &Path, clock: Clock, space: Space) -> Result<Self, OpenError> {
        let database = open_database(gate, path)?;
        guarded(|| check::identify(&database))
            .map_err(Finding::Damaged)
            .flatten()
            .map_err(|finding| finding.at(path))?;
        gate.open().map_err(OpenError::io("write to", path))?;
        Self::start(database, path, clock, space)
    }

    fn start(database: Database, path: &Path, clock: Clock, space: Space) -> Result<Self, OpenError> {
        let last = last_position(&database).map_err(|error| Finding::Damaged(error.to_string()).at(path))?;
        tracing::debug!(path = %path.display(), position = last.0, "opened the store");
        let shared =
            Arc::new(Shared { database: RwLock::new(Some(database)), committed: Committed::new(last) });
        let scribe = Scribe::new(Arc::clone(&shared), clock, space);
        Ok(Self { shared, scribe })
    }

    /// The reading half, for whoever only watches.
    pub fn reader(&self) -> Arc<dyn ReadLog> {
        Arc::<Shared>::clone(&self.shared)
    }

    /// Takes no more appends, waits for those that were taken, and lets go of the file. Reads fail
    /// from then on. Dropping the store does the same.
    ///
    /// It blocks for as long as a commit takes.
    pub fn close(&self) {
        self.scribe.stop();
        self.shared.committed.end();
        let database = self.shared.database.write().unwrap_or_else(PoisonError::into_inner).take();
        let closed = database.map(|database| guarded(|| database.close()));
        match closed {
            None | Some(Ok(Ok(()))) => {}
            // All that was acknowledged is durable; the next open repairs the rest.
            Some(Ok(Err(error))) => tracing::warn!(%error, "the store did not close cleanly"),
            Some(Err(error)) => tracing::warn!(error, "the store did not close cleanly"),
        }
    }
}

impl Drop for DiskStore {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for DiskStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DiskStore").finish_non_exhaustive()
    }
}

fn open_database(gate: &Gate, path: &Path) -> Result<Database, OpenError> {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES).set_repair_callback(|repair| {
        tracing::info!(progress = repair.progress(), "the store was not closed cleanly and is repaired");
    });
    guarded(|| builder.create_with_backend(gate.clone()))
        .map_err(|why| Finding::Damaged(why).at(path))?
        .map_err(|error| check::refused(error, path))
}

fn last_position(database: &Database) -> Result<Position, TableError> {
    table::last_position(&database.begin_read()?.open_table(table::LOG)?)
}

impl Shared {
    /// Readers share the lock and hold it for a page; a panic of one of them does not poison it.
    fn database(&self) -> RwLockReadGuard<'_, Option<Database>> {
        self.database.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads in a transaction of its own. A damaged page may make redb panic: that is an error of
    /// this read, and nobody else's.
    fn read_with<T, E>(&self, read: impl FnOnce(&ReadTransaction) -> Result<T, E>) -> Result<T, ReadError>
    where
        ReadError: From<E>,
    {
        let failed = |why: String| ReadError::Failed { why };
        let database = self.database();
        let database = database.as_ref().ok_or_else(|| failed("it is closed".to_owned()))?;
        guarded(|| {
            let txn = database.begin_read().map_err(TableError::from)?;
            Ok(read(&txn)?)
        })
        .map_err(failed)
        .flatten()
    }
}

impl ReadLog for Shared {
    fn head(&self, pod: PodId) -> Result<Option<PodHead>, ReadError> {
        self.read_with(|txn| read::head(txn, pod))
    }

    fn pods(&self) -> Result<Vec<PodHead>, ReadError> {
        self.read_with(read::pods)
    }

    fn read(&self, pod: PodId, from: Seq, events_max: usize) -> Result<Vec<Arc<Envelope>>, ReadError> {
        let mut events = Vec::new();
        let mut from = from.0.max(1);
        while events.len() < events_max {
            let rest = (events_max - events.len()) as u64;
            let page = self.read_with(|txn| read::page(txn, pod, from, rest))?;
            let read = page.len() as u64;
            events.extend(page);
            if read < rest.min(read::PAGE_EVENTS_MAX) {
                break;
            }
            from += read;
        }
        Ok(events)
    }

    fn content(&self, hash: Hash) -> Result<Option<Vec<u8>>, ReadError> {
        self.read_with(|txn| read::content(txn, hash))
    }

    fn committed(&self) -> watch::Receiver<Position> {
        self.committed.subscribe()
    }
}

impl ReadLog for DiskStore {
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

impl AppendLog for DiskStore {
    fn append(
        &self,
        appends: Vec<Append>,
        attachments: Vec<Attachment>,
    ) -> StoreFuture<'_, Result<Receipt, AppendError>> {
        Box::pin(self.scribe.append(appends, attachments))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use events::Draft;
    use events::event::turn::InputReceived;
    use redb::backends::InMemoryBackend;

    use super::*;

    #[tokio::test]
    async fn an_append_to_a_full_disk_is_refused_and_works_again_when_there_is_room() {
        let free = Arc::new(AtomicU64::new(space::FREE_BYTES_MIN));
        let told = Arc::clone(&free);
        let gate = Gate::shut(InMemoryBackend::new());
        gate.open().expect("opens");
        let path = Path::new(NO_PATH);
        let database = open_database(&gate, path).expect("makes a database");
        create::initialise(&database, &Clock::system()).expect("makes a store");
        let space = Space::new(move || Ok(told.load(Ordering::Relaxed)));
        let store = DiskStore::start(database, path, Clock::system(), space).expect("starts");

        let pod = PodId::from_bytes([1; 16]);
        let append = |expected| {
            let draft = Draft::new(InputReceived { text: "hello".into() });
            store.append(vec![Append { pod, expected: Seq(expected), drafts: vec![draft] }], Vec::new())
        };
        append(0).await.expect("there is room");
        free.store(space::FREE_BYTES_MIN - 1, Ordering::Relaxed);
        let refused = append(1).await;
        assert!(matches!(refused, Err(AppendError::Refused { .. })), "{refused:?}");
        free.store(space::FREE_BYTES_MIN, Ordering::Relaxed);
        append(1).await.expect("there is room again");
        assert_eq!(store.read(pod, Seq(1), 10).expect("reads").len(), 2);
    }
}
