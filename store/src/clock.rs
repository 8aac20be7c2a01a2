//! The moment that a store writes into its events.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use events::Timestamp;

/// Tells the moment. Times are for show only, so a clock may jump or stand still.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// A clock of one's own, for tests and replays.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The system's clock.
    pub fn system() -> Self {
        Self::new(|| {
            let micros = match SystemTime::now().duration_since(UNIX_EPOCH) {
                Ok(after) => i64::try_from(after.as_micros()).unwrap_or(i64::MAX),
                Err(before) => {
                    i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros)
                }
            };
            Timestamp::from_micros(micros)
        })
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}
