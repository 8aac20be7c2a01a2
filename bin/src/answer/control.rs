//! Requests that tell a pod what to do with itself.

use actors::PodError;
use events::event::turn::TurnOutcome;
use events::projection::State;
use events::{Event, PodId, Seq};

use super::turn::{Watch, status};
use super::{Line, Named, find, look, named, open};
use crate::args::target::PodName;
use crate::door::protocol::Outcome;
use crate::exit::Problem;
use crate::office::Office;
use crate::select::select;
use crate::view::{each_event, pods};

fn done(pod: Named, text: impl Into<String>) -> Outcome {
    Outcome::Done { pod: pod.id, name: pod.name, text: text.into() }
}

/// A new pod that shares the past of another one.
pub(super) async fn fork(
    office: &Office,
    wanted: &PodName,
    at: Option<Seq>,
    name: Option<String>,
) -> Result<Outcome, Problem> {
    let from = find(&*office.runtime.log(), wanted)?;
    let pod = office.runtime.fork(from.id, at, name.clone()).await?;
    let at = at.map_or("its last event".to_owned(), |at| format!("event {at}"));
    let text = format!("forked from {} at {at}", from.name.unwrap_or_else(|| from.id.to_string()));
    Ok(done(Named { id: pod.id(), name }, text))
}

/// Lets a pod start no more work.
pub(super) async fn pause(office: &Office, wanted: &PodName, reason: String) -> Result<Outcome, Problem> {
    let target = find(&*office.runtime.log(), wanted)?;
    let (pod, _) = open(office, target.id).await?;
    pod.pause(reason).await?;
    pod.rest().await?;
    Ok(done(target, "paused; `podwork resume` lets it go on"))
}

/// Ends the running turn.
pub(super) async fn cancel(office: &Office, wanted: &PodName) -> Result<Outcome, Problem> {
    let target = find(&*office.runtime.log(), wanted)?;
    let before = status(&*office.runtime.log(), target.id)?;
    let (pod, _) = open(office, target.id).await?;
    pod.cancel().await?;
    let rest = pod.rest().await?;
    let text = match (before.state, rest.outcome) {
        (State::Running, Some(TurnOutcome::Cancelled)) => "cancelled; `podwork resume` goes on with it",
        (State::Running, _) => "the turn had ended by itself already",
        (State::Idle | State::Paused | State::Stopped, _) => "no turn was running",
    };
    Ok(done(target, text))
}

/// Ends a pod, and its children when they are meant, too: the children first, so that none is left
/// behind when one of them does not end.
pub(super) async fn stop(
    office: &Office,
    wanted: &PodName,
    tree: bool,
    reason: &str,
) -> Result<Outcome, Problem> {
    let candidates = pods::candidates(&*office.runtime.log())?;
    let root = select(wanted, &candidates)?;
    let pods = if tree { look::descendants(root, &candidates) } else { vec![(root, 0)] };
    let mut stopped = 0_u64;
    for (pod, _) in pods.into_iter().rev() {
        stopped += u64::from(stop_one(office, pod, reason).await?);
    }
    let text = match (stopped, tree) {
        (0, _) => "stopped already".to_owned(),
        (_, false) => "stopped".to_owned(),
        (_, true) => format!("stopped {}", crate::output::number::count(stopped, "pod")),
    };
    Ok(done(named(&candidates, root), text))
}

/// False when it was stopped before.
async fn stop_one(office: &Office, pod: PodId, reason: &str) -> Result<bool, Problem> {
    if status(&*office.runtime.log(), pod)?.state == State::Stopped {
        return Ok(false);
    }
    let (pod, _) = open(office, pod).await?;
    match pod.stop(reason).await {
        Ok(()) => {}
        Err(PodError::Stopped) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    match pod.rest().await {
        // Its actor ends with it.
        Ok(_) | Err(PodError::Gone) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Compacts a pod's context and says what came of it.
pub(super) async fn compact(office: &Office, line: &mut Line, wanted: &PodName) -> Result<Outcome, Problem> {
    let target = find(&*office.runtime.log(), wanted)?;
    line.about(&target).await;
    let _attending = office.attend(target.id);
    let (pod, head) = open(office, target.id).await?;
    let mut watch = Watch::new(office, &pod, head.next());
    pod.compact().await?;
    pod.rest().await?;
    watch.catch_up(office, line).await?;
    let mut text = Err(Problem::failed("no compaction took place"));
    each_event(&*office.runtime.log(), target.id, head.next(), |envelope| {
        #[expect(clippy::wildcard_enum_match_arm, reason = "only the end of a compaction counts")]
        match envelope.event() {
            Event::CompactionFinished(finished) => {
                let (before, after) = (finished.tokens_before, finished.tokens_after);
                text = Ok(format!("compacted: about {before} tokens became {after}"));
            }
            Event::CompactionSkipped(skipped) => text = Ok(format!("not compacted: {}", skipped.reason)),
            Event::CompactionFailed(failed) => {
                text = Err(Problem::failed(format!("the compaction failed: {}", failed.reason)));
            }
            _ => {}
        }
        true
    })?;
    Ok(done(target, text?))
}
