//! Who holds a store, as far as the system tells.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The process that holds a lock on the file; none where the system does not say.
pub(crate) fn holder(store: &Path) -> Option<u32> {
    let inode = std::fs::metadata(store).ok()?.ino();
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    find(&locks, inode)
}

/// Finds the lock on a file in what Linux says of locks:
/// `1: FLOCK  ADVISORY  WRITE 4711 08:01:1234567 0 EOF`.
fn find(locks: &str, inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().filter(|word| *word != "->").collect();
        let [_, _, _, _, process, file, ..] = words.as_slice() else { return None };
        let is_ours = file.rsplit(':').next().and_then(|text| text.parse::<u64>().ok()) == Some(inode);
        process.parse().ok().filter(|_| is_ours)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found_by_the_file() {
        let locks = "1: POSIX  ADVISORY  READ 11 08:01:77 128 128\n\
                     2: FLOCK  ADVISORY  WRITE 4711 08:01:1234567 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 12 08:01:99 0 EOF\n";
        assert_eq!(find(locks, 1_234_567), Some(4711));
        assert_eq!(find(locks, 77), Some(11));
        assert_eq!(find(locks, 99), Some(12));
        assert_eq!(find(locks, 5), None);
        assert_eq!(find("nonsense", 5), None);
    }
}
