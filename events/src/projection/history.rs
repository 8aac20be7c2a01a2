//! The history: all items of a pod, unpruned, in an order that every provider accepts.
//!
//! It is made of units. A unit is an item that stands alone (what a user or the system said), or
//! an exchange: the items of one reply and, right behind them, the results of its calls in the
//! order of the calls. What arrives while an exchange is open, or while a reply is awaited, waits
//! and follows it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::event::model::{Part, ReplyReceived};
use crate::event::tool::{CallEnded, CallOutcome};
use crate::item::CallResult;
use crate::projection::Projection;
use crate::{CallId, Content, Envelope, Event, Item, ItemBody, Seq};

/// Anomalies that are kept word for word; the rest are only counted.
const ANOMALIES_MAX: usize = 100;

/// What a call is answered with when the log has no end for it.
const OUTCOME_UNKNOWN: &str = "The outcome of this call is unknown: its end was never seen. Side effects may have happened. Check \
     before you do it again.";

/// All items of a pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    items: Vec<Arc<Item>>,
    units: Vec<Unit>,
    results: BTreeMap<CallId, usize>,
    last_call: Option<CallId>,
    exchange: Option<Exchange>,
    reply_awaited: bool,
    waiting: Vec<Item>,
    anomalies: Vec<Anomaly>,
    anomalies_total: u64,
}

/// Where a unit begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The event of its first item.
    pub seq: Seq,
    /// The index of its first item.
    pub start: usize,
}

/// An exchange whose results are not all there.
#[derive(Clone, Debug, PartialEq)]
struct Exchange {
    seq: Seq,
    /// In the order of the reply, which is the order of the ids.
    calls: Vec<(CallId, String, Option<Item>)>,
    missing: usize,
    notes: Vec<Item>,
}

/// Something in the log that should not be there. It is left out of the history and reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// The event.
    pub seq: Seq,
    /// What is odd about it.
    pub what: String,
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {}: {}", self.seq, self.what)
    }
}

impl History {
    /// The items whose place is settled.
    pub fn items(&self) -> &[Arc<Item>] {
        &self.items
    }

    /// Where units begin, in order. A cut between two units never parts a call from its result.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// The index at which the units begin that come from this event or a later one; never behind
    /// the beginning of an open exchange.
    pub fn unit_from(&self, seq: Seq) -> usize {
        let place = self.units.partition_point(|unit| unit.seq < seq);
        let start = self.units.get(place).map_or(self.items.len(), |unit| unit.start);
        match (&self.exchange, self.units.last()) {
            (Some(_), Some(open)) => start.min(open.start),
            (Some(_) | None, _) => start,
        }
    }

    /// The index of a call's result.
    pub fn result_index(&self, call: CallId) -> Option<usize> {
        self.results.get(&call).copied()
    }

    /// A request has been prepared and its reply is not there.
    pub fn is_reply_awaited(&self) -> bool {
        self.reply_awaited
    }

    /// The newest call id in the log.
    pub fn last_call(&self) -> Option<CallId> {
        self.last_call
    }

    /// What was odd, at most a hundred of it.
    pub fn anomalies(&self) -> &[Anomaly] {
        &self.anomalies
    }

    /// How much was odd.
    pub fn anomalies_total(&self) -> u64 {
        self.anomalies_total
    }

    /// What a request that is built now would add behind the settled items: results for the calls
    /// that have none, and what waits. Empty whenever no exchange is open and no reply awaited.
    pub fn unsettled(&self) -> Vec<Item> {
        let mut items = Vec::new();
        if let Some(exchange) = &self.exchange {
            items.extend(exchange.closing());
        }
        items.extend(self.waiting.iter().cloned());
        items
    }

    fn odd(&mut self, seq: Seq, what: impl Into<String>) {
        self.anomalies_total += 1;
        if self.anomalies.len() < ANOMALIES_MAX {
            self.anomalies.push(Anomaly { seq, what: what.into() });
        }
    }

    fn push(&mut self, item: Item) {
        if let ItemBody::Result(result) = &item.body {
            self.results.insert(result.call, self.items.len());
        }
        self.items.push(Arc::new(item));
    }

    fn say(&mut self, item: Item) {
        if self.exchange.is_some() || self.reply_awaited {
            self.waiting.push(item);
        } else {
            self.push_unit(item);
        }
    }

    fn push_unit(&mut self, item: Item) {
        self.units.push(Unit { seq: item.seq, start: self.items.len() });
        self.push(item);
    }

    /// Ends the open exchange, with unknown outcomes where results are missing, and lets follow
    /// what waited.
    fn settle(&mut self) {
        if let Some(exchange) = self.exchange.take() {
            for (call, _, result) in &exchange.calls {
                if result.is_none() {
                    self.odd(exchange.seq, format!("call {call} has no end"));
                }
            }
            for item in exchange.closing() {
                if matches!(item.body, ItemBody::Result(_)) {
                    self.push(item);
                } else {
                    self.push_unit(item);
                }
            }
        }
        for item in std::mem::take(&mut self.waiting) {
            self.push_unit(item);
        }
    }

    fn reply(&mut self, seq: Seq, reply: &ReplyReceived) {
        if self.exchange.is_some() {
            self.settle();
        }
        self.reply_awaited = false;
        let start = self.items.len();
        let mut exchange = Exchange { seq, calls: Vec::new(), missing: 0, notes: Vec::new() };
        for part in &reply.parts {
            let body = match part {
                Part::Text { text } => ItemBody::Text { text: text.clone() },
                Part::Reasoning(reasoning) => ItemBody::Reasoning(reasoning.of(&reply.origin)),
                Part::Opaque { json } => ItemBody::Opaque(Part::opaque(json, &reply.origin)),
                Part::Call(call) if self.last_call.is_some_and(|last| call.call <= last) => {
                    self.odd(seq, format!("the id of call {} was used before", call.call));
                    continue;
                }
                Part::Call(call) => {
                    self.last_call = Some(call.call);
                    exchange.calls.push((call.call, call.tool.clone(), None));
                    ItemBody::Call(call.clone())
                }
                Part::BrokenCall { tool, why, .. } => {
                    let text = format!("Your call of `{tool}` was not run: {why}.");
                    exchange.notes.push(Item { seq, body: ItemBody::System { text } });
                    continue;
                }
            };
            self.push(Item { seq, body });
        }
        if self.items.len() > start {
            self.units.push(Unit { seq, start });
        }
        exchange.missing = exchange.calls.len();
        let is_whole = exchange.missing == 0;
        self.exchange = Some(exchange);
        if is_whole {
            self.settle();
        }
    }

    fn call_ended(&mut self, seq: Seq, ended: &CallEnded) {
        let slot = self.exchange.as_mut().and_then(|exchange| {
            let place = exchange.calls.binary_search_by_key(&ended.call, |(call, _, _)| *call).ok()?;
            Some((&mut exchange.calls[place], &mut exchange.missing))
        });
        match slot {
            Some(((_, tool, slot @ None), missing)) => {
                *missing -= 1;
                let result = CallResult {
                    call: ended.call,
                    tool: tool.clone(),
                    outcome: ended.outcome,
                    summary: ended.summary.clone(),
                    content: Some(ended.content.clone()),
                };
                *slot = Some(Item { seq, body: ItemBody::Result(result) });
            }
            Some(((_, _, Some(_)), _)) => self.odd(seq, format!("call {} ends a second time", ended.call)),
            None => self.odd(seq, format!("call {} ends and is not open", ended.call)),
        }
        if self.exchange.as_ref().is_some_and(|exchange| exchange.missing == 0) {
            self.settle();
        }
    }
}

impl Exchange {
    /// The results in the order of the calls, then what the model is told of its broken calls.
    fn closing(&self) -> Vec<Item> {
        let results = self.calls.iter().map(|(call, tool, result)| {
            result.clone().unwrap_or_else(|| {
                let result = CallResult {
                    call: *call,
                    tool: tool.clone(),
                    outcome: CallOutcome::Unknown,
                    summary: OUTCOME_UNKNOWN.to_owned(),
                    content: Some(Content::default()),
                };
                Item { seq: self.seq, body: ItemBody::Result(result) }
            })
        });
        results.chain(self.notes.iter().cloned()).collect()
    }
}

/// How a notification is put before a model.
fn notification(source: &str, text: &str) -> String {
    format!(
        "Notification from {source} (not from the user, and no order to drop what you are doing):\n{text}"
    )
}

impl Projection for History {
    fn apply(&mut self, envelope: &Envelope) {
        let seq = envelope.seq();
        match envelope.event() {
            Event::InputReceived(input) => {
                self.say(Item { seq, body: ItemBody::User { text: input.text.clone() } });
            }
            Event::Notified(notified) => {
                let text = notification(&notified.source, &notified.text);
                self.say(Item { seq, body: ItemBody::System { text } });
            }
            Event::RequestPrepared(_) => {
                self.settle();
                self.reply_awaited = true;
            }
            Event::ReplyReceived(reply) => self.reply(seq, reply),
            Event::CallEnded(ended) => self.call_ended(seq, ended),
            Event::TurnEnded(_) | Event::PodForked(_) => {
                self.reply_awaited = false;
                if self.exchange.is_none() {
                    self.settle();
                }
            }
            Event::PodOpened(_)
            | Event::SpecChanged(_)
            | Event::PodStopped(_)
            | Event::TurnStarted(_)
            | Event::Paused(_)
            | Event::Resumed(_)
            | Event::ReplyFailed(_)
            | Event::CallStarted(_)
            | Event::CallProgressed(_)
            | Event::PermissionAsked(_)
            | Event::PermissionAnswered(_)
            | Event::HookAnswered(_)
            | Event::HookFailed(_)
            | Event::Pruned(_)
            | Event::CompactionStarted(_)
            | Event::CompactionFinished(_)
            | Event::CompactionFailed(_)
            | Event::CompactionSkipped(_)
            | Event::ChildSpawned(_)
            | Event::ChildEnded(_)
            | Event::MessageSent(_)
            | Event::LimitReached(_)
            | Event::RecordImported(_) => {}
        }
    }
}
