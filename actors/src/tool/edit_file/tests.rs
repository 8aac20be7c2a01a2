//! The edit itself is tested in `replace`; here, what happens to the file.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};

use events::event::tool::CallOutcome;
use serde_json::json;

use super::*;
use crate::tool::test_scene::{Stage, runtime};

#[test]
fn a_text_is_replaced_in_the_file_which_keeps_its_mode() {
    let stage = Stage::with(&[("a.sh", "one\ntwo\nthree\n")]);
    fs::set_permissions(stage.path("a.sh"), Permissions::from_mode(0o700)).unwrap();
    let output = stage.run(EditFile, &json!({"path": "a.sh", "old_text": "two\n", "new_text": "2\n2b\n"}));
    assert_eq!(output.outcome, CallOutcome::Ok);
    assert_eq!(output.summary, "a.sh: replaced once on line 2; 1 lines became 2; the file now has 15 bytes");
    assert_eq!(stage.read("a.sh"), "one\n2\n2b\nthree\n");
    assert_eq!(fs::metadata(stage.path("a.sh")).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn all_places_are_replaced_when_asked_for() {
    let stage = Stage::with(&[("a", "x x\nx\n")]);
    let arguments = json!({"path": "a", "old_text": "x", "new_text": "y", "all": true});
    assert_eq!(stage.run(EditFile, &arguments).outcome, CallOutcome::Ok);
    assert_eq!(stage.read("a"), "y y\ny\n");
}

#[test]
fn an_edit_that_fails_leaves_the_file_as_it_was_and_says_why() {
    let stage = Stage::with(&[("a", "x x\n"), ("read_only", "x"), ("folder/b", "")]);
    fs::set_permissions(stage.path("read_only"), Permissions::from_mode(0o444)).unwrap();
    symlink("/etc/passwd", stage.path("link")).unwrap();
    let cases = [
        ("a", "x", "a: not changed: old_text occurs 2 times, on lines 1, 1;"),
        ("a", "z", "a: not changed: old_text does not occur in the file"),
        ("a", "", "a: not changed: old_text is empty"),
        ("a", "y", "a: not changed: old_text and new_text are the same"),
        ("missing", "x", "missing: there is no such file"),
        ("folder", "x", "folder: this is a folder, not a file"),
        ("read_only", "x", "read_only: the file is read-only (mode 444)"),
        ("link", "root", "refused: `link` leads outside the pod's directory"),
        ("../a", "x", "refused: `../a` leads outside the pod's directory"),
    ];
    for (path, old, summary) in cases {
        let output = stage.run(EditFile, &json!({"path": path, "old_text": old, "new_text": "y"}));
        assert_eq!(output.outcome, CallOutcome::Failed, "{path} {old}");
        assert!(output.summary.starts_with(summary), "{}", output.summary);
    }
    assert_eq!((stage.read("a"), stage.read("read_only")), ("x x\n".to_owned(), "x".to_owned()));
}

#[test]
fn edits_of_one_file_at_the_same_time_are_all_there_afterwards() {
    let texts: Vec<String> = (0..40).map(|number| format!("<{number}>")).collect();
    let (stage, runtime) = (Stage::with(&[("a", &texts.concat())]), runtime());
    let edit = |text: &String| stage.call(EditFile, &json!({"path": "a", "old_text": text, "new_text": ""}));
    let calls: Vec<_> = texts.iter().map(|text| runtime.spawn(edit(text))).collect();
    for call in calls {
        assert_eq!(runtime.block_on(call).expect("no panic").outcome, CallOutcome::Ok);
    }
    assert_eq!(stage.read("a"), "");
}

#[test]
fn a_file_that_is_too_large_to_hold_is_refused() {
    let stage = Stage::with(&[("a", "x")]);
    fs::File::options().append(true).open(stage.path("a")).unwrap().set_len(EDIT_BYTES_MAX + 1).unwrap();
    let output = stage.run(EditFile, &json!({"path": "a", "old_text": "x", "new_text": "y"}));
    assert_eq!(output.outcome, CallOutcome::Failed);
    assert!(output.summary.contains("larger than"), "{}", output.summary);
}

#[test]
fn wrong_arguments_are_refused_by_name() {
    let arguments = json!({"path": "a", "old_string": "b", "new_string": "c", "all": 1});
    let output = Stage::new().run(EditFile, &arguments);
    assert_eq!(output.outcome, CallOutcome::Failed);
    for part in [
        "there is no argument `old_string`: did you mean `old_text`?",
        "there is no argument `new_string`: did you mean `new_text`?",
        "`all` must be true or false, and is 1",
    ] {
        assert!(output.summary.contains(part), "{}", output.summary);
    }
}
