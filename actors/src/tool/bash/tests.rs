//! Commands, run for real: what comes of them, and that nothing is left of them.

use events::Hash;
use events::event::tool::CallOutcome;
use serde_json::json;

use super::*;
use crate::limits::TOOL_OUTPUT_KEPT_BYTES_MAX;
use crate::tool::test_scene::{Stage, lives};

mod cancel;
mod crash;
mod leftovers;

fn bash(stage: &Stage, command: &str) -> ToolOutput {
    stage.run(Bash, &json!({ "command": command }))
}

/// What the command says, and that it succeeded.
fn said(command: &str) -> String {
    let output = bash(&Stage::new(), command);
    assert_eq!(output.outcome, CallOutcome::Ok, "{output:?}");
    output.content
}

#[test]
fn a_command_runs_in_the_pods_directory_and_its_output_is_the_content() {
    let stage = Stage::with(&[("a.txt", "hello\n")]);
    let output = bash(&stage, "cat a.txt; pwd");
    assert_eq!(output.outcome, CallOutcome::Ok);
    assert_eq!(output.content, format!("hello\n{}\n", stage.scene.directory.display()));
    assert_eq!(output.summary, format!("exit code 0; {} bytes of output", output.bytes));
}

#[test]
fn a_command_that_fails_is_a_failed_result_with_its_output() {
    let output = bash(&Stage::new(), "echo out; echo err >&2; exit 3");
    assert_eq!(output.outcome, CallOutcome::Failed);
    assert_eq!(
        (output.summary.as_str(), output.content.as_str()),
        ("exit code 3; 8 bytes of output", "out\nerr\n")
    );
}

#[test]
fn a_command_without_output_says_so() {
    assert_eq!(bash(&Stage::new(), "true").summary, "exit code 0; no output");
}

#[test]
fn a_command_that_is_killed_is_named_with_the_signal() {
    let output = bash(&Stage::new(), "echo before; kill -KILL $$");
    assert_eq!(output.outcome, CallOutcome::Failed);
    assert_eq!(output.summary, "ended by signal 9; 7 bytes of output");
}

#[test]
fn stdout_and_stderr_keep_their_order() {
    let command = "for i in 1 2 3; do echo out $i; echo err $i >&2; done";
    assert_eq!(said(command), "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n");
}

#[test]
fn a_full_stderr_does_not_block_stdout() {
    let output = bash(&Stage::new(), "head -c 1M /dev/zero | tr '\\0' e >&2; echo the end");
    assert_eq!((output.outcome, output.bytes), (CallOutcome::Ok, (1 << 20) + 8));
    assert!(output.content.ends_with("the end\n"));
}

#[test]
fn bashisms_work_and_a_line_that_begins_with_a_hyphen_is_a_command() {
    assert_eq!(said("a=(1 2 3); [[ ${#a[@]} == 3 ]] && echo array"), "array\n");
    let output = bash(&Stage::new(), "-x foo");
    assert_eq!(output.summary.split(';').next(), Some("exit code 127"), "{output:?}");
}

#[test]
fn commands_that_cannot_run_are_failed_results_that_say_why() {
    let stage = Stage::new();
    let long = format!("echo {}", "x".repeat(COMMAND_BYTES_MAX));
    let cases = [
        (json!({"command": ""}), "bash was not run: the command is empty"),
        (json!({"command": " \n"}), "bash was not run: the command is empty"),
        (json!({"command": "echo a\u{0}b"}), "bash was not run: the command contains a NUL byte"),
        (json!({"command": long}), "bash was not run: the command has 102405 bytes, and 102400 is the most"),
        (json!({"cmd": "ls"}), "bash was not run: there is no argument `cmd`: did you mean `command`?"),
        (json!({"command": 7}), "bash was not run: `command` must be a text, and is 7"),
        (
            json!({"command": "ls", "timeout_seconds": 601}),
            "bash was not run: `timeout_seconds` must be a whole number from 1 to 600, and is 601",
        ),
    ];
    for (arguments, summary) in cases {
        let output = stage.run(Bash, &arguments);
        assert_eq!(output.outcome, CallOutcome::Failed);
        assert!(output.summary.starts_with(summary), "{}", output.summary);
    }
}

#[test]
fn a_directory_that_was_deleted_is_a_failed_result() {
    let stage = Stage::new();
    stage.remove();
    let output = bash(&stage, "ls");
    assert_eq!(output.outcome, CallOutcome::Failed);
    assert!(output.summary.contains("cannot be used: No such file or directory"), "{}", output.summary);
}

#[test]
fn a_command_that_deletes_its_own_directory_still_ends() {
    let stage = Stage::new();
    let output = bash(&stage, "rm -rf \"$PWD\"; echo gone");
    assert_eq!((output.outcome, output.content.as_str()), (CallOutcome::Ok, "gone\n"));
}

#[test]
fn the_environment_has_no_more_than_what_is_allowed() {
    let allowed = environment::environment(std::env::vars_os(), "mark");
    let allowed: Vec<_> = allowed.iter().filter_map(|(name, _)| name.to_str()).collect();
    let names = said("env -0 | cut -z -d= -f1 | tr '\\0' '\\n'");
    for name in names.lines() {
        // Bash adds these by itself.
        let of_bash = ["PWD", "OLDPWD", "SHLVL", "_"].contains(&name);
        assert!(of_bash || allowed.contains(&name), "{name}");
    }
    for name in ["PATH", "TERM", "PAGER", "GIT_TERMINAL_PROMPT", "PODWORK_CALL"] {
        assert!(names.lines().any(|other| other == name), "{name} is missing: {names}");
    }
}

#[test]
fn a_command_that_asks_for_input_ends_at_once_with_an_error() {
    let cases = [
        ("read x", "1"),
        ("cat; exit 5", "5"),
        ("read -p 'password: ' x </dev/tty", "1"),
        ("echo y >/dev/tty", "1"),
        ("command -v vi >/dev/null || exit 1; vi file", "1"),
    ];
    for (command, code) in cases {
        let output = bash(&Stage::new(), command);
        assert_eq!(output.outcome, CallOutcome::Failed, "{command}: {output:?}");
        assert!(output.summary.starts_with(&format!("exit code {code};")), "{command}: {}", output.summary);
    }
}

#[test]
fn a_command_has_a_session_of_its_own_and_no_terminal() {
    // proc_pid_stat(5): group, session, terminal.
    let said = said("echo $$ $(cut -d' ' -f5-7 /proc/$$/stat)");
    let numbers: Vec<&str> = said.split_whitespace().collect();
    assert_eq!(numbers, [numbers[0], numbers[0], numbers[0], "0"]);
}

#[test]
fn an_editor_or_a_pager_does_not_wait_for_anybody() {
    let git = "git init -q . && git config user.email a@b && git config user.name n && git add -A";
    let stage = Stage::with(&[("a", "a\n")]);
    let output = bash(&stage, &format!("{git} && git commit"));
    assert_eq!(output.outcome, CallOutcome::Failed, "{output:?}");
    assert!(output.content.contains("empty commit message"), "{}", output.content);
    assert_eq!(bash(&stage, "git commit -qm m && git log --format=%s").content, "m\n");
}

#[test]
fn a_gigabyte_of_output_costs_bounded_memory_and_shows_both_ends() {
    let stage = Stage::new();
    let output = bash(&stage, "echo begin; head -c 1G /dev/zero | tr '\\0' x; echo; echo end");
    assert_eq!((output.outcome, output.bytes), (CallOutcome::Ok, (1 << 30) + 6 + 1 + 4));
    assert!(output.content.starts_with("begin\nxxx") && output.content.ends_with("xxx\nend\n"));
    assert!(output.content.len() <= 16_384);
    assert_eq!(output.whole.map(|whole| whole.len()), Some(TOOL_OUTPUT_KEPT_BYTES_MAX));
    assert!(output.summary.ends_with("bytes of output, its middle left out"), "{}", output.summary);
}

#[test]
fn binary_output_is_summarised_and_its_bytes_are_kept() {
    let stage = Stage::new();
    let noise: Vec<u8> = (0..100_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[1]).collect();
    stage.write("noise", &noise);
    let output = bash(&stage, "cat noise");
    assert_eq!(output.content, format!("[binary, 100000 bytes, hash {}]", Hash::of(&noise)));
    assert_eq!(output.whole, Some(noise));
}

#[test]
fn a_command_that_takes_too_long_is_ended_and_its_output_kept() {
    let stage = Stage::new();
    let command = "echo $$; exec sleep 1000";
    let output = stage.run(Bash, &json!({"command": command, "timeout_seconds": 1}));
    assert_eq!(output.outcome, CallOutcome::Failed);
    assert!(output.summary.starts_with("timed out after 1 s and was ended;"), "{}", output.summary);
    assert!(!output.content.is_empty() && !lives(&output.content));
}

#[test]
fn a_command_that_ignores_sigterm_is_killed() {
    let stage = Stage::new();
    let command = "trap '' TERM; echo $$; while :; do sleep 1000; done";
    let output = stage.run(Bash, &json!({"command": command, "timeout_seconds": 1}));
    assert_eq!(output.outcome, CallOutcome::Failed);
    assert!(!output.content.is_empty() && !lives(&output.content), "{output:?}");
}

#[test]
fn a_stopped_command_is_ended_too() {
    let stage = Stage::new();
    let command = "echo $$; kill -STOP $$; echo on";
    let output = stage.run(Bash, &json!({"command": command, "timeout_seconds": 1}));
    assert_eq!(output.outcome, CallOutcome::Failed);
    assert!(!lives(output.content.lines().next().expect("a pid")), "{output:?}");
}
