//! A command from its start to the end of the last of its processes.

use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::launch::Running;
use super::sweep::Process;
use crate::limits::{DRAIN_MAX, DRAIN_SILENCE, TERMINATION_GRACE};
use crate::tool::output::Capture;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The shell exited by itself.
    Exited(ExitStatus),
    /// Its time was over.
    TimedOut,
    /// The turn was cancelled.
    Cancelled,
}

/// A command of which nothing runs any more.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) end: End,
    pub(super) capture: Capture,
    /// What is to be said about processes that outlived the shell.
    pub(super) background: Option<String>,
}

/// Names of background processes that a summary lists.
const NAMES_MAX: usize = 5;

/// The time between two looks at processes that were asked to end.
const LOOK: Duration = Duration::from_millis(20);

/// Output that comes after the last process was killed is already in the pipe.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Reads and waits until the command has ended, one way or another, and nothing of it is left.
pub(super) async fn supervise(mut running: Running, time: Duration, cancel: &CancellationToken) -> Finished {
    let mut output = Output { capture: Capture::new(), open: true, buffer: vec![0; 64 << 10] };
    let end = watch(&mut running, &mut output, time, cancel).await;
    if let End::Exited(_) = end {
        drain(&mut running.pipe, &mut output, cancel).await;
    }
    let left = end_all(&mut running, &mut output).await;
    // Whoever left the family without a trace may hold the pipe still: nobody waits for that.
    drop(timeout(LAST_WORDS, read_to_end(&mut running.pipe, &mut output)).await);
    let background = if let End::Exited(_) = end { background(&left) } else { None };
    Finished { end, capture: output.capture, background }
}

/// Output, and whether there will be more.
struct Output {
    capture: Capture,
    open: bool,
    buffer: Vec<u8>,
}

impl Output {
    /// Takes what comes next; at the end of the output, nothing ever comes.
    async fn read(&mut self, pipe: &mut Receiver) {
        if !self.open {
            return std::future::pending().await;
        }
        match pipe.read(&mut self.buffer).await {
            Ok(0) | Err(_) => self.open = false,
            Ok(count) => self.capture.push(&self.buffer[..count]),
        }
    }
}

async fn read_to_end(pipe: &mut Receiver, output: &mut Output) {
    while output.open {
        output.read(pipe).await;
    }
}

async fn watch(
    running: &mut Running,
    output: &mut Output,
    time: Duration,
    cancel: &CancellationToken,
) -> End {
    let deadline = Instant::now() + time;
    loop {
        tokio::select! {
            () = output.read(&mut running.pipe) => {}
            status = running.child.wait() => match status {
                Ok(status) => return End::Exited(status),
                // The system does not tell: what can still be done is to end it.
                Err(error) => {
                    tracing::error!(%error, "waiting for a command failed");
                    return End::TimedOut;
                }
            },
            () = cancel.cancelled() => return End::Cancelled,
            () = sleep_until(deadline) => return End::TimedOut,
        }
    }
}

/// The shell has exited. Normally the output ends with it; if a background process holds the pipe,
/// what it still says is taken until it falls silent.
async fn drain(pipe: &mut Receiver, output: &mut Output, cancel: &CancellationToken) {
    let until = Instant::now() + DRAIN_MAX;
    while output.open && Instant::now() < until {
        tokio::select! {
            () = output.read(pipe) => {}
            () = sleep(DRAIN_SILENCE) => return,
            () = cancel.cancelled() => return,
        }
    }
}

/// Ends every process of the call: SIGTERM, grace, SIGKILL. Returns those that were there besides
/// the shell.
async fn end_all(running: &mut Running, output: &mut Output) -> Vec<Process> {
    let found = living(running).await;
    if !found.is_empty() {
        running.family.terminate(&found);
        if !all_gone(running, output).await {
            let family = running.family.clone();
            drop(tokio::task::spawn_blocking(move || family.kill()).await);
        }
    }
    // Killed or not, the shell was started here and is waited for; one that hangs in the kernel is
    // left to the drop.
    running.ended = timeout(TERMINATION_GRACE, running.child.wait()).await.is_ok();
    found.into_iter().filter(|process| process.pid != running.family.shell).collect()
}

/// Goes on reading while the processes end; false when some are left after the grace.
async fn all_gone(running: &mut Running, output: &mut Output) -> bool {
    let until = Instant::now() + TERMINATION_GRACE;
    let mut exited = false;
    while Instant::now() < until {
        let look = Instant::now() + LOOK;
        loop {
            tokio::select! {
                () = output.read(&mut running.pipe) => {}
                _ = running.child.wait(), if !exited => exited = true,
                () = sleep_until(look) => break,
            }
        }
        if living(running).await.is_empty() {
            return true;
        }
    }
    false
}

async fn living(running: &Running) -> Vec<Process> {
    let family = running.family.clone();
    tokio::task::spawn_blocking(move || family.living()).await.unwrap_or_default()
}

fn background(left: &[Process]) -> Option<String> {
    let names: Vec<&str> = left.iter().take(NAMES_MAX).map(|process| process.name.as_str()).collect();
    let more = if left.len() > names.len() { ", ..." } else { "" };
    match left.len() {
        0 => None,
        1 => Some(format!("1 background process was ended ({})", names[0])),
        count => Some(format!("{count} background processes were ended ({}{more})", names.join(", "))),
    }
}
