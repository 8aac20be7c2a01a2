//! The tests that see every crate. The list is the index.

#![expect(clippy::unwrap_used, reason = "in a test the panic is the message")]

mod server;
mod store;
mod strict;
