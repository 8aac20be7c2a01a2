//! Another process holds the store: it is asked through its socket.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncBufRead, BufReader};
use tokio::sync::mpsc;

use super::protocol::{Answer, Control, Hello, PROTOCOL, Request};
use super::socket::SocketPath;
use super::{Exchange, line};
use crate::answer::{ANSWERS_MAX, CONTROLS_MAX};
use crate::exit::Problem;

/// How long the holder may take to say that it has begun.
const ACCEPT_WAIT: Duration = Duration::from_secs(5);

/// Why a request was not begun with.
#[derive(Debug)]
pub(super) enum Refusal {
    /// Nobody listens, or it is about to leave.
    NobodyThere,
    /// It said no.
    Problem(Problem),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        tracing::debug!(%error, "the holder of the store was not reached");
        Self::NobodyThere
    }
}

/// Asks the process that listens. Once it has said that it has begun, the request is its own and
/// is not asked again elsewhere.
pub(super) async fn ask(socket: &SocketPath, request: &Request) -> Result<Exchange, Refusal> {
    let stream = match socket.connect().await {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(Refusal::Problem(Problem::store(format!(
                "the socket {} of the process that holds the store may not be used: {error}",
                socket.path().display()
            ))));
        }
        stream => stream?,
    };
    let (reading, mut writing) = stream.into_split();
    let mut reading = BufReader::new(reading);
    let hello = Hello { protocol: PROTOCOL, request: request.clone() };
    line::write(&mut writing, &hello).await?;
    let first = tokio::time::timeout(ACCEPT_WAIT, line::read::<Answer>(&mut reading)).await;
    match first.map_err(|_| Refusal::NobodyThere)?? {
        Some(Answer::Accepted) => {}
        Some(Answer::Error { problem }) => return Err(Refusal::Problem(problem)),
        Some(_) => {
            let text = "the process that holds the store answers something else than it was asked";
            return Err(Refusal::Problem(Problem::store(text)));
        }
        None => return Err(Refusal::NobodyThere),
    }
    let (answers, incoming) = mpsc::channel(ANSWERS_MAX);
    let (outgoing, mut controls) = mpsc::channel::<Control>(CONTROLS_MAX);
    tokio::spawn(async move { pass_on(&mut reading, &answers).await });
    tokio::spawn(async move {
        while let Some(control) = controls.recv().await {
            if line::write(&mut writing, &control).await.is_err() {
                return;
            }
        }
        // What it was asked for may outlive this connection's writing half.
        drop(writing);
    });
    Ok(Exchange { answers: incoming, controls: outgoing })
}

/// Passes the answers on; a holder that dies in between is a problem that says so.
async fn pass_on(reading: &mut (impl AsyncBufRead + Unpin), answers: &mpsc::Sender<Answer>) {
    loop {
        let next = match line::read::<Answer>(reading).await {
            Ok(Some(next)) => next,
            Ok(None) => Answer::Error { problem: died("it has ended") },
            Err(error) => Answer::Error { problem: died(&error.to_string()) },
        };
        let is_last = matches!(next, Answer::Result { .. } | Answer::Error { .. });
        if answers.send(next).await.is_err() || is_last {
            return;
        }
    }
}

fn died(why: &str) -> Problem {
    Problem::failed(format!("the process that held the store does not answer any more: {why}"))
        .hint("What is in the log is safe; `podwork resume POD` goes on.")
}
