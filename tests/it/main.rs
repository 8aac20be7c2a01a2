//! The tests that see every crate. The list is the index.

#![expect(clippy::unwrap_used, reason = "in a test the panic is the message")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for what it needs; views may not")]

mod cases;
mod cli;
mod compaction;
mod hooks;
mod invariants;
mod kill;
mod panics;
mod projections;
mod providers;
mod recovery;
mod server;
mod shell;
mod stopping;
mod store;
mod strict;
mod turns;
mod wire;
