//! Finds out what a file is before anything is written to it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use redb::{Database, DatabaseError, ReadTransaction, ReadableDatabase, ReadableTable, StorageError};

use super::error::{OpenError, TableError};
use super::table::{CONTENTS, FORMAT, FORMAT_KEY, INDEX, LOG, META, PODS, STREAMS, Stream, last_position};

/// What a file is when it is no store that can be opened.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Finding {
    Foreign(String),
    Newer(String),
    Damaged(String),
}

impl Finding {
    pub(super) fn at(self, path: &Path) -> OpenError {
        let path = path.to_path_buf();
        match self {
            Self::Foreign(what) => OpenError::Foreign { path, what },
            Self::Newer(what) => OpenError::Newer { path, what },
            Self::Damaged(why) => OpenError::Damaged { path, why },
        }
    }
}

/// redb's file header: the magic number, a byte whose lowest bit names the current of two commit
/// slots, and the slots, each with its format version in front (redb's docs/design.md).
const MAGIC: [u8; 9] = *b"redb\x1A\x0A\xA9\x0D\x0A";
const SLOT_OFFSETS: [usize; 2] = [64, 192];
/// The newest file format of the redb that this program is built with.
const REDB_FORMAT_MAX: u8 = 3;
/// As much of a file as tells what it is.
const HEAD_BYTES: u64 = 320;

/// Looks at the first bytes of a file.
pub(super) fn head(file: &File) -> io::Result<Result<(), Finding>> {
    let mut head = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(judge(&head))
}

fn judge(head: &[u8]) -> Result<(), Finding> {
    if !head.starts_with(&MAGIC) {
        return Err(Finding::Foreign(describe(head).to_owned()));
    }
    let slot = head.get(MAGIC.len()).map(|byte| SLOT_OFFSETS[usize::from(byte & 1)]);
    match slot.and_then(|slot| head.get(slot)) {
        None => Err(Finding::Damaged("it is cut off within its first page".to_owned())),
        Some(&format) if format > REDB_FORMAT_MAX => {
            Err(Finding::Newer(format!("its database has file format {format}, not {REDB_FORMAT_MAX}")))
        }
        Some(_) => Ok(()),
    }
}

fn describe(head: &[u8]) -> &'static str {
    let unicode = std::str::from_utf8(head).map_or_else(|error| error.error_len().is_none(), |_| true);
    let text = unicode && head.iter().all(|byte| *byte >= b' ' || byte.is_ascii_whitespace());
    if head.is_empty() {
        "it is empty"
    } else if head.starts_with(b"SQLite format 3\0") {
        "it is an SQLite database"
    } else if text {
        "it is a text file"
    } else {
        "its first bytes are of no store"
    }
}

/// What it means that redb could not open the file.
#[expect(clippy::wildcard_enum_match_arm, reason = "redb may add errors, and they are of the file too")]
pub(super) fn refused(error: DatabaseError, path: &Path) -> OpenError {
    let of_the_bytes = |source: &io::Error| {
        matches!(source.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
    };
    match error {
        DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => {
            OpenError::Locked { path: path.to_path_buf() }
        }
        DatabaseError::Storage(StorageError::Io(source)) if !of_the_bytes(&source) => {
            OpenError::io("read", path)(source)
        }
        DatabaseError::UpgradeRequired(format) => {
            Finding::Foreign(format!("it is a redb database in the old file format {format}")).at(path)
        }
        error => Finding::Damaged(format!("its database says: {error}")).at(path),
    }
}

/// Makes sure that the database is a store of this version.
pub(super) fn identify(database: &Database) -> Result<(), Finding> {
    let damaged = |error: TableError| Finding::Damaged(error.to_string());
    let txn = database.begin_read().map_err(|error| damaged(error.into()))?;
    let meta = txn.open_table(META).map_err(|error| {
        if let redb::TableError::Storage(error) = error {
            return damaged(error.into());
        }
        Finding::Foreign("it is a redb database of another program".to_owned())
    })?;
    let format = meta_value(&meta, FORMAT_KEY).map_err(damaged)?;
    match format.as_deref().map(<[u8; 4]>::try_from) {
        Some(Ok(format)) => match u32::from_le_bytes(format) {
            FORMAT => {}
            0 => return Err(Finding::Damaged("store format 0 does not exist".to_owned())),
            newer => {
                return Err(Finding::Newer(format!("it has store format {newer}, not {FORMAT}")));
            }
        },
        Some(Err(_)) | None => return Err(Finding::Damaged("it does not say its format".to_owned())),
    }
    agree(&txn).map_err(damaged)
}

fn meta_value(
    meta: &impl ReadableTable<&'static str, &'static [u8]>,
    key: &str,
) -> Result<Option<Vec<u8>>, TableError> {
    Ok(meta.get(key)?.map(|value| value.value().to_vec()))
}

/// All tables are there, and the youngest stream heads fit the end of the log. Whether each event
/// is what was written shows when it is read.
fn agree(txn: &ReadTransaction) -> Result<(), TableError> {
    let last = last_position(&txn.open_table(LOG)?)?;
    txn.open_table(INDEX)?;
    txn.open_table(PODS)?;
    txn.open_table(CONTENTS)?;
    let youngest = youngest(&txn.open_table(STREAMS)?)?;
    match youngest {
        None if last.0 == 0 => Ok(()),
        Some(stream) if stream.head_position <= last.0 => Ok(()),
        _ => Err(TableError::Damaged("its log is shorter than the heads of its pods say".to_owned())),
    }
}

fn youngest(streams: &impl ReadableTable<u64, &'static [u8]>) -> Result<Option<Stream>, TableError> {
    let Some((number, bytes)) = streams.last()? else { return Ok(None) };
    Stream::from_bytes(number.value(), bytes.value()).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn foreign(head: &[u8]) -> String {
        match judge(head) {
            Err(Finding::Foreign(what)) => what,
            other => panic!("{head:?} was judged as {other:?}"),
        }
    }

    #[test]
    fn a_file_that_is_no_database_is_told_by_its_first_bytes() {
        assert_eq!(foreign(b""), "it is empty");
        assert_eq!(foreign(b"SQLite format 3\0\x10\0"), "it is an SQLite database");
        assert_eq!(foreign("grüße\n".as_bytes()), "it is a text file");
        assert_eq!(foreign(&"grüße".as_bytes()[..4]), "it is a text file");
        assert_eq!(foreign(b"\x7fELF\0\0"), "its first bytes are of no store");
        assert_eq!(foreign(&MAGIC[..8]), "its first bytes are of no store");
    }

    #[test]
    fn the_format_is_read_from_the_current_slot() {
        let mut head = vec![0; 320];
        head[..9].copy_from_slice(&MAGIC);
        head[64] = 3;
        head[192] = 4;
        assert_eq!(judge(&head), Ok(()));
        head[9] = 1;
        assert!(matches!(judge(&head), Err(Finding::Newer(_))));
        assert!(matches!(judge(&head[..192]), Err(Finding::Damaged(_))));
    }
}
