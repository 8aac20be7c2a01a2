//! `podwork demo`: a scripted agent finds and fixes a failing test with the real tools; its process
//! is killed in the middle of a tool call, and another one goes on. No key and no network.
//!
//! The agent's processes are this very program, started as anybody would start it, and what is
//! shown is read from their output and from the log.

use std::time::Instant;

use crate::args::DemoArgs;
use crate::exit::{Exit, Problem};
use crate::output::style::Tone;
use crate::output::{Out, number};

mod report;
mod session;
mod stage;

use session::{Session, Until};
use stage::Stage;

/// What the agent is asked.
const TASK: &str = "The tests of this project fail. Find out why, and fix it.";

/// What the pod is called.
const NAME: &str = "fix-the-sum";

/// Plays the demo.
pub(crate) fn play(arguments: &DemoArgs) -> Result<Exit, Problem> {
    let mut out = Out::stdout();
    let stage = Stage::build(arguments.dir.as_deref())?;
    chapter(&mut out, "A project whose tests fail");
    tell(&mut out, &format!("It lies in {}. This is what its tests say:", stage.project.display()));
    let before = stage.test()?;
    quote(&mut out, &before.output);

    chapter(&mut out, "An agent is asked to fix it");
    tell(&mut out, &format!("podwork run --name {NAME} \"{TASK}\""));
    tell(&mut out, "Its model is a script, so that no key is needed; its tools are real.");
    let first = Session::run(&stage, &mut out, &["run", "--name", NAME, TASK], Until::TestsAreRunning)?;
    let killed = Instant::now();
    out.line(&Tone::Bad.paint("  kill -9: the process is gone, in the middle of that call"));

    chapter(&mut out, "Another process goes on");
    tell(&mut out, &format!("podwork resume {NAME}"));
    let second = Session::run(&stage, &mut out, &["resume", NAME], Until::TheEnd)?;
    let pause = second.first_request.map(|at| at.duration_since(killed));
    let after = stage.test()?;

    chapter(&mut out, "The log");
    let log = session::log(&stage)?;
    report::log(&mut out, &log);

    chapter(&mut out, "What the crash cost");
    report::cost(&mut out, &first.lines, &log, pause);
    let verified = session::verify(&stage, &log)?;
    let requests = number::count(verified, "request");
    tell(&mut out, &format!("{requests} rebuilt from the log, byte for byte as they were sent."));
    quote(&mut out, &after.output);

    chapter(&mut out, "Look further");
    report::commands(&mut out, &stage);
    match (before.passed, after.passed, second.outcome.as_deref()) {
        (false, true, Some("finished")) => Ok(Exit::Done),
        _ => Err(Problem::failed("the demo did not come to the end that it should have")),
    }
}

fn chapter(out: &mut Out, title: &str) {
    out.line(&format!("\n{}", Tone::Strong.paint(title)));
    out.flush();
}

fn tell(out: &mut Out, text: &str) {
    let width = out.columns().unwrap_or(usize::MAX);
    for line in crate::output::layout::wrap(text, width) {
        out.line(&line);
    }
    out.flush();
}

fn quote(out: &mut Out, text: &str) {
    for line in text.lines() {
        let tone = if line.starts_with("FAIL") { Tone::Bad } else { Tone::Faint };
        out.line(&format!("  {}", tone.paint(line)));
    }
    out.flush();
}
