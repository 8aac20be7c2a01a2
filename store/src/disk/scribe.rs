//! The scribe: the only writer.
//!
//! Whoever appends puts a request on the scribe's desk and waits for its answer. While a commit is
//! being synced, more requests gather; the next commit carries all of them, so the cost of a sync
//! is shared without anybody lingering for company.
//!
//! The scribe works on a thread, and only while there is something to write: within tokio on one
//! of its blocking threads, for which a paused clock waits, so that time in tests does not run
//! ahead of the disk; elsewhere on a thread of its own.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use events::{Envelope, Position};
use redb::Durability;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::Shared;
use super::error::{TableError, guarded};
use super::ledger::Ledger;
use super::space::Space;
use crate::clock::Clock;
use crate::limits::{BATCH_APPENDS_MAX, BATCH_BYTES_MAX, QUEUE_APPENDS_MAX};
use crate::log::{Append, AppendError, Attachment, Receipt};

type Answer = Result<Receipt, AppendError>;

/// Takes appends and answers when they are durable.
pub(super) struct Scribe {
    shared: Arc<Shared>,
    clock: Clock,
    space: Space,
    desk: Mutex<Desk>,
    /// Told when the scribe stops writing.
    rest: Condvar,
    /// Places on the desk.
    places: Arc<Semaphore>,
}

#[derive(Default)]
struct Desk {
    waiting: VecDeque<Request>,
    /// A thread is at work, or about to be.
    writing: bool,
    /// Why nothing more is taken.
    closed: Option<String>,
}

struct Request {
    appends: Vec<Append>,
    attachments: Vec<Attachment>,
    reply: Reply,
}

/// Where the answer goes. The place on the desk is free again when it has been given.
struct Reply {
    to: oneshot::Sender<Answer>,
    _place: OwnedSemaphorePermit,
}

impl Reply {
    fn give(self, answer: Answer) {
        // Whoever asked may have gone; the append stands all the same.
        let _ = self.to.send(answer);
    }
}

/// A request that the commit under way has judged.
struct Judged {
    reply: Reply,
    /// `None` while it is being written.
    outcome: Option<Result<Vec<Arc<Envelope>>, AppendError>>,
}

impl Scribe {
    pub(super) fn new(shared: Arc<Shared>, clock: Clock, space: Space) -> Arc<Self> {
        let places = Arc::new(Semaphore::new(QUEUE_APPENDS_MAX));
        Arc::new(Self { shared, clock, space, desk: Mutex::default(), rest: Condvar::new(), places })
    }

    pub(super) async fn append(
        self: &Arc<Self>,
        appends: Vec<Append>,
        attachments: Vec<Attachment>,
    ) -> Answer {
        let Ok(place) = Arc::clone(&self.places).acquire_owned().await else { return Err(self.closed()) };
        let (to, answer) = oneshot::channel();
        self.hand_in(Request { appends, attachments, reply: Reply { to, _place: place } })?;
        answer.await.unwrap_or_else(|_| {
            Err(AppendError::OutcomeUnknown { why: "the thread that writes ended without an answer".into() })
        })
    }

    /// Takes nothing more, waits until all that was taken is answered.
    pub(super) fn stop(&self) {
        let mut desk = self.desk();
        desk.closed.get_or_insert_with(|| "it was closed".to_owned());
        self.places.close();
        while desk.writing {
            desk = self.rest.wait(desk).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A panic while the lock was held left no half-made desk: all that is done under it is to put
    /// a request on and to take one off.
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn closed(&self) -> AppendError {
        let why = self.desk().closed.clone();
        AppendError::Closed { why: why.unwrap_or_else(|| "it was closed".to_owned()) }
    }

    fn hand_in(self: &Arc<Self>, request: Request) -> Result<(), AppendError> {
        let mut desk = self.desk();
        if let Some(why) = &desk.closed {
            return Err(AppendError::Closed { why: why.clone() });
        }
        desk.waiting.push_back(request);
        let idle = !std::mem::replace(&mut desk.writing, true);
        drop(desk);
        if idle {
            Shift { scribe: Arc::clone(self), ended: false }.begin();
        }
        Ok(())
    }

    /// The next request; without one the scribe rests from here on.
    fn next_or_rest(&self) -> Option<Request> {
        let mut desk = self.desk();
        let next = desk.waiting.pop_front();
        if next.is_none() {
            desk.writing = false;
            self.rest.notify_all();
        }
        next
    }

    fn write_batch(&self, first: Request) {
        let begun = Instant::now();
        let mut judged = Vec::new();
        let written = guarded(|| self.commit(first, &mut judged));
        match written.map_err(TableError::Damaged).flatten() {
            Ok(last) => {
                let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
                tracing::debug!(appends = judged.len(), position = last.0, micros, "committed");
                self.shared.committed.advance(last);
                for Judged { reply, outcome } in judged {
                    let outcome = outcome.expect("every request of a commit that ended well was judged");
                    reply.give(outcome.map(Receipt::new));
                }
            }
            Err(error) => self.fail(judged, &error),
        }
    }

    /// Judges `first` and what else waits, and commits it. Those that are refused spoil nothing.
    fn commit(&self, first: Request, judged: &mut Vec<Judged>) -> Result<Position, TableError> {
        let database = self.shared.database();
        let database = database.as_ref().ok_or_else(|| TableError::Damaged("the store is closed".into()))?;
        let mut next = Some(first);
        let mut judge = |request: Request, ledger: &mut Ledger<'_>| {
            let Request { appends, attachments, reply } = request;
            judged.push(Judged { reply, outcome: None });
            let outcome = ledger.append(appends, &attachments, self.clock.now())?;
            if let Some(last) = judged.last_mut() {
                last.outcome = Some(outcome);
            }
            Ok::<_, TableError>(judged.len())
        };
        let mut txn = database.begin_write()?;
        txn.set_durability(Durability::Immediate)?;
        txn.set_two_phase_commit(true);
        txn.set_quick_repair(true);
        let mut ledger = Ledger::open(&txn)?;
        while let Some(request) = next.take() {
            let appends = judge(request, &mut ledger)?;
            if appends < BATCH_APPENDS_MAX && ledger.written_bytes() < BATCH_BYTES_MAX {
                next = self.desk().waiting.pop_front();
            }
        }
        let (last, written_bytes) = (ledger.last(), ledger.written_bytes());
        drop(ledger);
        if written_bytes == 0 {
            txn.abort()?;
        } else {
            txn.commit()?;
        }
        Ok(last)
    }

    /// After a failure nobody knows what the file holds until it is opened again.
    fn fail(&self, judged: Vec<Judged>, error: &TableError) {
        tracing::error!(%error, appends = judged.len(), "the store failed and takes nothing more");
        let waiting = {
            let mut desk = self.desk();
            desk.closed = Some(format!("it failed: {error}"));
            std::mem::take(&mut desk.waiting)
        };
        self.places.close();
        self.shared.committed.end();
        let replies = judged.into_iter().map(|judged| judged.reply);
        for reply in replies.chain(waiting.into_iter().map(|request| request.reply)) {
            reply.give(Err(AppendError::OutcomeUnknown { why: error.to_string() }));
        }
    }
}

/// One stretch of work, from the first request until the desk is empty.
struct Shift {
    scribe: Arc<Scribe>,
    ended: bool,
}

impl Shift {
    fn begin(self) {
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn_blocking(|| self.work());
        } else {
            // If there is no thread to be had, the shift is dropped and says so.
            let _ = std::thread::Builder::new().name("podwork-scribe".into()).spawn(|| self.work());
        }
    }

    fn work(mut self) {
        while let Some(request) = self.scribe.next_or_rest() {
            match self.scribe.space.shortage() {
                None => self.scribe.write_batch(request),
                Some(why) => {
                    tracing::warn!(why, "refused an append");
                    request.reply.give(Err(AppendError::Refused { why }));
                }
            }
        }
        self.ended = true;
    }
}

impl Drop for Shift {
    /// A runtime that shuts down drops work that it has not begun.
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let waiting = {
            let mut desk = self.scribe.desk();
            desk.writing = false;
            self.scribe.rest.notify_all();
            std::mem::take(&mut desk.waiting)
        };
        for request in waiting {
            let why = "there is no thread to write on".to_owned();
            request.reply.give(Err(AppendError::Closed { why }));
        }
    }
}
