//! Interceptors: the house's own hands in a turn. They come before the hooks, in a fixed chain,
//! and may change the working copy of a result, or ask for events that enter the log
//! before a request is built. Nobody outside this crate can be one.

use events::Draft;
use events::spec::Spec;

use crate::tool::ToolOutput;

pub(crate) mod compaction;
pub(crate) mod truncation;

/// What an interceptor says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Interception {
    /// Go on.
    Continue,
    /// The turn makes room and goes on later.
    Yield(String),
}

/// The working copy of a request: what it will be made of, and what enters the log before it.
pub(crate) struct RequestCopy<'a> {
    /// What the pod is.
    pub(crate) spec: &'a Spec,
    /// Estimated tokens of the context with the reply that is to come.
    pub(crate) occupancy_tokens: u64,
    /// Something could be summarised.
    pub(crate) is_compactable: bool,
    /// Events that enter the log first.
    pub(crate) drafts: Vec<Draft>,
}

/// One link of the chain.
pub(crate) trait Interceptor: Send + Sync {
    /// A request is about to be built.
    fn before_request(&self, _request: &mut RequestCopy<'_>) -> Interception {
        Interception::Continue
    }

    /// A call has ended and is not in the log yet.
    fn after_call(&self, _spec: &Spec, _output: &mut ToolOutput) {}
}

/// The chain of the house, in its fixed order.
pub(crate) fn chain() -> Vec<Box<dyn Interceptor>> {
    vec![Box::new(compaction::Trigger), Box::new(truncation::Truncation)]
}
