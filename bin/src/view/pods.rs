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

#[cfg(test)]
mod tests {
    use events::event::pod::{PodForked, PodOpened};
    use events::event::turn::{InputReceived, Paused, TurnEnded, TurnStarted};
    use events::{Draft, Spec};
    use store::{Append, AppendLog as _, MemoryStore};

    use super::*;

    fn pod(number: u8) -> PodId {
        PodId::from_bytes([number; 16])
    }

    fn opened(name: &str, parent: Option<PodId>) -> Draft {
        let spec = Spec::new("openai:x".parse().expect("a model"));
        Draft::new(PodOpened { spec, name: Some(name.to_owned()), parent, imported: None })
    }

    fn input() -> Draft {
        Draft::new(InputReceived { text: "x".to_owned() })
    }

    async fn append(store: &MemoryStore, pod: PodId, expected: u64, drafts: Vec<Draft>) {
        let append = Append { pod, expected: Seq(expected), drafts };
        store.append(vec![append], Vec::new()).await.expect("appended");
    }

    #[tokio::test]
    async fn a_fork_has_its_own_name_wherever_it_begins() {
        let store = MemoryStore::new();
        let mut drafts = vec![opened("source", None)];
        drafts.extend((0..20).map(|_| input()));
        append(&store, pod(1), 0, drafts).await;
        for at in 1..=20_u8 {
            let forked = PodForked { from: pod(1), at_seq: Seq(at.into()), name: Some(format!("at {at}")) };
            append(&store, pod(100 + at), at.into(), vec![Draft::new(forked), input()]).await;
        }
        append(&store, pod(2), 0, vec![opened("child", Some(pod(1)))]).await;
        let candidates = candidates(&*store.reader()).expect("reads");
        assert_eq!(candidates[0].name.as_deref(), Some("source"));
        for (at, fork) in candidates.iter().enumerate().skip(1).take(20) {
            assert_eq!(fork.name, Some(format!("at {at}")));
        }
        assert_eq!(candidates[21].parent, Some(pod(1)));
    }

    #[tokio::test]
    async fn a_pod_says_what_it_does_and_waits_for() {
        let store = MemoryStore::new();
        let started = Draft::new(TurnStarted { turn: TurnNumber(1) });
        append(&store, pod(1), 0, vec![opened("one", None), input(), started]).await;
        let log = store.reader();
        let seen = |is_live| {
            let view = view(&*log, pod(1), is_live).expect("reads");
            (view.state, view.waits_for)
        };
        assert_eq!(seen(true), (PodState::Running, None));
        let died = Some("resume: its process died".to_owned());
        assert_eq!(seen(false), (PodState::Interrupted, died));
        let (turn, outcome) = (TurnNumber(1), TurnOutcome::Failed);
        let ended = Draft::new(TurnEnded { turn, outcome, reason: "no key".to_owned() });
        append(&store, pod(1), 3, vec![ended]).await;
        assert_eq!(seen(true), (PodState::Idle, Some("resume: failed, no key".to_owned())));
        append(&store, pod(1), 4, vec![Draft::new(Paused { reason: "lunch".to_owned() })]).await;
        assert_eq!(seen(true), (PodState::Paused, Some("resume: lunch".to_owned())));
    }
}
