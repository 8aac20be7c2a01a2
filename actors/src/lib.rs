//! What to do: the actors that run pods, their rules, their tools and their providers.
//!
//! A program that embeds podwork brings a store, and tools and hooks of its own; the README has an
//! example, which runs as a test of this crate.

mod compactor;
pub mod hook;
mod hook_broker;
mod house;
mod interceptor;
pub mod limits;
pub mod permit;
pub mod pod;
pub mod provider;
pub mod runtime;
pub mod tool;
mod worker;

pub use pod::handle::{PodError, PodHandle, Rest};
pub use runtime::{Opening, Runtime, RuntimeBuilder, RuntimeError};
pub use worker::Worker;
pub use worker::request::SavingsEstimator;

/// The examples of the README, so that they run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
