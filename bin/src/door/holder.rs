//! This process holds the store: it answers its own command, and those of other processes through
//! the socket, until all of them have their answers.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use actors::Runtime;
use store::DiskStore;
use tokio::io::BufReader;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::line;
use super::protocol::{Answer, Control, Hello, PROTOCOL, Request};
use super::socket::{SocketPath, check_peer};
use super::{Exchange, Problem};
use crate::answer::{ANSWERS_MAX, CONTROLS_MAX, Line, answer, stay};
use crate::office::Office;

/// How long those who follow logs have to hear that the store is let go of.
const FAREWELL_WAIT: Duration = Duration::from_secs(1);

/// How long a process that has connected may take to say what it wants.
const HELLO_WAIT: Duration = Duration::from_secs(10);

/// A pause after the system refused a connection, so that a full table of files is not asked
/// again and again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The store, the actors and the socket.
pub(crate) struct Holder {
    store: Arc<DiskStore>,
    office: Arc<Office>,
    socket: SocketPath,
    listening: Option<JoinHandle<()>>,
}

impl Holder {
    /// Starts the actors over the store, and listens beside it.
    pub(super) async fn start(store: DiskStore, socket: SocketPath) -> Result<Self, Problem> {
        let reader = store.reader();
        let store = Arc::new(store);
        let runtime = Runtime::builder(reader, Arc::<DiskStore>::clone(&store)).start().await;
        let runtime = runtime.map_err(|error| Problem::failed(error.to_string()))?;
        let office = Arc::new(Office::new(runtime));
        // Without a socket this process works all the same; others are told who holds the store.
        let listening = match socket.listen() {
            Ok(listener) => Some(tokio::spawn(listen(listener, Arc::clone(&office)))),
            Err(error) => {
                let path = socket.path().display();
                tracing::warn!(%path, %error, "no socket: other podwork processes cannot attach");
                None
            }
        };
        Ok(Self { store, office, socket, listening })
    }

    /// Answers a request of this process.
    pub(super) fn ask(&self, request: Request) -> Exchange {
        let (answers, incoming) = mpsc::channel(ANSWERS_MAX);
        let (outgoing, controls) = mpsc::channel(CONTROLS_MAX);
        let office = Arc::clone(&self.office);
        tokio::spawn(async move {
            // An office that is being left is left by this process itself, after its last request.
            if let Some(_served) = office.begin(stay(&request)) {
                answer(request, &office, Line::new(answers, controls)).await;
            }
        });
        Exchange { answers: incoming, controls: outgoing }
    }

    pub(super) fn office(&self) -> Arc<Office> {
        Arc::clone(&self.office)
    }

    /// Waits until nobody needs the store, and lets go of it.
    pub(super) async fn leave(self) {
        self.office.leave().await;
        // One that does not listen is not waited for.
        let _ = tokio::time::timeout(FAREWELL_WAIT, self.office.followers_told()).await;
        if let Some(listening) = self.listening {
            listening.abort();
            // The lock is still held: no other process has made a socket in the meantime.
            if let Err(error) = self.socket.remove() {
                tracing::warn!(%error, "the socket could not be taken away");
            }
        }
        self.office.runtime.shutdown().await;
        self.store.close();
    }
}

async fn listen(listener: UnixListener, office: Arc<Office>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let office = Arc::clone(&office);
                tokio::spawn(async move {
                    if let Err(error) = serve(stream, &office).await {
                        tracing::debug!(%error, "a process that was attached has gone");
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Serves one connection: one request, its answers, and controls in between.
async fn serve(stream: UnixStream, office: &Office) -> io::Result<()> {
    check_peer(&stream)?;
    let (reading, mut writing) = stream.into_split();
    let mut reading = BufReader::new(reading);
    let hello = tokio::time::timeout(HELLO_WAIT, line::read::<serde_json::Value>(&mut reading)).await;
    let Some(hello) = hello.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?? else { return Ok(()) };
    let request = match request_of(hello) {
        Ok(request) => request,
        Err(problem) => return line::write(&mut writing, &Answer::Error { problem }).await,
    };
    // Whoever is not begun with hears nothing, and knows that it may ask somebody else.
    let Some(_served) = office.begin(stay(&request)) else { return Ok(()) };
    line::write(&mut writing, &Answer::Accepted).await?;
    let (answers, mut outgoing) = mpsc::channel(ANSWERS_MAX);
    let (incoming, controls) = mpsc::channel(CONTROLS_MAX);
    let writer = async move {
        while let Some(next) = outgoing.recv().await {
            if line::write(&mut writing, &next).await.is_err() {
                // Nobody reads any more; the work goes on.
                return;
            }
        }
    };
    let reader = tokio::spawn(async move {
        while let Ok(Some(control)) = line::read::<Control>(&mut reading).await {
            if incoming.send(control).await.is_err() {
                return;
            }
        }
    });
    tokio::join!(writer, answer(request, office, Line::new(answers, controls)));
    reader.abort();
    Ok(())
}

/// The request of a process that speaks as we do.
fn request_of(hello: serde_json::Value) -> Result<Request, Problem> {
    let protocol = hello.get("protocol").and_then(serde_json::Value::as_u64);
    if protocol != Some(u64::from(PROTOCOL)) {
        let text = "the process that holds the store is another version of podwork";
        return Err(Problem::store(text).hint("Wait until it has ended, or use the same version."));
    }
    serde_json::from_value::<Hello>(hello).map(|hello| hello.request).map_err(|error| {
        Problem::store(format!("the process that holds the store does not understand: {error}"))
    })
}
