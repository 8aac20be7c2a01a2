//! What is true.
//!
//! Everything that happens to a pod is an [`Event`] in an append-only log. Before the append it
//! is a [`Draft`]; afterwards it is an [`Envelope`], which has a place and never changes. All
//! else is a [`Projection`]: a fold over envelopes that can be thrown away and folded again.
//!
//! This crate has no clock, no randomness, no files and no threads: the same log gives the same
//! values on every machine.

pub mod arguments;
pub mod codec;
pub mod content;
pub mod envelope;
pub mod estimate;
pub mod event;
pub mod hash;
pub mod id;
pub mod item;
pub mod projection;
pub mod spec;
pub mod text;
pub mod time;

pub use arguments::Arguments;
pub use content::Content;
pub use envelope::{Draft, Envelope};
pub use event::Event;
pub use hash::Hash;
pub use id::{CallId, PodId, Position, RequestNumber, Seq, TurnNumber};
pub use item::{Item, ItemBody};
pub use projection::{Projection, project};
pub use spec::{Model, Spec, ToolSpec};
pub use time::Timestamp;
