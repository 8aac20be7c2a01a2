//! A temporary directory and calls of tools in it, for the tests of the tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use events::item::Call;
use events::{Arguments, CallId, PodId};
use futures_util::future::{BoxFuture, FutureExt as _};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{Scene, Tool, ToolOutput, run_guarded};
use crate::permit::Permitted;

/// A pod's directory.
pub(crate) struct Stage {
    folder: TempDir,
    pub(crate) scene: Scene,
}

impl Stage {
    /// An empty directory.
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().expect("a temporary directory");
        let scene = Scene {
            pod: PodId::from_bytes(*uuid::Uuid::now_v7().as_bytes()),
            directory: folder.path().canonicalize().expect("it exists"),
            seconds: 60,
            output_bytes: 16_384,
            cancel: CancellationToken::new(),
        };
        Self { folder, scene }
    }

    /// The same with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let stage = Self::new();
        for (name, content) in files {
            stage.write(name, content);
        }
        stage
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scene.directory.join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("inside")).expect("folders");
        fs::write(path, content).expect("written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a text file")
    }

    /// Removes the directory under the pod's feet.
    pub(crate) fn remove(&self) {
        fs::remove_dir_all(self.folder.path()).expect("removed");
    }

    /// The future of a call.
    pub(crate) fn call(&self, tool: impl Tool, arguments: &Value) -> BoxFuture<'static, ToolOutput> {
        let call = Call {
            call: CallId(1),
            tool: tool.spec().name,
            provider_id: String::new(),
            arguments: Arguments::parse(&arguments.to_string()).expect("an object"),
        };
        run_guarded(Arc::new(tool), Permitted::for_test(call), self.scene.clone()).boxed()
    }

    /// Calls a tool and waits for it on a runtime of its own.
    pub(crate) fn run(&self, tool: impl Tool, arguments: &Value) -> ToolOutput {
        runtime().block_on(self.call(tool, arguments))
    }
}

/// A test that fails may have left processes; those that succeed show that there are none.
impl Drop for Stage {
    fn drop(&mut self) {
        if std::thread::panicking() {
            super::sweep_pod(self.scene.pod);
        }
    }
}

/// A runtime as podwork has one.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

/// Waits until something is so, and fails when it is not so for very long.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < until, "never so: {what}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// A process with this id lives.
pub(crate) fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
