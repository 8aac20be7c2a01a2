//! What is no store, or none that can be opened now, is told apart and left as it is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use events::Seq;
use kit::conformance::{opened, pod};
use kit::fault::{Dice, FaultyDisk};
use redb::{Database, ReadableDatabase, TableDefinition};
use store::{Append, AppendLog, Clock, DiskStore, OpenError, ReadLog};
use tempfile::TempDir;

/// A directory of this test.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("makes a directory"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("store.redb")
    }

    fn holding(&self, bytes: &[u8]) -> PathBuf {
        fs::write(self.path(), bytes).expect("writes");
        self.path()
    }

    /// The bytes of a store with one event.
    fn store() -> Vec<u8> {
        let disk = FaultyDisk::default();
        let store = DiskStore::with_backend(disk.clone(), Clock::system()).expect("makes a store");
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("makes a runtime");
        let append = Append { pod: pod(1), expected: Seq(0), drafts: vec![opened()] };
        runtime.block_on(store.append(vec![append], Vec::new())).expect("taken");
        store.close();
        disk.bytes()
    }
}

/// Opens what must not open, and sees that nobody touched it.
fn refusal(path: &Path) -> OpenError {
    let bytes = fs::read(path).expect("reads");
    let written = fs::metadata(path).and_then(|metadata| metadata.modified()).expect("has a time");
    let error = DiskStore::open(path).expect_err("must not open");
    assert!(fs::read(path).expect("reads") == bytes, "the file is as it was");
    let after = fs::metadata(path).and_then(|metadata| metadata.modified()).expect("has a time");
    assert_eq!(after, written, "the file was not written to");
    let beside = path.parent().expect("has a directory").read_dir().expect("reads").count();
    assert_eq!(beside, 1, "nothing was left beside it");
    assert!(error.to_string().contains("store.redb"), "it names the file: {error}");
    error
}

#[test]
fn a_foreign_file_is_told_by_what_it_is() {
    let place = Place::new();
    let mut dice = Dice::new(1);
    let random: Vec<u8> =
        std::iter::repeat_with(|| dice.below(256)).map(|byte| byte.to_le_bytes()[0]).take(100_000).collect();
    let files: [(&[u8], &str); 5] = [
        (b"", "it is empty"),
        (b"# Notes\n\nbuy milk\n", "it is a text file"),
        (b"SQLite format 3\0\x10\0\x01\x01", "it is an SQLite database"),
        (b"redb\x1A", "its first bytes are of no store"),
        (&random, "its first bytes are of no store"),
    ];
    for (bytes, what) in files {
        let error = refusal(&place.holding(bytes));
        let OpenError::Foreign { what: found, .. } = &error else { panic!("{what}: {error:?}") };
        assert_eq!(found, what);
    }
}

#[test]
fn a_directory_is_foreign() {
    let place = Place::new();
    fs::create_dir(place.path()).expect("makes a directory");
    let error = DiskStore::open(&place.path()).expect_err("must not open");
    assert!(matches!(error, OpenError::Foreign { .. }), "{error:?}");
}

#[test]
fn a_database_of_another_program_is_foreign_even_if_it_was_left_open() {
    const TABLE: TableDefinition<&str, u64> = TableDefinition::new("accounts");
    let place = Place::new();
    let disk = FaultyDisk::default();
    let database = Database::builder().create_with_backend(disk.clone()).expect("makes a database");
    let txn = database.begin_write().expect("begins");
    txn.open_table(TABLE).expect("opens").insert("me", 1).expect("inserts");
    txn.commit().expect("commits");
    let left_open = disk.bytes();
    drop(database);
    for bytes in [left_open, disk.bytes()] {
        let error = refusal(&place.holding(&bytes));
        assert!(matches!(error, OpenError::Foreign { .. }), "{error:?}");
    }
    let database = Database::open(place.path()).expect("its own program still opens it");
    let txn = database.begin_read().expect("begins");
    let table = txn.open_table(TABLE).expect("opens");
    assert_eq!(redb::ReadableTable::get(&table, "me").expect("reads").map(|value| value.value()), Some(1));
}

#[test]
fn a_store_of_a_newer_version_is_newer() {
    const META: TableDefinition<&str, &[u8]> = TableDefinition::new("podwork");
    let place = Place::new();
    let path = place.holding(&Place::store());
    let database = Database::open(&path).expect("opens");
    let txn = database.begin_write().expect("begins");
    let newer = 2_u32.to_le_bytes();
    txn.open_table(META).expect("opens").insert("format", newer.as_slice()).expect("inserts");
    // A newer version may have other tables.
    txn.delete_table(TableDefinition::<(u64, u64), u64>::new("index")).expect("deletes");
    txn.commit().expect("commits");
    drop(database);
    let error = refusal(&path);
    assert!(matches!(error, OpenError::Newer { .. }), "{error:?}");
}

#[test]
fn a_store_in_a_newer_database_format_is_newer() {
    let place = Place::new();
    let mut bytes = Place::store();
    bytes[64] = 4;
    bytes[192] = 4;
    let error = refusal(&place.holding(&bytes));
    assert!(matches!(error, OpenError::Newer { .. }), "{error:?}");
}

#[test]
fn a_store_that_was_cut_off_or_overwritten_is_damaged() {
    let place = Place::new();
    let whole = Place::store();
    let mut zeroed = whole.clone();
    zeroed[4096..].fill(0);
    let mut garbled = whole.clone();
    garbled[64..320].fill(0x55);
    garbled[64] = 3;
    garbled[192] = 3;
    let damaged = [
        whole[..9].to_vec(),
        whole[..100].to_vec(),
        whole[..4096].to_vec(),
        whole[..whole.len() / 2].to_vec(),
        zeroed,
        garbled,
    ];
    for (number, bytes) in damaged.iter().enumerate() {
        let error = refusal(&place.holding(bytes));
        assert!(matches!(error, OpenError::Damaged { .. }), "number {number}: {error:?}");
    }
}

#[test]
fn a_store_without_one_of_its_tables_is_damaged() {
    let place = Place::new();
    let path = place.holding(&Place::store());
    let database = Database::open(&path).expect("opens");
    let txn = database.begin_write().expect("begins");
    txn.delete_table(TableDefinition::<u64, &[u8]>::new("log")).expect("deletes");
    txn.commit().expect("commits");
    drop(database);
    let error = refusal(&path);
    assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
}

#[test]
fn a_store_that_somebody_has_open_is_locked() {
    let place = Place::new();
    let holder = DiskStore::open(&place.path()).expect("makes a store");
    let error = refusal(&place.path());
    assert!(matches!(error, OpenError::Locked { .. }), "{error:?}");
    drop(holder);
    DiskStore::open(&place.path()).expect("is free again");
}

#[test]
fn a_path_that_cannot_be_is_an_error_of_the_system() {
    let place = Place::new();
    place.holding(b"a file");
    let error = DiskStore::open(&place.path().join("below")).expect_err("must not open");
    assert!(matches!(error, OpenError::Io { .. }), "{error:?}");
}

#[test]
fn a_new_store_belongs_to_its_owner_alone() {
    let place = Place::new();
    let path = place.0.path().join("some/where/store.redb");
    let store = DiskStore::open(&path).expect("makes a store");
    let mode = |path: &Path| fs::metadata(path).expect("is there").permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&place.0.path().join("some")), 0o700);
    assert_eq!(mode(&place.0.path().join("some/where")), 0o700);
    let names = path.parent().expect("has a directory").read_dir().expect("reads").count();
    assert_eq!(names, 1, "nothing is left beside it");
    assert!(store.pods().expect("reads").is_empty());
}

#[test]
fn of_many_who_make_the_same_store_one_gets_it() {
    let place = Place::new();
    let path = place.path();
    let opened: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| DiskStore::open(&path))).collect();
        threads.into_iter().map(|thread| thread.join().expect("ends well")).collect()
    });
    let (won, lost): (Vec<_>, Vec<_>) = opened.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    for error in lost {
        assert!(matches!(error, Err(OpenError::Locked { .. })), "{error:?}");
    }
    assert_eq!(place.0.path().read_dir().expect("reads").count(), 1, "nothing is left beside it");
}
