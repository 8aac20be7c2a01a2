//! What holds for the items of every request, by the names that the design gives it. Each is a
//! pure function that says what is wrong.
//!
//! A context is judged as a flat list: the items of one reply share their place in the log, and
//! the results of its calls follow right behind them.

use std::collections::{BTreeMap, BTreeSet};

use events::event::model::{Origin, Part};
use events::item::{Call, CallResult};
use events::{CallId, Envelope, Event, Item, ItemBody, Seq, Spec};

/// What is wrong.
pub type Verdict = Result<(), String>;

/// The item is a part of a reply.
fn is_reply(item: &Item) -> bool {
    match item.body {
        ItemBody::Text { .. } | ItemBody::Reasoning(_) | ItemBody::Call(_) | ItemBody::Opaque(_) => true,
        ItemBody::User { .. } | ItemBody::System { .. } | ItemBody::Result(_) => false,
    }
}

fn call_of(item: &Item) -> Option<&Call> {
    if let ItemBody::Call(call) = &item.body { Some(call) } else { None }
}

fn result_of(item: &Item) -> Option<&CallResult> {
    if let ItemBody::Result(result) = &item.body { Some(result) } else { None }
}

/// A run of items: those of one reply, or one that stands alone.
fn blocks<I: AsRef<Item>>(items: &[I]) -> Vec<Vec<&Item>> {
    let mut blocks: Vec<Vec<&Item>> = Vec::new();
    for item in items.iter().map(AsRef::as_ref) {
        match blocks.last_mut() {
            Some(block) if is_reply(item) && is_reply(block[0]) && block[0].seq == item.seq => {
                block.push(item);
            }
            Some(_) | None => blocks.push(vec![item]),
        }
    }
    blocks
}

/// Each call has exactly one result, in the block directly behind its reply, in the order of the
/// calls; there is no result without its call; no two calls have one id.
pub fn pairing<I: AsRef<Item>>(items: &[I]) -> Verdict {
    let mut awaited: Vec<CallId> = Vec::new();
    let mut seen = BTreeSet::new();
    for block in blocks(items) {
        let seq = block[0].seq;
        if let Some(result) = result_of(block[0]) {
            if awaited.first() != Some(&result.call) {
                return Err(format!("the result of {} at {seq}, where {awaited:?} are awaited", result.call));
            }
            awaited.remove(0);
            continue;
        }
        if !awaited.is_empty() {
            return Err(format!("the item of {seq} stands before the results of {awaited:?}"));
        }
        for call in block.into_iter().filter_map(call_of) {
            if !seen.insert(call.call) {
                return Err(format!("the call {} stands twice", call.call));
            }
            awaited.push(call.call);
        }
    }
    if awaited.is_empty() { Ok(()) } else { Err(format!("no results of {awaited:?}")) }
}

/// Exchanges of the unpruned history are there with all their calls and results, or not at all;
/// those that are there are the newest ones; a result differs from the history only in that its
/// content may be left out.
pub fn whole_exchanges<I: AsRef<Item>, J: AsRef<Item>>(items: &[I], history: &[J]) -> Verdict {
    let calls = |items: &[&Item]| -> Vec<(Seq, CallId)> {
        items.iter().filter_map(|item| Some((item.seq, call_of(item)?.call))).collect()
    };
    let results: BTreeMap<CallId, &CallResult> = items
        .iter()
        .filter_map(|item| result_of(item.as_ref()))
        .map(|result| (result.call, result))
        .collect();
    let shown: Vec<&Item> = items.iter().map(AsRef::as_ref).collect();
    let whole: Vec<&Item> = history.iter().map(AsRef::as_ref).collect();
    let (shown, whole) = (calls(&shown), calls(&whole));
    if !whole.ends_with(&shown) {
        return Err(format!("the calls {shown:?} are not the end of {whole:?}"));
    }
    let left_out = &whole[..whole.len() - shown.len()];
    if let (Some(last), Some(first)) = (left_out.last(), shown.first())
        && last.0 == first.0
    {
        return Err(format!("the exchange of {} is cut", last.0));
    }
    for full in history.iter().filter_map(|item| result_of(item.as_ref())) {
        let Some(result) = results.get(&full.call) else { continue };
        let pruned = CallResult { content: None, ..full.clone() };
        if *result != full && **result != pruned {
            return Err(format!("the result of {} is neither whole nor pruned", full.call));
        }
    }
    Ok(())
}

/// What users wrote is there once, unchanged and in its order, behind every reply that was made
/// without it, and before every reply that was made with it. Only a compaction takes it away.
pub fn steering<I: AsRef<Item>>(items: &[I], log: &[Envelope]) -> Verdict {
    let said = |envelope: &Envelope| match envelope.event() {
        Event::InputReceived(input) if !input.text.trim().is_empty() => Some(input.text.clone()),
        _ => None,
    };
    let inputs: BTreeMap<Seq, String> =
        log.iter().filter_map(|envelope| Some((envelope.seq(), said(envelope)?))).collect();
    let mut last = Seq(0);
    let mut shown = BTreeSet::new();
    for item in items.iter().map(AsRef::as_ref) {
        let ItemBody::User { text } = &item.body else { continue };
        if inputs.get(&item.seq) != Some(text) {
            return Err(format!("the user's words at {} are not those of the log", item.seq));
        }
        if item.seq <= last {
            return Err(format!("the user's words at {} stand behind those at {last}", item.seq));
        }
        last = item.seq;
        shown.insert(item.seq);
    }
    let compacted_to = log.iter().filter_map(|envelope| match envelope.event() {
        Event::CompactionFinished(finished) => Some(finished.kept_from.min(envelope.seq())),
        _ => None,
    });
    let compacted_to = compacted_to.max().unwrap_or_default();
    if let Some(seq) = inputs.keys().find(|seq| **seq >= compacted_to && !shown.contains(seq)) {
        return Err(format!("the user's words at {seq} are lost"));
    }
    order(items, log)
}

/// No words of a user stand before a reply that did not know them, or behind one that did.
fn order<I: AsRef<Item>>(items: &[I], log: &[Envelope]) -> Verdict {
    // For each reply: the request that it answers, when nothing came between that could part them.
    let mut known_to: BTreeMap<Seq, Seq> = BTreeMap::new();
    let mut request = None;
    for envelope in log {
        match envelope.event() {
            Event::RequestPrepared(_) => request = Some(envelope.seq()),
            Event::ReplyReceived(_) => {
                if let Some(request) = request.take() {
                    known_to.insert(envelope.seq(), request);
                }
            }
            Event::TurnEnded(_) | Event::PodForked(_) => request = None,
            _ => {}
        }
    }
    let items: Vec<&Item> = items.iter().map(AsRef::as_ref).collect();
    for (place, reply) in items.iter().enumerate().filter(|(_, item)| is_reply(item)) {
        let Some(request) = known_to.get(&reply.seq) else { continue };
        let is_user = |item: &&&Item| matches!(item.body, ItemBody::User { .. });
        if let Some(early) = items[..place].iter().filter(is_user).find(|item| item.seq > *request) {
            return Err(format!("the words at {} stand before the reply at {}", early.seq, reply.seq));
        }
        if let Some(late) = items[place..].iter().filter(is_user).find(|item| item.seq < *request) {
            return Err(format!("the words at {} stand behind the reply at {}", late.seq, reply.seq));
        }
    }
    Ok(())
}

/// No text without a visible character, no reply without anything that can be sent. The rest is
/// judged after conversion, by [`crate::strict`].
pub fn sendable<I: AsRef<Item>>(items: &[I]) -> Verdict {
    for block in blocks(items) {
        let seq = block[0].seq;
        for item in &block {
            if let ItemBody::User { text } | ItemBody::System { text } | ItemBody::Text { text } = &item.body
                && text.trim().is_empty()
            {
                return Err(format!("a text without words at {seq}"));
            }
        }
        let stands_alone = |item: &&Item| !matches!(item.body, ItemBody::Reasoning(_));
        if !block.iter().any(stands_alone) {
            return Err(format!("the reply at {seq} has nothing but reasoning"));
        }
    }
    Ok(())
}

/// Sealed parts are as they came, go to where they came from, and stand on the items that they
/// were made on. `made_on` gives the items of the request that the reply at this place answers,
/// as far as the log tells.
pub fn reasoning<I: AsRef<Item>>(
    items: &[I],
    log: &[Envelope],
    to: &Origin,
    made_on: impl Fn(Seq) -> Option<Vec<I>>,
) -> Verdict {
    let mut block_start = 0;
    let items: Vec<&Item> = items.iter().map(AsRef::as_ref).collect();
    for (place, item) in items.iter().enumerate() {
        if !(is_reply(item) && items[block_start].seq == item.seq && is_reply(items[block_start])) {
            block_start = place;
        }
        let seq = item.seq;
        let (part, origin) = match &item.body {
            ItemBody::Reasoning(reasoning) if reasoning.is_sealed() => {
                let part = events::event::model::ReasoningPart {
                    text: reasoning.text.clone(),
                    signature: reasoning.signature.clone(),
                    data: reasoning.data.clone(),
                };
                (Part::Reasoning(part), &reasoning.origin)
            }
            ItemBody::Opaque(opaque) => (Part::Opaque { json: opaque.json.clone() }, &opaque.origin),
            ItemBody::Reasoning(_) => return Err(format!("the reasoning at {seq} is not sealed")),
            ItemBody::User { .. }
            | ItemBody::System { .. }
            | ItemBody::Text { .. }
            | ItemBody::Call(_)
            | ItemBody::Result(_) => continue,
        };
        let reply = log.iter().find(|envelope| envelope.seq() == seq).map(Envelope::event);
        match reply {
            Some(Event::ReplyReceived(reply)) if reply.parts.contains(&part) && reply.origin == *origin => {}
            _ => return Err(format!("the sealed part at {seq} is not as it came")),
        }
        if origin != to {
            return Err(format!("the sealed part at {seq} goes to {to:?}"));
        }
        if let Some(before) = made_on(seq)
            && !(before.len() == block_start
                && before.iter().zip(&items).all(|(one, other)| one.as_ref() == *other))
        {
            return Err(format!("the sealed part at {seq} stands on other items than it was made on"));
        }
    }
    Ok(())
}

/// The items of a request are the beginning of those of the next one.
pub fn stable_prefix<I: AsRef<Item>, J: AsRef<Item>>(items: &[I], next: &[J]) -> Verdict {
    if items.len() > next.len() {
        return Err(format!("{} items, and {} in the next request", items.len(), next.len()));
    }
    let bytes = |item: &Item| serde_json::to_string(item).expect("an item is plain values");
    for (place, (item, same)) in items.iter().zip(next).enumerate() {
        let (item, same) = (bytes(item.as_ref()), bytes(same.as_ref()));
        if item != same {
            return Err(format!("item {place} was {item} and is {same}"));
        }
    }
    Ok(())
}

/// What the pod is comes from the newest event that says it, and from nothing else.
pub fn configuration(spec: Option<&Spec>, log: &[Envelope]) -> Verdict {
    let newest = log.iter().rev().find_map(|envelope| match envelope.event() {
        Event::PodOpened(opened) => Some(&opened.spec),
        Event::SpecChanged(changed) => Some(&changed.spec),
        _ => None,
    });
    if spec == newest { Ok(()) } else { Err("the spec is not that of the newest event".to_owned()) }
}
