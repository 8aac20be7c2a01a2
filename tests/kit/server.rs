//! The strict model server: a provider of both dialects on loopback, for every test that talks to
//! a model.
//!
//! It answers from a script, or from a function of the request. A request that breaks a rule of
//! [`crate::strict`] is answered as the vendor would, takes nothing from the script, and is
//! remembered: [`StrictServer::assert_no_refusals`] stands at the end of a test. The server lives
//! in a thread of its own, so it serves tests with and without a runtime, and programs.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Semaphore, oneshot, watch};

mod answer;
mod anthropic;
mod connection;
mod http;
mod openai;
mod stream;
mod trouble;

pub use answer::{Answer, At, Then, UsageStyle};
pub use trouble::Trouble;

use crate::strict::{Broken, Rules, Seal};

/// A wait that takes longer than this will not end: the test fails with what it waited for.
const WAIT_MAX: Duration = Duration::from_mins(1);

/// Each server has a seal of its own, so that each refuses the signatures of the others.
static SERVERS: AtomicU64 = AtomicU64::new(1);

/// The protocol of a request, by its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `POST /v1/chat/completions`
    OpenAi,
    /// `POST /v1/messages`
    Anthropic,
}

/// A request that arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Its protocol.
    pub dialect: Dialect,
    /// Its headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Its body; null when that is not JSON.
    pub body: Value,
    /// The bytes of its body.
    pub raw: Vec<u8>,
    /// It broke no rule.
    pub accepted: bool,
}

/// A request that broke rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// The request's place among all, from 0.
    pub request: usize,
    /// What it broke.
    pub broken: Vec<Broken>,
}

/// What all accepted requests took, by the server's own count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests that got a reply, whole or not.
    pub replies: u64,
    /// Input tokens, cached ones included.
    pub input_tokens: u64,
    /// Input tokens of the beginning that an earlier request had as well.
    pub cached_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
}

type AnswerFunction = Box<dyn FnMut(&Value) -> Answer + Send>;

enum Script {
    Queue(VecDeque<Answer>),
    Function(AnswerFunction),
}

struct State {
    script: Script,
    requests: Vec<Recorded>,
    refused: Vec<Refused>,
    totals: Totals,
    calls: u64,
    stalls: usize,
    disconnects: usize,
}

struct Shared {
    state: Mutex<State>,
    /// Counts changes of the state.
    changed: watch::Sender<u64>,
    /// One permit lets one stall go on.
    releases: Semaphore,
    rules: Rules,
    seal: Seal,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.state());
        self.changed.send_modify(|changes| *changes += 1);
        result
    }
}

/// A running server. It ends when it is dropped.
pub struct StrictServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    runtime: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl StrictServer {
    /// A server that answers what is enqueued, and some words when nothing is.
    pub fn start() -> Self {
        Self::start_with(Rules::default())
    }

    /// The same under other rules. A server without a seal gets one of its own.
    pub fn start_with(rules: Rules) -> Self {
        Self::launch(rules, Script::Queue(VecDeque::new()))
    }

    /// A server that answers what the function says.
    pub fn answering(function: impl FnMut(&Value) -> Answer + Send + 'static) -> Self {
        Self::answering_with(Rules::default(), function)
    }

    /// The same under other rules.
    pub fn answering_with(rules: Rules, function: impl FnMut(&Value) -> Answer + Send + 'static) -> Self {
        Self::launch(rules, Script::Function(Box::new(function)))
    }

    fn launch(mut rules: Rules, script: Script) -> Self {
        let seal = rules
            .seal
            .take()
            .unwrap_or_else(|| Seal::named(format!("server {}", SERVERS.fetch_add(1, Ordering::Relaxed))));
        rules.seal = Some(seal.clone());
        let state = State {
            script,
            requests: Vec::new(),
            refused: Vec::new(),
            totals: Totals::default(),
            calls: 0,
            stalls: 0,
            disconnects: 0,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: watch::Sender::new(0),
            releases: Semaphore::new(0),
            rules,
            seal,
        });
        let (stop, stopped) = oneshot::channel();
        let (ready, started) = std::sync::mpsc::channel();
        let served = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime starts");
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
                let address = listener.local_addr().expect("a bound socket has an address");
                ready.send((address, Handle::current())).expect("the test waits for the server");
                tokio::select! {
                    () = accept(&listener, &served) => {}
                    _ = stopped => {}
                }
            });
        });
        let (address, runtime) = started.recv().expect("the server thread says where it listens");
        Self { shared, address, runtime, stop: Some(stop), thread: Some(thread) }
    }

    /// What stands for the vendor's address in `OPENAI_BASE_URL`, with `/v1`.
    pub fn base_url_openai(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What stands for the vendor's address in `ANTHROPIC_BASE_URL`, without `/v1`.
    pub fn base_url_anthropic(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Who signs the reasoning that this server sends.
    pub fn seal(&self) -> Seal {
        self.shared.seal.clone()
    }

    /// Puts an answer at the end of the script.
    ///
    /// # Panics
    ///
    /// When the server answers from a function.
    pub fn enqueue(&self, answer: Answer) {
        self.shared.change(|state| match &mut state.script {
            Script::Queue(queue) => queue.push_back(answer),
            Script::Function(_) => panic!("this server answers from a function, not from a script"),
        });
    }

    /// Puts answers at the end of the script.
    pub fn enqueue_all(&self, answers: impl IntoIterator<Item = Answer>) {
        answers.into_iter().for_each(|answer| self.enqueue(answer));
    }

    /// Answers of the script that nobody asked for yet.
    pub fn unasked(&self) -> usize {
        match &self.shared.state().script {
            Script::Queue(queue) => queue.len(),
            Script::Function(_) => 0,
        }
    }

    /// All requests that arrived, the refused ones as well.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.state().requests.clone()
    }

    /// The bodies of all accepted requests.
    pub fn bodies(&self) -> Vec<Value> {
        let accepted = |recorded: &&Recorded| recorded.accepted;
        self.shared.state().requests.iter().filter(accepted).map(|recorded| recorded.body.clone()).collect()
    }

    /// What was refused, and why.
    pub fn refusals(&self) -> Vec<Refused> {
        self.shared.state().refused.clone()
    }

    /// What everything took.
    pub fn totals(&self) -> Totals {
        self.shared.state().totals
    }

    /// Fails the test when a request broke a rule.
    ///
    /// # Panics
    ///
    /// When it did.
    pub fn assert_no_refusals(&self) {
        let state = self.shared.state();
        if let Some(refused) = state.refused.first() {
            let request = &state.requests[refused.request];
            let broken: Vec<String> = refused.broken.iter().map(ToString::to_string).collect();
            panic!("request {} was refused:\n  {}\n{:#}", refused.request, broken.join("\n  "), request.body);
        }
    }

    /// Lets one stall go on, the one that is or the next one that comes.
    pub fn release(&self) {
        self.shared.releases.add_permits(1);
    }

    /// Lets all stalls go on, those to come as well.
    pub fn release_all(&self) {
        self.shared.releases.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    /// Waits until so many requests have arrived.
    pub async fn wait_for_requests(&self, requests: usize) {
        self.wait("requests", move |state| state.requests.len() >= requests).await;
    }

    /// Waits until an answer stalls.
    pub async fn wait_for_stall(&self) {
        self.wait("a stall", |state| state.stalls > 0).await;
    }

    /// Waits until so many clients went away before their answer had ended.
    pub async fn wait_for_disconnects(&self, disconnects: usize) {
        self.wait("disconnects", move |state| state.disconnects >= disconnects).await;
    }

    /// As [`Self::wait_for_requests`], for tests without a runtime.
    pub fn block_for_requests(&self, requests: usize) {
        self.runtime.block_on(self.wait_for_requests(requests));
    }

    /// As [`Self::wait_for_stall`], for tests without a runtime.
    pub fn block_for_stall(&self) {
        self.runtime.block_on(self.wait_for_stall());
    }

    /// The wait runs beside the server, where the clock of a test cannot stand still or leap.
    async fn wait(&self, what: &'static str, met: impl Fn(&State) -> bool + Send + Sync + 'static) {
        let shared = Arc::clone(&self.shared);
        let waiting = self.runtime.spawn(async move {
            let mut changed = shared.changed.subscribe();
            let met = async { changed.wait_for(|_| met(&shared.state())).await.map(|_| ()) };
            tokio::time::timeout(WAIT_MAX, met).await.is_ok()
        });
        assert!(waiting.await.unwrap_or(false), "waited too long for {what} at the strict server");
    }
}

impl Drop for StrictServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The thread may have ended by a panic; then nobody listens, and the join says so.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the strict server panicked");
        }
    }
}

async fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((socket, _)) => {
                tokio::spawn(connection::serve(socket, Arc::clone(shared)));
            }
            Err(_) => tokio::task::yield_now().await,
        }
    }
}
