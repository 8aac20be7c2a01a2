//! What lies where in the file.
//!
//! Each event is written once, in the order of commits; an index finds it by stream and place. A
//! stream is what one pod wrote itself, under a dense number that stands for the pod's name.

use events::hash::Hasher;
use events::{Hash, PodId, Position, Seq};
use redb::{ReadableTable, TableDefinition};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteArray;

use super::error::TableError;
use crate::log::PodHead;

/// What the file is. This table keeps its name and its shape in every version, for it is where a
/// version finds out that a file is newer than itself.
pub(super) const META: TableDefinition<&str, &[u8]> = TableDefinition::new("podwork");
/// Position to [`Entry`].
pub(super) const LOG: TableDefinition<u64, &[u8]> = TableDefinition::new("log");
/// Stream and seq to position.
pub(super) const INDEX: TableDefinition<(u64, u64), u64> = TableDefinition::new("index");
/// Pod to stream.
pub(super) const PODS: TableDefinition<&[u8; 16], u64> = TableDefinition::new("pods");
/// Stream to [`Stream`].
pub(super) const STREAMS: TableDefinition<u64, &[u8]> = TableDefinition::new("streams");
/// Hash and number of the chunk to the chunk.
pub(super) const CONTENTS: TableDefinition<ChunkKey, &[u8]> = TableDefinition::new("contents");

/// Where a chunk of a content lies.
pub(super) type ChunkKey = (&'static [u8; 32], u32);

/// In [`META`]: the version of the layout, four bytes, little endian.
pub(super) const FORMAT_KEY: &str = "format";
/// In [`META`]: sixteen bytes that no other store has.
pub(super) const STORE_KEY: &str = "store";
/// In [`META`]: when the store was made, microseconds since 1970, eight bytes, little endian.
pub(super) const CREATED_KEY: &str = "created";

/// The layout that this program writes and reads.
pub(super) const FORMAT: u32 = 1;

/// What the first event of a log follows.
pub(super) const GENESIS: Hash = Hash::from_bytes([0; 32]);

const HASH_BYTES: usize = 32;
const CHECKSUM_BYTES: usize = 8;

fn damaged<T>(why: impl Into<String>) -> Result<T, TableError> {
    Err(TableError::Damaged(why.into()))
}

/// What one pod wrote itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stream {
    pod: ByteArray<16>,
    /// Its first own event.
    pub(super) first_seq: u64,
    pub(super) first_position: u64,
    /// Its last event.
    pub(super) head_seq: u64,
    pub(super) head_position: u64,
    head_hash: ByteArray<32>,
    /// The stream that holds the event before `first_seq`, when it is a fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<u64>,
}

impl Stream {
    /// A stream that is about to get its first event.
    pub(super) fn new(pod: PodId, first: Seq, position: Position, parent: Option<u64>) -> Self {
        Self {
            pod: ByteArray::new(*pod.as_bytes()),
            first_seq: first.0,
            first_position: position.0,
            head_seq: 0,
            head_position: 0,
            head_hash: ByteArray::new([0; 32]),
            parent,
        }
    }

    pub(super) fn pod(&self) -> PodId {
        PodId::from_bytes(*self.pod)
    }

    pub(super) fn head_hash(&self) -> Hash {
        Hash::from_bytes(*self.head_hash)
    }

    pub(super) fn set_head(&mut self, seq: Seq, position: Position, hash: Hash) {
        self.head_seq = seq.0;
        self.head_position = position.0;
        self.head_hash = ByteArray::new(*hash.as_bytes());
    }

    pub(super) fn head(&self) -> PodHead {
        PodHead {
            pod: self.pod(),
            seq: Seq(self.head_seq),
            first: Position(self.first_position),
            last: Position(self.head_position),
        }
    }

    /// A checksum and the fields: redb checks no page that it reads, and a head that lies would
    /// make a log shorter without anybody noticing.
    pub(super) fn to_bytes(&self, number: u64) -> Vec<u8> {
        let fields = rmp_serde::to_vec_named(self).expect("plain values and memory takes them");
        let mut bytes = checksum(number, &fields).to_vec();
        bytes.extend(fields);
        bytes
    }

    pub(super) fn from_bytes(number: u64, bytes: &[u8]) -> Result<Self, TableError> {
        let Some((sum, fields)) = bytes.split_first_chunk::<CHECKSUM_BYTES>() else {
            return damaged(format!("the head of stream {number} is cut off"));
        };
        if *sum != checksum(number, fields) {
            return damaged(format!("the head of stream {number} is not what was written"));
        }
        rmp_serde::from_slice(fields)
            .or_else(|error| damaged(format!("the head of stream {number}: {error}")))
    }
}

fn checksum(number: u64, fields: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut hasher = Hasher::default();
    hasher.update(&number.to_le_bytes());
    hasher.update(fields);
    *hasher.finish().as_bytes().first_chunk().expect("a hash is longer than a checksum")
}

/// An event as it lies in [`LOG`]: a hash over everything in its log up to it, and its record.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) hash: Hash,
    pub(super) record: &'a [u8],
}

impl<'a> Entry<'a> {
    /// The bytes of a record that follows the event with the hash `previous`, and its own hash.
    pub(super) fn chain(previous: Hash, record: &[u8]) -> (Hash, Vec<u8>) {
        let hash = chain(previous, record);
        let mut bytes = Vec::with_capacity(HASH_BYTES + record.len());
        bytes.extend(hash.as_bytes());
        bytes.extend(record);
        (hash, bytes)
    }

    /// `None` when the bytes are cut off.
    pub(super) fn from_bytes(bytes: &'a [u8]) -> Option<Self> {
        let (hash, record) = bytes.split_first_chunk::<HASH_BYTES>()?;
        Some(Self { hash: Hash::from_bytes(*hash), record })
    }

    /// It is what was written after the event with the hash `previous`.
    pub(super) fn follows(&self, previous: Hash) -> bool {
        chain(previous, self.record) == self.hash
    }
}

fn chain(previous: Hash, record: &[u8]) -> Hash {
    let mut hasher = Hasher::default();
    hasher.update(previous.as_bytes());
    hasher.update(record);
    hasher.finish()
}

/// The number of the pod's stream.
pub(super) fn stream_number(
    pods: &impl ReadableTable<&'static [u8; 16], u64>,
    pod: PodId,
) -> Result<Option<u64>, TableError> {
    Ok(pods.get(pod.as_bytes())?.map(|number| number.value()))
}

/// The stream of this number.
pub(super) fn stream(
    streams: &impl ReadableTable<u64, &'static [u8]>,
    number: u64,
) -> Result<Stream, TableError> {
    match streams.get(number)? {
        Some(bytes) => Stream::from_bytes(number, bytes.value()),
        None => damaged(format!("the head of stream {number} is missing")),
    }
}

/// The position of the last event; zero in an empty log.
pub(super) fn last_position(log: &impl ReadableTable<u64, &'static [u8]>) -> Result<Position, TableError> {
    Ok(Position(log.last()?.map_or(0, |(position, _)| position.value())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_stream_reads_back_and_any_change_of_it_is_seen() {
        let mut stream = Stream::new(PodId::from_bytes([7; 16]), Seq(5), Position(90), Some(3));
        stream.set_head(Seq(12), Position(120), Hash::of(b"the last event"));
        let bytes = stream.to_bytes(4);
        assert_eq!(Stream::from_bytes(4, &bytes).expect("reads"), stream);
        assert!(Stream::from_bytes(5, &bytes).is_err(), "it is the head of another stream");
        for place in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[place] ^= 1 << bit;
                assert!(Stream::from_bytes(4, &changed).is_err(), "bit {bit} of byte {place}");
            }
            assert!(Stream::from_bytes(4, &bytes[..place]).is_err(), "cut off at {place}");
        }
    }
}
