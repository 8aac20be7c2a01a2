//! Writes appends into the tables, inside a transaction that somebody else commits.

use std::collections::BTreeMap;
use std::sync::Arc;

use events::{Envelope, Hash, PodId, Position, Seq, Timestamp};
use redb::{ReadableTable, Table, WriteTransaction};

use super::blob;
use super::error::TableError;
use super::table::{
    CONTENTS, ChunkKey, Entry, GENESIS, INDEX, LOG, PODS, STREAMS, Stream, last_position, stream,
    stream_number,
};
use crate::log::{Append, AppendError, Attachment};
use crate::place::{Placed, Start, place};

/// The tables of one transaction.
pub(super) struct Ledger<'txn> {
    log: Table<'txn, u64, &'static [u8]>,
    index: Table<'txn, (u64, u64), u64>,
    pods: Table<'txn, &'static [u8; 16], u64>,
    streams: Table<'txn, u64, &'static [u8]>,
    contents: Table<'txn, ChunkKey, &'static [u8]>,
    /// The last event, those of this transaction included.
    last: Position,
    /// What was written, in bytes; zero when there is nothing to commit.
    written_bytes: usize,
}

impl<'txn> Ledger<'txn> {
    pub(super) fn open(txn: &'txn WriteTransaction) -> Result<Self, TableError> {
        let log = txn.open_table(LOG)?;
        let last = last_position(&log)?;
        Ok(Self {
            log,
            index: txn.open_table(INDEX)?,
            pods: txn.open_table(PODS)?,
            streams: txn.open_table(STREAMS)?,
            contents: txn.open_table(CONTENTS)?,
            last,
            written_bytes: 0,
        })
    }

    pub(super) fn last(&self) -> Position {
        self.last
    }

    pub(super) fn written_bytes(&self) -> usize {
        self.written_bytes
    }

    /// Judges an append and writes it. After the outer error the transaction must not be
    /// committed; after the inner one it holds nothing of this append.
    pub(super) fn append(
        &mut self,
        appends: Vec<Append>,
        attachments: &[Attachment],
        at: Timestamp,
    ) -> Result<Result<Vec<Arc<Envelope>>, AppendError>, TableError> {
        let start = Start { position: self.last.next(), at };
        let placed = place(appends, attachments, start, |pod| self.head(pod))?;
        let placed = match placed {
            Ok(placed) => placed,
            Err(refusal) => return Ok(Err(refusal)),
        };
        for attachment in attachments {
            self.put_content(attachment.hash(), attachment.bytes())?;
        }
        // Each stream's head is written once, however many events it gets.
        let mut heads = BTreeMap::new();
        for event in &placed {
            self.put(event, &mut heads)?;
        }
        for (number, stream) in heads {
            self.streams.insert(number, stream.to_bytes(number).as_slice())?;
        }
        Ok(Ok(placed.into_iter().map(|placed| placed.envelope).collect()))
    }

    fn head(&self, pod: PodId) -> Result<Option<Seq>, TableError> {
        let Some(number) = stream_number(&self.pods, pod)? else { return Ok(None) };
        Ok(Some(Seq(stream(&self.streams, number)?.head_seq)))
    }

    fn put_content(&mut self, hash: Hash, bytes: &[u8]) -> Result<(), TableError> {
        if blob::put(&mut self.contents, hash, bytes)? {
            // An empty content is something to commit as well.
            self.written_bytes += bytes.len().max(1);
        }
        Ok(())
    }

    fn put(&mut self, placed: &Placed, heads: &mut BTreeMap<u64, Stream>) -> Result<(), TableError> {
        for (hash, bytes) in &placed.record.contents {
            self.put_content(*hash, bytes)?;
        }
        let (seq, position) = (placed.envelope.seq(), placed.envelope.position());
        let (number, previous) = self.stream_for(placed, heads)?;
        let (hash, entry) = Entry::chain(previous, &placed.record.bytes);
        self.log.insert(position.0, entry.as_slice())?;
        self.index.insert((number, seq.0), position.0)?;
        heads.entry(number).and_modify(|stream| stream.set_head(seq, position, hash));
        self.last = position;
        self.written_bytes += entry.len();
        Ok(())
    }

    /// The stream that the event belongs to, now among `heads`, and the hash that it follows.
    fn stream_for(
        &mut self,
        placed: &Placed,
        heads: &mut BTreeMap<u64, Stream>,
    ) -> Result<(u64, Hash), TableError> {
        let pod = placed.envelope.pod();
        if let Some(number) = stream_number(&self.pods, pod)? {
            let stream = self.stream(number, heads)?;
            let previous = stream.head_hash();
            heads.insert(number, stream);
            return Ok((number, previous));
        }
        let (parent, previous) = match placed.fork {
            Some((from, at)) => {
                let (parent, hash) = self.shared_past(from, at, heads)?;
                (Some(parent), hash)
            }
            None => (None, GENESIS),
        };
        // The names of this append's new pods are in the table already, their heads are not.
        let stored = self.streams.last()?.map_or(0, |(number, _)| number.value());
        let number = heads.last_key_value().map_or(stored, |(number, _)| stored.max(*number)) + 1;
        self.pods.insert(pod.as_bytes(), number)?;
        let (seq, position) = (placed.envelope.seq(), placed.envelope.position());
        heads.insert(number, Stream::new(pod, seq, position, parent));
        Ok((number, previous))
    }

    fn stream(&self, number: u64, heads: &BTreeMap<u64, Stream>) -> Result<Stream, TableError> {
        heads.get(&number).map_or_else(|| stream(&self.streams, number), |stream| Ok(stream.clone()))
    }

    /// The stream in which event `at` of the log of `from` really lies, and the event's hash.
    fn shared_past(
        &self,
        from: PodId,
        at: Seq,
        heads: &BTreeMap<u64, Stream>,
    ) -> Result<(u64, Hash), TableError> {
        let damaged = |why: &str| TableError::Damaged(format!("event {at} of pod {from} {why}"));
        let mut number = stream_number(&self.pods, from)?.ok_or_else(|| damaged("has no stream"))?;
        loop {
            let stream = self.stream(number, heads)?;
            if stream.first_seq <= at.0 {
                break;
            }
            number = stream.parent.ok_or_else(|| damaged("lies before its log"))?;
        }
        let position = self.index.get((number, at.0))?.ok_or_else(|| damaged("is not in the index"))?.value();
        let entry = self.log.get(position)?.ok_or_else(|| damaged("is not in the log"))?;
        let entry = Entry::from_bytes(entry.value()).ok_or_else(|| damaged("is cut off"))?;
        Ok((number, entry.hash))
    }
}
