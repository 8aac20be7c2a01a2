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

/// Seconds that a call may name for itself, and that the house waits for any tool at least.
pub(crate) const TOOL_CALL_SECONDS_MAX: u64 = 600;

/// Seconds that a pod may allow its tools: a day. More is a mistake and would overflow clocks.
pub(crate) const TOOL_SECONDS_MAX: u64 = 86_400;

/// Times a pod's actor is started again after a panic before it is left alone.
pub(crate) const POD_RESTARTS_MAX: u32 = 3;

/// Compactions that may fail in a row in one process before none is begun between turns any more.
pub(crate) const COMPACTION_FAILURES_MAX: u32 = 3;

/// Raw bytes of one tool's output that are kept. What comes after them is counted, its end is
/// shown, and it is dropped: a command that prints gigabytes costs this much memory.
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

// Tools: what they show, what they keep, how long they may take.

/// The most that a pod's setting may let a model see of one result: larger ones fill any window.
pub const OUTPUT_BYTES_MAX: usize = 1 << 20;

/// The least: the note that says how much was left out must always fit.
pub const OUTPUT_BYTES_MIN: usize = 256;

/// A summary is one line that stays in every later request.
pub const SUMMARY_BYTES_MAX: usize = 400;

/// Lines that one `read_file` shows when the call names no other number.
pub const READ_LINES_DEFAULT: u64 = 2000;

/// Bytes that are shown of one line of a file: longer ones are data rather than text.
pub const LINE_BYTES_MAX: usize = 2000;

/// Bytes that are read after the last line shown, only to say how many lines a file has.
pub const COUNT_AHEAD_BYTES_MAX: u64 = 64 << 20;

/// A file that is edited is held in memory, twice.
pub const EDIT_BYTES_MAX: u64 = 32 << 20;

/// Places that an error about an ambiguous edit names.
pub const EDIT_PLACES_MAX: usize = 10;

/// Files that one `list_files` names; the rest is counted.
pub const LIST_ENTRIES_MAX: usize = 1000;

/// Matching lines that one `search` shows; the rest is counted.
pub const SEARCH_LINES_MAX: usize = 500;

/// Bytes that a search shows of one matching line.
pub const SEARCH_SHOWN_BYTES_MAX: usize = 300;

/// Bytes at the beginning of a line in which a search looks: a line of a gigabyte is not held.
pub const SEARCH_LINE_BYTES_MAX: usize = 64 << 10;

/// Symbolic links that one path may lead through, as in the kernel.
pub const LINKS_MAX: usize = 40;

/// A command is one argument of a program, and Linux takes 128 KiB of one.
pub const COMMAND_BYTES_MAX: usize = 100 << 10;

/// The longest that a command may be given.
pub const COMMAND_SECONDS_MAX: u64 = 600;

/// After SIGTERM, what still runs has this long to end in order; then comes SIGKILL.
pub const TERMINATION_GRACE: Duration = Duration::from_secs(2);

/// A shell has exited, its pipe is still open: silence of this length ends the reading.
pub const DRAIN_SILENCE: Duration = Duration::from_millis(500);

/// The same for a background process that never falls silent.
pub const DRAIN_MAX: Duration = Duration::from_secs(2);

/// Rounds in which leftover processes are looked for and killed: each finds what was started
/// during the one before.
pub const SWEEP_ROUNDS_MAX: u32 = 50;
