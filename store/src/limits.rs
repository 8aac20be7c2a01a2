//! What a store takes, and how much at once.

/// Bytes of one event's record, large contents not counted: far above any real reply, and small
/// enough that a page of the log fits in memory.
pub const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of one content or attachment, as it is read into memory as a whole.
pub const CONTENT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Events of one append. A longer transcript is imported in parts, so that other pods are not
/// kept waiting.
pub const APPEND_EVENTS_MAX: usize = 65_536;

/// Bytes of one append, contents and attachments included: the commit holds them in memory.
pub const APPEND_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Appends that wait for the scribe. Whoever brings one more waits for a place in the queue.
pub const QUEUE_APPENDS_MAX: usize = 1024;

/// Appends that share one commit, so that the first of them does not wait for ever.
pub const BATCH_APPENDS_MAX: usize = 256;

/// Bytes after which a commit takes no further append.
pub const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;
