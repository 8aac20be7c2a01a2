//! Stands in for the toolbox until the tools are here.

use std::sync::Arc;

use events::PodId;
use events::item::Call;

use crate::permit::Permitted;
use crate::tool::{Scene, Tool, ToolOutput};

/// Tools by name.
#[derive(Clone, Default)]
pub struct Toolbox(Vec<Arc<dyn Tool>>);

impl Toolbox {
    /// No tools.
    pub fn standard() -> Self {
        Self::default()
    }

    /// The tool of this name.
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.0.iter().find(|tool| tool.spec().name == name)
    }
}

pub(crate) async fn run_guarded(tool: Arc<dyn Tool>, call: Permitted<Call>, scene: Scene) -> ToolOutput {
    tool.run(call, scene).await
}

pub(crate) fn sweep_pod(_pod: PodId) {}
