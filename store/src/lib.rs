//! Where the log is kept.
//!
//! A store can do two things: append and read. There is no third verb, so nothing that happened
//! can be changed. [`ReadLog`] may be held by anyone; [`AppendLog`] is what the actors write with.
//!
//! [`MemoryStore`] keeps the log for as long as the process lives, [`DiskStore`] in one file.
//! What both promise is written at the traits and tested by the conformance suite in `tests/kit`.

pub mod clock;
mod committed;
pub mod disk;
pub mod follow;
pub mod limits;
pub mod log;
pub mod memory;
mod place;

pub use clock::Clock;
pub use disk::{DiskStore, OpenError};
pub use follow::Follow;
pub use log::{Append, AppendError, AppendLog, Attachment, PodHead, ReadError, ReadLog, Receipt};
pub use memory::MemoryStore;
