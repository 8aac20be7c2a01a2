//! Reads pages of a log. Each page has a transaction of its own, so that no reader keeps the file
//! from using its free pages again; and each event is checked against the one before it, so that
//! what is damaged or missing is an error and never a shorter log.

use std::sync::Arc;

use events::codec;
use events::{Envelope, Hash, PodId, Seq};
use redb::{Key, ReadOnlyTable, ReadTransaction, ReadableTable, TableDefinition, Value};

use super::blob;
use super::error::TableError;
use super::table::{CONTENTS, Entry, GENESIS, INDEX, LOG, PODS, STREAMS, Stream, stream, stream_number};
use crate::log::{PodHead, ReadError};

/// Events that one transaction reads.
pub(super) const PAGE_EVENTS_MAX: u64 = 1024;

/// redb failed, or the tables do not fit together.
impl From<TableError> for ReadError {
    fn from(error: TableError) -> Self {
        Self::Failed { why: error.to_string() }
    }
}

fn open<K: Key + 'static, V: Value + 'static>(
    txn: &ReadTransaction,
    table: TableDefinition<'_, K, V>,
) -> Result<ReadOnlyTable<K, V>, TableError> {
    Ok(txn.open_table(table)?)
}

pub(super) fn head(txn: &ReadTransaction, pod: PodId) -> Result<Option<PodHead>, TableError> {
    Ok(find(txn, pod)?.map(|(_, stream)| stream.head()))
}

pub(super) fn pods(txn: &ReadTransaction) -> Result<Vec<PodHead>, TableError> {
    fn all(streams: &impl ReadableTable<u64, &'static [u8]>) -> Result<Vec<PodHead>, TableError> {
        streams
            .iter()?
            .map(|row| {
                let (number, bytes) = row?;
                Ok(Stream::from_bytes(number.value(), bytes.value())?.head())
            })
            .collect()
    }
    all(&open(txn, STREAMS)?)
}

pub(super) fn content(txn: &ReadTransaction, hash: Hash) -> Result<Option<Vec<u8>>, TableError> {
    blob::read(&open(txn, CONTENTS)?, hash)
}

fn find(txn: &ReadTransaction, pod: PodId) -> Result<Option<(u64, Stream)>, TableError> {
    let Some(number) = stream_number(&open(txn, PODS)?, pod)? else { return Ok(None) };
    let stream = stream(&open(txn, STREAMS)?, number)?;
    if stream.pod() != pod {
        return Err(TableError::Damaged(format!("pod {pod} leads to the log of pod {}", stream.pod())));
    }
    Ok(Some((number, stream)))
}

/// At most [`PAGE_EVENTS_MAX`] events from `from` on.
pub(super) fn page(
    txn: &ReadTransaction,
    pod: PodId,
    from: u64,
    events_max: u64,
) -> Result<Vec<Arc<Envelope>>, ReadError> {
    let Some((number, stream)) = find(txn, pod)? else { return Ok(Vec::new()) };
    let last = from.saturating_add(events_max.min(PAGE_EVENTS_MAX) - 1).min(stream.head_seq);
    if from > last {
        return Ok(Vec::new());
    }
    // The event before the page is read for its hash alone.
    let lead = from.saturating_sub(1).max(1);
    let spans = spans(&open(txn, STREAMS)?, Span { number, from: lead, to: last }, &stream)?;
    let places = places(&open(txn, INDEX)?, &spans, pod)?;
    let contents = open(txn, CONTENTS)?;
    let mut page = Page { pod, previous: GENESIS, envelopes: Vec::new() };
    entries(&open(txn, LOG)?, pod, &places, |place, entry| {
        if place.seq.0 < from {
            page.previous = entry.hash;
            return Ok(());
        }
        page.take(place, entry, |hash| blob::read(&contents, hash))
    })?;
    if last == stream.head_seq && page.previous != stream.head_hash() {
        return Err(page.damaged(Seq(last), "it is not the last event that was written"));
    }
    Ok(page.envelopes)
}

/// A stretch of events that lie in one stream.
#[derive(Clone, Copy)]
struct Span {
    number: u64,
    from: u64,
    to: u64,
}

/// Cuts a stretch of a fork's log into those of the streams that it lies in, in the log's order.
fn spans(
    streams: &impl ReadableTable<u64, &'static [u8]>,
    mut whole: Span,
    head: &Stream,
) -> Result<Vec<Span>, TableError> {
    let mut spans = Vec::new();
    let mut owner = head.clone();
    loop {
        if owner.first_seq <= whole.to {
            spans.push(Span { from: whole.from.max(owner.first_seq), ..whole });
        }
        if owner.first_seq <= whole.from {
            break;
        }
        // A fork is younger than its past, so this ends.
        let parent = owner.parent.filter(|parent| *parent < whole.number).ok_or_else(|| {
            TableError::Damaged(format!("stream {} has no past before {}", whole.number, owner.first_seq))
        })?;
        whole = Span { number: parent, to: whole.to.min(owner.first_seq - 1), ..whole };
        owner = stream(streams, parent)?;
    }
    spans.reverse();
    Ok(spans)
}

/// Where an event lies.
#[derive(Clone, Copy)]
struct Found {
    seq: Seq,
    position: u64,
}

fn places(
    index: &impl ReadableTable<(u64, u64), u64>,
    spans: &[Span],
    pod: PodId,
) -> Result<Vec<Found>, ReadError> {
    let missing = |seq| ReadError::Damaged { pod, seq: Seq(seq), why: "it is missing from the index".into() };
    let mut places = Vec::new();
    for span in spans {
        let mut next = span.from;
        for row in index.range((span.number, span.from)..=(span.number, span.to)).map_err(TableError::from)? {
            let (key, position) = row.map_err(TableError::from)?;
            if key.value() != (span.number, next) {
                return Err(missing(next));
            }
            places.push(Found { seq: Seq(next), position: position.value() });
            next += 1;
        }
        if next <= span.to {
            return Err(missing(next));
        }
    }
    Ok(places)
}

/// Shows the entries at these places of the pod's log, in their order. Neighbours are read in one
/// go.
fn entries(
    log: &impl ReadableTable<u64, &'static [u8]>,
    pod: PodId,
    places: &[Found],
    mut show: impl FnMut(Found, Entry<'_>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    for run in places.chunk_by(|left, right| left.position.checked_add(1) == Some(right.position)) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let mut rows = log.range(first.position..=last.position).map_err(TableError::from)?;
        for place in run {
            let damaged = |why: &str| ReadError::Damaged { pod, seq: place.seq, why: why.to_owned() };
            let row = rows.next().transpose().map_err(TableError::from)?;
            let (_, bytes) = row
                .filter(|(position, _)| position.value() == place.position)
                .ok_or_else(|| damaged("it is missing from the log"))?;
            let entry = Entry::from_bytes(bytes.value()).ok_or_else(|| damaged("it is cut off"))?;
            show(*place, entry)?;
        }
    }
    Ok(())
}

/// The events read so far.
struct Page {
    pod: PodId,
    previous: Hash,
    envelopes: Vec<Arc<Envelope>>,
}

impl Page {
    fn damaged(&self, seq: Seq, why: impl Into<String>) -> ReadError {
        ReadError::Damaged { pod: self.pod, seq, why: why.into() }
    }

    fn take(
        &mut self,
        place: Found,
        entry: Entry<'_>,
        content: impl FnOnce(Hash) -> Result<Option<Vec<u8>>, TableError>,
    ) -> Result<(), ReadError> {
        let seq = place.seq;
        if !entry.follows(self.previous) {
            return Err(self.damaged(seq, "it is not what was written"));
        }
        let mut failure = None;
        let joined = codec::join(entry.record, |hash| {
            content(hash).unwrap_or_else(|error| {
                failure = Some(error.to_string());
                None
            })
        });
        if let Some(why) = failure {
            return Err(self.damaged(seq, why));
        }
        let envelope = joined.map_err(|error| {
            let (pod, why) = (self.pod, error.to_string());
            if error.is_newer() { ReadError::Newer { pod, seq, why } } else { self.damaged(seq, why) }
        })?;
        if (envelope.seq(), envelope.position().0) != (seq, place.position) {
            return Err(self.damaged(seq, format!("event {} lies in its place", envelope.seq())));
        }
        self.previous = entry.hash;
        self.envelopes.push(Arc::new(envelope));
        Ok(())
    }
}
