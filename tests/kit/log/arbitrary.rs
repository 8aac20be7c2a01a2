//! Logs of any events in any order: orphans, repetitions, ends before starts, nonsense ranges.
//! Whatever a damaged, foreign or malicious log may say, views have to make something of it. Half
//! of them are dice, half are sessions that something went wrong with: dice alone rarely get as
//! far as a call with an end.

use events::envelope::Place;
use events::event::child::{ChildEnded, ChildSpawned, MessageSent};
use events::event::context::{
    CompactionFailed, CompactionFinished, CompactionSkipped, CompactionStarted, Pruned,
};
use events::event::hook::{HookAnswered, HookFailed, HookPoint, HookRole, HookVerdict};
use events::event::imported::RecordImported;
use events::event::limit::LimitReached;
use events::event::model::{
    EndReason, FailureKind, Origin, Part, ReasoningPart, ReplyFailed, ReplyReceived, RequestPrepared, Usage,
};
use events::event::permission::{PermissionAnswer, PermissionAnswered, PermissionAsked};
use events::event::pod::{PodForked, PodOpened, PodStopped, SpecChanged};
use events::event::tool::{CallEnded, CallOutcome, CallProgressed, CallStarted};
use events::event::turn::{InputReceived, Notified, Paused, Resumed, TurnEnded, TurnOutcome, TurnStarted};
use events::item::Call;
use events::{
    Arguments, CallId, Content, Draft, Envelope, Event, Hash, PodId, Position, RequestNumber, Seq, Timestamp,
    TurnNumber,
};
use proptest::prelude::*;

use super::plausible::plausible_log;
use super::text::{any_provider_id, any_text, any_tool};

/// Events of one arbitrary log: enough for three exchanges to get into each other's way.
const EVENTS_MAX: usize = 40;

/// Models that replies come from.
pub const MODELS: [&str; 3] = ["anthropic:test", "anthropic:other", "openai:test"];

/// Any log. Most begin as they should, with a pod that is opened.
pub fn arbitrary_log() -> impl Strategy<Value = Vec<Envelope>> {
    // Boxed, because the trees of unboxed strategies this large do not fit on a test's stack.
    prop_oneof![random_log().boxed(), damaged_log().boxed()]
}

fn random_log() -> impl Strategy<Value = Vec<Envelope>> {
    let rest = prop::collection::vec((any_event(), any::<i32>()), 0..EVENTS_MAX);
    (prop::bool::weighted(0.9), rest).prop_map(|(opened, rest)| {
        let opening = opened.then(|| (opening("anthropic:test"), 0));
        seal(opening.into_iter().chain(rest))
    })
}

/// What goes wrong with a log.
#[derive(Clone, Debug)]
enum Damage {
    Lost(prop::sample::Index),
    Doubled(prop::sample::Index, prop::sample::Index),
    Moved(prop::sample::Index, prop::sample::Index),
    Forged(prop::sample::Index, Box<Event>),
}

fn damaged_log() -> impl Strategy<Value = Vec<Envelope>> {
    let index = any::<prop::sample::Index>;
    let damage = prop_oneof![
        index().prop_map(Damage::Lost),
        (index(), index()).prop_map(|(from, to)| Damage::Doubled(from, to)),
        (index(), index()).prop_map(|(from, to)| Damage::Moved(from, to)),
        (index(), any_event()).prop_map(|(at, event)| Damage::Forged(at, Box::new(event))),
    ];
    (plausible_log().boxed(), prop::collection::vec(damage.boxed(), 1..5)).prop_map(|(log, damages)| {
        let mut events: Vec<Event> = log.iter().map(|envelope| envelope.event().clone()).collect();
        for damage in damages {
            apply(&mut events, damage);
        }
        seal(events.into_iter().map(|event| (event, 0)))
    })
}

fn apply(events: &mut Vec<Event>, damage: Damage) {
    if events.is_empty() {
        return;
    }
    let place = |index: prop::sample::Index| index.index(events.len());
    match damage {
        Damage::Lost(from) => drop(events.remove(place(from))),
        Damage::Doubled(from, to) => events.insert(place(to), events[place(from)].clone()),
        Damage::Moved(from, to) => {
            let (from, to) = (place(from), place(to));
            let event = events.remove(from);
            events.insert(to, event);
        }
        Damage::Forged(at, event) => events.insert(place(at), *event),
    }
}

fn opening(model: &str) -> Event {
    PodOpened { spec: super::spec(model), name: None, parent: None, imported: None }.into()
}

/// Gives events their places. Times go wherever they want; after a fork the pod is another one.
fn seal(events: impl IntoIterator<Item = (Event, i32)>) -> Vec<Envelope> {
    let mut pod = PodId::from_bytes([1; 16]);
    let mut envelopes = Vec::new();
    for (event, millis) in events {
        let seq = envelopes.len() as u64 + 1;
        if let Event::PodForked(_) = event {
            pod = PodId::from_bytes([u8::try_from(seq).unwrap_or(u8::MAX); 16]);
        }
        let at = Timestamp::from_micros(1_767_323_045_000_000 + 1000 * i64::from(millis));
        let place = Place { pod, seq: Seq(seq), position: Position(seq), at };
        envelopes.push(Envelope::seal(Draft::new(event), place));
    }
    envelopes
}

fn any_seq() -> impl Strategy<Value = Seq> {
    prop_oneof![9 => 0..=EVENTS_MAX as u64 + 2, 1 => Just(u64::MAX)].prop_map(Seq)
}

fn any_call_id() -> impl Strategy<Value = CallId> {
    prop_oneof![19 => 0..8_u32, 1 => Just(u32::MAX)].prop_map(CallId)
}

fn any_turn() -> impl Strategy<Value = TurnNumber> {
    (0..4_u32).prop_map(TurnNumber)
}

fn any_request() -> impl Strategy<Value = RequestNumber> {
    (0..5_u32).prop_map(RequestNumber)
}

fn any_pod() -> impl Strategy<Value = PodId> {
    (1..4_u8).prop_map(|byte| PodId::from_bytes([byte; 16]))
}

fn any_model() -> impl Strategy<Value = &'static str> {
    prop_oneof![3 => Just(MODELS[0]), 1 => Just(MODELS[1]), 1 => Just(MODELS[2])]
}

fn any_origin() -> impl Strategy<Value = Origin> {
    any_model().prop_map(|model| super::origin(&model.parse().expect("the list names models")))
}

/// Arguments as models write them: spaces, order and escapes of their own.
pub fn any_arguments() -> impl Strategy<Value = Arguments> {
    let raw = prop_oneof![
        4 => Just("{\"path\": \"a\"}"),
        1 => Just("{}"),
        1 => Just(""),
        1 => Just("{\"b\":1,\"a\":1.0}"),
        1 => Just("{\"a\":\"\\ud83d\"}"),
        1 => Just("{\"a\":\"\\u0000\"}"),
        1 => Just("{\"path\":\"a\",\"path\":\"b\"}"),
    ];
    raw.prop_map(|raw| Arguments::parse(raw).expect("the list has objects only"))
}

/// Any part of a reply; its calls have ids from a small range.
fn any_part() -> impl Strategy<Value = Part> {
    let call = (any_call_id(), any_tool(), any_provider_id(), any_arguments()).prop_map(
        |(call, tool, provider_id, arguments)| Part::Call(Call { call, tool, provider_id, arguments }),
    );
    let broken =
        (any_tool(), any_text(), any_text()).prop_map(|(tool, raw, why)| Part::BrokenCall { tool, raw, why });
    prop_oneof![
        3 => any_text().prop_map(|text| Part::Text { text }).boxed(),
        5 => call.boxed(),
        3 => any_reasoning().prop_map(Part::Reasoning).boxed(),
        1 => broken.boxed(),
        1 => any_opaque().boxed(),
    ]
}

/// Reasoning that is signed, hidden, both or neither.
pub fn any_reasoning() -> impl Strategy<Value = ReasoningPart> {
    let seal = || prop::option::of("[a-zA-Z0-9+/]{1,12}={0,2}");
    let text = any_text().prop_map(|text| text.replace('\0', "0"));
    (text, seal(), seal()).prop_map(|(text, signature, data)| ReasoningPart { text, signature, data })
}

/// A part of an unknown kind.
pub fn any_opaque() -> impl Strategy<Value = Part> {
    "[a-z]{1,6}".prop_map(|kind| Part::Opaque { json: format!("{{\"type\":\"x_{kind}\",\"n\":1.0}}") })
}

fn any_reply() -> impl Strategy<Value = Event> {
    let ends = [EndReason::Stop, EndReason::Calls, EndReason::Length, EndReason::Refused];
    let parts = prop::collection::vec(any_part(), 0..6);
    (any_request(), any_origin(), parts, prop::sample::select(ends.to_vec()), any::<bool>()).prop_map(
        |(request, origin, parts, end, counted)| {
            let usage = counted.then(Usage::default);
            ReplyReceived { request, origin, parts, usage, end, provider_id: None }.into()
        },
    )
}

fn any_call_event() -> impl Strategy<Value = Event> {
    let outcomes = [
        CallOutcome::Ok,
        CallOutcome::Failed,
        CallOutcome::Denied,
        CallOutcome::CancelledBeforeStart,
        CallOutcome::Interrupted,
        CallOutcome::Unknown,
    ];
    let ended = (any_call_id(), prop::sample::select(outcomes.to_vec()), any_text(), any_text()).prop_map(
        |(call, outcome, summary, content)| -> Event {
            let content_bytes = content.len() as u64;
            let content = Content::Text(content);
            CallEnded { call, outcome, summary, content, content_hash: None, content_bytes, elapsed_ms: 0 }
                .into()
        },
    );
    let started = (any_call_id(), any_tool(), any_arguments())
        .prop_map(|(call, tool, arguments)| -> Event { CallStarted { call, tool, arguments }.into() });
    let progressed = (any_call_id(), any_text())
        .prop_map(|(call, note)| -> Event { CallProgressed { call, note }.into() });
    prop_oneof![6 => ended, 2 => started, 1 => progressed]
}

fn any_turn_event() -> impl Strategy<Value = Event> {
    let outcomes = [
        TurnOutcome::Finished,
        TurnOutcome::Failed,
        TurnOutcome::Cancelled,
        TurnOutcome::Aborted,
        TurnOutcome::Paused,
        TurnOutcome::Yielded,
        TurnOutcome::Exhausted,
    ];
    let ended = (any_turn(), prop::sample::select(outcomes.to_vec()), any_text())
        .prop_map(|(turn, outcome, reason)| -> Event { TurnEnded { turn, outcome, reason }.into() });
    prop_oneof![
        4 => any_text().prop_map(|text| -> Event { InputReceived { text }.into() }),
        2 => (any_text(), any_text())
            .prop_map(|(source, text)| -> Event { Notified { source, text }.into() }),
        2 => any_turn().prop_map(|turn| -> Event { TurnStarted { turn }.into() }),
        2 => ended,
        1 => any_text().prop_map(|reason| -> Event { Paused { reason }.into() }),
        1 => Just(Event::from(Resumed {})),
    ]
}

fn any_request_event() -> impl Strategy<Value = Event> {
    let prepared = (any_turn(), any_request(), any_origin(), any_seq()).prop_map(
        |(turn, request, origin, history_to)| -> Event {
            RequestPrepared {
                turn,
                request,
                origin,
                history_to,
                prunes: 0,
                compaction: None,
                items: 0,
                digest: Hash::of(b""),
                body_bytes: 0,
                estimated_tokens: 0,
            }
            .into()
        },
    );
    let failed = (any_request(), any_text()).prop_map(|(request, draft)| -> Event {
        ReplyFailed {
            request,
            attempt: 1,
            kind: FailureKind::Overloaded,
            message: String::new(),
            status: None,
            retry_after_ms: None,
            next_attempt_in_ms: None,
            draft,
            provider_request_id: None,
        }
        .into()
    });
    prop_oneof![4 => prepared, 1 => failed]
}

fn any_context_event() -> impl Strategy<Value = Event> {
    let pruned = prop::collection::vec(any_call_id(), 0..4)
        .prop_map(|calls| -> Event { Pruned { calls, tokens_saved: 1, reason: String::new() }.into() });
    let finished = (any_seq(), any_seq(), any_text()).prop_map(|(from_seq, kept_from, summary)| -> Event {
        CompactionFinished {
            from_seq,
            kept_from,
            summary,
            tokens_before: 1,
            tokens_after: u64::MAX,
            worker: None,
            usage: None,
        }
        .into()
    });
    let started = (any_seq(), any_seq()).prop_map(|(from_seq, kept_from)| -> Event {
        CompactionStarted { from_seq, kept_from, reason: String::new(), tokens_before: 1 }.into()
    });
    prop_oneof![
        3 => pruned,
        3 => finished,
        1 => started,
        1 => Just(Event::from(CompactionFailed { reason: String::new() })),
        1 => Just(Event::from(CompactionSkipped { reason: String::new() })),
    ]
}

fn any_pod_event() -> impl Strategy<Value = Event> {
    let forked = (any_pod(), any_seq())
        .prop_map(|(from, at_seq)| -> Event { PodForked { from, at_seq, name: None }.into() });
    let spec_changed =
        any_model().prop_map(|model| -> Event { SpecChanged { spec: super::spec(model) }.into() });
    let child_ended = (any_pod(), any_text()).prop_map(|(child, text)| -> Event {
        ChildEnded { child, outcome: TurnOutcome::Finished, text }.into()
    });
    prop_oneof![
        3 => spec_changed,
        1 => any_model().prop_map(opening),
        2 => forked,
        1 => any_text().prop_map(|reason| -> Event { PodStopped { reason }.into() }),
        1 => any_pod().prop_map(|child| -> Event { ChildSpawned { child, name: String::new() }.into() }),
        1 => child_ended,
        1 => (any_pod(), any_text()).prop_map(|(to, text)| -> Event { MessageSent { to, text }.into() }),
    ]
}

fn any_other_event() -> impl Strategy<Value = Event> {
    let answers = [PermissionAnswer::Allowed, PermissionAnswer::Denied, PermissionAnswer::Withdrawn];
    let answered =
        (any_call_id(), prop::sample::select(answers.to_vec())).prop_map(|(call, answer)| -> Event {
            PermissionAnswered { call, answer, reason: String::new() }.into()
        });
    let asked =
        any_call_id().prop_map(|call| -> Event { PermissionAsked { call, question: String::new() }.into() });
    let (hook, point, reason) = (String::new(), HookPoint::BeforeCall, String::new());
    let said = HookAnswered {
        hook: hook.clone(),
        point,
        verdict: HookVerdict::Skip,
        reason: reason.clone(),
        elapsed_ms: 1,
        call: None,
    };
    let failed = HookFailed { hook, point, role: HookRole::Guard, reason, elapsed_ms: 1, call: None };
    let limit = LimitReached { limit: "l".into(), maximum: "1".into(), value: "2".into() };
    let record = RecordImported { format: "f".into(), record: "r".into(), raw: "{}".into() };
    prop_oneof![
        asked,
        answered,
        Just(Event::from(said)),
        Just(Event::from(failed)),
        Just(Event::from(limit)),
        Just(Event::from(record)),
    ]
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        5 => any_turn_event().boxed(),
        3 => any_request_event().boxed(),
        5 => any_reply().boxed(),
        6 => any_call_event().boxed(),
        2 => any_context_event().boxed(),
        1 => any_pod_event().boxed(),
        1 => any_other_event().boxed(),
    ]
}
