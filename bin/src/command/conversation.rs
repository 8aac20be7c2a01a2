//! `podwork run` at a terminal without a prompt: line by line, turn by turn. What is typed while a
//! turn runs steers it.

use std::io::{BufRead as _, Write as _};

use events::{PodId, Spec};
use tokio::sync::mpsc;

use super::turn::step;
use super::{Desk, prompt};
use crate::args::target::PodName;
use crate::door::Need;
use crate::door::protocol::Request;
use crate::exit::{Exit, Problem};
use crate::output::event::short;
use crate::output::say;
use crate::output::style::Tone;
use crate::output::turn::TurnPrinter;
use crate::spec_patch::SpecPatch;

/// Lines that were typed and not read yet.
const LINES_MAX: usize = 16;

/// Talks until the person closes the input, or presses Ctrl-C where nothing runs.
pub(super) async fn converse(
    desk: &mut Desk,
    spec: Box<Spec>,
    name: Option<String>,
) -> Result<Exit, Problem> {
    let mut lines = typed_lines();
    let mut printer = TurnPrinter::new(false, desk.global.quiet);
    let mut exit = Exit::Done;
    say(&Tone::Faint.paint(&format!("{} in {} · Ctrl-D ends", spec.model, spec.directory)));
    loop {
        invite();
        let line = tokio::select! {
            line = lines.recv() => line,
            () = desk.signals.next() => None,
        };
        let Some(line) = line else { break };
        let Ok(text) = prompt::text(&line) else { continue };
        let request = match printer.pod() {
            None => Request::Run { spec: spec.clone(), name: name.clone(), prompt: text },
            Some(pod) => {
                let patch = Box::new(SpecPatch::default());
                Request::Resume { pod: by_id(pod), prompt: Some(text), patch }
            }
        };
        exit = one_turn(desk, &request, &mut printer, &mut lines).await?;
        if desk.signals.are_final() {
            break;
        }
    }
    say("");
    if let Some(pod) = printer.pod() {
        say(&Tone::Faint.paint(&format!("`podwork resume {}` goes on from here.", short(&pod))));
    }
    Ok(exit)
}

/// Shows a turn, and passes on what is typed meanwhile.
async fn one_turn(
    desk: &mut Desk,
    request: &Request,
    printer: &mut TurnPrinter,
    lines: &mut mpsc::Receiver<String>,
) -> Result<Exit, Problem> {
    let mut exchange = desk.door.ask(request, Need::Made).await?;
    let (mut typing, mut cancelling) = (true, false);
    loop {
        // What is typed before the pod is known waits in the channel.
        let running = printer.pod().filter(|_| typing);
        let line = tokio::select! {
            step = step(&mut exchange, printer, &mut desk.signals, &mut cancelling) => match step? {
                Some(exit) => return Ok(exit),
                None => continue,
            },
            line = lines.recv(), if running.is_some() => line,
        };
        match (line.as_deref().map(prompt::text), running) {
            (Some(Ok(text)), Some(pod)) => {
                // Its answer is not waited for: the turn that goes on shows what comes of it.
                drop(desk.door.ask(&Request::Send { pod: by_id(pod), text }, Need::There).await?);
            }
            (Some(_), _) => {}
            (None, _) => typing = false,
        }
    }
}

fn by_id(pod: PodId) -> PodName {
    PodName::Named(pod.to_string())
}

fn invite() {
    let mut stderr = anstream::stderr().lock();
    // Where nobody can see it, nobody needs it.
    let _ = write!(stderr, "{} ", Tone::User.paint(">")).and_then(|()| stderr.flush());
}

/// Reads lines in a thread of its own: a terminal cannot be waited for in any other way.
fn typed_lines() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(LINES_MAX);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}
