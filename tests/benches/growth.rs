//! How the cost of one more event grows with the length of a session: appending it durably to the
//! store on disk, and having the next request's body ready. Prints both at several lengths and
//! the ratio of the last to the first. `cargo bench -p podwork-tests --bench growth`.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use actors::provider::Providers;
use events::event::model::{EndReason, Origin, Part, ReplyReceived, RequestPrepared};
use events::event::pod::PodOpened;
use events::event::tool::{CallEnded, CallOutcome, CallStarted};
use events::event::turn::{InputReceived, TurnStarted};
use events::item::Call;
use events::projection::context::{Advance, Cursor};
use events::projection::{Context, Projection};
use events::{Arguments, CallId, Draft, Hash, PodId, RequestNumber, Seq, Spec, TurnNumber};
use store::{Append, AppendLog, DiskStore};

/// Lengths of the session at which the cost of one more event is measured.
const LENGTHS: [usize; 3] = [1_000, 10_000, 100_000];

/// Events that are measured at each length; medians of their costs are compared.
const MEASURED: usize = 200;

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let log = session(LENGTHS[LENGTHS.len() - 1] + MEASURED);
    let contexts = LENGTHS.map(|length| context(&log, length));
    report("context and body of the next request", &contexts);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let appends = runtime.block_on(appends(&log));
    report("durable append of one event", &appends);
}

fn report(what: &str, costs: &[Duration; 3]) {
    println!("{what}");
    for (length, cost) in LENGTHS.iter().zip(costs) {
        println!("  at {length:>7} events: {:>10.1} µs", cost.as_secs_f64() * 1e6);
    }
    println!("  ratio of the last to the first: {:.2}", costs[2].as_secs_f64() / costs[0].as_secs_f64());
}

fn median(mut costs: Vec<Duration>) -> Duration {
    costs.sort_unstable();
    costs[costs.len() / 2]
}

fn origin() -> Origin {
    Origin { provider: "script".into(), model: "bench".into() }
}

fn spec() -> Spec {
    Spec::new("script:bench".parse().expect("a model"))
}

/// One long turn: request, reply with a call, its start and its end, again and again.
fn session(events: usize) -> Vec<Draft> {
    let mut log: Vec<Draft> = vec![
        PodOpened { spec: spec(), name: None, parent: None, imported: None }.into(),
        InputReceived { text: "go".into() }.into(),
        TurnStarted { turn: TurnNumber(1) }.into(),
    ];
    let mut number = 0;
    while log.len() < events {
        number += 1;
        let (call, request) = (CallId(number), RequestNumber(number));
        let arguments = Arguments::parse("{\"path\":\"src/main.rs\"}").expect("an object");
        let asked = Call { call, tool: "read_file".into(), provider_id: format!("p{number}"), arguments };
        let prepared = RequestPrepared {
            turn: TurnNumber(1),
            request,
            origin: origin(),
            history_to: Seq(log.len() as u64),
            prunes: 0,
            compaction: None,
            items: log.len() as u64,
            digest: Hash::of(&number.to_le_bytes()),
            body_bytes: 0,
            estimated_tokens: 0,
        };
        let received = ReplyReceived {
            request,
            origin: origin(),
            parts: vec![Part::Call(asked.clone())],
            usage: None,
            end: EndReason::Calls,
            provider_id: None,
        };
        let ended = CallEnded {
            call,
            outcome: CallOutcome::Ok,
            summary: "read 20 lines".into(),
            content: "fn main() { println!(\"hello\"); }\n".repeat(20).into(),
            content_hash: None,
            content_bytes: 680,
            elapsed_ms: 1,
        };
        let started = CallStarted { call, tool: asked.tool.clone(), arguments: asked.arguments.clone() };
        log.extend([prepared.into(), received.into(), started.into(), ended.into()]);
    }
    log
}

/// The median cost of folding one more event and having the body ready after it.
fn context(log: &[Draft], length: usize) -> Duration {
    let providers = Providers::standard(&|_: &str| None);
    let provider = providers.of(&spec()).expect("the script provider is there");
    let mut renderer = provider.renderer(&spec());
    let mut context = Context::default();
    let mut cursor = Cursor::default();
    let mut costs = Vec::new();
    for (place, draft) in log[..length + MEASURED].iter().enumerate() {
        let seq = Seq(place as u64 + 1);
        let place = events::envelope::Place {
            pod: PodId::from_bytes([1; 16]),
            seq,
            position: events::Position(seq.0),
            at: events::Timestamp::default(),
        };
        let envelope = events::Envelope::seal(draft.clone(), place);
        let began = Instant::now();
        context.apply(&envelope);
        let (Advance::More(items) | Advance::Anew(items)) = context.advance(&mut cursor, &origin());
        for item in &items {
            renderer.push(item);
        }
        if seq.0 > length as u64 {
            std::hint::black_box(renderer.body());
            costs.push(began.elapsed());
        }
    }
    median(costs)
}

/// The median cost of one durable append at each length.
async fn appends(log: &[Draft]) -> [Duration; 3] {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = Arc::new(DiskStore::open(&directory.path().join("store.redb")).expect("a store opens"));
    let pod = PodId::from_bytes([1; 16]);
    let mut at = 0;
    let mut medians = [Duration::ZERO; 3];
    for (median_at, length) in medians.iter_mut().zip(LENGTHS) {
        while at < length {
            let end = length.min(at + 1000);
            append(&store, pod, at, &log[at..end]).await;
            at = end;
        }
        let mut costs = Vec::new();
        for _ in 0..MEASURED {
            let began = Instant::now();
            append(&store, pod, at, &log[at..=at]).await;
            costs.push(began.elapsed());
            at += 1;
        }
        *median_at = median(costs);
    }
    medians
}

async fn append(store: &Arc<DiskStore>, pod: PodId, at: usize, drafts: &[Draft]) {
    let append = Append { pod, expected: Seq(at as u64), drafts: drafts.to_vec() };
    store.append(vec![append], Vec::new()).await.expect("the append is durable");
}
