//! What hooks' answers, and their silence, come to.

use std::time::Duration;

use events::Draft;
use events::event::hook::{HookAnswered, HookFailed, HookPoint, HookRole, HookVerdict};
use events::text::{clean_str, head};

use crate::hook::{Subject, Verdict};
use crate::limits::REASON_BYTES_MAX;

/// What came of asking one hook.
pub(crate) enum Answer {
    /// It said something.
    Verdict(Verdict),
    /// It said nothing, for this reason.
    Missing(String),
}

/// Who was asked.
pub(crate) struct Asked<'a> {
    pub(crate) name: &'a str,
    pub(crate) role: HookRole,
    pub(crate) elapsed: Duration,
}

/// What came of a round: the first answer other than continue, and the events that say who
/// answered what.
#[derive(Debug, PartialEq)]
pub(crate) struct Round {
    pub(crate) verdict: Verdict,
    pub(crate) drafts: Vec<Draft>,
}

impl Default for Round {
    fn default() -> Self {
        Self { verdict: Verdict::Continue, drafts: Vec::new() }
    }
}

impl Round {
    /// Takes one hook's answer, and says whether it ends the round.
    pub(crate) fn take(&mut self, asked: &Asked<'_>, subject: &Subject, answer: Answer) -> bool {
        let point = subject.point();
        let hook = asked.name.to_owned();
        let elapsed_ms = u64::try_from(asked.elapsed.as_millis()).unwrap_or(u64::MAX);
        self.verdict = match answer {
            Answer::Verdict(verdict) => {
                let verdict = fit(verdict, point);
                let (kind, reason) = spell(&verdict);
                let (verdict_name, call) = (kind, subject.call());
                let answered = HookAnswered { hook, point, verdict: verdict_name, reason, elapsed_ms, call };
                self.drafts.push(answered.into());
                verdict
            }
            Answer::Missing(reason) => {
                let (role, call) = (asked.role, subject.call());
                let verdict = silence(asked, point, &reason);
                self.drafts.push(HookFailed { hook, point, role, reason, elapsed_ms, call }.into());
                verdict
            }
        };
        self.verdict != Verdict::Continue
    }
}

/// A skip means something at a call only; elsewhere it is an abort.
fn fit(verdict: Verdict, point: HookPoint) -> Verdict {
    match verdict {
        Verdict::Skip(reason) if point != HookPoint::BeforeCall => Verdict::Abort(bounded(&reason)),
        Verdict::Skip(reason) => Verdict::Skip(bounded(&reason)),
        Verdict::Abort(reason) => Verdict::Abort(bounded(&reason)),
        Verdict::Pause(reason) => Verdict::Pause(bounded(&reason)),
        Verdict::Continue => Verdict::Continue,
    }
}

fn bounded(reason: &str) -> String {
    head(&clean_str(reason), REASON_BYTES_MAX).to_owned()
}

fn spell(verdict: &Verdict) -> (HookVerdict, String) {
    match verdict {
        Verdict::Continue => (HookVerdict::Continue, String::new()),
        Verdict::Skip(reason) => (HookVerdict::Skip, reason.clone()),
        Verdict::Abort(reason) => (HookVerdict::Abort, reason.clone()),
        Verdict::Pause(reason) => (HookVerdict::Pause, reason.clone()),
    }
}

/// What no answer means: a guard's is a no, an observer's is nothing.
fn silence(asked: &Asked<'_>, point: HookPoint, reason: &str) -> Verdict {
    match (asked.role, point) {
        (HookRole::Observer, _) => Verdict::Continue,
        (HookRole::Guard, HookPoint::BeforeCall) => {
            Verdict::Skip(format!("the guard `{}` gave no answer: {reason}", asked.name))
        }
        (HookRole::Guard, _) => {
            Verdict::Abort(format!("the guard `{}` gave no answer: {reason}", asked.name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(role: HookRole) -> Asked<'static> {
        Asked { name: "h", role, elapsed: Duration::ZERO }
    }

    fn before_call() -> Subject {
        Subject::BeforeCall {
            call: events::CallId(1),
            tool: "bash".into(),
            arguments_preview: String::new(),
            arguments: serde_json::Map::new(),
        }
    }

    fn turn_ended() -> Subject {
        Subject::TurnEnded { outcome: events::event::turn::TurnOutcome::Finished, reason: String::new() }
    }

    #[test]
    fn a_silent_guard_is_a_no_and_a_silent_observer_is_nothing() {
        let mut round = Round::default();
        assert!(!round.take(&asked(HookRole::Observer), &before_call(), Answer::Missing("gone".into())));
        assert_eq!(round.verdict, Verdict::Continue);
        assert!(round.take(&asked(HookRole::Guard), &before_call(), Answer::Missing("gone".into())));
        assert!(matches!(round.verdict, Verdict::Skip(_)));
        assert_eq!(round.drafts.len(), 2);
        assert!(round.take(&asked(HookRole::Guard), &turn_ended(), Answer::Missing("gone".into())));
        assert!(matches!(round.verdict, Verdict::Abort(_)));
    }

    #[test]
    fn a_skip_elsewhere_than_at_a_call_is_an_abort_with_a_bounded_clean_reason() {
        let mut round = Round::default();
        let reason = format!("\x1b[31m{}", "x".repeat(5000));
        assert!(round.take(&asked(HookRole::Guard), &turn_ended(), Answer::Verdict(Verdict::Skip(reason))));
        assert_eq!(round.verdict, Verdict::Abort("x".repeat(REASON_BYTES_MAX)));
    }
}
