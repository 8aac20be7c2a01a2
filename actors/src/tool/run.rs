//! Running a tool so that it cannot harm whoever runs it.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use events::ToolSpec;
use events::item::Call;
use events::spec::Effect;
use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::arguments::{self, Decoded, Field};
use super::{Scene, Tool, ToolOutput};
use crate::permit::Permitted;

/// Runs a call. A panic is a failed result, before the first await as well as after it.
pub(crate) async fn run_guarded(tool: Arc<dyn Tool>, call: Permitted<Call>, scene: Scene) -> ToolOutput {
    let run = async move { tool.run(call, scene).await };
    AssertUnwindSafe(run)
        .catch_unwind()
        .await
        .unwrap_or_else(|panic| ToolOutput::failed(format!("the tool panicked: {}", message(panic.as_ref()))))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("it did not say why")
}

/// What the model is told of one of podwork's own tools.
pub(super) fn spec(name: &str, effect: Effect, description: &str, fields: &[Field]) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: arguments::schema(fields),
        effect,
    }
}

/// Reads the arguments of a call; the error is the call's result.
pub(super) fn decode(fields: &[Field], call: &Call) -> Result<Decoded, ToolOutput> {
    arguments::decode(fields, &call.arguments)
        .map_err(|wrong| ToolOutput::failed(format!("{} was not run: {wrong}", call.tool)))
}

/// Does work with files on a thread that may wait for them. The work asks its watch whether it
/// should stop; a caller that has gone away is a reason too.
pub(super) async fn with_files(
    scene: Scene,
    work: impl FnOnce(&Scene, &Watch) -> ToolOutput + Send + 'static,
) -> ToolOutput {
    let cancel = scene.cancel.child_token();
    let gone = cancel.clone().drop_guard();
    let watch = Watch { cancel, until: Instant::now() + Duration::from_secs(scene.seconds) };
    let output = tokio::task::spawn_blocking(move || work(&scene, &watch)).await;
    gone.disarm();
    match output {
        Ok(output) => output,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => ToolOutput::interrupted("podwork is shutting down"),
        },
    }
}

/// Why work with files stops before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The turn was cancelled.
    Cancelled,
    /// The call's time is over.
    TimedOut,
}

/// Tells work with files when to stop.
#[derive(Debug)]
pub(super) struct Watch {
    cancel: CancellationToken,
    until: Instant,
}

impl Watch {
    /// Asked again and again by whatever may take long.
    pub(super) fn stop(&self) -> Option<Stop> {
        if self.cancel.is_cancelled() {
            Some(Stop::Cancelled)
        } else {
            (Instant::now() >= self.until).then_some(Stop::TimedOut)
        }
    }
}

impl Stop {
    /// The result of what had been found until then.
    pub(super) fn output(self, found: &str) -> ToolOutput {
        match self {
            Self::Cancelled => ToolOutput::interrupted(format!("cancelled: {found}")),
            Self::TimedOut => ToolOutput::failed(format!("out of time, so this is not all: {found}")),
        }
    }
}

#[cfg(test)]
mod tests;
