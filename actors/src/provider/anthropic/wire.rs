//! The dialect, without I/O: a request from items, a reply from a stream.

pub(crate) mod reply;
pub(crate) mod request;
