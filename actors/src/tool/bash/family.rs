//! The processes of one call: the shell, and whatever came of it.

use rustix::process::{Pid, Signal};

use super::sweep::{self, Process};

/// How the processes of a call are found.
#[derive(Clone, Debug)]
pub(super) struct Family {
    /// The shell. Its id is the id of its group, and of its session where it has its own.
    pub(super) shell: Pid,
    /// The shell leads a session of its own: all of the session belongs to the call.
    pub(super) has_session: bool,
    /// The call's name in the environment of its processes.
    pub(super) mark: String,
}

impl Family {
    pub(super) fn new(shell: Pid, has_session: bool, mark: String) -> Self {
        Self { shell, has_session, mark }
    }

    /// Those that live, the shell included. Reads `/proc`, and so belongs on a thread that may wait.
    pub(super) fn living(&self) -> Vec<Process> {
        sweep::living(&sweep::Wanted::Family(self))
    }

    /// Sends a signal to the group, which also reaches what is being forked at this moment, and to
    /// each of the processes named.
    pub(super) fn signal(&self, processes: &[Process], signal: Signal) {
        // Nobody there is what is hoped for; nobody there who may be signalled cannot be helped.
        let _ = rustix::process::kill_process_group(self.shell, signal);
        for process in processes {
            process.signal(signal);
        }
    }

    /// Asks all of them to end. Stopped ones must go on in order to hear it.
    pub(super) fn terminate(&self, processes: &[Process]) {
        self.signal(processes, Signal::TERM);
        self.signal(processes, Signal::CONT);
    }

    /// Kills all of them, round after round, until none is found.
    pub(super) fn kill(&self) {
        sweep::kill_all(&sweep::Wanted::Family(self), || self.signal(&[], Signal::KILL));
    }

    /// Kills the group at once and leaves the search for the others to a thread, since a drop must
    /// not wait.
    pub(super) fn kill_from_drop(&self) {
        self.signal(&[], Signal::KILL);
        let family = self.clone();
        let search =
            std::thread::Builder::new().name("podwork-sweep".to_owned()).spawn(move || family.kill());
        if let Err(error) = search {
            tracing::warn!(%error, "no thread to look for leftover processes");
        }
    }
}
