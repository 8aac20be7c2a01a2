//! What to do: the actors that run pods, their rules, their tools and their providers.

pub mod limits;
pub mod permit;
pub mod provider;
pub mod tool;
