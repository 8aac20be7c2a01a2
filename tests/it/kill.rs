//! The real binary, killed with SIGKILL at every event of a session and resumed.

use kit::server::{Answer, StrictServer};
use kit::shell::{Finished, Podwork};
use serde_json::{Value, json};

/// A model that sees from the request alone how far the session is, as a real one does.
fn model() -> StrictServer {
    StrictServer::answering(|request| {
        let messages = request["messages"].as_array().expect("messages");
        let results = messages.iter().filter(|message| message["role"] == "tool").count();
        match results {
            0 => Answer::text("First two things.")
                .and_call("write_file", &json!({"path": "note.txt", "content": "plover\n"}))
                .and_call("bash", &json!({"command": "echo one >> first"})),
            2 => Answer::calls([
                ("read_file", json!({"path": "note.txt"})),
                ("bash", json!({"command": "echo two >> second; exit 3"})),
                ("list_files", json!({})),
            ]),
            _ => Answer::text("done"),
        }
    })
}

fn place(server: &StrictServer) -> Podwork {
    Podwork::with(server).model("openai:test-model")
}

fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

fn lines(text: Option<String>) -> usize {
    text.map_or(0, |text| text.lines().count())
}

/// Whatever was cut off, the log is whole and every call has one end.
fn check_log(podwork: &Podwork, killed_at: usize) -> Vec<Value> {
    let log = podwork.run(["log", "--last", "--json"]).expect_code(0).events();
    let seqs: Vec<u64> = log.iter().map(|event| event["seq"].as_u64().expect("a seq")).collect();
    assert_eq!(seqs, (1..=log.len() as u64).collect::<Vec<_>>(), "killed at {killed_at}");
    for reply in of_type(&log, "reply_received") {
        let parts = reply["parts"].as_array().expect("parts");
        for call in parts.iter().filter(|part| part["kind"] == "call") {
            let ends =
                of_type(&log, "call_ended").into_iter().filter(|end| end["call"] == call["call"]).count();
            assert_eq!(ends, 1, "killed at {killed_at}: {call}");
        }
    }
    for prepared in of_type(&log, "request_prepared") {
        let request = prepared["request"].to_string();
        succeeded(&podwork.run(["context", "--last", "--request", &request, "--verify"]));
    }
    log
}

fn succeeded(finished: &Finished) {
    assert_eq!(finished.code, Some(0), "{finished:?}");
}

fn resume(podwork: &Podwork) -> Finished {
    podwork.run(["resume", "--last", "--json"])
}

#[test]
fn a_session_that_is_killed_at_any_event_goes_on_and_does_nothing_twice() {
    let server = model();
    let podwork = place(&server);
    let undisturbed = podwork.run(["run", "--json", "go"]).expect_code(0).events();
    let events = undisturbed.len() - 1;
    assert!(events > 15, "the scenario is worth killing: {events} events");
    for killed_at in 2..=events {
        let server = model();
        let podwork = place(&server);
        let mut running = podwork.spawn(["run", "--json", "go"]);
        let line = format!("\"seq\":{killed_at},");
        running.wait_for_line(|shown| shown.contains(&line));
        running.kill();
        succeeded(&resume(&podwork));
        let log = check_log(&podwork, killed_at);
        assert_eq!(of_type(&log, "turn_ended").last().map(|end| &end["outcome"]), Some(&json!("finished")));
        assert!(lines(podwork.read("first")) <= 1, "killed at {killed_at}: run twice");
        assert!(lines(podwork.read("second")) <= 1, "killed at {killed_at}: run twice");
        let unknown = of_type(&log, "call_ended").iter().filter(|end| end["outcome"] == "unknown").count();
        let ran = lines(podwork.read("first")) + lines(podwork.read("second"));
        assert!(ran + unknown >= 2, "killed at {killed_at}: a call is neither run nor unknown");
        let before = log.len();
        for _ in 0..3 {
            succeeded(&resume(&podwork));
        }
        assert_eq!(
            check_log(&podwork, killed_at).len(),
            before,
            "killed at {killed_at}: resuming adds nothing"
        );
        server.assert_no_refusals();
    }
}
