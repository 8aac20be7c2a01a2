//! Tools: what a model can do.
//!
//! | file | what |
//! |---|---|
//! | `tool/read_file`, `write_file`, `edit_file`, `list_files`, `search`, `bash` | the tools |
//! | `tool/toolbox` | the tools of a runtime, frozen, by name |
//! | `tool/run` | running any tool so that it cannot harm its caller |
//! | `tool/arguments`, `nearest` | what a model wrote, read strictly |
//! | `tool/path` | where a path leads, and whether that is inside |
//! | `tool/output` | from bytes to what a model sees |
//! | `tool/file`, `lines`, `walk` | files, read and replaced within bounds |

use std::path::PathBuf;
use std::sync::Arc;

use events::event::tool::CallOutcome;
use events::item::Call;
use events::{PodId, ToolSpec};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::permit::Permitted;

mod arguments;
mod bash;
mod edit_file;
mod file;
mod lines;
mod list_files;
mod nearest;
mod output;
mod path;
mod read_file;
mod run;
mod search;
#[cfg(test)]
mod test_scene;
mod toolbox;
mod walk;
mod write_file;

pub use bash::Bash;
pub use bash::sweep::{sweep, sweep_pod};
pub use edit_file::EditFile;
pub use list_files::ListFiles;
pub use read_file::ReadFile;
pub(crate) use run::run_guarded;
pub use search::Search;
pub use toolbox::{Toolbox, ToolboxError};
pub use write_file::WriteFile;

/// Something that a model can call.
pub trait Tool: Send + Sync + 'static {
    /// The name, the description and the arguments' schema that the model is told.
    fn spec(&self) -> ToolSpec;

    /// Runs a call. A panic is a failed call. The future may be dropped at any await; what must be
    /// wound up in order is told by [`Scene::cancel`].
    fn run(&self, call: Permitted<Call>, scene: Scene) -> BoxFuture<'static, ToolOutput>;
}

/// The tools that podwork comes with, in the order in which a model is told of them.
pub fn standard() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ReadFile),
        Arc::new(WriteFile),
        Arc::new(EditFile),
        Arc::new(ListFiles),
        Arc::new(Search),
        Arc::new(Bash),
    ]
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

impl ToolOutput {
    /// The tool did its work, and the summary says all.
    pub fn ok(summary: impl AsRef<str>) -> Self {
        Self::new(CallOutcome::Ok, summary.as_ref())
    }

    /// The tool, or the attempt to run it, failed for the reason given.
    pub fn failed(summary: impl AsRef<str>) -> Self {
        Self::new(CallOutcome::Failed, summary.as_ref())
    }

    /// The tool was stopped; side effects may have happened.
    pub fn interrupted(summary: impl AsRef<str>) -> Self {
        Self::new(CallOutcome::Interrupted, summary.as_ref())
    }

    /// The same with this text as its content. What is too long for the pod or not clean is cut
    /// and cleaned when the call ends.
    #[must_use]
    pub fn with_content(mut self, content: impl Into<String>) -> Self {
        self.content = content.into();
        self.bytes = self.content.len() as u64;
        self
    }

    fn new(outcome: CallOutcome, summary: &str) -> Self {
        Self { outcome, summary: output::one_line(summary), content: String::new(), whole: None, bytes: 0 }
    }

    /// The same with output as a tool of podwork's own shows it.
    fn with_shown(mut self, shown: output::Shown) -> Self {
        self.content = shown.content;
        self.whole = shown.whole;
        self.bytes = shown.bytes;
        self
    }
}
