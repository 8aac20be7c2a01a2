//! Which records are the conversation. Records name their parents, so a file holds a tree: edits
//! and rewinds make branches that were left, and parallel calls make twigs that belong to the
//! stem.

use std::collections::{HashMap, HashSet};

use super::Record;
use crate::import::json::Block;

/// For each record whether it belongs to the conversation that ends with the last message.
pub(super) fn conversation(records: &[Record]) -> Vec<bool> {
    let places = Places::of(records);
    let mut kept = vec![false; records.len()];
    let mut next = records.iter().rposition(Record::is_message);
    while let Some(place) = next.filter(|place| !kept[*place]) {
        kept[place] = true;
        next = places.before(records, place);
    }
    keep_whole_replies(records, &mut kept);
    keep_results(records, &mut kept);
    keep_remarks(records, &places, &mut kept);
    kept
}

/// What Claude Code itself says about the conversation hangs beside the stem.
fn keep_remarks(records: &[Record], places: &Places, kept: &mut [bool]) {
    let mut has_answer = vec![false; records.len()];
    for (place, record) in records.iter().enumerate().filter(|(_, record)| record.is_message()) {
        if let Some(parent) = places.parent(record, place) {
            has_answer[parent] = true;
        }
    }
    for (place, record) in records.iter().enumerate() {
        let is_note = record.kind == "user" && record.fields.flag("isMeta") && !has_answer[place];
        if (is_note || record.kind == "system") && !record.sidechain && !kept[place] {
            kept[place] = places.parent(record, place).is_none_or(|parent| kept[parent]);
        }
    }
}

/// Where each id stands; an id that repeats stands in several places.
struct Places(HashMap<String, Vec<usize>>);

impl Places {
    fn of(records: &[Record]) -> Self {
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, record) in records.iter().enumerate() {
            if let Some(uuid) = record.fields.name("uuid") {
                places.entry(uuid).or_default().push(place);
            }
        }
        Self(places)
    }

    /// The record's parent, if it is in the file: the last one of its id that stands before.
    fn parent(&self, record: &Record, place: usize) -> Option<usize> {
        let id = record.fields.name("parentUuid").or_else(|| record.fields.name("logicalParentUuid"))?;
        let places = self.0.get(&id)?;
        let before = places.partition_point(|parent| *parent < place);
        before.checked_sub(1).or(Some(0)).and_then(|index| places.get(index)).copied()
    }

    /// What the conversation says before this record. Where the parent is lost (its line is
    /// broken, or it stands in another file) that is whatever was written before.
    fn before(&self, records: &[Record], place: usize) -> Option<usize> {
        let record = &records[place];
        let is_root = !record.fields.has("parentUuid") || record.fields.raw("parentUuid").is_none();
        let is_cut = record.fields.raw("logicalParentUuid").is_some()
            || record.fields.text("subtype").as_deref() == Some("compact_boundary");
        match self.parent(record, place) {
            Some(parent) => Some(parent),
            None if is_root && !is_cut => None,
            None => {
                records[..place].iter().rposition(|record| !record.sidechain && record.fields.has("uuid"))
            }
        }
    }
}

/// A reply whose one part is in the conversation is in it with all its parts.
fn keep_whole_replies(records: &[Record], kept: &mut [bool]) {
    let id = |record: &Record| (record.kind == "assistant").then(|| record.message.name("id")).flatten();
    let replies: HashSet<String> =
        records.iter().zip(&*kept).filter(|(_, kept)| **kept).filter_map(|(record, _)| id(record)).collect();
    let mut seen = HashSet::new();
    for (record, kept) in records.iter().zip(kept) {
        // A record that stands twice in the file is one part, not two.
        let is_new = record.fields.name("uuid").is_none_or(|uuid| seen.insert(uuid));
        if !*kept && is_new && record.is_message() && id(record).is_some_and(|id| replies.contains(&id)) {
            *kept = true;
        }
    }
}

/// The results of the calls of the conversation are in it, one for each call.
fn keep_results(records: &[Record], kept: &mut [bool]) {
    let mut unanswered = HashSet::new();
    for (record, _) in records.iter().zip(&*kept).filter(|(_, kept)| **kept) {
        unanswered.extend(ids(record, "assistant", "tool_use", "id"));
    }
    for (record, _) in records.iter().zip(&*kept).filter(|(_, kept)| **kept) {
        for id in ids(record, "user", "tool_result", "tool_use_id") {
            unanswered.remove(&id);
        }
    }
    for (record, kept) in records.iter().zip(kept) {
        if *kept || !record.is_message() {
            continue;
        }
        let answers = ids(record, "user", "tool_result", "tool_use_id");
        if answers.iter().any(|id| unanswered.contains(id)) {
            *kept = true;
            for id in answers {
                unanswered.remove(&id);
            }
        }
    }
}

/// The ids that blocks of this kind carry, in records of that kind.
fn ids(record: &Record, of: &str, block_kind: &str, key: &str) -> Vec<String> {
    if record.kind != of {
        return Vec::new();
    }
    let blocks = record.blocks().into_iter();
    blocks
        .filter_map(|block| match block {
            Block::Other { kind, fields, .. } if kind == block_kind => fields.text(key),
            Block::Text(_) | Block::Other { .. } => None,
        })
        .collect()
}
