//! When a failed attempt is worth another one.

use std::time::Duration;

use events::event::model::FailureKind;

use crate::limits::{RETRY_AFTER_MAX, RETRY_BASE, RETRY_WAIT_MAX};

/// What comes after a failed attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    /// Another attempt after this time.
    After(Duration),
    /// None by itself; a person may let it go on.
    GiveUp(String),
    /// None: the same request would fail the same way.
    Never,
}

/// Decides after the `attempt`-th attempt (from 1) failed. `jitter` lies between 0 and 1 and moves
/// the wait by up to half of itself, so that many pods do not come back at once.
pub(crate) fn decide(
    kind: FailureKind,
    attempt: u32,
    retries_max: u32,
    retry_after: Option<Duration>,
    jitter: f64,
) -> Retry {
    if !kind.is_transient() {
        return Retry::Never;
    }
    if attempt > retries_max {
        return Retry::GiveUp(format!("{attempt} attempts failed"));
    }
    match retry_after {
        Some(wait) if wait > RETRY_AFTER_MAX => {
            Retry::GiveUp(format!("the provider asks to wait {} seconds", wait.as_secs()))
        }
        Some(wait) => Retry::After(wait.mul_f64(1.0 + jitter.clamp(0.0, 1.0) * 0.1)),
        None => {
            let doubled = RETRY_BASE.saturating_mul(2_u32.saturating_pow(attempt - 1));
            Retry::After(doubled.min(RETRY_WAIT_MAX).mul_f64(0.5 + jitter.clamp(0.0, 1.0)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_bound_and_attempts_are_counted() {
        let wait = |attempt| decide(FailureKind::Overloaded, attempt, 50, None, 0.5);
        assert_eq!(wait(1), Retry::After(RETRY_BASE));
        assert_eq!(wait(2), Retry::After(RETRY_BASE * 2));
        assert_eq!(wait(40), Retry::After(RETRY_WAIT_MAX));
        assert!(matches!(decide(FailureKind::Overloaded, 6, 5, None, 0.5), Retry::GiveUp(_)));
    }

    #[test]
    fn a_wish_of_the_provider_is_honoured_within_reason() {
        let ask = |seconds| {
            let wish = Some(Duration::from_secs(seconds));
            decide(FailureKind::RateLimited, 1, 5, wish, 0.0)
        };
        assert_eq!(ask(7), Retry::After(Duration::from_secs(7)));
        assert!(matches!(ask(3600), Retry::GiveUp(_)));
    }

    #[test]
    fn what_would_fail_again_is_not_tried_again() {
        assert_eq!(decide(FailureKind::Auth, 1, 5, None, 0.5), Retry::Never);
    }
}
