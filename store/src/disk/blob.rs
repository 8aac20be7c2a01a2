//! Contents by their hash: cut into chunks, kept once.

use events::Hash;
use redb::{ReadableTable, Table};

use super::error::TableError;
use super::table::ChunkKey;

/// Bytes of one chunk. redb keeps a large value in a page of a power of two, so a chunk and what
/// redb adds to it stay just below one; and a larger chunk would leave more of its last page empty.
pub(super) const CHUNK_BYTES_MAX: usize = 64 * 1024 - 256;

/// Puts a content in, unless it is there. Says whether anything was written.
pub(super) fn put(
    contents: &mut Table<'_, ChunkKey, &'static [u8]>,
    hash: Hash,
    bytes: &[u8],
) -> Result<bool, TableError> {
    if contents.get((hash.as_bytes(), 0))?.is_some() {
        return Ok(false);
    }
    // An empty content has one empty chunk: it is kept too.
    contents.insert((hash.as_bytes(), 0), &bytes[..bytes.len().min(CHUNK_BYTES_MAX)])?;
    for (number, chunk) in (1..).zip(bytes.chunks(CHUNK_BYTES_MAX).skip(1)) {
        contents.insert((hash.as_bytes(), number), chunk)?;
    }
    Ok(true)
}

/// The content under this hash.
pub(super) fn read(
    contents: &impl ReadableTable<ChunkKey, &'static [u8]>,
    hash: Hash,
) -> Result<Option<Vec<u8>>, TableError> {
    let mut bytes = None::<Vec<u8>>;
    let chunks = contents.range((hash.as_bytes(), 0)..=(hash.as_bytes(), u32::MAX))?;
    for (chunk, next) in chunks.zip(0..) {
        let (key, chunk) = chunk?;
        if key.value().1 != next {
            return Err(TableError::Damaged(format!("chunk {next} of content {hash} is missing")));
        }
        bytes.get_or_insert_default().extend_from_slice(chunk.value());
    }
    if bytes.as_deref().is_some_and(|bytes| Hash::of(bytes) != hash) {
        return Err(TableError::Damaged(format!("content {hash} is not what was written")));
    }
    Ok(bytes)
}
