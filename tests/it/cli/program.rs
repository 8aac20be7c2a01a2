//! The program, with a home, a store and a model server of its own.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use kit::server::StrictServer;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A person's home, with a strict model server.
pub(super) struct Home {
    pub(super) server: StrictServer,
    directory: TempDir,
}

/// How a run of the program ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// A run of the program that has not ended.
pub(super) struct Running {
    pub(super) child: Child,
    stdout: Option<BufReader<ChildStdout>>,
}

/// The program that cargo built together with these tests: `cargo test --workspace` does, and so
/// does `cargo build -p podwork`.
fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().and_then(Path::parent).unwrap().join("podwork");
    assert!(program.exists(), "{} is not there: run `cargo build -p podwork`", program.display());
    program
}

impl Home {
    pub(super) fn new() -> Self {
        Self::with_server(StrictServer::start())
    }

    pub(super) fn with_server(server: StrictServer) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("work")).unwrap();
        Self { server, directory }
    }

    /// Where the program is started.
    pub(super) fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    pub(super) fn store(&self) -> PathBuf {
        self.directory.path().join("store.redb")
    }

    /// The program with these arguments, and nothing of the environment of the tests.
    pub(super) fn podwork(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.directory.path())
            .env("PODWORK_STORE", self.store())
            .env("PODWORK_MODEL", "openai:test-model")
            .env("OPENAI_API_KEY", "sk-the-secret-key")
            .env("OPENAI_BASE_URL", self.server.base_url_openai())
            .env("ANTHROPIC_BASE_URL", self.server.base_url_anthropic())
            .current_dir(self.work())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end.
    pub(super) fn run(&self, arguments: &[&str]) -> Ended {
        Ended::of(self.podwork(arguments))
    }

    /// Runs the program to its end, which is a good one, and gives what it printed.
    pub(super) fn ok(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
        ended.stdout
    }

    /// As [`Self::ok`], with each line read as JSON.
    pub(super) fn json(&self, arguments: &[&str]) -> Vec<Value> {
        json(&self.ok(arguments))
    }

    /// Starts the program.
    pub(super) fn start(&self, arguments: &[&str]) -> Running {
        Running::of(self.podwork(arguments))
    }
}

impl Ended {
    pub(super) fn of(mut command: Command) -> Self {
        let output = command.output().unwrap();
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Running {
    pub(super) fn of(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let stdout = child.stdout.take().map(BufReader::new);
        Self { child, stdout }
    }

    /// Reads lines of JSON until one is an event, or a result, of this type.
    pub(super) fn wait_for(&mut self, kind: &str) -> Value {
        let mut seen = Vec::new();
        loop {
            let mut line = String::new();
            assert_ne!(
                self.stdout.as_mut().unwrap().read_line(&mut line).unwrap(),
                0,
                "no {kind} came; there were {seen:?}"
            );
            let value: Value = serde_json::from_str(&line).unwrap();
            if value["type"] == kind {
                return value;
            }
            seen.push(value["type"].clone());
        }
    }

    pub(super) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub(super) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Lets go of the pipe that the program writes to.
    pub(super) fn hang_up(&mut self) {
        drop(self.stdout.take());
    }

    pub(super) fn end(mut self) -> Ended {
        let mut stdout = String::new();
        if let Some(mut pipe) = self.stdout.take() {
            pipe.read_to_string(&mut stdout).unwrap();
        }
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let status: ExitStatus = self.child.wait().unwrap();
        Ended { code: status.code(), stdout, stderr }
    }
}

/// A test that fails leaves no program behind.
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.server.assert_no_refusals();
        }
    }
}

pub(super) fn json(lines: &str) -> Vec<Value> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
        .collect()
}

/// The types of events, in order.
pub(super) fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["type"].as_str()).collect()
}
