//! Processes that outlive their shell do not outlive the call.

use super::*;

/// Runs a command that writes ids of background processes, one a line, and then `done`: it
/// succeeds, and none of them lives. Returns the summary.
fn all_end(command: &str, count: usize) -> String {
    let stage = Stage::new();
    let output = bash(&stage, command);
    assert_eq!(output.outcome, CallOutcome::Ok, "{output:?}");
    let pids: Vec<&str> = output.content.lines().filter(|line| *line != "done").collect();
    assert_eq!(pids.len(), count, "{command}: {output:?}");
    for pid in pids {
        assert!(pid.parse::<u32>().is_ok() && !lives(pid), "{command}: {pid} lives");
    }
    output.summary
}

#[test]
fn a_background_process_that_holds_the_pipe_is_ended_and_named() {
    let summary = all_end("sleep 1000 & echo $!; echo done", 1);
    assert!(summary.contains("; 1 background process was ended ("), "{summary}");
}

#[test]
fn a_background_process_that_writes_nothing_is_ended() {
    let summary = all_end("sleep 1000 >/dev/null 2>&1 & echo $!; sleep 1001 >/dev/null 2>&1 & echo $!", 2);
    assert!(summary.contains("; 2 background processes were ended ("), "{summary}");
}

#[test]
fn a_background_process_that_holds_only_stderr_is_ended() {
    all_end("sleep 1000 >/dev/null & echo $!", 1);
}

#[test]
fn a_process_in_a_session_of_its_own_is_ended() {
    all_end("setsid sh -c 'echo $$; exec sleep 1000' & echo done", 1);
    all_end(&after("setsid sh -c 'echo $$; exec >/dev/null 2>&1; touch began; exec sleep 1000' &"), 1);
}

/// The command, and then a wait until one of its processes has made the file `began`.
fn after(command: &str) -> String {
    format!("{command} while ! [ -e began ]; do sleep 0.01; done")
}

#[test]
fn a_daemon_that_forked_twice_is_ended() {
    all_end("setsid sh -c '(setsid sh -c \"sleep 1000 >/dev/null 2>&1 & echo \\$!\")'; echo done", 1);
}

#[test]
fn a_process_without_an_environment_is_ended_with_its_session() {
    all_end("env -i sleep 1000 >/dev/null 2>&1 & echo $!", 1);
    all_end("set -m; env -i sleep 1000 >/dev/null 2>&1 & echo $!", 1);
}

#[test]
fn a_background_process_that_ignores_sigterm_is_killed() {
    all_end(&after("sh -c 'trap \"\" TERM; echo $$; touch began; while :; do sleep 1000; done' &"), 1);
}

#[test]
fn a_tree_of_processes_is_ended_to_the_last_one() {
    let command = "tree() { if [ $1 -gt 0 ]; then tree $(($1-1)) & tree $(($1-1)) & fi; \
         echo $BASHPID; touch $BASHPID; exec sleep 1000; }; tree 4 & \
         while [ $(ls | wc -l) -lt 31 ]; do sleep 0.01; done";
    all_end(command, 31);
}

#[test]
fn what_a_background_process_says_soon_is_still_shown() {
    assert_eq!(said("(sleep 0.1; echo late) & echo early"), "early\nlate\n");
}

#[test]
fn a_background_process_that_never_falls_silent_does_not_hold_the_call() {
    let output = bash(&Stage::new(), "yes & echo done");
    assert_eq!(output.outcome, CallOutcome::Ok);
    assert!(output.summary.ends_with("; 1 background process was ended (yes)"), "{}", output.summary);
}

#[test]
fn the_processes_of_another_call_are_left_alone() {
    let stage = Stage::new();
    let other = Stage::new();
    let runtime = crate::tool::test_scene::runtime();
    let long =
        other.call(Bash, &json!({"command": "touch began; while ! [ -e go ]; do sleep 0.01; done; echo ok"}));
    let long = runtime.spawn(long);
    crate::tool::test_scene::wait_until("the other call began", || other.path("began").exists());
    bash(&stage, "sleep 1000 & setsid sleep 1000 & echo done");
    other.write("go", "");
    let output = runtime.block_on(long).expect("no panic");
    assert_eq!((output.outcome, output.content.as_str()), (CallOutcome::Ok, "ok\n"));
}
