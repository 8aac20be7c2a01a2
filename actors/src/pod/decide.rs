//! The rules of a pod: what is written down when somebody wants something of it.

use events::event::pod::{PodStopped, SpecChanged};
use events::event::turn::{InputReceived, Notified, Paused, Resumed, TurnOutcome, TurnStarted};
use events::projection::State;
use events::text::{clean_str, head};
use events::{Draft, Event, Seq, Spec};

use crate::limits::{INPUT_BYTES_MAX, REASON_BYTES_MAX};
use crate::pod::handle::PodError;
use crate::worker::decide::{self as turn_rules, Ending, Turn};

fn check(view: &Turn, text: &str) -> Result<(), PodError> {
    if view.status.state == State::Stopped {
        return Err(PodError::Stopped);
    }
    if text.trim().is_empty() {
        return Err(PodError::Empty);
    }
    if text.len() > INPUT_BYTES_MAX {
        return Err(PodError::TooLarge { bytes: text.len() });
    }
    Ok(())
}

/// A line of a person's, clean and no longer than such a line is.
fn bounded(line: &str) -> String {
    head(&clean_str(line), REASON_BYTES_MAX).to_owned()
}

/// Whether input would be taken; hooks are asked about what would.
pub(crate) fn admit(view: &Turn, text: &str) -> Result<(), PodError> {
    check(view, text)
}

/// Input of a user.
pub(crate) fn submit(view: &Turn, text: &str) -> Result<Vec<Draft>, PodError> {
    check(view, text)?;
    Ok(vec![InputReceived { text: clean_str(text) }.into()])
}

/// Input of somebody else.
pub(crate) fn notify(view: &Turn, source: &str, text: &str) -> Result<Vec<Draft>, PodError> {
    check(view, text)?;
    let source = bounded(source);
    Ok(vec![Notified { source, text: clean_str(text) }.into()])
}

/// The turn that is due while nothing runs: one for input that no turn has taken up.
pub(crate) fn next_turn(view: &Turn) -> Vec<Draft> {
    let ended = &view.status;
    // Input from before the end of a turn that was stopped waits for `resume` or for more input.
    let is_due = |input: &Seq| {
        ended.outcome.is_none_or(|outcome| !outcome.is_resumable()) || Some(*input) > ended.turn_ended
    };
    match view.obligations.unread.last() {
        Some(input) if ended.state == State::Idle && is_due(input) => {
            vec![Draft::new(TurnStarted { turn: ended.turn.next() }).caused_by(*input)]
        }
        Some(_) | None => Vec::new(),
    }
}

/// A person lets the pod go on, perhaps as something else.
pub(crate) fn resume(view: &Turn, spec: Option<&Spec>) -> Result<Vec<Draft>, PodError> {
    let mut drafts = Vec::new();
    match view.status.state {
        State::Stopped => return Err(PodError::Stopped),
        State::Paused => drafts.push(Resumed {}.into()),
        State::Idle | State::Running => {}
    }
    if let Some(spec) = spec.filter(|spec| view.status.spec.as_ref() != Some(spec)) {
        drafts.push(SpecChanged { spec: spec.clone() }.into());
    }
    if view.status.state != State::Running && view.status.is_resumable() {
        drafts.push(TurnStarted { turn: view.status.turn }.into());
    }
    Ok(drafts)
}

/// A request that is to be written down was built before the newest event: it must be built anew.
pub(crate) fn is_overtaken(view: &Turn, drafts: &[Draft]) -> bool {
    let was_built_to = drafts.iter().find_map(|draft| {
        if let Event::RequestPrepared(prepared) = &draft.event { Some(prepared.history_to) } else { None }
    });
    was_built_to.is_some_and(|seq| seq != view.status.head)
}

/// The end of a turn that had made room for a compaction, and that a person ends instead.
pub(crate) fn end_yielded(view: &Turn, ending: &Ending) -> Vec<Draft> {
    if view.status.outcome != Some(TurnOutcome::Yielded) || view.status.state != State::Idle {
        return Vec::new();
    }
    let mut drafts = vec![TurnStarted { turn: view.status.turn }.into()];
    drafts.extend(turn_rules::ended(view, ending));
    drafts
}

/// The end of a turn that no worker runs: its calls are answered, then it ends.
pub(crate) fn close_turn(view: &Turn, ending: &Ending) -> Vec<Draft> {
    if view.status.state != State::Running {
        return Vec::new();
    }
    let debts = view.obligations.calls.values();
    let mut drafts: Vec<Draft> =
        debts.map(|debt| turn_rules::end_of_idle_call(debt, &ending.reason)).collect();
    drafts.extend(turn_rules::ended(view, ending));
    drafts
}

/// How a turn ends whose worker broke.
pub(crate) fn broken_turn(why: &str) -> Ending {
    Ending::new(TurnOutcome::Failed, format!("podwork itself broke in this turn: {}", clean_str(why)))
}

/// How a cancelled turn ends.
pub(crate) fn cancelled() -> Ending {
    Ending::new(TurnOutcome::Cancelled, "cancelled by the user")
}

/// How a paused turn ends.
pub(crate) fn paused(reason: &str) -> Ending {
    Ending::new(TurnOutcome::Paused, bounded(reason))
}

/// What a pause without a running turn is written down as.
pub(crate) fn pause_idle(view: &Turn, reason: &str) -> Vec<Draft> {
    match view.status.state {
        State::Idle => vec![Paused { reason: bounded(reason) }.into()],
        State::Running => turn_rules::ended(view, &paused(reason)),
        State::Paused | State::Stopped => Vec::new(),
    }
}

/// The end of a pod.
pub(crate) fn stopped(reason: &str) -> Vec<Draft> {
    vec![PodStopped { reason: bounded(reason) }.into()]
}

/// How input that hooks object to is answered.
pub(crate) fn refused(verdict: &crate::hook::Verdict) -> Option<PodError> {
    use crate::hook::Verdict;
    match verdict {
        Verdict::Continue => None,
        Verdict::Skip(reason) | Verdict::Abort(reason) | Verdict::Pause(reason) => {
            Some(PodError::Refused(reason.clone()))
        }
    }
}
