//! What a transcript of another program says and podwork has no event for.

use serde::{Deserialize, Serialize};

use crate::Content;

/// A record of a transcript, kept as it came. No projection reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordImported {
    /// The transcript's format.
    pub format: String,
    /// The record's kind in that format.
    pub record: String,
    /// The record itself.
    pub raw: Content,
}
