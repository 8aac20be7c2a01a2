//! Ctrl-C and the polite end that the system asks for.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Problem;

/// Waits for the signals that ask the program to end.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    terminated: bool,
}

impl Signals {
    /// From here on the signals are heard here and do not end the process by themselves.
    pub(crate) fn listen() -> Result<Self, Problem> {
        let hear =
            |kind| signal(kind).map_err(|error| Problem::failed(format!("signals cannot be heard: {error}")));
        Ok(Self {
            interrupt: hear(SignalKind::interrupt())?,
            terminate: hear(SignalKind::terminate())?,
            terminated: false,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => self.terminated = true,
        }
    }

    /// It is not only the work at hand that is to end.
    pub(crate) fn are_final(&self) -> bool {
        self.terminated
    }
}
