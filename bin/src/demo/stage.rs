//! Where the demo plays: a directory with a small project, the model's script and a store.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::exit::Problem;

/// The project: three files that need nothing but a shell.
const PROJECT: &[(&str, &str)] = &[
    ("README.md", include_str!("project/README.md")),
    ("sum.sh", include_str!("project/sum.sh")),
    ("test.sh", include_str!("project/test.sh")),
];

/// What the model answers.
const SCRIPT: &str = include_str!("model.jsonl");

/// The file that is there while the patient tests run.
const RUNNING: &str = ".tests-are-running";

/// The demo's directory.
pub(super) struct Stage {
    /// The project that the agent works in.
    pub(super) project: PathBuf,
    /// The store.
    pub(super) store: PathBuf,
    directory: PathBuf,
}

/// What the project's tests say.
pub(super) struct TestRun {
    /// All of them.
    pub(super) passed: bool,
    /// Their words.
    pub(super) output: String,
}

impl Stage {
    /// Writes the files. A directory of the person's own must be empty.
    pub(super) fn build(directory: Option<&Path>) -> Result<Self, Problem> {
        let failed = |error: std::io::Error| {
            Problem::failed(format!("the directory of the demo cannot be made: {error}"))
        };
        let directory = match directory {
            Some(directory) => {
                std::fs::create_dir_all(directory).map_err(failed)?;
                if std::fs::read_dir(directory).map_err(failed)?.next().is_some() {
                    let text = format!(
                        "{} is not empty; the demo needs a directory of its own",
                        directory.display()
                    );
                    return Err(Problem::usage(text));
                }
                directory.to_owned()
            }
            // It stays there, so that the person can look further.
            None => tempfile::Builder::new().prefix("podwork-demo-").tempdir().map_err(failed)?.keep(),
        };
        let directory = directory.canonicalize().map_err(failed)?;
        let project = directory.join("project");
        std::fs::create_dir(&project).map_err(failed)?;
        for (name, text) in PROJECT {
            std::fs::write(project.join(name), text).map_err(failed)?;
        }
        let stage = Self { project, store: directory.join("store.redb"), directory };
        std::fs::write(stage.script(), SCRIPT).map_err(failed)?;
        Ok(stage)
    }

    /// The model's script.
    fn script(&self) -> PathBuf {
        self.directory.join("model.jsonl")
    }

    /// This program once more, as somebody would start it in the project, untouched by the
    /// person's own configuration.
    pub(super) fn podwork<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Command, Problem> {
        let program = std::env::current_exe()
            .map_err(|error| Problem::failed(format!("podwork does not find itself: {error}")))?;
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PODWORK_") {
                command.env_remove(name);
            }
        }
        let mut model = std::ffi::OsString::from("script:");
        model.push(self.script());
        command
            .args(arguments)
            .arg("--store")
            .arg(&self.store)
            .current_dir(&self.project)
            .env("XDG_CONFIG_HOME", &self.directory)
            .env("PODWORK_MODEL", model)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit());
        Ok(command)
    }

    /// Runs the project's tests, as the person would.
    pub(super) fn test(&self) -> Result<TestRun, Problem> {
        let run = Command::new("sh").arg("test.sh").current_dir(&self.project).stdin(Stdio::null()).output();
        let run = run.map_err(|error| Problem::failed(format!("the demo needs `sh`: {error}")))?;
        Ok(TestRun {
            passed: run.status.success(),
            output: String::from_utf8_lossy(&run.stdout).into_owned(),
        })
    }

    /// The patient tests have begun and have not ended.
    pub(super) fn tests_are_running(&self) -> bool {
        self.project.join(RUNNING).exists()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_s_tests_fail_before_anything_is_done() {
        let home = tempfile::tempdir().expect("a directory");
        let stage = Stage::build(Some(&home.path().join("demo"))).expect("built");
        let run = stage.test().expect("runs");
        assert!(!run.passed && run.output.contains("FAIL  sum.sh 1 2 3 is 3, expected 6"), "{}", run.output);
        assert!(!stage.tests_are_running());
    }

    #[test]
    fn a_directory_that_is_in_use_is_left_alone() {
        let home = tempfile::tempdir().expect("a directory");
        std::fs::write(home.path().join("mine"), "").expect("written");
        assert!(Stage::build(Some(home.path())).is_err());
    }
}
