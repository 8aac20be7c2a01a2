//! Limits that work ran into.

use serde::{Deserialize, Serialize};

/// A named limit was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitReached {
    /// The limit's name, as configuration and `limits.rs` spell it.
    pub limit: String,
    /// What is allowed, with its unit.
    pub maximum: String,
    /// What it came to, with its unit.
    pub value: String,
}
