//! Runs the real binary as a person or a script would: a store, a home and a directory of its
//! own, a clean environment, and nothing of this machine's configuration.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use tempfile::TempDir;

use crate::server::StrictServer;

pub mod running;

pub use running::{Finished, Running};

/// What takes longer than this will not come: the test fails and says what it waited for.
const PATIENCE: Duration = Duration::from_mins(1);
/// Between two looks at something that cannot tell when it changes.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A place where `podwork` runs, as often as a test wants.
pub struct Podwork {
    place: TempDir,
    variables: BTreeMap<String, String>,
}

impl Podwork {
    /// A new place, without any model.
    pub fn new() -> Self {
        let place = tempfile::tempdir().expect("a temporary directory");
        for folder in ["home", "work"] {
            std::fs::create_dir(place.path().join(folder)).expect("a folder in a new directory");
        }
        let path = std::env::var("PATH").unwrap_or_default();
        let mut variables = BTreeMap::from([
            ("PATH".to_owned(), path),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            // Backtraces would stand in what tests read.
            ("RUST_BACKTRACE".to_owned(), "0".to_owned()),
        ]);
        let text = |path: PathBuf| path.to_str().expect("temporary paths are text").to_owned();
        variables.insert("HOME".to_owned(), text(place.path().join("home")));
        variables.insert("PODWORK_STORE".to_owned(), text(place.path().join("store.redb")));
        Self { place, variables }
    }

    /// A new place where both dialects are spoken by this server. The model is not chosen.
    pub fn with(server: &StrictServer) -> Self {
        Self::new()
            .variable("OPENAI_BASE_URL", server.base_url_openai())
            .variable("OPENAI_API_KEY", "a-key-of-a-test")
            .variable("ANTHROPIC_BASE_URL", server.base_url_anthropic())
            .variable("ANTHROPIC_API_KEY", "a-key-of-a-test")
    }

    /// The same with a variable of the environment.
    #[must_use]
    pub fn variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    /// The same for this model.
    #[must_use]
    pub fn model(self, model: &str) -> Self {
        self.variable("PODWORK_MODEL", model)
    }

    /// The directory that commands run in, and pods with them.
    pub fn directory(&self) -> PathBuf {
        self.place.path().join("work")
    }

    /// Writes a file into the directory.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.directory().join(path);
        std::fs::create_dir_all(path.parent().expect("it lies in the directory")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    /// What a file in the directory says; `None` when there is none.
    pub fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.directory().join(path)).ok()
    }

    /// The store's file.
    pub fn store(&self) -> PathBuf {
        self.place.path().join("store.redb")
    }

    /// Runs a command to its end, with nothing on its standard input.
    pub fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Finished {
        self.start(arguments, Stdio::null()).finish()
    }

    /// Runs a command to its end, with this on its standard input.
    pub fn run_with_input<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        input: &str,
    ) -> Finished {
        let mut running = self.start(arguments, Stdio::piped());
        if let Some(mut stdin) = running.stdin() {
            // A command may end without reading; what it says then is what the test looks at.
            let _ = stdin.write_all(input.as_bytes());
        }
        running.finish()
    }

    /// Starts a command and does not wait for it.
    pub fn spawn<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Running {
        self.start(arguments, Stdio::null())
    }

    fn start<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>, stdin: Stdio) -> Running {
        let mut command = Command::new(binary());
        command
            .args(arguments)
            .current_dir(self.directory())
            .env_clear()
            .envs(&self.variables)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Running::start(&mut command)
    }
}

impl Default for Podwork {
    fn default() -> Self {
        Self::new()
    }
}

/// The binary of this build: it lies beside the folder of the test that runs.
///
/// # Panics
///
/// When it is not there. `cargo test --workspace` builds it, because it has a test of its own;
/// `cargo test -p podwork-tests` alone does not, so a test that then fails says how old it is.
pub fn binary() -> PathBuf {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(find_binary).clone()
}

fn find_binary() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it lies");
    let folders = test.ancestors().skip(1);
    let found = folders.map(|folder| folder.join("podwork")).find(|path| is_binary(path));
    let binary = found.unwrap_or_else(|| {
        panic!("there is no `podwork` beside {}: build it with `cargo build -p podwork`", test.display())
    });
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a member lies in its workspace");
    let sources = ["events", "store", "actors", "bin"].map(|krate| root.join(krate).join("src"));
    if let Some(source) = newer(&sources, changed(&binary)) {
        eprintln!("NOTE: podwork is older than {}: `cargo build -p podwork` makes it new", source.display());
    }
    binary
}

/// A file in these folders that was changed later.
fn newer(folders: &[PathBuf], than: Option<SystemTime>) -> Option<PathBuf> {
    let mut folders = folders.to_vec();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if changed(&path) > than {
                return Some(path);
            }
        }
    }
    None
}

fn changed(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|metadata| metadata.modified()).ok()
}

fn is_binary(path: &Path) -> bool {
    path.is_file() && path.parent().is_some_and(|folder| folder.join("deps").is_dir())
}

/// Waits until something is there that cannot be waited for otherwise, such as a file that another
/// process writes.
///
/// # Panics
///
/// When it is not there after a minute.
pub fn wait_for<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    look_for(look).unwrap_or_else(|| panic!("waited too long for {what}"))
}

fn look_for<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if started.elapsed() > PATIENCE {
            return None;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Running {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::start(&mut command)
    }

    #[test]
    fn what_a_command_says_and_how_it_ends_is_kept() {
        let finished = shell("echo out; echo err >&2; exit 3").finish();
        assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("out\n", "err\n"));
        assert_eq!(finished.code, Some(3));
    }

    #[test]
    fn a_line_is_seen_while_the_command_still_runs() {
        let mut running = shell("echo '{\"type\":\"a\"}'; echo '{\"type\":\"b\"}'; exec sleep 600");
        let event = running.wait_for_event(|event| event["type"] == "b");
        assert_eq!(event["type"], "b");
        let finished = running.kill();
        assert_eq!((finished.code, finished.signal), (None, Some(9)));
        assert_eq!(finished.events().len(), 2);
    }

    #[test]
    fn a_command_that_is_interrupted_can_say_so() {
        let mut running =
            shell("trap 'echo stopped; exit 130' INT; echo ready; while :; do sleep 0.01; done");
        running.wait_for_line(|line| line == "ready");
        running.interrupt();
        let finished = running.finish();
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(130), "ready\nstopped\n"));
    }
}
