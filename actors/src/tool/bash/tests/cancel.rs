//! A cancel reaches every process of a command, and so does the end of whoever waits for it.

use super::*;
use crate::tool::test_scene::{runtime, wait_until};

/// A command that says its id and that of an escaped process in files, and then goes on for long.
const LONG: &str = "echo $$ >shell; setsid sh -c 'echo $$ >escaped.new; mv escaped.new escaped; exec sleep 1000' & \
    echo partial; exec sleep 1000";

fn began(stage: &Stage) -> [String; 2] {
    wait_until("the command began", || stage.path("escaped").exists());
    [stage.read("shell"), stage.read("escaped")]
}

#[test]
fn a_cancel_ends_all_processes_and_keeps_what_was_written() {
    let (stage, runtime) = (Stage::new(), runtime());
    let call = runtime.spawn(stage.call(Bash, &json!({ "command": LONG })));
    let pids = began(&stage);
    assert!(pids.iter().all(|pid| lives(pid)));
    stage.scene.cancel.cancel();
    let output = runtime.block_on(call).expect("no panic");
    assert_eq!(output.outcome, CallOutcome::Interrupted);
    assert_eq!(output.content, "partial\n");
    assert!(output.summary.starts_with("cancelled and ended; side effects may have happened"));
    assert!(pids.iter().all(|pid| !lives(pid)));
}

#[test]
fn a_cancelled_command_may_end_in_order_and_its_last_words_are_kept() {
    let (stage, runtime) = (Stage::new(), runtime());
    let command = "trap 'echo bye; exit 3' TERM; touch shell escaped; while :; do sleep 0.01; done";
    let call = runtime.spawn(stage.call(Bash, &json!({ "command": command })));
    began(&stage);
    stage.scene.cancel.cancel();
    let output = runtime.block_on(call).expect("no panic");
    assert_eq!(output.outcome, CallOutcome::Interrupted);
    assert!(output.content.ends_with("bye\n"), "{output:?}");
}

#[test]
fn a_call_that_nobody_waits_for_any_more_leaves_no_process() {
    let (stage, runtime) = (Stage::new(), runtime());
    let call = runtime.spawn(stage.call(Bash, &json!({ "command": LONG })));
    let pids = began(&stage);
    call.abort();
    wait_until("all processes are gone", || pids.iter().all(|pid| !lives(pid)));
}

#[test]
fn a_runtime_that_shuts_down_leaves_no_process() {
    let (stage, runtime) = (Stage::new(), runtime());
    runtime.spawn(stage.call(Bash, &json!({ "command": LONG })));
    let pids = began(&stage);
    drop(runtime);
    wait_until("all processes are gone", || pids.iter().all(|pid| !lives(pid)));
}

#[test]
fn a_cancel_before_the_start_starts_nothing() {
    let stage = Stage::new();
    stage.scene.cancel.cancel();
    let output = bash(&stage, "touch here");
    assert_eq!(output.outcome, CallOutcome::Interrupted);
    assert!(!stage.path("here").exists());
}

#[test]
fn a_cancel_that_races_the_end_gives_one_outcome_that_is_true() {
    let runtime = runtime();
    for round in 0..20_u32 {
        let stage = Stage::new();
        let call = runtime.spawn(stage.call(Bash, &json!({"command": "echo $$ >shell; echo out"})));
        // Later and later, until the command has ended by itself.
        for _ in 0..round * 200 {
            std::thread::yield_now();
        }
        stage.scene.cancel.cancel();
        let output = runtime.block_on(call).expect("no panic");
        let finished = output.outcome == CallOutcome::Ok && output.content == "out\n";
        assert!(finished || output.outcome == CallOutcome::Interrupted, "{output:?}");
        if let Ok(shell) = std::fs::read_to_string(stage.path("shell")) {
            assert!(!lives(&shell), "{output:?}");
        }
    }
}
