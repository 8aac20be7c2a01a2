//! The bounds of a turn and of a session: which one stands in the way, and what is said then.

use events::event::limit::LimitReached;
use events::event::turn::TurnOutcome;

use super::{Ending, Turn};
use crate::limits::CUT_REPLIES_MAX;

/// The bound that stands in the way of another request.
pub(super) fn limit(turn: &Turn) -> Option<Ending> {
    if !turn.obligations.request_due {
        return None;
    }
    let limits = &turn.spec().limits;
    let over = |name: &str, outcome, value: String, maximum: String| {
        let reason = format!("the limit {name} is reached: {value} of {maximum}; raise it and resume");
        let limit = Some(LimitReached { limit: name.to_owned(), maximum, value });
        Some(Ending { outcome, reason, limit })
    };
    if turn.obligations.cut_replies_in_a_row >= CUT_REPLIES_MAX {
        return Some(too_many_cut_replies(turn.obligations.cut_replies_in_a_row));
    }
    if turn.status.requests_in_turn >= limits.requests_per_turn {
        let (value, maximum) =
            (turn.status.requests_in_turn.to_string(), limits.requests_per_turn.to_string());
        return over("requests_per_turn", TurnOutcome::Paused, value, maximum);
    }
    if let Some(maximum) = limits.max_requests.filter(|maximum| turn.usage.requests >= *maximum) {
        return over(
            "max_requests",
            TurnOutcome::Exhausted,
            turn.usage.requests.to_string(),
            maximum.to_string(),
        );
    }
    if let Some(maximum) = limits.max_tokens.filter(|maximum| turn.usage.tokens() >= *maximum) {
        return over(
            "max_tokens",
            TurnOutcome::Exhausted,
            turn.usage.tokens().to_string(),
            maximum.to_string(),
        );
    }
    if let Some(maximum) = limits.max_cost_usd.filter(|maximum| turn.usage.cost_usd >= *maximum) {
        let value = format!("{:.4} USD", turn.usage.cost_usd);
        return over("max_cost", TurnOutcome::Exhausted, value, format!("{maximum} USD"));
    }
    None
}

/// The end of a turn whose model repeats calls that cannot be run. No setting moves this limit.
fn too_many_cut_replies(replies: u32) -> Ending {
    let reason = format!(
        "the limit cut_replies is reached: {replies} replies in a row with calls that could not be run; tell the \
         model to write less at a time and resume"
    );
    let limit = LimitReached {
        limit: "cut_replies".to_owned(),
        value: replies.to_string(),
        maximum: CUT_REPLIES_MAX.to_string(),
    };
    Ending { outcome: TurnOutcome::Paused, reason, limit: Some(limit) }
}

/// The end of a turn whose wall time is over.
pub(crate) fn out_of_time(seconds: u64) -> Ending {
    let maximum = format!("{seconds} s");
    let reason = format!("the limit max_seconds is reached: the turn ran for {maximum}; raise it and resume");
    let limit = LimitReached { limit: "max_seconds".to_owned(), value: maximum.clone(), maximum };
    Ending { outcome: TurnOutcome::Paused, reason, limit: Some(limit) }
}
