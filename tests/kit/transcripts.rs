//! Finds recorded sessions of other tools. They are not part of the repository: they lie beside
//! the checkout, or where `PODWORK_SHARED` says, and tests that need them pass without them.

use std::path::{Path, PathBuf};

/// The shared folder; `None`, with a line that says so, when it is not there.
pub fn shared() -> Option<PathBuf> {
    let named = std::env::var_os("PODWORK_SHARED").map(PathBuf::from);
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a member lies in its workspace");
    let folder = named.unwrap_or_else(|| checkout.join("../shared"));
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!(
        "SKIPPED: there is no folder of shared recordings at {}; PODWORK_SHARED names another place",
        folder.display()
    );
    None
}

/// A file or folder of the recorded sessions.
pub fn transcript(path: &str) -> Option<PathBuf> {
    let file = shared()?.join("transcripts").join(path);
    if file.exists() {
        return Some(file);
    }
    eprintln!("SKIPPED: there is no recording at {}", file.display());
    None
}

/// All files of a folder of the recorded sessions, in their order.
pub fn transcripts(folder: &str) -> Vec<PathBuf> {
    let Some(folder) = transcript(folder) else { return Vec::new() };
    let entries = std::fs::read_dir(&folder).expect("a folder that is there can be read");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files
}
