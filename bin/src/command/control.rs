//! `fork`, `compact`, `pause`, `cancel`, `stop`, `import`: commands that tell pods, or the store,
//! what to do.

use events::Seq;

use super::{Desk, wrong_answer};
use crate::args::{ControlArgs, ForkArgs, ImportArgs, ReasonArgs, StopArgs};
use crate::door::Need;
use crate::door::protocol::{Imported, Outcome, Request};
use crate::exit::{Exit, Problem};
use crate::output::event::short;
use crate::output::turn::done;
use crate::output::{Out, number, say};

pub(super) async fn fork(desk: &mut Desk, arguments: ForkArgs) -> Result<Exit, Problem> {
    let (at, name) = (arguments.at.map(Seq), arguments.name);
    tell(desk, &Request::Fork { pod: arguments.pod.name(), at, name }, arguments.json).await
}

pub(super) async fn compact(desk: &mut Desk, arguments: ControlArgs) -> Result<Exit, Problem> {
    tell(desk, &Request::Compact { pod: arguments.pod.name() }, arguments.json).await
}

pub(super) async fn pause(desk: &mut Desk, arguments: ReasonArgs) -> Result<Exit, Problem> {
    let request = Request::Pause { pod: arguments.pod.name(), reason: arguments.reason };
    tell(desk, &request, arguments.json).await
}

pub(super) async fn cancel(desk: &mut Desk, arguments: ControlArgs) -> Result<Exit, Problem> {
    tell(desk, &Request::Cancel { pod: arguments.pod.name() }, arguments.json).await
}

pub(super) async fn stop(desk: &mut Desk, arguments: StopArgs) -> Result<Exit, Problem> {
    let StopArgs { pod, tree, reason, json } = arguments;
    tell(desk, &Request::Stop { pod: pod.name(), tree, reason }, json).await
}

/// Tells a pod something that ends with a word of what was done.
async fn tell(desk: &mut Desk, request: &Request, json: bool) -> Result<Exit, Problem> {
    let Outcome::Done { pod, name, text } = desk.look(request, Need::There).await? else {
        return Err(wrong_answer());
    };
    Ok(done(&mut Out::stdout(), json, desk.global.quiet, (pod, name.as_deref(), &text)))
}

pub(super) async fn import(desk: &mut Desk, arguments: ImportArgs) -> Result<Exit, Problem> {
    let file = desk.environment.working_directory.join(&arguments.file);
    let request = Request::Import { file, format: arguments.format };
    let Outcome::Imported { sessions } = desk.look(&request, Need::Made).await? else {
        return Err(wrong_answer());
    };
    let mut out = Out::stdout();
    for session in &sessions {
        if arguments.json {
            out.json(session);
        } else {
            told(&mut out, session);
        }
        if !desk.global.quiet {
            session.problems.iter().for_each(|problem| say(&format!("  {problem}")));
        }
    }
    Ok(Exit::Done)
}

fn told(out: &mut Out, session: &Imported) {
    let name = session.name.as_deref().map(events::text::clean_str).unwrap_or_default();
    let events = number::count(session.events, "event");
    out.line(format!("{}  {events}  {name}", short(&session.pod)).trim_end());
}
