//! Processes on Linux, read from `/proc`.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read as _};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::{Process, Wanted};
use crate::tool::bash::environment::MARK;

/// More than the kernel lets a program begin with.
const ENVIRONMENT_BYTES_MAX: u64 = 8 << 20;

/// What the kernel says of a process.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    pid: i32,
    name: String,
    parent: i32,
    group: i32,
    session: i32,
    started: u64,
    /// It has ended and waits for its parent to notice.
    dead: bool,
}

/// The wanted processes: those that carry the mark or are of the shell's group or session, and all
/// that descend from them. Never podwork itself.
pub(super) fn living(wanted: &Wanted<'_>) -> Vec<Process> {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let stats: Vec<Stat> =
        pids().filter_map(stat).filter(|stat| !stat.dead && stat.pid != own && stat.pid > 1).collect();
    let mut found: HashSet<i32> =
        stats.iter().filter(|stat| is_wanted(stat, wanted)).map(|stat| stat.pid).collect();
    let mut before = 0;
    while found.len() > before {
        before = found.len();
        found.extend(
            stats.iter().filter(|stat| found.contains(&stat.parent)).map(|stat| stat.pid).collect::<Vec<_>>(),
        );
    }
    stats.into_iter().filter(|stat| found.contains(&stat.pid)).filter_map(process).collect()
}

fn is_wanted(stat: &Stat, wanted: &Wanted<'_>) -> bool {
    if let Wanted::Family(family) = wanted {
        let shell = family.shell.as_raw_pid();
        if stat.group == shell || (family.has_session && stat.session == shell) {
            return true;
        }
    }
    environment(stat.pid).is_ok_and(|block| is_marked(&block, |mark| names(mark, wanted)))
}

/// The mark is one that is looked for.
fn names(mark: &[u8], wanted: &Wanted<'_>) -> bool {
    match wanted {
        Wanted::Family(family) => mark == family.mark.as_bytes(),
        Wanted::Call(call) => mark == call.as_bytes(),
        Wanted::Pod(beginning) => mark.starts_with(beginning.as_bytes()),
    }
}

/// The value of the variable in a block of `NAME=value` pieces that end with NULs names a call
/// for which `wanted` is true.
fn is_marked(block: &[u8], wanted: impl Fn(&[u8]) -> bool) -> bool {
    let value = |piece: &'_ [u8]| -> Option<std::ops::Range<usize>> {
        let start = MARK.len() + 1;
        (piece.starts_with(MARK.as_bytes()) && piece.get(MARK.len()) == Some(&b'='))
            .then_some(start..piece.len())
    };
    block
        .split(|byte| *byte == 0)
        .filter_map(|piece| value(piece).map(|range| &piece[range]))
        .any(|value| value.split(|byte| *byte == b',').any(&wanted))
}

fn process(stat: Stat) -> Option<Process> {
    Some(Process { pid: Pid::from_raw(stat.pid)?, name: stat.name, started: stat.started })
}

fn pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn environment(pid: i32) -> io::Result<Vec<u8>> {
    let mut block = Vec::new();
    File::open(format!("/proc/{pid}/environ"))?.take(ENVIRONMENT_BYTES_MAX).read_to_end(&mut block)?;
    Ok(block)
}

fn stat(pid: i32) -> Option<Stat> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(pid, &String::from_utf8_lossy(&text))
}

/// `proc_pid_stat(5)`: the id, the name in parentheses, which may hold anything, and numbers: the
/// state, the parent, the group, the session, and as the twenty-second the start.
fn parse(pid: i32, text: &str) -> Option<Stat> {
    const STARTED: usize = 22 - 3;
    let (_, rest) = text.split_once('(')?;
    let (name, numbers) = rest.rsplit_once(')')?;
    let numbers: Vec<&str> = numbers.split_whitespace().collect();
    let number = |at: usize| numbers.get(at)?.parse().ok();
    Some(Stat {
        pid,
        name: name.to_owned(),
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        started: numbers.get(STARTED)?.parse().ok()?,
        dead: matches!(*numbers.first()?, "Z" | "X" | "x"),
    })
}

/// A handle holds on to the process; if it is still the one that was found, the handle cannot mean
/// another. Kernels before 5.3 have no handles.
pub(super) fn signal(process: &Process, signal: Signal) {
    let handle = pidfd_open(process.pid, PidfdFlags::empty());
    let same = stat(process.pid.as_raw_pid()).is_some_and(|now| now.started == process.started);
    if !same {
        return;
    }
    // It may have ended by itself, or belong to somebody else: both cannot be helped.
    match handle {
        Ok(handle) => {
            let _ = pidfd_send_signal(handle, signal);
        }
        Err(Errno::NOSYS) => {
            let _ = rustix::process::kill_process(process.pid, signal);
        }
        Err(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_blanks_does_not_shift_the_numbers() {
        let text = "42 (a) S (b) Z 1 40 39 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0";
        let wanted = Stat {
            pid: 42,
            name: "a) S (b".to_owned(),
            parent: 1,
            group: 40,
            session: 39,
            started: 12345,
            dead: true,
        };
        assert_eq!(parse(42, text), Some(wanted));
        assert_eq!(parse(42, "42 (cut"), None);
        assert_eq!(parse(42, "42 (cut) S 1"), None);
    }

    #[test]
    fn this_process_can_be_read() {
        let own = i32::try_from(std::process::id()).unwrap();
        let stat = stat(own).expect("it lives");
        assert!(!stat.dead && stat.parent > 0 && stat.started > 0);
    }

    #[test]
    fn a_mark_is_found_whole_or_not_at_all() {
        let block = b"A=1\0PODWORK_CALL=outer:c7,pod:c1\0B=pod:c9\0";
        for (mark, found) in [("pod:c1", true), ("outer:c7", true), ("pod:c", false), ("pod:c9", false)] {
            assert_eq!(is_marked(block, |value| value == mark.as_bytes()), found, "{mark}");
        }
        assert!(!is_marked(b"XPODWORK_CALL=a\0PODWORK_CALLS=a\0PODWORK_CALL", |_| true));
    }
}
