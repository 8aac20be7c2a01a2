//! Lists of real folders: what is in them, in which order, and what is left out.

use std::fs;
use std::os::unix::fs::symlink;

use events::event::tool::CallOutcome;
use serde_json::{Value, json};

use super::*;
use crate::tool::test_scene::Stage;

fn project() -> Stage {
    let stage = Stage::with(&[
        (".gitignore", "target/\n*.log\n"),
        (".github/ci.yml", ""),
        (".git/config", ""),
        ("Cargo.toml", ""),
        ("src/deep/b.rs", ""),
        ("src/a.rs", ""),
        ("src-gen/c.rs", ""),
        ("target/out.rs", ""),
        ("run.log", ""),
    ]);
    fs::create_dir_all(stage.path("empty/inner")).unwrap();
    symlink("src/a.rs", stage.path("link")).unwrap();
    symlink("/etc", stage.path("outside")).unwrap();
    stage
}

fn listed(stage: &Stage, arguments: &Value) -> Vec<String> {
    let output = stage.run(ListFiles, arguments);
    assert_eq!(output.outcome, CallOutcome::Ok, "{output:?}");
    output.content.lines().map(str::to_owned).collect()
}

#[test]
fn files_are_listed_in_order_without_what_git_ignores() {
    let stage = project();
    let wanted = [
        ".github/ci.yml",
        ".gitignore",
        "Cargo.toml",
        "empty/inner/",
        "link -> src/a.rs",
        "outside -> /etc",
        "src/a.rs",
        "src/deep/b.rs",
        "src-gen/c.rs",
    ];
    assert_eq!(listed(&stage, &json!({})), wanted);
    assert_eq!(stage.run(ListFiles, &json!({})).summary, ".: 9 entries");
}

#[test]
fn a_folder_and_a_pattern_narrow_the_list() {
    let stage = project();
    let cases = [
        (json!({"path": "src"}), vec!["src/a.rs", "src/deep/b.rs"]),
        (json!({"pattern": "*.rs"}), vec!["src/a.rs", "src/deep/b.rs", "src-gen/c.rs"]),
        (json!({"pattern": "src/*.rs"}), vec!["src/a.rs"]),
        (json!({"path": "src", "pattern": "deep/*"}), vec!["src/deep/b.rs"]),
        (json!({"path": "src/a.rs"}), vec!["src/a.rs"]),
        (json!({"path": stage.path("src-gen").to_str()}), vec!["src-gen/c.rs"]),
        (json!({"path": "target"}), vec!["target/out.rs"]),
        (json!({"pattern": "*.none"}), vec![]),
    ];
    for (arguments, wanted) in cases {
        assert_eq!(listed(&stage, &arguments), wanted, "{arguments}");
    }
}

#[test]
fn ignore_files_count_in_a_folder_that_is_no_repository_too() {
    let stage = Stage::with(&[(".gitignore", "*.log\n"), ("a.log", ""), ("a.rs", "")]);
    assert_eq!(listed(&stage, &json!({})), [".gitignore", "a.rs"]);
}

#[test]
fn a_long_list_is_bounded_and_the_rest_is_counted() {
    let mut stage = Stage::new();
    for number in 0..LIST_ENTRIES_MAX + 5 {
        stage.write(&format!("f{number:04}"), "");
    }
    let output = stage.run(ListFiles, &json!({}));
    assert_eq!(output.content.lines().count(), LIST_ENTRIES_MAX);
    assert_eq!(output.summary, ".: 1005 entries, the first 1000 shown and 5 not: give a path or a pattern");
    stage.scene.output_bytes = 300;
    let output = stage.run(ListFiles, &json!({}));
    assert_eq!(output.content.len(), 300);
    assert_eq!(output.summary, ".: 1005 entries, the first 50 shown and 955 not: give a path or a pattern");
}

#[test]
fn a_name_cannot_forge_a_line_or_a_colour() {
    let stage = Stage::with(&[("a\nfake", ""), ("b\x1b[31m", "")]);
    assert_eq!(listed(&stage, &json!({})), ["a\u{fffd}fake", "b"]);
}

#[test]
fn what_cannot_be_listed_is_refused_with_the_reason() {
    let stage = project();
    let cases = [
        (json!({"path": "missing"}), "missing: No such file or directory"),
        (json!({"path": "outside"}), "refused: `outside` leads outside"),
        (json!({"path": ".."}), "refused: `..` leads outside"),
        (json!({"pattern": "[a"}), "`[a` is no glob: "),
        (json!({"glob": "*"}), "list_files was not run: there is no argument `glob`"),
        (json!({"pattern": 1}), "list_files was not run: `pattern` must be a text, and is 1"),
    ];
    for (arguments, summary) in cases {
        let output = stage.run(ListFiles, &arguments);
        assert_eq!(output.outcome, CallOutcome::Failed, "{arguments}");
        assert!(output.summary.starts_with(summary), "{}", output.summary);
    }
}
