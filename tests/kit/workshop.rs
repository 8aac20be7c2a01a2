//! A whole podwork for one test: the actors over a store in memory, and a strict model server
//! that they ask.

use std::sync::Arc;
use std::time::Duration;

use actors::provider::Providers;
use actors::tool::Toolbox;
use actors::{Opening, PodHandle, Runtime, RuntimeBuilder};
use events::{Envelope, Event, PodId, Seq, Spec};
use store::{AppendLog, MemoryStore};
use tempfile::TempDir;

use crate::server::StrictServer;

/// The longest that a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// A runtime, its store, its model server and a directory for its pods.
pub struct Workshop {
    /// The runtime.
    pub runtime: Runtime,
    /// The model server.
    pub server: StrictServer,
    /// Where pods work.
    pub directory: TempDir,
    store: Arc<MemoryStore>,
    toolbox: Toolbox,
}

impl Workshop {
    /// The standard tools, no hooks.
    pub async fn start() -> Self {
        Self::start_with(StrictServer::start(), Toolbox::standard(), |builder| builder).await
    }

    /// With this server, these tools, and whatever else the builder is told.
    pub async fn start_with(
        server: StrictServer,
        toolbox: Toolbox,
        more: impl FnOnce(RuntimeBuilder) -> RuntimeBuilder,
    ) -> Self {
        let store = Arc::new(MemoryStore::new());
        let runtime = launch(&store, &server, &toolbox, more).await;
        let directory = tempfile::tempdir().expect("a temporary directory");
        Self { runtime, server, directory, store, toolbox }
    }

    /// What is left after the process is gone: the same store under a new runtime.
    pub async fn restart(&mut self) {
        self.runtime.shutdown().await;
        self.runtime = launch(&self.store, &self.server, &self.toolbox, |builder| builder).await;
    }

    /// A pod's spec for the server, in the OpenAI dialect, with all tools.
    pub fn spec(&self) -> Spec {
        self.spec_of("openai:test-model")
    }

    /// A pod's spec for this model.
    pub fn spec_of(&self, model: &str) -> Spec {
        let mut spec = Spec::new(model.parse().expect("a model"));
        "You are a test.".clone_into(&mut spec.system);
        spec.tools = self.toolbox.specs();
        spec.directory = self.directory.path().canonicalize().expect("it exists").display().to_string();
        spec
    }

    /// A new pod.
    pub async fn open(&self) -> PodHandle {
        self.open_as(self.spec()).await
    }

    /// A new pod of this kind.
    pub async fn open_as(&self, spec: Spec) -> PodHandle {
        self.runtime.open(Opening { spec, name: None }).await.expect("a pod opens")
    }

    /// All of a pod's log.
    pub fn log(&self, pod: PodId) -> Vec<Arc<Envelope>> {
        self.store.reader().read(pod, Seq(1), usize::MAX).expect("the log reads")
    }

    /// The kinds of a pod's events, in order.
    pub fn kinds(&self, pod: PodId) -> Vec<&'static str> {
        self.log(pod).iter().map(|envelope| envelope.event().kind()).collect()
    }

    /// Waits until the pod's log has an event like this, and gives it.
    pub async fn wait_for(&self, pod: PodId, mut is_it: impl FnMut(&Event) -> bool) -> Arc<Envelope> {
        let mut follow = store::Follow::new(self.store.reader(), pod, Seq(1));
        let waiting = async {
            while let Some(envelope) = follow.next().await {
                let envelope = envelope.expect("the log reads");
                if is_it(envelope.event()) {
                    return envelope;
                }
            }
            panic!("the store closed");
        };
        tokio::time::timeout(PATIENCE, waiting)
            .await
            .unwrap_or_else(|_| panic!("it never came; the log is {:?}", self.kinds(pod)))
    }
}

async fn launch(
    store: &Arc<MemoryStore>,
    server: &StrictServer,
    toolbox: &Toolbox,
    more: impl FnOnce(RuntimeBuilder) -> RuntimeBuilder,
) -> Runtime {
    let (openai, anthropic) = (server.base_url_openai(), server.base_url_anthropic());
    let environment = move |name: &str| match name {
        "OPENAI_BASE_URL" => Some(openai.clone()),
        "ANTHROPIC_BASE_URL" => Some(anthropic.clone()),
        "OPENAI_API_KEY" | "ANTHROPIC_API_KEY" => Some("test-key".to_owned()),
        _ => None,
    };
    let writer: Arc<dyn AppendLog> = store.clone();
    let builder = Runtime::builder(store.reader(), writer)
        .providers(Providers::standard(&environment))
        .toolbox(toolbox.clone());
    more(builder).start().await.expect("the runtime starts")
}
