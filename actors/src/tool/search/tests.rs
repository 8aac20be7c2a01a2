//! Searches in real folders: what is found, and what is passed over.

use std::os::unix::fs::symlink;

use events::event::tool::CallOutcome;
use serde_json::{Value, json};

use super::*;
use crate::tool::test_scene::Stage;

fn project() -> Stage {
    let stage = Stage::with(&[
        (".gitignore", "target/\n"),
        (".git/HEAD", "needle"),
        ("src/b.rs", "fn needle() {}\r\n\nlet x = needle ();\n"),
        ("src/a.rs", "// Needle\n// needle at the end: needle"),
        ("target/x.rs", "needle"),
        ("notes.txt", "a needle\n"),
    ]);
    stage.write("data.bin", b"needle\0needle");
    symlink("src/a.rs", stage.path("link.rs")).unwrap();
    stage
}

fn found(stage: &Stage, arguments: &Value) -> (Vec<String>, String) {
    let output = stage.run(Search, arguments);
    assert_eq!(output.outcome, CallOutcome::Ok, "{output:?}");
    (output.content.lines().map(str::to_owned).collect(), output.summary)
}

#[test]
fn matching_lines_are_shown_by_path_and_line() {
    let (lines, summary) = found(&project(), &json!({"pattern": "needle"}));
    let wanted = [
        "notes.txt:1: a needle",
        "src/a.rs:2: // needle at the end: needle",
        "src/b.rs:1: fn needle() {}",
        "src/b.rs:3: let x = needle ();",
    ];
    assert_eq!(lines, wanted);
    assert_eq!(summary, "4 matching lines in 3 files");
}

#[test]
fn a_search_is_narrowed_by_folder_file_and_glob() {
    let stage = project();
    let cases = [
        (
            json!({"pattern": "(?i)^// n", "path": "src"}),
            vec!["src/a.rs:1: // Needle", "src/a.rs:2: // needle at the end: needle"],
        ),
        (json!({"pattern": r"\{\}$"}), vec!["src/b.rs:1: fn needle() {}"]),
        (json!({"pattern": "needle", "glob": "*.txt"}), vec!["notes.txt:1: a needle"]),
        (json!({"pattern": r"x =", "glob": "src/*.rs"}), vec!["src/b.rs:3: let x = needle ();"]),
        (json!({"pattern": "needle", "path": "notes.txt"}), vec!["notes.txt:1: a needle"]),
        (json!({"pattern": "needle", "path": "target"}), vec!["target/x.rs:1: needle"]),
    ];
    for (arguments, wanted) in cases {
        assert_eq!(found(&stage, &arguments).0, wanted, "{arguments}");
    }
    let (lines, summary) = found(&stage, &json!({"pattern": "nothing like it"}));
    assert_eq!((lines.len(), summary.as_str()), (0, "no matches in 4 files"));
}

#[test]
fn many_matches_are_bounded_and_the_rest_is_counted() {
    let stage = Stage::with(&[("a", &"x\n".repeat(SEARCH_LINES_MAX + 7)), ("b", "x\n")]);
    let (lines, summary) = found(&stage, &json!({"pattern": "x"}));
    assert_eq!(lines.len(), SEARCH_LINES_MAX);
    assert_eq!(summary, "508 matching lines in 2 files, the first 500 shown and 8 not: narrow the search");
}

#[test]
fn a_long_line_shows_the_part_with_the_match() {
    let long = format!("{}👩needle{}", "é".repeat(1000), "👩".repeat(1000));
    let stage = Stage::with(&[("a", &long)]);
    let (lines, _) = found(&stage, &json!({"pattern": "needle"}));
    let line = lines[0].strip_prefix("a:1: ...").and_then(|line| line.strip_suffix("...")).expect("both cut");
    assert!(long.contains(line) && line.contains("👩needle👩"), "{line}");
    assert!(line.len() <= SEARCH_SHOWN_BYTES_MAX);
}

#[test]
fn control_codes_in_a_line_are_cleaned() {
    let stage = Stage::new();
    stage.write("a", b"\x1b[31mneedle\x1b[0m caf\xe9\rb\n");
    assert_eq!(found(&stage, &json!({"pattern": "needle"})).0, ["a:1: needle caf\u{fffd} b"]);
}

#[test]
fn what_cannot_be_searched_is_refused_with_the_reason() {
    let stage = project();
    rustix::fs::mkfifoat(rustix::fs::CWD, stage.path("pipe"), rustix::fs::Mode::RWXU).unwrap();
    let cases = [
        (json!({"pattern": "(a"}), "`(a` is no regular expression: unclosed group"),
        (json!({"pattern": "(?=a)"}), "`(?=a)` is no regular expression: look-around"),
        (json!({"pattern": "a", "path": "missing"}), "missing: No such file or directory"),
        (json!({"pattern": "a", "path": "pipe"}), "pipe: this is a named pipe, not a file"),
        (json!({"pattern": "a", "path": "/etc"}), "refused: `/etc` leads outside"),
        (json!({"pattern": "a", "glob": "{a"}), "`{a` is no glob: "),
        (json!({"query": "a"}), "search was not run: there is no argument `query`"),
        (json!({"pattern": ["a"]}), "search was not run: `pattern` must be a text, and is a list"),
    ];
    for (arguments, summary) in cases {
        let output = stage.run(Search, &arguments);
        assert_eq!(output.outcome, CallOutcome::Failed, "{arguments}");
        assert!(output.summary.starts_with(summary), "{}", output.summary);
    }
}

#[test]
fn a_search_that_is_cancelled_is_interrupted() {
    let stage = project();
    stage.scene.cancel.cancel();
    let output = stage.run(Search, &json!({"pattern": "needle"}));
    assert_eq!(output.outcome, CallOutcome::Interrupted);
    assert_eq!(output.summary, "cancelled: no matches in 0 files");
}

#[test]
fn a_search_out_of_time_says_that_it_is_not_all() {
    let mut stage = project();
    stage.scene.seconds = 0;
    let output = stage.run(Search, &json!({"pattern": "needle"}));
    assert_eq!(output.outcome, CallOutcome::Failed);
    assert_eq!(output.summary, "out of time, so this is not all: no matches in 0 files");
}
