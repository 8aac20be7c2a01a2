//! `bash`: a command in a shell.
//!
//! ```text
//! run ── launch ──> setsid ─ setpriv ─ bash        own session, no terminal, no input
//!  │                            └ everything it starts
//!  ├─ reads the one pipe of output into a bounded capture
//!  ├─ waits for the shell, the deadline, the cancel, whichever is first
//!  └─ ends whoever is left: SIGTERM, grace, SIGKILL
//! ```
//!
//! What belongs to a call is found by the group and session of its shell, by descent, and by a
//! mark in the environment that survives `setsid` and double forks (see [`family`]). A process
//! that leaves all of these behind, with an environment of its own, is out of reach.

use std::process::ExitStatus;
use std::time::Duration;

use events::item::Call;
use events::spec::Effect;
use events::{CallId, PodId, ToolSpec};
use futures_util::future::{BoxFuture, FutureExt as _};

use self::launch::{Launch, launch};
use self::supervise::{End, Finished, supervise};
use super::arguments::Field;
use super::run::{decode, spec};
use super::{Scene, Tool, ToolOutput};
use crate::limits::{COMMAND_BYTES_MAX, COMMAND_SECONDS_MAX};
use crate::permit::Permitted;

mod environment;
mod family;
mod launch;
mod supervise;
pub(super) mod sweep;

/// Runs a command in a shell and ends whatever it leaves running.
#[derive(Clone, Copy, Debug)]
pub struct Bash;

const FIELDS: [Field; 2] = [
    Field::text("command", "Command line for bash, run in the working directory. It gets no input."),
    Field::number(
        "timeout_seconds",
        Some(COMMAND_SECONDS_MAX),
        "Seconds after which the command is ended, at most 600. Default: the pod's limit, 120 seconds unless it was changed.",
    ),
];

impl Tool for Bash {
    fn spec(&self) -> ToolSpec {
        let description = "Runs a command in bash and shows what it writes to stdout and stderr, in order. \
            There is no terminal and no input: use options that answer questions beforehand. Long output \
            keeps its beginning and its end. Background processes end with the call.";
        spec("bash", Effect::Other, description, &FIELDS)
    }

    fn run(&self, call: Permitted<Call>, scene: Scene) -> BoxFuture<'static, ToolOutput> {
        async move {
            let arguments = match decode(&FIELDS, call.get()) {
                Ok(arguments) => arguments,
                Err(refusal) => return refusal,
            };
            let command = arguments.text("command");
            if let Err(wrong) = check(command) {
                return ToolOutput::failed(format!("bash was not run: {wrong}"));
            }
            let seconds = arguments.number("timeout_seconds").unwrap_or(scene.seconds);
            let seconds = seconds.min(COMMAND_SECONDS_MAX);
            execute(command.to_owned(), seconds, call.get().call, &scene).await
        }
        .boxed()
    }
}

fn check(command: &str) -> Result<(), String> {
    if command.trim().is_empty() {
        Err("the command is empty".to_owned())
    } else if command.contains('\0') {
        Err("the command contains a NUL byte".to_owned())
    } else if command.len() > COMMAND_BYTES_MAX {
        Err(format!(
            "the command has {} bytes, and {COMMAND_BYTES_MAX} is the most: write a script to a file and run that",
            command.len()
        ))
    } else {
        Ok(())
    }
}

async fn execute(command: String, seconds: u64, call: CallId, scene: &Scene) -> ToolOutput {
    match tokio::fs::metadata(&scene.directory).await {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return cannot_start(scene, "it is not a folder"),
        Err(error) => return cannot_start(scene, &error.to_string()),
    }
    if scene.cancel.is_cancelled() {
        return ToolOutput::interrupted("cancelled before the command began");
    }
    let order = Launch { command, directory: scene.directory.clone(), mark: mark(scene.pod, call) };
    match launch(order).await {
        Ok(running) => {
            let finished = supervise(running, Duration::from_secs(seconds), &scene.cancel).await;
            output(finished, seconds, scene.output_bytes)
        }
        Err(error) => ToolOutput::failed(format!("the shell cannot be started: {error}")),
    }
}

fn cannot_start(scene: &Scene, why: &str) -> ToolOutput {
    let directory = scene.directory.display();
    ToolOutput::failed(format!("bash was not run: the pod's directory {directory} cannot be used: {why}"))
}

/// What marks the processes of a call, in their environment.
fn mark(pod: PodId, call: CallId) -> String {
    format!("{pod}:{call}")
}

fn output(finished: Finished, seconds: u64, output_bytes: u64) -> ToolOutput {
    let shown = finished.capture.show(output_bytes);
    let mut summary = match finished.end {
        End::Exited(status) => exit(status),
        End::TimedOut => {
            format!("timed out after {seconds} s and was ended; timeout_seconds may be {COMMAND_SECONDS_MAX}")
        }
        End::Cancelled => "cancelled and ended; side effects may have happened".to_owned(),
    };
    summary = format!("{summary}; {}", shown.measure);
    if let Some(background) = finished.background {
        summary = format!("{summary}; {background}");
    }
    let output = match finished.end {
        End::Exited(status) if status.success() => ToolOutput::ok(summary),
        End::Exited(_) | End::TimedOut => ToolOutput::failed(summary),
        End::Cancelled => ToolOutput::interrupted(summary),
    };
    output.with_shown(shown)
}

fn exit(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended in an unknown way".to_owned(),
    }
}

#[cfg(test)]
mod tests;
