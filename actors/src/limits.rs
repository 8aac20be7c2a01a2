//! Every bound that is not a setting of a pod, by name and with its reason.

/// A failure's message in bytes: what a person reads at night, not a whole error page.
pub const FAILURE_MESSAGE_BYTES_MAX: usize = 2048;

/// Bytes of a request that one piece holds before it is closed and shared with later requests:
/// large enough that a body has few pieces, small enough that copying the open one costs nothing.
pub const BODY_PIECE_BYTES: usize = 64 * 1024;

/// The longest name of a tool that providers take back.
pub const WIRE_NAME_BYTES_MAX: usize = 64;

/// Bytes of a script file: a script is written by hand or by a test.
pub const SCRIPT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The longest pause that a script may ask for, in milliseconds: an hour is a mistake already.
pub const SCRIPT_WAIT_MS_MAX: u64 = 3_600_000;
