//! `run` and `resume`: prompts, output, exit codes, signals and crashes.

use std::io::Write as _;
use std::process::Stdio;

use kit::server::Answer;
use rustix::process::Signal;
use serde_json::json;

use super::program::{Ended, Home, Running, json as lines_of, kinds};

#[test]
fn a_pipe_gets_the_answer_and_nothing_else() {
    let home = Home::new();
    home.server.enqueue(Answer::text("It is done."));
    let ended = home.run(&["run", "do it"]);
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "It is done.\n", ""));
}

#[test]
fn json_is_the_events_in_order_and_the_result_as_the_last_line() {
    let home = Home::new();
    std::fs::write(home.work().join("a.txt"), "inside").unwrap();
    home.server.enqueue(Answer::call("read_file", &json!({"path": "a.txt"})));
    home.server.enqueue(Answer::text("It says inside."));
    let lines = home.json(&["run", "--json", "--name", "reader", "read a.txt"]);
    let (result, events) = lines.split_last().unwrap();
    assert_eq!(
        kinds(events),
        [
            "pod_opened",
            "input_received",
            "turn_started",
            "request_prepared",
            "reply_received",
            "call_started",
            "call_ended",
            "request_prepared",
            "reply_received",
            "turn_ended"
        ]
    );
    for (place, event) in events.iter().enumerate() {
        assert_eq!(event["seq"], place + 1);
        assert_eq!(event["pod"], result["pod"]);
    }
    assert_eq!(events[6]["content"], "inside");
    assert_eq!(result["type"], "result");
    assert_eq!(result["outcome"], "finished");
    assert_eq!(result["text"], "It says inside.");
    assert_eq!(result["usage"]["input_tokens"], home.server.totals().input_tokens);
    assert_eq!(home.ok(&["log", "reader", "--json"]).lines().count(), events.len());
}

#[test]
fn each_end_of_a_turn_has_its_exit_code() {
    let home = Home::new();
    home.server.enqueue(Answer::unauthorized());
    let failed = home.run(&["run", "fail"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stderr.contains("podwork resume"), "{failed:?}");

    home.server.enqueue(Answer::overloaded());
    let mut command = home.podwork(&["run", "--json", "wait"]);
    command.env("PODWORK_LIMITS_RETRIES", "0");
    let paused = Ended::of(command);
    assert_eq!(paused.code, Some(3), "{paused:?}");
    assert_eq!(lines_of(&paused.stdout).last().unwrap()["outcome"], "paused");

    home.server.enqueue(Answer::call("list_files", &json!({})));
    let limited = home.run(&["run", "--max-requests", "1", "go on"]);
    assert_eq!(limited.code, Some(3), "{limited:?}");
}

#[test]
fn wrong_usage_and_configuration_end_with_two_before_any_pod_is_opened() {
    let home = Home::new();
    std::fs::write(home.work().join("bad.toml"), "[context]\nwindow_token = 5\n").unwrap();
    let cases: [(&[&str], &str); 8] = [
        (&["run", "--tools", "bash,raed_file", "x"], "read_file"),
        (&["run", "--model", "nonsense", "x"], "PROVIDER:NAME"),
        (&["run", "--model", "nobody:x", "x"], "openai"),
        (&["run", "--dir", "missing", "x"], "missing"),
        (&["run", "--config", "bad.toml", "x"], "bad.toml:2: unknown key `context.window_token`"),
        (&["run", "  "], "empty"),
        (&["run", "--window", "0", "x"], "--window"),
        (&["run", "-"], "empty"),
    ];
    for (arguments, named) in cases {
        let ended = home.run(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(named), "{arguments:?}: {ended:?}");
    }
    assert_eq!(home.ok(&["pods", "--json"]), "");
    assert!(home.server.requests().is_empty());
}

#[test]
fn a_prompt_comes_through_a_pipe() {
    let home = Home::new();
    for arguments in [["run", "-q"].as_slice(), &["run", "-"]] {
        let mut command = home.podwork(arguments);
        command.stdin(Stdio::piped());
        let mut running = Running::of(command);
        let mut stdin = running.child.stdin.take().unwrap();
        stdin.write_all("from the pipe\nwith two lines\n".as_bytes()).unwrap();
        drop(stdin);
        assert_eq!(running.end().code, Some(0));
    }
    for body in home.server.bodies() {
        assert_eq!(body["messages"][1]["content"], "from the pipe\nwith two lines");
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_output_and_not_the_turn() {
    let home = Home::new();
    home.server.enqueue(Answer::call("list_files", &json!({})).stalling_before_headers());
    home.server.enqueue(Answer::text("done"));
    let mut running = home.start(&["run", "--json", "--name", "piped", "work"]);
    running.wait_for("request_prepared");
    running.hang_up();
    home.server.release_all();
    assert_eq!(running.end().code, Some(0));
    let log = home.json(&["log", "piped", "--json"]);
    assert_eq!(log.last().unwrap()["outcome"], "finished");
}

#[test]
fn a_reader_of_a_log_may_go_away() {
    let home = Home::new();
    home.server.enqueue(Answer::text("line\n".repeat(100_000)));
    home.ok(&["run", "--name", "long", "talk"]);
    let mut running = home.start(&["log", "long", "--json"]);
    running.wait_for("pod_opened");
    running.hang_up();
    let ended = running.end();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_signal_cancels_the_turn_which_can_be_resumed() {
    for signal in [Signal::INT, Signal::TERM] {
        let home = Home::new();
        home.server.enqueue(Answer::text("never").stalling_before_headers());
        let running = home.start(&["run", "--json", "--name", "stopped", "work"]);
        home.server.block_for_requests(1);
        running.signal(signal);
        let ended = running.end();
        assert_eq!(ended.code, Some(130), "{ended:?}");
        let lines = lines_of(&ended.stdout);
        assert_eq!(lines.last().unwrap()["outcome"], "cancelled");
        home.server.enqueue(Answer::text("now it is done"));
        assert_eq!(home.ok(&["resume", "stopped"]), "now it is done\n");
    }
}

#[test]
fn a_prompt_after_a_cancelled_turn_says_what_to_do_instead() {
    let home = Home::new();
    home.server.enqueue(Answer::text("never").stalling_before_headers());
    let running = home.start(&["run", "one thing"]);
    home.server.block_for_requests(1);
    running.signal(Signal::INT);
    assert_eq!(running.end().code, Some(130));
    home.server.enqueue(Answer::text("the other thing is done"));
    assert_eq!(home.ok(&["resume", "--last", "another thing"]), "the other thing is done\n");
    assert_eq!(home.server.requests().len(), 2, "the cancelled turn was not taken up first");
}

#[test]
fn a_killed_process_costs_nothing_that_was_told() {
    let home = Home::new();
    home.server.enqueue(Answer::call("bash", &json!({"command": "touch started; sleep 60"})));
    let mut running = home.start(&["run", "--json", "--name", "killed", "work"]);
    running.wait_for("call_started");
    running.signal(Signal::KILL);
    running.end();
    let before = home.ok(&["log", "killed", "--json"]);
    let pods = home.json(&["pods", "--json"]);
    assert_eq!(pods[0]["state"], "interrupted");

    home.server.enqueue(Answer::text("I saw that it was cut off."));
    let lines = home.json(&["resume", "killed", "--json"]);
    assert_eq!(lines[0]["type"], "call_ended");
    assert_eq!(lines[0]["outcome"], "unknown");
    assert_eq!(lines.last().unwrap()["outcome"], "finished");
    assert!(home.ok(&["log", "killed", "--json"]).starts_with(&before), "the past is as it was");
    let again = home.run(&["resume", "killed"]);
    assert_eq!(again.code, Some(0));
    assert_eq!(home.server.requests().len(), 2, "a finished turn is not run again: {again:?}");
}

#[test]
fn the_store_says_why_it_cannot_be_used() {
    let home = Home::new();
    std::fs::write(home.store(), "this is no store").unwrap();
    let ended = home.run(&["run", "x"]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert_eq!(std::fs::read_to_string(home.store()).unwrap(), "this is no store");
}
