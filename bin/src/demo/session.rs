//! The agent's processes: their events as they come, and the moment to kill one of them.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use events::{Envelope, Event};

use super::NAME;
use super::stage::Stage;
use crate::exit::Problem;
use crate::output::Out;
use crate::output::event::Entry;
use crate::output::layout::{cut, wrap};
use crate::output::style::Tone;

/// How long a session runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// Until the project's tests are running; then it is killed.
    TestsAreRunning,
    /// To its end.
    TheEnd,
}

/// The tests of the project begin within this time, or something is wrong.
const TESTS_START_MAX: Duration = Duration::from_secs(20);

/// How often it is looked whether they have begun.
const TESTS_POLL: Duration = Duration::from_millis(5);

/// One process of the agent, after it has ended.
pub(super) struct Session {
    /// The events that it told, as lines.
    pub(super) lines: Vec<String>,
    /// When it told of its first request.
    pub(super) first_request: Option<Instant>,
    /// How its turn ended, as the result says.
    pub(super) outcome: Option<String>,
}

impl Session {
    /// Starts the agent and shows what it does.
    pub(super) fn run(stage: &Stage, out: &mut Out, command: &[&str], until: Until) -> Result<Self, Problem> {
        let mut podwork = stage.podwork(&[command, &["--json", "-q"]].concat())?;
        let mut child = podwork
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| Problem::failed(format!("the agent's process does not start: {error}")))?;
        let told = listen(stage, out, &mut child, until);
        // Whatever went wrong, no process is left behind.
        let _ = child.kill();
        let _ = child.wait();
        told
    }
}

fn listen(stage: &Stage, out: &mut Out, child: &mut Child, until: Until) -> Result<Session, Problem> {
    let stdout = child.stdout.take().expect("stdout is a pipe");
    let mut session = Session { lines: Vec::new(), first_request: None, outcome: None };
    for line in BufReader::new(stdout).lines() {
        let line = line.map_err(|error| Problem::failed(format!("the agent cannot be heard: {error}")))?;
        let Ok(envelope) = serde_json::from_str::<Envelope>(&line) else {
            session.outcome = outcome(&line);
            continue;
        };
        session.lines.push(line);
        show(out, envelope.event());
        if matches!(envelope.event(), Event::RequestPrepared(_)) {
            session.first_request.get_or_insert_with(Instant::now);
        }
        if until == Until::TestsAreRunning && is_patient(envelope.event()) {
            wait_for_tests(stage)?;
            child.kill().map_err(|error| Problem::failed(format!("kill -9 failed: {error}")))?;
            return Ok(session);
        }
    }
    if until == Until::TestsAreRunning {
        return Err(Problem::failed("the agent ended before it ran the tests"));
    }
    Ok(session)
}

/// The call in whose middle the process dies.
fn is_patient(event: &Event) -> bool {
    let Event::CallStarted(started) = event else { return false };
    started.arguments.raw().contains("--patient")
}

fn wait_for_tests(stage: &Stage) -> Result<(), Problem> {
    let begun = Instant::now();
    while !stage.tests_are_running() {
        if begun.elapsed() > TESTS_START_MAX {
            return Err(Problem::failed("the project's tests did not begin"));
        }
        std::thread::sleep(TESTS_POLL);
    }
    Ok(())
}

fn outcome(line: &str) -> Option<String> {
    let result: serde_json::Value = serde_json::from_str(line).ok()?;
    result.get("outcome")?.as_str().map(str::to_owned)
}

/// Shows what matters of an event while the agent works.
fn show(out: &mut Out, event: &Event) {
    let entry = Entry::of(event);
    let width = out.columns().unwrap_or(usize::MAX).saturating_sub(2);
    #[expect(clippy::wildcard_enum_match_arm, reason = "what the model says and what tools do is shown")]
    match event {
        Event::ReplyReceived(_) => {
            for line in wrap(&entry.text, width) {
                out.line(&format!("  {}", Tone::Strong.paint(&line)));
            }
        }
        Event::CallStarted(_) | Event::CallEnded(_) => {
            let text = cut(entry.text.lines().next().unwrap_or_default(), width.saturating_sub(2));
            out.line(&format!("    {}", entry.tone.paint(&text)));
        }
        _ => return,
    }
    out.flush();
}

/// The pod's whole log, as lines.
pub(super) fn log(stage: &Stage) -> Result<Vec<String>, Problem> {
    let output = ask(stage, &["log", NAME, "--json"])?;
    Ok(output.lines().map(str::to_owned).collect())
}

/// Rebuilds every request and compares its digest with the log; how many there were.
pub(super) fn verify(stage: &Stage, log: &[String]) -> Result<u64, Problem> {
    let mut verified = 0;
    for line in log {
        let envelope: Envelope = serde_json::from_str(line)
            .map_err(|error| Problem::failed(format!("the log does not read back: {error}")))?;
        if let Event::RequestPrepared(prepared) = envelope.event() {
            ask(stage, &["context", NAME, "--request", &prepared.request.to_string(), "--verify"])?;
            verified += 1;
        }
    }
    Ok(verified)
}

fn ask(stage: &Stage, arguments: &[&str]) -> Result<String, Problem> {
    let output = stage
        .podwork(arguments)?
        .output()
        .map_err(|error| Problem::failed(format!("podwork does not start: {error}")))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Problem::failed(format!("podwork {} failed: {text}", arguments.join(" "))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
