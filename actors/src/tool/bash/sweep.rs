//! Finding and killing processes by the call that they belong to.
//!
//! On Linux `/proc` shows every process with its parent, its session and the environment that it
//! began with. Elsewhere only the group of a shell is known, and a sweep does nothing.

use events::{CallId, PodId};
use rustix::process::{Pid, Signal};

use super::family::Family;
use crate::limits::SWEEP_ROUNDS_MAX;

#[cfg(not(target_os = "linux"))]
mod group;
#[cfg(target_os = "linux")]
mod proc;

#[cfg(not(target_os = "linux"))]
use group as system;
#[cfg(target_os = "linux")]
use proc as system;

/// Kills whatever a call has left running, and says how many processes that were. Used when a call
/// was under way as podwork died. Blocks for as long as `/proc` takes to read.
pub fn sweep(pod: PodId, call: CallId) -> usize {
    kill_all(&Wanted::Call(super::mark(pod, call)), || ())
}

/// Kills whatever any call of the pod has left running, and says how many processes that were.
pub fn sweep_pod(pod: PodId) -> usize {
    kill_all(&Wanted::Pod(format!("{pod}:")), || ())
}

/// Which processes are looked for.
#[derive(Debug)]
pub(super) enum Wanted<'a> {
    /// Those of a call whose shell this process started.
    Family(&'a Family),
    /// Those that carry this mark, and their descendants.
    Call(String),
    /// Those whose mark begins like this, and their descendants.
    Pod(String),
}

/// A process as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: Pid,
    /// The program's name, for people.
    pub(super) name: String,
    /// When it began, in the kernel's ticks: a process that gets the same id later began later.
    pub(super) started: u64,
}

impl Process {
    /// Sends a signal to this process, and to no other that has taken its id since.
    pub(super) fn signal(&self, signal: Signal) {
        system::signal(self, signal);
    }
}

/// The wanted processes that live.
pub(super) fn living(wanted: &Wanted<'_>) -> Vec<Process> {
    system::living(wanted)
}

/// Kills round after round until nothing is found: what was being forked in one round is found in
/// the next. `first` is done before each round. Says how many different processes were found.
pub(super) fn kill_all(wanted: &Wanted<'_>, first: impl Fn()) -> usize {
    let mut killed: Vec<(Pid, u64)> = Vec::new();
    for _ in 0..SWEEP_ROUNDS_MAX {
        first();
        let found = living(wanted);
        if found.is_empty() {
            break;
        }
        for process in found {
            process.signal(Signal::KILL);
            let one = (process.pid, process.started);
            if !killed.contains(&one) {
                killed.push(one);
            }
        }
        // A killed process takes a moment to go.
        std::thread::sleep(ROUND);
    }
    killed.len()
}

const ROUND: std::time::Duration = std::time::Duration::from_millis(5);

#[cfg(test)]
mod tests;
