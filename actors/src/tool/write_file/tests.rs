//! Files created and replaced, and places where nothing may be written.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};

use events::event::tool::CallOutcome;
use serde_json::json;

use super::*;
use crate::tool::test_scene::Stage;

fn write(stage: &Stage, path: &str, content: &str) -> ToolOutput {
    stage.run(WriteFile, &json!({"path": path, "content": content}))
}

#[test]
fn a_file_is_created_with_the_folders_on_the_way() {
    let stage = Stage::new();
    let output = write(&stage, "a/b/c.txt", "one\ntwo\n");
    assert_eq!(output.outcome, CallOutcome::Ok);
    assert_eq!(output.summary, "a/b/c.txt: created, 8 bytes, 2 lines");
    assert_eq!(stage.read("a/b/c.txt"), "one\ntwo\n");
    // As any program would have made it: the mode is the user's choice, not a temporary file's.
    stage.write("other", "");
    let mode = |name: &str| fs::metadata(stage.path(name)).unwrap().permissions().mode();
    assert_eq!(mode("a/b/c.txt"), mode("other"));
}

#[test]
fn a_file_is_replaced_and_keeps_its_mode_and_writing_it_again_changes_nothing() {
    let stage = Stage::with(&[("run.sh", "old")]);
    fs::set_permissions(stage.path("run.sh"), Permissions::from_mode(0o755)).unwrap();
    for summary in [
        "run.sh: replaced, 4 bytes, 1 lines; it had 3 bytes",
        "run.sh: replaced, 4 bytes, 1 lines; it had 4 bytes",
    ] {
        assert_eq!(write(&stage, "run.sh", "new\n").summary, summary);
        assert_eq!(stage.read("run.sh"), "new\n");
        assert_eq!(fs::metadata(stage.path("run.sh")).unwrap().permissions().mode() & 0o777, 0o755);
    }
}

#[test]
fn a_link_inside_stays_a_link_and_its_target_is_written() {
    let stage = Stage::with(&[("real/a", "old")]);
    symlink("real/a", stage.path("link")).unwrap();
    symlink("real/new", stage.path("dangling")).unwrap();
    assert_eq!(write(&stage, "link", "1").outcome, CallOutcome::Ok);
    assert_eq!(write(&stage, "dangling", "2").outcome, CallOutcome::Ok);
    assert!(stage.path("link").is_symlink() && stage.path("dangling").is_symlink());
    assert_eq!((stage.read("real/a"), stage.read("real/new")), ("1".to_owned(), "2".to_owned()));
}

#[test]
fn nothing_is_written_outside() {
    let outside = Stage::with(&[("victim", "safe")]);
    let stage = Stage::new();
    symlink(outside.path("victim"), stage.path("file_link")).unwrap();
    symlink(outside.path("."), stage.path("folder_link")).unwrap();
    symlink(outside.path("new"), stage.path("dangling")).unwrap();
    let absolute = outside.path("new");
    let paths = [
        "file_link",
        "folder_link/victim",
        "folder_link/new/x",
        "dangling",
        "../x",
        absolute.to_str().unwrap(),
    ];
    for path in paths {
        let output = write(&stage, path, "harm");
        assert_eq!(output.outcome, CallOutcome::Failed, "{path}");
        assert!(output.summary.contains("leads outside the pod's directory"), "{}", output.summary);
    }
    assert_eq!(outside.read("victim"), "safe");
    assert_eq!(fs::read_dir(outside.path(".")).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_written_is_refused_with_the_reason() {
    let stage = Stage::with(&[("folder/a", ""), ("read_only", "r")]);
    fs::set_permissions(stage.path("read_only"), Permissions::from_mode(0o444)).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, stage.path("pipe"), rustix::fs::Mode::RWXU).unwrap();
    let cases = [
        ("folder", "folder: this is a folder, not a file"),
        ("new/", "`new/` names a folder: give the path of a file"),
        ("pipe", "pipe: this is a named pipe, not a file"),
        ("read_only", "read_only: the file is read-only (mode 444)"),
        ("folder/a/b", "`folder/a/b`: Not a directory"),
        ("~/x", "`~` is not expanded"),
    ];
    for (path, summary) in cases {
        let output = write(&stage, path, "x");
        assert_eq!(output.outcome, CallOutcome::Failed, "{path}");
        assert!(output.summary.starts_with(summary), "{path}: {}", output.summary);
    }
    assert_eq!(stage.read("read_only"), "r");
    assert!(!stage.path("new").exists());
}

#[test]
fn wrong_arguments_are_refused_by_name() {
    let output = Stage::new().run(WriteFile, &json!({"path": "a", "text": "b"}));
    assert_eq!(output.outcome, CallOutcome::Failed);
    assert_eq!(
        output.summary,
        "write_file was not run: there is no argument `text`: there is path, content; \
         `content` is missing (a text)"
    );
}
