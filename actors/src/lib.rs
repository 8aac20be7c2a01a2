//! What to do: the actors that run pods, their rules, their tools and their providers.

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
