//! Ctrl-C and the polite end that the system asks for.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Problem;

/// Waits for the signals that ask the program to end.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    /// From here on the signals are heard here and do not end the process by themselves.
    pub(crate) fn listen() -> Result<Self, Problem> {
        let hear =
            |kind| signal(kind).map_err(|error| Problem::failed(format!("signals cannot be heard: {error}")));
        Ok(Self {
            interrupt: hear(SignalKind::interrupt())?,
            terminate: hear(SignalKind::terminate())?,
            hang_up: hear(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}
