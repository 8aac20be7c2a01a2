//! What people and programs see. People read stderr and a terminal, programs read stdout.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use anstream::AutoStream;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub(crate) mod context;
pub(crate) mod event;
pub(crate) mod layout;
pub(crate) mod log;
pub(crate) mod number;
pub(crate) mod pods;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod turn;
pub(crate) mod usage;

/// Bytes that are collected before they go to stdout: a long log is not written line by line.
const BUFFER_BYTES: usize = 32 * 1024;

/// How often it is looked whether a reader who gets nothing is still there.
const READER_POLL: Duration = Duration::from_millis(250);

/// Where results go. A reader that goes away (`| head`) ends the output quietly: what is written
/// afterwards is dropped, and the writer may ask whether anybody is still there.
pub(crate) struct Out {
    stream: io::BufWriter<AutoStream<io::Stdout>>,
    closed: bool,
    terminal: bool,
}

impl Out {
    /// stdout, with colours where they are wanted.
    pub(crate) fn stdout() -> Self {
        let stream = io::BufWriter::with_capacity(BUFFER_BYTES, anstream::stdout());
        Self { stream, closed: false, terminal: io::stdout().is_terminal() }
    }

    /// Writes a text as it is.
    pub(crate) fn write(&mut self, text: &str) {
        self.attempt(|stream| stream.write_all(text.as_bytes()));
    }

    /// Writes bytes as they are, past the colours.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.attempt(|stream| {
            stream.flush()?;
            let mut raw = io::stdout().lock();
            raw.write_all(bytes)?;
            raw.flush()
        });
    }

    /// Writes a text and a line end.
    pub(crate) fn line(&mut self, text: &str) {
        self.write(text);
        self.write("\n");
    }

    /// Writes a value as one line of JSON.
    pub(crate) fn json(&mut self, value: &impl serde::Serialize) {
        let line = serde_json::to_string(value).expect("our own types have names for keys");
        self.line(&line);
    }

    /// Lets the reader have all that was written.
    pub(crate) fn flush(&mut self) {
        self.attempt(io::Write::flush);
    }

    /// The reader has gone away.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Waits until the reader has gone away. A file and a terminal never do.
    pub(crate) async fn reader_gone() {
        while !reader_is_gone() {
            tokio::time::sleep(READER_POLL).await;
        }
    }

    /// A person is watching.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// The terminal's width; a pipe has none.
    pub(crate) fn columns(&self) -> Option<usize> {
        if !self.terminal {
            return None;
        }
        columns_of(&io::stdout())
    }

    fn attempt(&mut self, write: impl FnOnce(&mut io::BufWriter<AutoStream<io::Stdout>>) -> io::Result<()>) {
        if self.closed {
            return;
        }
        if let Err(error) = write(&mut self.stream) {
            self.closed = true;
            if error.kind() != io::ErrorKind::BrokenPipe {
                say(&format!("podwork: stdout cannot be written: {error}"));
            }
        }
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        self.flush();
        if self.closed {
            // A buffer that could not be written must not be tried again when it is dropped.
            let stream = io::BufWriter::with_capacity(0, anstream::stdout());
            let _ = std::mem::replace(&mut self.stream, stream).into_parts();
        }
    }
}

/// A pipe whose other end is closed says so, without anything being written to it.
fn reader_is_gone() -> bool {
    let stdout = io::stdout();
    let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
    poll(&mut polled, Some(&Timespec::default())).is_ok()
        && polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// Says something to the person, on stderr; where nobody listens, nothing happens.
pub(crate) fn say(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = writeln!(stderr, "{text}");
}

/// stderr is a terminal: progress is shown there.
pub(crate) fn progress_is_shown() -> bool {
    io::stderr().is_terminal()
}

/// The width of the terminal behind stderr.
pub(crate) fn stderr_columns() -> Option<usize> {
    if progress_is_shown() { columns_of(&io::stderr()) } else { None }
}

/// Terminals that say they have no width have this one.
const COLUMNS_UNKNOWN: usize = 80;

fn columns_of(stream: &impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(if size.ws_col == 0 { COLUMNS_UNKNOWN } else { usize::from(size.ws_col) })
}
