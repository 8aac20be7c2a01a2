//! Every bound that is not a setting of a pod, by name and with its reason.

use std::time::Duration;

/// Messages that wait for one pod. More are refused as busy, so that a flood costs its sender.
pub(crate) const POD_MAILBOX_MESSAGES_MAX: usize = 256;

/// Commands of a person (cancel, pause, stop) that wait for one pod. They are read first.
pub(crate) const POD_COMMANDS_MAX: usize = 32;

/// Bytes of one input or notification: more is a file, not a message.
pub const INPUT_BYTES_MAX: usize = 1024 * 1024;

/// Pieces of live text that a watcher may lag behind before it loses some.
pub(crate) const DELTAS_MAX: usize = 1024;

/// Events that are read from the store at a time.
pub(crate) const READ_EVENTS_MAX: usize = 1024;

/// Replies in a row that were cut or had broken calls, before the pod pauses: the model repeats
/// itself.
pub(crate) const CUT_REPLIES_MAX: u32 = 3;

/// The wait before the second attempt; each further one doubles it.
pub(crate) const RETRY_BASE: Duration = Duration::from_millis(500);

/// The longest wait between two attempts that podwork chooses.
pub(crate) const RETRY_WAIT_MAX: Duration = Duration::from_mins(1);

/// The longest wait that a provider may ask for; beyond it the pod pauses and says when to resume.
pub(crate) const RETRY_AFTER_MAX: Duration = Duration::from_mins(5);

/// How long a hook may take when it names no other time.
pub const HOOK_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of a preview that a hook sees.
pub const PREVIEW_BYTES_MAX: usize = 512;

/// Bytes of a hook's reason that are kept.
pub(crate) const REASON_BYTES_MAX: usize = 1024;

/// How long a cancelled tool may take to wind up before its future is dropped.
pub(crate) const TOOL_WIND_UP_MAX: Duration = Duration::from_secs(5);

/// Times a pod's actor is started again after a panic before it is left alone.
pub(crate) const POD_RESTARTS_MAX: u32 = 3;

/// Compactions that may fail in a row before the pod pauses.
pub(crate) const COMPACTION_FAILURES_MAX: u32 = 3;

/// Bytes of one attachment that is kept of a tool's output.
pub const TOOL_OUTPUT_KEPT_BYTES_MAX: usize = 8 * 1024 * 1024;
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

/// Bytes of one event of a stream. The largest that providers send are whole documents in one
/// block; a line that never ends must not take the memory.
pub const STREAM_EVENT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Bytes of one stream. Each few letters of a reply come in some 300 bytes of wrapping, so that
/// this is about fifty times what the longest replies take.
pub const STREAM_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Bytes of one reply, as it is kept: ten times what the longest replies take.
pub const REPLY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What a part counts towards [`REPLY_BYTES_MAX`] beside its words, so that many empty ones are
/// bounded as well.
pub const REPLY_PART_BYTES: usize = 128;

/// Bytes of the draft that a failure keeps: it is for diagnosis only.
pub const DRAFT_BYTES_MAX: usize = 64 * 1024;

/// Bytes of an error's body that are read: enough for every provider's, and a proxy's page.
pub const ERROR_BODY_BYTES_MAX: usize = 64 * 1024;

/// Output tokens of one reply where the provider wants a number and the pod has none: what the
/// models of the last years can give, and enough for a long file.
pub const ANTHROPIC_OUTPUT_TOKENS: u64 = 16_384;

/// The least budget of reasoning that Anthropic accepts.
pub const REASONING_TOKENS_MIN: u64 = 1024;

/// Seconds until a connection stands.
pub const CONNECT_SECONDS: u64 = 10;

/// Seconds from the end of a request to the head of its answer: providers answer at once, but
/// what stands before them may queue.
pub const HEADERS_SECONDS: u64 = 120;

/// Seconds without a byte after which an answer has fallen silent.
pub const IDLE_SECONDS: u64 = 120;

/// Seconds without a word after which an answer has fallen silent, though something keeps the
/// connection alive.
pub const EVENT_SECONDS: u64 = 300;

/// The same for a server on this machine: it sends nothing until a small processor has read the
/// whole prompt.
pub const LOCAL_SECONDS: u64 = 900;

/// Seconds that are waited for the counts of tokens when the reply itself has ended.
pub const TAIL_SECONDS: u64 = 10;

/// Seconds that an unused connection is kept: less than servers and what stands before them keep
/// it, so that a request does not run into one that is just being closed.
pub const POOL_SECONDS: u64 = 30;

/// Bytes of a provider's id of a request, which is for its support only.
pub const REQUEST_ID_BYTES_MAX: usize = 200;
