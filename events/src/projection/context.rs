//! The context: what a request sends. The history, seen through the newest compaction and all
//! prunes, and made valid for the provider that is asked.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use crate::event::context::{CompactionFinished, Pruned};
use crate::event::model::Origin;
use crate::item::CallResult;
use crate::projection::{History, Projection};
use crate::{CallId, Envelope, Event, Item, ItemBody, Model, Seq};

/// The history and the decisions of what to leave out of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    history: History,
    compaction: Option<Compaction>,
    pruned: BTreeSet<CallId>,
    /// Items whose sealed parts were made on a prefix that has changed since.
    unsealed: Vec<Range<usize>>,
    prunes: u32,
    generation: u32,
    generation_of_request: u32,
    model: Option<Model>,
}

#[derive(Clone, Debug, PartialEq)]
struct Compaction {
    seq: Seq,
    summary: Arc<Item>,
    /// The user's current words, when the range took them.
    carried: Option<Arc<Item>>,
    kept_from: usize,
}

/// How far a reader of the context has come: between two decisions it gets new items only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    generation: u32,
    next: usize,
}

/// What a reader gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Advance {
    /// What follows the items it has.
    More(Vec<Arc<Item>>),
    /// The prefix has changed: all items anew.
    Anew(Vec<Arc<Item>>),
}

impl Context {
    /// The history behind the context.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// How many prunes the context has seen.
    pub fn prunes(&self) -> u32 {
        self.prunes
    }

    /// The compaction whose summary opens the context.
    pub fn compaction(&self) -> Option<Seq> {
        self.compaction.as_ref().map(|compaction| compaction.seq)
    }

    /// The calls whose results have lost their content.
    pub fn pruned(&self) -> &BTreeSet<CallId> {
        &self.pruned
    }

    /// Nothing was left out or put in since the newest request was prepared.
    pub fn is_as_requested(&self) -> bool {
        self.generation == self.generation_of_request
    }

    /// The items of a request that is built now, for this model: the settled ones and what an
    /// open exchange or waiting input adds.
    pub fn items(&self, origin: &Origin) -> Vec<Arc<Item>> {
        let mut items = self.head();
        items.extend(self.view(self.kept_from(), origin));
        items.extend(self.history.unsettled().into_iter().filter(|item| is_sayable(item)).map(Arc::new));
        items
    }

    /// The items as they would be with this compaction.
    pub fn items_with(&self, compaction: &CompactionFinished, origin: &Origin) -> Vec<Arc<Item>> {
        let mut after = self.clone();
        after.compact(Seq(u64::MAX), compaction);
        after.items(origin)
    }

    /// What has come since the cursor. It is asked while nothing is unsettled, which is when a
    /// worker builds a request; what is unsettled is not shown.
    pub fn advance(&self, cursor: &mut Cursor, origin: &Origin) -> Advance {
        let anew = cursor.generation != self.generation || cursor.next == 0;
        let from = if anew { self.kept_from() } else { cursor.next };
        *cursor = Cursor { generation: self.generation, next: self.history.items().len() };
        let more = self.view(from, origin);
        if !anew {
            return Advance::More(more);
        }
        let mut items = self.head();
        items.extend(more);
        Advance::Anew(items)
    }

    /// The index in the history at which the items begin that are sent word for word.
    pub fn kept_from(&self) -> usize {
        self.compaction.as_ref().map_or(0, |compaction| compaction.kept_from)
    }

    /// What stands in front of the items that are sent word for word: the summary of what was
    /// before, and the user's words that it carries along.
    pub fn head(&self) -> Vec<Arc<Item>> {
        let Some(compaction) = &self.compaction else { return Vec::new() };
        let items = std::iter::once(&compaction.summary).chain(&compaction.carried);
        items.filter(|item| is_sayable(item)).cloned().collect()
    }

    /// The settled items from this index on, which is the beginning of a unit, as this model may
    /// see them.
    fn view(&self, from: usize, origin: &Origin) -> Vec<Arc<Item>> {
        let items = self.history.items();
        let mut seen: Vec<Arc<Item>> = Vec::with_capacity(items.len() - from.min(items.len()));
        let mut index = from;
        while let Some(first) = items.get(index) {
            let block = items[index..].iter().take_while(|item| same_block(first, item)).count();
            let sealed = !self.unsealed.iter().any(|range| range.contains(&index));
            let kept = seen.len();
            seen.extend(items[index..index + block].iter().filter_map(|item| self.see(item, origin, sealed)));
            if is_reply(first) && !seen[kept..].iter().any(|item| stands_alone(item)) {
                seen.truncate(kept);
            }
            index += block;
        }
        seen
    }

    fn see(&self, item: &Arc<Item>, origin: &Origin, sealed: bool) -> Option<Arc<Item>> {
        match &item.body {
            ItemBody::Reasoning(reasoning) => {
                (sealed && reasoning.is_sealed() && reasoning.origin == *origin).then(|| item.clone())
            }
            ItemBody::Opaque(opaque) => (sealed && opaque.origin == *origin).then(|| item.clone()),
            ItemBody::Result(result) if result.content.is_some() && self.pruned.contains(&result.call) => {
                let result = CallResult { content: None, ..result.clone() };
                Some(Arc::new(Item { seq: item.seq, body: ItemBody::Result(result) }))
            }
            ItemBody::User { .. }
            | ItemBody::System { .. }
            | ItemBody::Text { .. }
            | ItemBody::Call(_)
            | ItemBody::Result(_) => is_sayable(item).then(|| item.clone()),
        }
    }

    fn prune(&mut self, pruned: &Pruned) {
        let indices = pruned.calls.iter().filter_map(|call| Some((*call, self.history.result_index(*call)?)));
        let new: Vec<(CallId, usize)> = indices.filter(|(call, _)| !self.pruned.contains(call)).collect();
        self.pruned.extend(new.iter().map(|(call, _)| *call));
        self.prunes += 1;
        let first = new.iter().map(|(_, index)| *index).min();
        self.decide(first.unwrap_or(self.history.items().len()));
    }

    fn compact(&mut self, seq: Seq, finished: &CompactionFinished) {
        let kept_from = self.history.unit_from(finished.kept_from).max(self.kept_from());
        let is_user = |item: &&Arc<Item>| matches!(item.body, ItemBody::User { .. }) && is_sayable(item);
        let items = self.history.items();
        let earlier = || self.compaction.as_ref().and_then(|compaction| compaction.carried.clone());
        let carried = if items[kept_from..].iter().any(|item| is_user(&item)) {
            None
        } else {
            items[self.kept_from()..kept_from].iter().rfind(is_user).cloned().or_else(earlier)
        };
        let text = finished.summary.clone();
        let summary = Arc::new(Item { seq, body: ItemBody::System { text } });
        self.compaction = Some(Compaction { seq, summary, carried, kept_from });
        self.decide(kept_from);
    }

    /// The prefix changes from this item on: what was sealed behind it has lost its ground.
    fn decide(&mut self, first_changed: usize) {
        self.generation += 1;
        self.unsealed.push(first_changed..self.history.items().len());
    }
}

/// Items of one reply, or the item alone.
fn same_block(first: &Item, other: &Item) -> bool {
    if is_reply(first) { is_reply(other) && other.seq == first.seq } else { std::ptr::eq(first, other) }
}

fn is_reply(item: &Item) -> bool {
    match item.body {
        ItemBody::Text { .. } | ItemBody::Reasoning(_) | ItemBody::Call(_) | ItemBody::Opaque(_) => true,
        ItemBody::User { .. } | ItemBody::System { .. } | ItemBody::Result(_) => false,
    }
}

/// A reply may consist of it alone.
fn stands_alone(item: &Item) -> bool {
    match item.body {
        ItemBody::Text { .. } | ItemBody::Call(_) | ItemBody::Opaque(_) => true,
        ItemBody::Reasoning(_) | ItemBody::User { .. } | ItemBody::System { .. } | ItemBody::Result(_) => {
            false
        }
    }
}

/// Providers refuse texts without a visible character.
fn is_sayable(item: impl AsRef<Item>) -> bool {
    match &item.as_ref().body {
        ItemBody::User { text } | ItemBody::System { text } | ItemBody::Text { text } => {
            !text.trim().is_empty()
        }
        ItemBody::Reasoning(_) | ItemBody::Call(_) | ItemBody::Result(_) | ItemBody::Opaque(_) => true,
    }
}

impl Projection for Context {
    fn apply(&mut self, envelope: &Envelope) {
        let before = self.history.items().len();
        let was_awaited = self.history.is_reply_awaited();
        self.history.apply(envelope);
        match envelope.event() {
            Event::Pruned(pruned) => self.prune(pruned),
            Event::CompactionFinished(finished) => self.compact(envelope.seq(), finished),
            Event::RequestPrepared(_) => self.generation_of_request = self.generation,
            // Made on a prefix that has changed since, or that nobody knows.
            Event::ReplyReceived(_) if !was_awaited || !self.is_as_requested() => {
                self.unsealed.push(before..self.history.items().len());
            }
            Event::PodOpened(opened) => self.model = Some(opened.spec.model.clone()),
            Event::SpecChanged(changed) => {
                if self.model.as_ref() != Some(&changed.spec.model) {
                    self.generation += 1;
                }
                self.model = Some(changed.spec.model.clone());
            }
            Event::PodForked(_)
            | Event::PodStopped(_)
            | Event::InputReceived(_)
            | Event::Notified(_)
            | Event::TurnStarted(_)
            | Event::TurnEnded(_)
            | Event::Paused(_)
            | Event::Resumed(_)
            | Event::ReplyReceived(_)
            | Event::ReplyFailed(_)
            | Event::CallStarted(_)
            | Event::CallProgressed(_)
            | Event::CallEnded(_)
            | Event::PermissionAsked(_)
            | Event::PermissionAnswered(_)
            | Event::HookAnswered(_)
            | Event::HookFailed(_)
            | Event::CompactionStarted(_)
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
