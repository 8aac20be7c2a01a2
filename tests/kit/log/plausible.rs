//! Logs as podwork writes them: sessions with parallel calls, steering, failed attempts, cancels,
//! crashes and their recovery, prunes, compactions, changes of model and forks.

use events::event::model::{EndReason, FailureKind, Part};
use events::event::tool::CallOutcome;
use events::event::turn::TurnOutcome;
use events::item::Call;
use events::{CallId, Envelope};
use proptest::prelude::*;

use super::arbitrary::{MODELS, any_arguments, any_opaque, any_reasoning};
use super::text::{any_provider_id, any_text, any_tool, any_visible_text, words};
use super::{Log, given};

/// One thing after the other that happens in a session.
#[derive(Clone, Debug)]
enum Step {
    Turn(Turn),
    Notification(String),
    /// Prunes the results of the oldest calls, as many as this.
    Prune(u32),
    /// Compacts up to this part of the log, in eighths.
    Compact(u64, String),
    /// Goes on with another model.
    Model(usize),
    Fork,
}

#[derive(Clone, Debug)]
struct Turn {
    input: String,
    exchanges: Vec<Exchange>,
    last_words: String,
    fate: Fate,
}

/// How a turn ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Finished,
    /// Cancelled while the last reply was awaited.
    CancelledWhileAwaited,
    /// The process died while calls ran, and recovery settled them.
    Crashed,
    /// The process died, and the log was written by something that settles nothing.
    CrashedUnsettled,
}

#[derive(Clone, Debug)]
struct Exchange {
    failed_attempts: u32,
    steering_before_reply: Option<String>,
    parts: Vec<Part>,
    cut_for_length: bool,
    calls: Vec<CallPlan>,
    steering_between_ends: Option<String>,
}

#[derive(Clone, Debug)]
struct CallPlan {
    part: Part,
    outcome: CallOutcome,
    content: String,
    /// Calls end in the order of these numbers.
    ends_at: u16,
}

/// A session without anything that podwork would not write.
pub fn plausible_log() -> impl Strategy<Value = Vec<Envelope>> {
    prop::collection::vec(any_step(), 1..6).prop_map(|steps| {
        let mut log = given().opened();
        for step in steps {
            log = take(log, step);
        }
        log.into_envelopes()
    })
}

fn take(log: Log, step: Step) -> Log {
    match step {
        Step::Turn(turn) => take_turn(log, turn),
        Step::Notification(text) => log.notified("timer", text),
        Step::Prune(calls) => {
            let calls = calls.min(log.last_call());
            if calls == 0 { log } else { log.pruned(1..=calls) }
        }
        Step::Compact(eighths, summary) => {
            let kept_from = log.last().0 * eighths / 8 + 1;
            log.compacted(kept_from, summary)
        }
        Step::Model(model) => log.model(MODELS[model]),
        Step::Fork => log.forked(),
    }
}

fn take_turn(mut log: Log, turn: Turn) -> Log {
    log = log.input(turn.input).turn();
    let last = turn.exchanges.len();
    for (place, exchange) in turn.exchanges.into_iter().enumerate() {
        let dies = place + 1 == last;
        match (dies, turn.fate) {
            (true, Fate::Crashed) => log = crash(log, exchange, true),
            (true, Fate::CrashedUnsettled) => log = crash(log, exchange, false),
            (true, Fate::Finished | Fate::CancelledWhileAwaited) | (false, _) => {
                log = take_exchange(log, exchange);
            }
        }
    }
    log = log.request();
    if turn.fate == Fate::CancelledWhileAwaited {
        return log.turn_ended(TurnOutcome::Cancelled);
    }
    log.says(turn.last_words).turn_ended(TurnOutcome::Finished)
}

/// A request and its reply; the calls of the reply.
fn ask(mut log: Log, exchange: Exchange) -> (Log, Vec<(u32, CallPlan)>, Option<String>) {
    log = log.request();
    for attempt in 1..=exchange.failed_attempts {
        log = log.failed(FailureKind::Overloaded, attempt);
    }
    if let Some(text) = exchange.steering_before_reply {
        log = log.input(text);
    }
    let first = log.last_call() + 1;
    let calls: Vec<(u32, CallPlan)> = (first..).zip(exchange.calls).collect();
    let parts = exchange.parts.into_iter().chain(calls.iter().map(|(_, plan)| plan.part.clone()));
    let end = exchange.cut_for_length.then_some(EndReason::Length);
    log = log.reply_ending(parts.collect::<Vec<_>>(), end);
    (log, calls, exchange.steering_between_ends)
}

fn take_exchange(log: Log, exchange: Exchange) -> Log {
    let cut = exchange.cut_for_length;
    let (mut log, mut calls, mut steering) = ask(log, exchange);
    for (call, plan) in &calls {
        if !cut && plan.outcome != CallOutcome::CancelledBeforeStart && plan.outcome != CallOutcome::Denied {
            log = log.started(*call);
        }
    }
    calls.sort_by_key(|(_, plan)| plan.ends_at);
    for (call, plan) in calls {
        let outcome = if cut { CallOutcome::CancelledBeforeStart } else { plan.outcome };
        log = log.ended_as(call, outcome, plan.content);
        if let Some(text) = steering.take() {
            log = log.input(text);
        }
    }
    log
}

/// Some calls started, some ended, and then nothing more is heard of the process.
fn crash(log: Log, exchange: Exchange, settled: bool) -> Log {
    let (mut log, calls, _) = ask(log, exchange);
    let (mut open, mut ended) = (Vec::new(), Vec::new());
    for (call, plan) in calls {
        log = log.started(call);
        if plan.ends_at % 2 == 0 { ended.push((call, plan)) } else { open.push(call) }
    }
    for (call, plan) in ended {
        log = log.ended_as(call, plan.outcome, plan.content);
    }
    for call in open.into_iter().filter(|_| settled) {
        log = log.ended_as(call, CallOutcome::Unknown, "");
    }
    log
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => any_turn().prop_map(Step::Turn).boxed(),
        2 => any_text().prop_map(Step::Notification),
        1 => (1..6_u32).prop_map(Step::Prune),
        1 => (0..=8_u64, words()).prop_map(|(eighths, summary)| Step::Compact(eighths, summary)),
        1 => (0..MODELS.len()).prop_map(Step::Model),
        1 => Just(Step::Fork),
    ]
}

fn any_turn() -> impl Strategy<Value = Turn> {
    let fate = prop_oneof![
        4 => Just(Fate::Finished),
        1 => Just(Fate::CancelledWhileAwaited),
        1 => Just(Fate::Crashed),
        1 => Just(Fate::CrashedUnsettled),
    ];
    (any_visible_text(), prop::collection::vec(any_exchange().boxed(), 0..4), any_text(), fate)
        .prop_map(|(input, exchanges, last_words, fate)| Turn { input, exchanges, last_words, fate })
}

fn any_exchange() -> impl Strategy<Value = Exchange> {
    let rarely = |text| prop::option::weighted(0.2, text);
    let part = prop_oneof![
        2 => any_reasoning().prop_map(Part::Reasoning),
        3 => any_text().prop_map(|text| Part::Text { text }),
        1 => any_opaque(),
        1 => (any_tool(), words()).prop_map(|(tool, why)| Part::BrokenCall { tool, raw: "{".into(), why }),
    ];
    let failed_attempts = prop_oneof![4 => Just(0), 1 => 1..4_u32];
    let parts = prop::collection::vec(part.boxed(), 0..3);
    // A reply without calls ends its turn, so those in its middle have some.
    let calls = prop::collection::vec(any_call().boxed(), 1..6);
    (failed_attempts, rarely(any_text()), parts, prop::bool::weighted(0.1), calls, rarely(any_text()))
        .prop_map(
            |(
                failed_attempts,
                steering_before_reply,
                parts,
                cut_for_length,
                calls,
                steering_between_ends,
            )| Exchange {
                failed_attempts,
                steering_before_reply,
                parts,
                cut_for_length,
                calls,
                steering_between_ends,
            },
        )
}

fn any_call() -> impl Strategy<Value = CallPlan> {
    let outcome = prop_oneof![
        6 => Just(CallOutcome::Ok),
        2 => Just(CallOutcome::Failed),
        1 => Just(CallOutcome::Denied),
        1 => Just(CallOutcome::CancelledBeforeStart),
        1 => Just(CallOutcome::Interrupted),
    ];
    (any_tool(), any_provider_id(), any_arguments(), outcome, any_text(), any::<u16>()).prop_map(
        |(tool, provider_id, arguments, outcome, content, ends_at)| {
            let part = Part::Call(Call { call: CallId(0), tool, provider_id, arguments });
            CallPlan { part, outcome, content, ends_at }
        },
    )
}
