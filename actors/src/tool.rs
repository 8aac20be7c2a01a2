//! Tools: what a model can do.

use std::path::PathBuf;

use events::event::tool::CallOutcome;
use events::item::Call;
use events::{PodId, ToolSpec};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::permit::Permitted;

/// Something that a model can call.
pub trait Tool: Send + Sync + 'static {
    /// The name, the description and the arguments' schema that the model is told.
    fn spec(&self) -> ToolSpec;

    /// Runs a call. A panic is a failed call. The future may be dropped at any await; what must be
    /// wound up in order is told by [`Scene::cancel`].
    fn run(&self, call: Permitted<Call>, scene: Scene) -> BoxFuture<'static, ToolOutput>;
}

/// Where a call runs.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The pod that calls.
    pub pod: PodId,
    /// The directory that the pod works in, absolute.
    pub directory: PathBuf,
    /// Seconds the call may take when its arguments name no other time.
    pub seconds: u64,
    /// Bytes of output that the model sees.
    pub output_bytes: u64,
    /// Cancelled when the turn is: the tool ends what it started and answers at once.
    pub cancel: CancellationToken,
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    /// `Ok`, `Failed` or `Interrupted`.
    pub outcome: CallOutcome,
    /// One line: what happened.
    pub summary: String,
    /// What the model sees: cleaned, and cut to the scene's bound.
    pub content: String,
    /// The output as bytes, when the content is not all of it.
    pub whole: Option<Vec<u8>>,
    /// Bytes of output before anything was cut.
    pub bytes: u64,
}
