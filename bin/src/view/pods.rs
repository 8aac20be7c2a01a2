//! The pods of a store, one row each.

use events::event::turn::TurnOutcome;
use events::projection::{Obligations, Projection as _, State, Status, UsageTotals};
use events::{Event, PodId, Seq, Timestamp, TurnNumber};
use serde::{Deserialize, Serialize};
use store::{PodHead, ReadLog};

use crate::exit::Problem;
use crate::select::Candidate;
use crate::view::each_event;

/// A pod in the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PodView {
    /// The pod.
    pub(crate) pod: PodId,
    /// What people call it.
    pub(crate) name: Option<String>,
    /// Who spawned it.
    pub(crate) parent: Option<PodId>,
    /// The pod that it is a fork of.
    pub(crate) forked_from: Option<PodId>,
    /// What it does.
    pub(crate) state: PodState,
    /// The newest turn.
    pub(crate) turn: TurnNumber,
    /// How it ended, once it has.
    pub(crate) outcome: Option<TurnOutcome>,
    /// What it waits for, if for anything.
    pub(crate) waits_for: Option<String>,
    /// The model.
    pub(crate) model: Option<String>,
    /// Input and output tokens.
    pub(crate) tokens: u64,
    /// US dollars; none when nothing had a price.
    pub(crate) cost_usd: Option<f64>,
    /// The last event.
    pub(crate) events: Seq,
    /// When it was written down.
    pub(crate) at: Timestamp,
}

/// What a pod does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PodState {
    /// Nothing.
    Idle,
    /// A turn.
    Running,
    /// A turn that nobody runs: the process that did has died.
    Interrupted,
    /// Nothing, until a person resumes it.
    Paused,
    /// Nothing any more.
    Stopped,
}

impl PodState {
    /// The name in JSON.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
        }
    }
}

/// Looks at one pod. `is_live` says whether somebody runs its turn.
pub(crate) fn view(log: &dyn ReadLog, pod: PodId, is_live: bool) -> Result<PodView, Problem> {
    let mut status = Status::default();
    let mut usage = UsageTotals::default();
    let mut obligations = Obligations::default();
    let mut forked_from = None;
    each_event(log, pod, Seq(1), |envelope| {
        status.apply(envelope);
        usage.apply(envelope);
        obligations.apply(envelope);
        if let Event::PodForked(forked) = envelope.event() {
            forked_from = Some(forked.from);
        }
        true
    })?;
    let state = match status.state {
        State::Idle => PodState::Idle,
        State::Running if is_live => PodState::Running,
        State::Running => PodState::Interrupted,
        State::Paused => PodState::Paused,
        State::Stopped => PodState::Stopped,
    };
    let priced = usage.cost_usd > 0.0 || (usage.unpriced_replies == 0 && usage.tokens() > 0);
    Ok(PodView {
        pod,
        waits_for: waits_for(state, &status, &obligations),
        name: status.name,
        parent: status.parent,
        forked_from,
        state,
        turn: status.turn,
        outcome: status.outcome,
        model: status.spec.map(|spec| spec.model.to_string()),
        tokens: usage.tokens(),
        cost_usd: priced.then_some(usage.cost_usd),
        events: status.head,
        at: status.at,
    })
}

fn waits_for(state: PodState, status: &Status, obligations: &Obligations) -> Option<String> {
    if let Some(call) = obligations.questions.iter().next() {
        return Some(format!("permission for {call}"));
    }
    match state {
        PodState::Interrupted => Some("resume: its process died".to_owned()),
        PodState::Paused => Some(format!("resume: {}", status.reason)),
        PodState::Running if !obligations.children.is_empty() => {
            let names: Vec<&str> = obligations.children.values().map(String::as_str).collect();
            Some(format!("children: {}", names.join(", ")))
        }
        PodState::Idle if status.is_resumable() => Some(format!("resume: {}", unfinished(status))),
        PodState::Idle if !obligations.unread.is_empty() => Some("resume: input is not answered".to_owned()),
        PodState::Idle | PodState::Running | PodState::Stopped => None,
    }
}

fn unfinished(status: &Status) -> String {
    let outcome = status.outcome.map_or("", TurnOutcome::as_str);
    if status.reason.is_empty() { outcome.to_owned() } else { format!("{outcome}, {}", status.reason) }
}

/// All pods, in the order in which they were opened, with the names that people know them by.
pub(crate) fn candidates(log: &dyn ReadLog) -> Result<Vec<Candidate>, Problem> {
    let heads = log.pods()?;
    heads.iter().map(|head| candidate(log, head)).collect()
}

/// The name stands in the first event of the pod's own. A fork's own events come after those that
/// it shares, which keep the name of the pod that they happened to.
fn candidate(log: &dyn ReadLog, head: &PodHead) -> Result<Candidate, Problem> {
    let event_at = |seq: u64| {
        let page = log.read(head.pod, Seq(seq), 1)?;
        Ok::<_, Problem>(page.into_iter().next())
    };
    let is_own = |seq: u64| Ok::<_, Problem>(event_at(seq)?.is_none_or(|event| event.pod() == head.pod));
    let mut own = 1;
    if !is_own(1)? {
        // The shared events come first, so the border is found by halving.
        let mut shared = 1;
        own = head.seq.0.max(2);
        while own - shared > 1 {
            let middle = shared + (own - shared) / 2;
            if is_own(middle)? {
                own = middle;
            } else {
                shared = middle;
            }
        }
    }
    let first = event_at(own)?;
    let (name, parent) = match first.as_ref().map(|envelope| envelope.event()) {
        Some(Event::PodOpened(opened)) => (opened.name.clone(), opened.parent),
        Some(Event::PodForked(forked)) => (forked.name.clone(), None),
        _ => (None, None),
    };
    Ok(Candidate { id: head.pod, name, parent })
}
