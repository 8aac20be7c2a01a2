//! The way to the store: this process holds it, or talks to the one that does.
//!
//! ```text
//!   command ── Request ──▶ Door ──▶ holder: answers here, and listens beside the store
//!           ◀── Answer ───      └──▶ guest: PATH.sock of the process that holds the store
//! ```
//!
//! The lock on the store's file decides who holds it. Whoever is refused the lock is a guest; when
//! the holder leaves, the next request takes the lock.

use std::path::{Path, PathBuf};
use std::time::Duration;

use store::{DiskStore, OpenError};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::exit::Problem;

mod guest;
mod holder;
mod line;
mod lock;
pub(crate) mod protocol;
mod socket;

use guest::Refusal;
use holder::Holder;
use protocol::{Answer, Control, Request};
use socket::SocketPath;

/// How long the store may be locked while nobody answers at its socket: its holder may be just
/// starting or just leaving.
const HOLDER_WAIT: Duration = Duration::from_secs(3);

/// How often that is looked at.
const HOLDER_POLL: Duration = Duration::from_millis(20);

/// What a command needs of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// A store, made if there is none.
    Made,
    /// A store that is there.
    There,
}

/// Answers as they come, and a way to end the work.
pub(crate) struct Exchange {
    /// The answers; the last one is a result or an error.
    pub(crate) answers: mpsc::Receiver<Answer>,
    /// To the side that works.
    pub(crate) controls: mpsc::Sender<Control>,
}

impl Exchange {
    /// The next answer, if it is there already.
    pub(crate) fn at_once(&mut self) -> Option<Answer> {
        self.answers.try_recv().ok()
    }
}

/// The way to a store.
pub(crate) struct Door {
    store: PathBuf,
    holder: Option<Holder>,
}

impl Door {
    /// The way to the store at this path. Nothing is opened before the first request.
    pub(crate) fn new(store: PathBuf) -> Self {
        Self { store, holder: None }
    }

    /// There is a store at the path.
    pub(crate) fn is_there(&self) -> bool {
        self.store.try_exists().unwrap_or(true)
    }

    /// Asks, of this process or of the one that holds the store.
    pub(crate) async fn ask(&mut self, request: &Request, need: Need) -> Result<Exchange, Problem> {
        let deadline = Instant::now() + HOLDER_WAIT;
        loop {
            if let Some(holder) = &self.holder {
                return Ok(holder.ask(request.clone()));
            }
            match open(&self.store, need) {
                Ok(store) => {
                    self.holder = Some(Holder::start(store, SocketPath::of(&self.store)).await?);
                    continue;
                }
                Err(Refused::Problem(problem)) => return Err(problem),
                Err(Refused::Locked) => {}
            }
            match guest::ask(&SocketPath::of(&self.store), request).await {
                Ok(exchange) => return Ok(exchange),
                Err(Refusal::Problem(problem)) => return Err(problem),
                Err(Refusal::NobodyThere) if Instant::now() >= deadline => return Err(self.locked()),
                Err(Refusal::NobodyThere) => tokio::time::sleep(HOLDER_POLL).await,
            }
        }
    }

    /// What ends all turns that run here as cancelled, even while the door is being closed.
    pub(crate) fn cancel_all(&self) -> impl Fn() + use<> {
        let office = self.holder.as_ref().map(Holder::office);
        move || {
            if let Some(office) = &office {
                office.cancel_all();
            }
        }
    }

    /// Waits for the requests of other processes, and lets go of the store.
    pub(crate) async fn close(&mut self) {
        if let Some(holder) = self.holder.take() {
            holder.leave().await;
        }
    }

    fn locked(&self) -> Problem {
        let store = self.store.display();
        let problem = match lock::holder(&self.store) {
            Some(process) => Problem::store(format!(
                "the store {store} is in use by process {process}, which does not answer at its socket"
            ))
            .hint(format!(
                "It may be suspended or of another version: see `ps -p {process}`, then end it or wait."
            )),
            None => Problem::store(format!(
                "the store {store} is in use by another process, which does not answer at its socket"
            )),
        };
        problem.hint("What it wrote is safe. Another store is chosen with --store PATH.")
    }
}

enum Refused {
    Locked,
    Problem(Problem),
}

fn open(path: &Path, need: Need) -> Result<DiskStore, Refused> {
    match (path.try_exists().unwrap_or(true), need) {
        (true, _) => {}
        (false, Need::There) => {
            let text = format!("there is no store at {} yet, and so no pod", path.display());
            return Err(Refused::Problem(Problem::usage(text).hint("`podwork run` makes one.")));
        }
        (false, Need::Made) => make_directory(path).map_err(Refused::Problem)?,
    }
    DiskStore::open(path).map_err(|error| match error {
        OpenError::Locked { .. } => Refused::Locked,
        OpenError::Foreign { .. }
        | OpenError::Newer { .. }
        | OpenError::Damaged { .. }
        | OpenError::Io { .. } => Refused::Problem(Problem::store(error.to_string())),
    })
}

/// The directory of a store that is about to be made: what a session says is its owner's only.
fn make_directory(store: &Path) -> Result<(), Problem> {
    use std::os::unix::fs::DirBuilderExt as _;
    let Some(directory) = store.parent() else { return Ok(()) };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|error| {
        let text = format!("the directory {} for the store cannot be made: {error}", directory.display());
        Problem::store(text)
    })
}
