//! The kit: what every test of podwork is built from.
//!
//! - [`strict`]: what real providers refuse, as pure functions over the body of a request
//! - [`server`]: a model server on loopback that refuses it, and misbehaves on demand

pub mod server;
pub mod strict;
