//! The stores: what both promise, and what the disk adds to it.

mod crash;
mod damage;
mod disk;
mod open;

mod memory {
    use std::sync::Arc;

    use kit::conformance::Subject;
    use store::MemoryStore;

    fn make() -> Subject {
        let store = Arc::new(MemoryStore::new());
        Subject::new(store.reader(), Arc::<MemoryStore>::clone(&store), store)
    }

    kit::store_conformance!(make);
}

mod on_disk {
    use std::sync::Arc;

    use kit::conformance::Subject;
    use store::DiskStore;

    fn make() -> Subject {
        let directory = tempfile::tempdir().expect("makes a directory");
        let store = Arc::new(DiskStore::open(&directory.path().join("store.redb")).expect("makes a store"));
        Subject::new(store.reader(), Arc::<DiskStore>::clone(&store), (store, directory))
    }

    kit::store_conformance!(make);
}
