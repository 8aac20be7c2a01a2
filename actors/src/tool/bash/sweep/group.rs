//! Processes on systems without `/proc`: the shell's group is all that is known.

use rustix::process::{Signal, test_kill_process_group};

use super::{Process, Wanted};

/// The group, as one process, while anybody is in it.
pub(super) fn living(wanted: &Wanted<'_>) -> Vec<Process> {
    match wanted {
        Wanted::Family(family) if test_kill_process_group(family.shell).is_ok() => {
            vec![Process { pid: family.shell, name: "its process group".to_owned(), started: 0 }]
        }
        Wanted::Family(_) | Wanted::Call(_) | Wanted::Pod(_) => Vec::new(),
    }
}

/// Signals go to the group.
pub(super) fn signal(process: &Process, signal: Signal) {
    let _ = rustix::process::kill_process_group(process.pid, signal);
}
