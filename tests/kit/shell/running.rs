//! A command that runs, and what was left of it when it ended.

use std::io::Read;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{look_for, wait_for};

/// A command that runs. It is killed when it is dropped.
pub struct Running {
    child: Child,
    stdout: Captured,
    stderr: Captured,
    lines_seen: usize,
}

/// What a command was and said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The exit code, when it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Finished {
    /// The lines of the output as JSON.
    ///
    /// # Panics
    ///
    /// When one is none: with `--json` there is nothing else.
    pub fn events(&self) -> Vec<Value> {
        let parse = |line: &str| {
            serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{error} in the line {line:?}\n{self:?}"))
        };
        self.stdout.lines().map(parse).collect()
    }

    /// The same, when the command ended as it should.
    ///
    /// # Panics
    ///
    /// When it ended with another code.
    #[expect(clippy::return_self_not_must_use, reason = "it is an assertion as well")]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "\nsignal: {:?}\nstdout:\n{}\nstderr:\n{}",
            self.signal,
            self.stdout,
            self.stderr
        );
        self
    }
}

impl Running {
    /// Starts a command whose output and error are piped.
    pub(super) fn start(command: &mut Command) -> Self {
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", command.get_program().display()));
        let stdout = Captured::of(child.stdout.take().expect("the output is piped"));
        let stderr = Captured::of(child.stderr.take().expect("the error is piped"));
        Self { child, stdout, stderr, lines_seen: 0 }
    }

    /// The standard input, once.
    pub fn stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// The process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line of the output, and goes on behind it the next time.
    ///
    /// # Panics
    ///
    /// When it does not come in time, or the output ends without it.
    pub fn wait_for_line(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        let mut seen = self.lines_seen;
        let found = look_for(|| {
            // Looked at first: what is said before the end is there when the end is seen.
            let ended = self.stdout.has_ended();
            let text = self.stdout.text();
            let whole = text.rfind('\n').map_or("", |end| &text[..end]);
            for line in whole.lines().skip(seen) {
                seen += 1;
                if wanted(line) {
                    return Some(Some(line.to_owned()));
                }
            }
            ended.then_some(None)
        });
        self.lines_seen = seen;
        let said = || format!("stdout:\n{}\nstderr:\n{}", self.stdout.text(), self.stderr.text());
        found.flatten().unwrap_or_else(|| panic!("a line did not come\n{}", said()))
    }

    /// Waits for a line of the output that is JSON of this kind.
    pub fn wait_for_event(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let parse = |line: &str| serde_json::from_str::<Value>(line).ok();
        let line = self.wait_for_line(|line| parse(line).is_some_and(|event| wanted(&event)));
        parse(&line).expect("it was JSON a moment ago")
    }

    /// Ends it as a power cut would, and gives what it had said.
    pub fn kill(mut self) -> Finished {
        // It may be gone already; then there is nothing to end.
        let _ = self.child.kill();
        self.collect()
    }

    /// Ctrl-C.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// What a service manager sends first.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process has an id");
        kill_process(pid, signal).expect("the process is there until it is waited for");
    }

    /// Waits for its end.
    ///
    /// # Panics
    ///
    /// When it does not end.
    pub fn finish(mut self) -> Finished {
        drop(self.child.stdin.take());
        if look_for(|| self.child.try_wait().expect("a child can be waited for")).is_none() {
            let finished = self.kill();
            panic!("the command does not end\nstdout:\n{}\nstderr:\n{}", finished.stdout, finished.stderr);
        }
        self.collect()
    }

    fn collect(&mut self) -> Finished {
        let status: ExitStatus =
            wait_for("the end of a command", || self.child.try_wait().expect("a child can be waited for"));
        Finished {
            code: status.code(),
            signal: status.signal(),
            stdout: self.stdout.whole(),
            stderr: self.stderr.whole(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when it has ended and was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Everything that comes out of a pipe, as it comes.
struct Captured {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Captured {
    fn of(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bytes);
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = pipe.read(&mut piece) {
                kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&piece[..length]);
            }
        });
        Self { bytes, reader: Some(reader) }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    fn has_ended(&self) -> bool {
        self.reader.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// All of it. A process that outlives the command may hold the pipe: then that is a finding,
    /// and the test fails.
    fn whole(&mut self) -> String {
        wait_for("the end of an output; does something that the command started hold it?", || {
            self.has_ended().then_some(())
        });
        if let Some(reader) = self.reader.take() {
            reader.join().expect("a reader does not panic");
        }
        self.text()
    }
}
