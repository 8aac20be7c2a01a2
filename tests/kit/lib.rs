//! The kit: what every test of podwork is built from.
//!
//! - [`conformance`]: what every store promises
//! - [`fault`]: a disk that fails and loses power on demand
//! - [`strict`]: what real providers refuse, as pure functions over the body of a request
//! - [`server`]: a model server on loopback that refuses it, and misbehaves on demand

pub mod conformance;
pub mod fault;
pub mod server;
pub mod strict;
