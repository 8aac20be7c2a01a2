//! Files of every size and kind, read in parts.

use std::fs;
use std::fs::File;
use std::os::unix::fs::symlink;

use events::Hash;
use events::event::tool::CallOutcome;
use serde_json::{Value, json};

use super::*;
use crate::tool::test_scene::Stage;

fn read(stage: &Stage, arguments: &Value) -> ToolOutput {
    stage.run(ReadFile, arguments)
}

/// What is shown, and the summary, of a call that succeeds.
fn shown(stage: &Stage, arguments: &Value) -> (String, String) {
    let output = read(stage, arguments);
    assert_eq!(output.outcome, CallOutcome::Ok, "{output:?}");
    (output.content, output.summary)
}

/// The summary of a call that fails.
fn refused(stage: &Stage, path: &str) -> String {
    let output = read(stage, &json!({ "path": path }));
    assert_eq!((output.outcome, output.content.as_str()), (CallOutcome::Failed, ""));
    output.summary
}

#[test]
fn a_file_is_shown_as_it_is() {
    let stage = Stage::with(&[("src/a.rs", "fn a() {\n\tb();\n}\n")]);
    let output = read(&stage, &json!({"path": "src/a.rs"}));
    assert_eq!(
        (output.content.as_str(), output.summary.as_str(), output.whole, output.bytes),
        ("fn a() {\n\tb();\n}\n", "src/a.rs: lines 1 to 3 of 3", None, 17)
    );
}

#[test]
fn an_offset_and_a_limit_choose_lines_and_the_summary_says_how_to_go_on() {
    let stage = Stage::with(&[("a", "1\n2\n3\n4\n5")]);
    let cases = [
        (json!({"path": "a", "limit": 2}), "1\n2\n", "a: lines 1 to 2 of 5; read on with offset 3"),
        (
            json!({"path": "a", "offset": 3, "limit": 2}),
            "3\n4\n",
            "a: lines 3 to 4 of 5; read on with offset 5",
        ),
        (json!({"path": "a", "offset": 5}), "5", "a: lines 5 to 5 of 5"),
        (json!({"path": "a", "offset": 2, "limit": 4}), "2\n3\n4\n5", "a: lines 2 to 5 of 5"),
        (json!({"path": "a", "limit": u64::MAX}), "1\n2\n3\n4\n5", "a: lines 1 to 5 of 5"),
    ];
    for (arguments, content, summary) in cases {
        assert_eq!(shown(&stage, &arguments), (content.to_owned(), summary.to_owned()), "{arguments}");
    }
}

#[test]
fn an_offset_past_the_end_is_an_error_that_names_the_end() {
    let stage = Stage::with(&[("a", "1\n2\n")]);
    let output = read(&stage, &json!({"path": "a", "offset": 3}));
    assert_eq!(output.outcome, CallOutcome::Failed);
    assert_eq!(output.summary, "a: line 3 is past the end, the file has 2 lines");
}

#[test]
fn an_empty_file_is_called_so() {
    let stage = Stage::with(&[("a", "")]);
    assert_eq!(shown(&stage, &json!({"path": "a"})), (String::new(), "a: the file is empty".to_owned()));
}

#[test]
fn what_does_not_fit_is_cut_between_lines_and_kept_whole() {
    let lines: Vec<String> = (1..=100).map(|number| format!("line {number}\n")).collect();
    let text = lines.concat();
    let mut stage = Stage::with(&[("a", &text)]);
    stage.scene.output_bytes = 300;
    let output = read(&stage, &json!({"path": "a"}));
    assert!(output.content.len() <= 300 && output.content.ends_with("line 38\n"), "{}", output.content);
    assert_eq!(output.summary, "a: lines 1 to 38 of 100; read on with offset 39");
    assert_eq!(output.whole, Some(text.into_bytes()));
    let next = shown(&stage, &json!({"path": "a", "offset": 39})).0;
    assert!(next.starts_with("line 39\n"));
}

#[test]
fn a_long_line_is_cut_and_says_so() {
    let stage = Stage::with(&[("a", &format!("short\n{}\nend\n", "é".repeat(5000)))]);
    let (content, summary) = shown(&stage, &json!({"path": "a"}));
    let lines: Vec<&str> = content.lines().collect();
    assert_eq!(lines[1], format!("{} [... 8000 bytes of this line left out ...]", "é".repeat(1000)));
    assert_eq!((lines[0], lines[2], summary.as_str()), ("short", "end", "a: lines 1 to 3 of 3"));
}

#[test]
fn a_line_that_does_not_fit_at_all_shows_its_beginning() {
    let mut stage = Stage::with(&[("a", &"x".repeat(1000))]);
    stage.scene.output_bytes = 300;
    assert_eq!(shown(&stage, &json!({"path": "a"})).0, "x".repeat(300));
}

#[test]
fn a_line_is_cut_before_a_character_that_does_not_fit() {
    let stage = Stage::with(&[("a", &format!("x{}", "👩".repeat(1000)))]);
    let content = shown(&stage, &json!({"path": "a"})).0;
    let (line, _) = content.split_once(" [...").expect("cut");
    assert_eq!(line, format!("x{}", "👩".repeat(499)));
    assert!(content.ends_with(" [... 2004 bytes of this line left out ...]"), "{content}");
}

#[test]
fn control_codes_of_a_file_are_cleaned_and_its_bytes_kept() {
    let stage = Stage::new();
    stage.write("a", b"\x1b[31mred\x1b[0m\r\ncaf\xe9 and more\r\n");
    let output = read(&stage, &json!({"path": "a"}));
    assert_eq!(output.content, "red\ncaf\u{fffd} and more\n");
    assert_eq!(output.whole.as_deref(), Some(b"\x1b[31mred\x1b[0m\r\ncaf\xe9 and more\r\n".as_slice()));
}

#[test]
fn a_binary_file_is_named_with_its_size_and_hash() {
    let stage = Stage::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    stage.write("a.bin", &bytes);
    let (content, summary) = shown(&stage, &json!({"path": "a.bin"}));
    assert_eq!(content, format!("[binary, 10000 bytes, hash {}]", Hash::of(&bytes)));
    assert_eq!(summary, "a.bin: 10000 bytes of binary output");
}

#[test]
fn a_huge_file_is_read_only_as_far_as_needed() {
    let stage = Stage::with(&[("huge", &"first\nsecond\n".repeat(1000))]);
    // Sparse: it has a terabyte and no blocks.
    File::options().append(true).open(stage.path("huge")).unwrap().set_len(1 << 40).unwrap();
    let (content, summary) = shown(&stage, &json!({"path": "huge", "limit": 2}));
    assert_eq!(content, "first\nsecond\n");
    assert_eq!(summary, "huge: lines 1 to 2 of more than 2000; read on with offset 3");
}

#[test]
fn paths_that_cannot_be_read_are_refused_with_the_reason() {
    let stage = Stage::with(&[("folder/a", "")]);
    rustix::fs::mkfifoat(rustix::fs::CWD, stage.path("pipe"), rustix::fs::Mode::RWXU).unwrap();
    symlink("/etc/passwd", stage.path("link")).unwrap();
    symlink("pipe", stage.path("link_to_pipe")).unwrap();
    let cases = [
        ("missing", "missing: there is no such file"),
        ("folder", "folder: this is a folder, not a file"),
        ("pipe", "pipe: this is a named pipe, not a file"),
        ("link_to_pipe", "pipe: this is a named pipe, not a file"),
        ("", "the path is empty"),
    ];
    for (path, summary) in cases {
        assert_eq!(refused(&stage, path), summary);
    }
    for path in ["../x", "/etc/passwd", "/dev/zero", "link", "folder/../../x"] {
        assert!(refused(&stage, path).starts_with(&format!("refused: `{path}` leads outside")), "{path}");
    }
}

#[test]
fn a_file_without_permission_is_refused_with_the_reason() {
    use std::os::unix::fs::PermissionsExt as _;
    let stage = Stage::with(&[("secret", "s")]);
    fs::set_permissions(stage.path("secret"), fs::Permissions::from_mode(0o000)).unwrap();
    // Root reads everything.
    if !rustix::process::geteuid().is_root() {
        assert!(refused(&stage, "secret").contains("Permission denied"));
    }
}

#[test]
fn a_directory_that_was_deleted_is_a_failed_result() {
    let stage = Stage::new();
    stage.remove();
    assert!(refused(&stage, "a").starts_with("the pod's directory"));
}

#[test]
fn wrong_arguments_are_refused_by_name() {
    let stage = Stage::new();
    let cases = [
        (json!({}), "read_file was not run: `path` is missing (a text)"),
        (
            json!({"path": "a", "offset": 0}),
            "read_file was not run: `offset` must be a whole number from 1, and is 0",
        ),
        (json!({"path": "a", "lines": 3}), "read_file was not run: there is no argument `lines`"),
        (
            json!({"filepath": "a"}),
            "read_file was not run: there is no argument `filepath`: did you mean `path`?",
        ),
    ];
    for (arguments, summary) in cases {
        let output = read(&stage, &arguments);
        assert_eq!(output.outcome, CallOutcome::Failed);
        assert!(output.summary.starts_with(summary), "{}", output.summary);
    }
}
