//! What to do: the actors that run pods, their rules, their tools and their providers.
//!
//! A program that embeds podwork brings a store, and tools and hooks of its own:
//!
//! ```
//! use std::sync::Arc;
//!
//! use podwork_actors::hook::{Hook, Summary, Verdict};
//! use podwork_actors::permit::Permitted;
//! use podwork_actors::provider::{Providers, Script};
//! use podwork_actors::tool::{Scene, Tool, ToolOutput, Toolbox};
//! use podwork_actors::{Opening, Runtime};
//! use events::event::hook::{HookPoint, HookRole};
//! use events::spec::{Effect, Spec, ToolSpec};
//! use events::item::Call;
//! use futures_util::future::{BoxFuture, FutureExt, ready};
//!
//! struct Dice;
//!
//! impl Tool for Dice {
//!     fn spec(&self) -> ToolSpec {
//!         let schema = serde_json::json!({"type": "object", "properties": {}});
//!         let description = "Throws a die and returns 1 to 6.".into();
//!         ToolSpec { name: "dice".into(), description, schema, effect: Effect::ReadOnly }
//!     }
//!
//!     fn run(&self, _: Permitted<Call>, _: Scene) -> BoxFuture<'static, ToolOutput> {
//!         ready(ToolOutput::ok("4")).boxed()
//!     }
//! }
//!
//! struct NoCheating;
//!
//! impl Hook for NoCheating {
//!     fn name(&self) -> &str { "no cheating" }
//!     fn points(&self) -> &[HookPoint] { &[HookPoint::BeforeCall] }
//!     fn role(&self) -> HookRole { HookRole::Guard }
//!     fn ask<'a>(&'a self, _: &'a Summary) -> BoxFuture<'a, Verdict> { ready(Verdict::Continue).boxed() }
//! }
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let directory = tempfile::tempdir()?;
//! let store = Arc::new(store::DiskStore::open(&directory.path().join("store.redb"))?);
//! let mut providers = Providers::none();
//! let script = r#"{"calls":[{"tool":"dice","arguments":{}}]}
//! {"text":"You threw a 4."}"#;
//! providers.register("script", Arc::new(Script::of(script)?));
//! let toolbox = Toolbox::standard().with(Arc::new(Dice))?;
//! let mut spec = Spec::new("script:dice".parse()?);
//! spec.tools = toolbox.specs();
//! let runtime = Runtime::builder(store.reader(), store.clone())
//!     .providers(providers)
//!     .toolbox(toolbox)
//!     .hook(NoCheating)
//!     .start()
//!     .await?;
//! let pod = runtime.open(Opening { spec, name: Some("game".into()) }).await?;
//! assert_eq!(pod.run("Throw a die.").await?.text, "You threw a 4.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
