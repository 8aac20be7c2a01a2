//! The kit: what every test of podwork is built from.
//!
//! - [`log`]: logs as short sentences, and arbitrary and plausible ones for property tests
//! - [`invariants`]: what holds for the items of every request
//! - [`conformance`]: what every store promises
//! - [`fault`]: a disk that fails and loses power on demand
//! - [`strict`]: what real providers refuse, as pure functions over the body of a request
//! - [`server`]: a model server on loopback that refuses it, and misbehaves on demand
//! - [`workshop`]: all of it around one runtime
//! - [`shell`]: the real binary, in a place of its own
//! - [`transcripts`]: recorded sessions of other tools, where there are any

#![expect(clippy::wildcard_enum_match_arm, reason = "the kit looks for what it needs; views may not")]

pub mod conformance;
pub mod fault;
pub mod invariants;
pub mod log;
pub mod server;
pub mod shell;
pub mod strict;
pub mod transcripts;
pub mod workshop;
