//! Requests that look and change nothing.

use std::collections::BTreeMap;

use events::projection::{Projection as _, UsageTotals};
use events::{PodId, RequestNumber, Seq};
use store::{Follow, ReadLog};

use super::{Line, find};
use crate::args::target::PodName;
use crate::door::protocol::{Answer, Outcome};
use crate::exit::Problem;
use crate::office::Office;
use crate::select::Candidate;
use crate::view;
use crate::view::usage::{Savings, UsageView};

/// Events of a log that are read at a time: the asker gets the first ones before the last are
/// read.
const PAGE_EVENTS_MAX: usize = 256;

/// All pods.
pub(super) fn pods(office: &Office) -> Result<Outcome, Problem> {
    let log = office.runtime.log();
    let heads = log.pods()?;
    let view = |head: &store::PodHead| view::pods::view(&*log, head.pod, office.is_attended(head.pod));
    Ok(Outcome::Pods { pods: heads.iter().map(view).collect::<Result<_, _>>()? })
}

/// The events of a pod.
pub(super) async fn log(
    office: &Office,
    line: &Line,
    wanted: &PodName,
    from: Seq,
    follow: bool,
) -> Result<Outcome, Problem> {
    let log = office.runtime.log();
    let named = find(&*log, wanted)?;
    line.about(&named).await;
    if follow {
        tokio::select! {
            outcome = follow_log(line, Follow::new(log, named.id, from)) => return outcome,
            () = office.left() => {
                line.say(Answer::Leaving).await;
                return Ok(Outcome::Log);
            }
        }
    }
    let mut next = from;
    loop {
        let page = log.read(named.id, next, PAGE_EVENTS_MAX);
        let page = page?;
        let is_last = page.len() < PAGE_EVENTS_MAX;
        for event in page {
            next = event.seq().next();
            if !line.say(Answer::Event { event }).await {
                return Ok(Outcome::Log);
            }
        }
        if is_last {
            return Ok(Outcome::Log);
        }
    }
}

async fn follow_log(line: &Line, mut follow: Follow) -> Result<Outcome, Problem> {
    loop {
        let event = tokio::select! {
            event = follow.next() => event,
            () = line.answers.closed() => None,
        };
        let Some(event) = event else { return Ok(Outcome::Log) };
        let event = event?;
        line.say(Answer::Event { event }).await;
    }
}

/// What a request sent.
pub(super) fn context(
    office: &Office,
    wanted: &PodName,
    request: Option<RequestNumber>,
    since: Option<RequestNumber>,
) -> Result<Outcome, Problem> {
    let log = office.runtime.log();
    let named = find(&*log, wanted)?;
    let view = |request| view::context::view(&*log, named.id, request, office.runtime.providers());
    let context = view(request)?;
    let difference = match since {
        Some(since) => Some(context.difference(&view(Some(since))?)),
        None => None,
    };
    Ok(Outcome::Context { context: Box::new(context), difference })
}

/// What a pod took, and its children.
pub(super) fn usage(office: &Office, wanted: &PodName, tree: bool) -> Result<Outcome, Problem> {
    let log = office.runtime.log();
    let candidates = view::pods::candidates(&*log)?;
    let root = crate::select::select(wanted, &candidates)?;
    let pods = if tree { descendants(root, &candidates) } else { vec![(root, 0)] };
    let view = |(pod, depth): (PodId, u32)| {
        let name = super::named(&candidates, pod).name;
        usage_of(&*log, pod, depth, name)
    };
    Ok(Outcome::Usage { pods: pods.into_iter().map(view).collect::<Result<_, _>>()? })
}

fn usage_of(log: &dyn ReadLog, pod: PodId, depth: u32, name: Option<String>) -> Result<UsageView, Problem> {
    let (mut totals, mut savings) = (UsageTotals::default(), Savings::default());
    view::each_event(log, pod, Seq(1), |envelope| {
        totals.apply(envelope);
        savings.apply(envelope);
        true
    })?;
    Ok(UsageView { pod, name, depth, totals, savings })
}

/// A pod and all that it spawned, each with its depth, children below their parent.
pub(super) fn descendants(root: PodId, candidates: &[Candidate]) -> Vec<(PodId, u32)> {
    let mut children: BTreeMap<PodId, Vec<PodId>> = BTreeMap::new();
    for pod in candidates {
        if let Some(parent) = pod.parent {
            children.entry(parent).or_default().push(pod.id);
        }
    }
    let mut found: Vec<(PodId, u32)> = Vec::new();
    let mut waiting = vec![(root, 0)];
    while let Some((pod, depth)) = waiting.pop() {
        // A damaged log could name a pod its own ancestor.
        if found.iter().any(|(known, _)| *known == pod) {
            continue;
        }
        found.push((pod, depth));
        let below = children.get(&pod).into_iter().flatten().rev();
        waiting.extend(below.map(|child| (*child, depth + 1)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(number: u8, parent: Option<u8>) -> Candidate {
        let id = |number| PodId::from_bytes([number; 16]);
        Candidate { id: id(number), name: None, parent: parent.map(id) }
    }

    #[test]
    fn children_stand_below_their_parent_and_a_circle_ends() {
        let pods = [pod(1, None), pod(2, Some(1)), pod(3, Some(1)), pod(4, Some(2)), pod(5, Some(9))];
        let found: Vec<(u8, u32)> = descendants(pods[0].id, &pods)
            .into_iter()
            .map(|(pod, depth)| (pod.as_bytes()[0], depth))
            .collect();
        assert_eq!(found, [(1, 0), (2, 1), (4, 2), (3, 1)]);
        let circle = [pod(1, Some(2)), pod(2, Some(1))];
        assert_eq!(descendants(circle[0].id, &circle).len(), 2);
    }
}
