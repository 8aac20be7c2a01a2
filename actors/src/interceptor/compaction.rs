//! Yields a turn before a request that would not leave room in the window.

use crate::interceptor::{Interception, Interceptor, RequestCopy};

/// The safety net between requests.
pub(crate) struct Trigger;

impl Interceptor for Trigger {
    fn before_request(&self, request: &mut RequestCopy<'_>) -> Interception {
        match request.spec.context.compact_request_threshold {
            Some(threshold) if request.occupancy_tokens > threshold && request.is_compactable => {
                let tokens = request.occupancy_tokens;
                Interception::Yield(format!("{tokens} tokens are above the threshold of {threshold}"))
            }
            Some(_) | None => Interception::Continue,
        }
    }
}
