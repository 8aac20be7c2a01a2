//! `run`, `resume`, `send`, `notify`: commands that run turns, or steer them.

use super::prompt::{self, Prompt};
use super::{Desk, conversation, quit, silence, spec, wrong_answer};
use crate::args::target::PodName;
use crate::args::{NotifyArgs, ResumeArgs, RunArgs, SendArgs};
use crate::door::protocol::{Answer, Control, Outcome, Request};
use crate::door::{Exchange, Need};
use crate::exit::{Exit, Problem};
use crate::output::say;
use crate::output::turn::TurnPrinter;
use crate::signals::Signals;

pub(super) async fn run(desk: &mut Desk, arguments: RunArgs) -> Result<Exit, Problem> {
    let RunArgs { prompt, work } = arguments;
    let spec = Box::new(spec::of_run(&desk.global, &desk.environment, &work)?);
    match prompt::of_run(prompt)? {
        Prompt::Text(prompt) => {
            let request = Request::Run { spec, name: work.name, prompt };
            one_turn(desk, &request, Need::Made, work.json).await
        }
        Prompt::Conversation if work.json => {
            Err(Problem::usage("--json needs a prompt: an argument, `-`, or a pipe"))
        }
        Prompt::Conversation => conversation::converse(desk, spec, work.name).await,
    }
}

pub(super) async fn resume(desk: &mut Desk, arguments: ResumeArgs) -> Result<Exit, Problem> {
    let (pod, prompt) = arguments.split().map_err(Problem::usage)?;
    let prompt = prompt.as_deref().map(prompt::text).transpose()?;
    let patch = Box::new(spec::of_resume(&desk.global, &desk.environment, &arguments.work)?);
    let request = Request::Resume { pod, prompt, patch };
    one_turn(desk, &request, Need::There, arguments.work.json).await
}

pub(super) async fn send(desk: &mut Desk, arguments: SendArgs) -> Result<Exit, Problem> {
    let (pod, text) = split(arguments.target.split())?;
    one_turn(desk, &Request::Send { pod, text }, Need::There, arguments.json).await
}

pub(super) async fn notify(desk: &mut Desk, arguments: NotifyArgs) -> Result<Exit, Problem> {
    let (pod, text) = split(arguments.target.split())?;
    if arguments.source.trim().is_empty() {
        return Err(Problem::usage("--source is empty; expected is the name of who says it"));
    }
    let request = Request::Notify { pod, source: arguments.source, text };
    one_turn(desk, &request, Need::There, arguments.json).await
}

fn split(words: Result<(PodName, String), &'static str>) -> Result<(PodName, String), Problem> {
    let (pod, text) = words.map_err(Problem::usage)?;
    Ok((pod, prompt::text(&text)?))
}

async fn one_turn(desk: &mut Desk, request: &Request, need: Need, json: bool) -> Result<Exit, Problem> {
    let mut exchange = desk.ask(request, need).await?;
    let mut printer = TurnPrinter::new(json, desk.global.quiet);
    show(&mut exchange, &mut printer, &mut desk.signals).await
}

/// Shows a turn to its end.
async fn show(
    exchange: &mut Exchange,
    printer: &mut TurnPrinter,
    signals: &mut Signals,
) -> Result<Exit, Problem> {
    let mut cancelling = false;
    loop {
        if let Some(exit) = step(exchange, printer, signals, &mut cancelling).await? {
            return Ok(exit);
        }
    }
}

/// Shows the next answer, and says how the turn ended once it has. The first Ctrl-C ends the turn
/// as cancelled, which is recorded; the second one ends the process. Dropped while it waits, it has
/// taken nothing.
pub(super) async fn step(
    exchange: &mut Exchange,
    printer: &mut TurnPrinter,
    signals: &mut Signals,
    cancelling: &mut bool,
) -> Result<Option<Exit>, Problem> {
    let mut next = exchange.at_once();
    if next.is_none() {
        // Whoever reads stdout gets what there is.
        printer.flush();
        tokio::select! {
            answer = exchange.answers.recv() => next = answer,
            () = signals.next() => {
                if *cancelling {
                    quit();
                }
                *cancelling = true;
                say("cancelling the turn; once more quits at once");
                // Whoever is not there any more has nothing to cancel.
                let _ = exchange.controls.try_send(Control::Cancel);
                return Ok(None);
            }
        }
    }
    match next {
        Some(next) => shown(next, printer),
        None => Err(printer.failed(silence())),
    }
}

fn shown(next: Answer, printer: &mut TurnPrinter) -> Result<Option<Exit>, Problem> {
    match next {
        Answer::Pod { pod, name } => printer.about(pod, name),
        Answer::Event { event } => printer.event(&event),
        Answer::Delta { text, reasoning } => printer.delta(&text, reasoning),
        Answer::Note { text } => printer.note(&text),
        Answer::Accepted | Answer::Leaving => {}
        Answer::Error { problem } => return Err(printer.failed(problem)),
        Answer::Result { result } => {
            return match *result {
                Outcome::Turn(turn) => Ok(Some(printer.ended(&turn))),
                Outcome::Done { pod, name, text } => Ok(Some(printer.done(pod, name.as_deref(), &text))),
                Outcome::Pods { .. }
                | Outcome::Log
                | Outcome::Context { .. }
                | Outcome::Usage { .. }
                | Outcome::Imported { .. } => Err(printer.failed(wrong_answer())),
            };
        }
    }
    Ok(None)
}
