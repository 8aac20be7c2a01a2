//! `pods`, `log`, `context`, `usage`, `export`: commands that look.

use events::{Envelope, RequestNumber, Seq};

use super::{Desk, interrupted, silence, wrong_answer};
use crate::args::{ContextArgs, ExportArgs, ListArgs, LogArgs, PodArgument, UsageArgs};
use crate::door::Need;
use crate::door::protocol::{Answer, Outcome, Request};
use crate::exit::{Exit, Problem};
use crate::export;
use crate::import::Format;
use crate::output::log::LogWriter;
use crate::output::{Out, say};
use crate::output::{context as context_output, pods as pods_output, usage as usage_output};
use crate::view::context::{ContextView, Difference};

const NO_POD: &str = "There is no pod yet; `podwork run` opens one.";

pub(super) async fn pods(desk: &mut Desk, arguments: ListArgs) -> Result<Exit, Problem> {
    if !desk.door.is_there() {
        say(NO_POD);
        return Ok(Exit::Done);
    }
    let Outcome::Pods { pods } = desk.look(&Request::Pods, Need::There).await? else {
        return Err(wrong_answer());
    };
    let mut out = Out::stdout();
    if arguments.json {
        for pod in &pods {
            out.json(pod);
        }
    } else if pods.is_empty() {
        say(NO_POD);
    } else {
        let columns = out.columns();
        out.write(&pods_output::tree(&pods, columns));
    }
    Ok(Exit::Done)
}

pub(super) async fn log(desk: &mut Desk, arguments: LogArgs) -> Result<Exit, Problem> {
    let mut out = Out::stdout();
    let mut writer = LogWriter::new(out.columns());
    let show = |out: &mut Out, event: &Envelope| {
        if arguments.json {
            out.json(event);
        } else {
            out.write(&writer.lines(event));
        }
    };
    each_event(desk, &mut out, (&arguments.pod, Seq(arguments.from), arguments.follow), show).await
}

pub(super) async fn export(desk: &mut Desk, arguments: ExportArgs) -> Result<Exit, Problem> {
    let mut out = Out::stdout();
    let pod = &arguments.pod;
    match arguments.format.parse() {
        Ok(Format::Podwork) => {
            let show =
                |out: &mut Out, event: &Envelope| export::lines([event]).for_each(|line| out.line(&line));
            each_event(desk, &mut out, (pod, Seq(1), false), show).await
        }
        Ok(Format::OpenAiMessages) => {
            let mut log = Vec::new();
            let take = |_: &mut Out, event: &Envelope| log.push(event.clone());
            let exit = each_event(desk, &mut out, (pod, Seq(1), false), take).await?;
            out.line(&export::messages(&log).to_string());
            Ok(exit)
        }
        Ok(_) | Err(_) => Err(Problem::usage(format!(
            "--format {}: podwork writes {} and {}",
            arguments.format,
            Format::Podwork,
            Format::OpenAiMessages
        ))),
    }
}

/// Shows the events of a pod as they come. A holder of the store that leaves while its log is
/// followed is followed by the next one, from the next event on.
async fn each_event(
    desk: &mut Desk,
    out: &mut Out,
    (pod, from, follow): (&PodArgument, Seq, bool),
    mut show: impl FnMut(&mut Out, &Envelope),
) -> Result<Exit, Problem> {
    let mut next = from;
    loop {
        let request = Request::Log { pod: pod.name(), from: next, follow };
        let mut exchange = desk.ask(&request, Need::There).await?;
        let end = loop {
            let mut answer = exchange.at_once();
            if answer.is_none() {
                // Whoever reads stdout gets what was written so far.
                out.flush();
                answer = tokio::select! {
                    answer = exchange.answers.recv() => answer,
                    () = Out::reader_gone(), if follow => return Ok(Exit::Done),
                    () = desk.signals.next() => {
                        return if follow { Ok(Exit::Done) } else { Err(interrupted()) };
                    }
                };
            }
            let answer = answer.ok_or_else(silence)?;
            match answer {
                Answer::Event { event } => {
                    next = event.seq().next();
                    show(out, &event);
                }
                Answer::Leaving => break End::Leaving,
                Answer::Result { .. } => break End::Done,
                Answer::Error { problem } => return Err(problem),
                Answer::Accepted | Answer::Pod { .. } | Answer::Delta { .. } | Answer::Note { .. } => {}
            }
            if out.is_closed() {
                return Ok(Exit::Done);
            }
        };
        out.flush();
        if end == End::Done {
            return Ok(Exit::Done);
        }
    }
}

/// How a log came to an end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    Leaving,
}

pub(super) async fn context(desk: &mut Desk, arguments: ContextArgs) -> Result<Exit, Problem> {
    let request = Request::Context {
        pod: arguments.pod.name(),
        request: arguments.request.map(RequestNumber),
        since: arguments.diff.map(RequestNumber),
    };
    let Outcome::Context { context, difference } = desk.look(&request, Need::There).await? else {
        return Err(wrong_answer());
    };
    let mut out = Out::stdout();
    let mut exit = Exit::Done;
    match difference {
        Some(difference) => show_difference(&mut out, &arguments, &context, &difference),
        None if arguments.verify => exit = verify(&mut out, &arguments, &context),
        None if arguments.wire => {
            out.bytes(context.body.as_bytes());
            if out.is_terminal() {
                out.line("");
            }
        }
        None if arguments.json => {
            for item in &context.items {
                out.json(item);
            }
        }
        None => {
            let columns = out.columns();
            out.write(&context_output::items(&context, columns));
        }
    }
    out.flush();
    Ok(exit)
}

fn show_difference(out: &mut Out, arguments: &ContextArgs, view: &ContextView, difference: &Difference) {
    if arguments.json {
        out.json(difference);
    } else {
        let columns = out.columns();
        out.write(&context_output::difference(view, difference, columns));
    }
}

/// Says whether the rebuilt body is the one that was sent.
fn verify(out: &mut Out, arguments: &ContextArgs, view: &ContextView) -> Exit {
    let matches = view.matches() == Some(true);
    let (digest, recorded) = (view.digest, view.recorded.unwrap_or(view.digest));
    let request = view.request.unwrap_or_default();
    if arguments.json {
        out.json(&serde_json::json!({
            "request": request, "matches": matches, "digest": digest, "recorded": recorded,
        }));
    } else if arguments.wire {
        out.bytes(view.body.as_bytes());
    }
    if !arguments.json {
        let text = if matches {
            format!("request {request}: rebuilt byte for byte, digest {digest}")
        } else {
            format!("request {request}: rebuilt with digest {digest}, but {recorded} was sent")
        };
        if arguments.wire || !matches { say(&text) } else { out.line(&text) }
    }
    if matches { Exit::Done } else { Exit::Failed }
}

pub(super) async fn usage(desk: &mut Desk, arguments: UsageArgs) -> Result<Exit, Problem> {
    let request = Request::Usage { pod: arguments.pod.name(), tree: arguments.tree };
    let Outcome::Usage { pods } = desk.look(&request, Need::There).await? else { return Err(wrong_answer()) };
    let mut out = Out::stdout();
    if arguments.json {
        for pod in &pods {
            out.json(pod);
        }
    } else {
        let columns = out.columns();
        out.write(&usage_output::usage(&pods, columns));
    }
    Ok(Exit::Done)
}
