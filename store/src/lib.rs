//! Where the log is kept.
//!
//! A store can do two things: append and read. There is no third verb, so nothing that happened
//! can be changed. [`ReadLog`] may be held by anyone; [`AppendLog`] is what the actors write with.

pub mod log;

pub use log::{Append, AppendError, AppendLog, Attachment, Follow, PodHead, ReadError, ReadLog, Receipt};
