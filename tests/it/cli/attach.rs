//! One process writes a store; others work through its socket.

use std::os::unix::fs::PermissionsExt as _;

use kit::server::{Answer, StrictServer};
use rustix::process::Signal;

use super::program::{Ended, Home, json, kinds};

/// A home in which a turn of the pod `busy` waits for the model.
fn busy() -> (Home, super::program::Running) {
    let home = Home::new();
    home.server.enqueue(Answer::text("first").stalling_before_headers());
    let running = home.start(&["run", "--json", "--name", "busy", "work"]);
    home.server.block_for_requests(1);
    (home, running)
}

#[test]
fn a_second_terminal_sees_and_steers_a_running_turn() {
    let (home, running) = busy();
    assert_eq!(home.json(&["pods", "--json"])[0]["state"], "running");
    let log = home.json(&["log", "busy", "--json"]);
    assert_eq!(kinds(&log), ["pod_opened", "input_received", "turn_started", "request_prepared"]);
    assert!(home.ok(&["context", "busy"]).contains("work"));
    home.ok(&["usage", "busy"]);

    home.server.enqueue(Answer::text("second"));
    home.ok(&["send", "busy", "look left"]);
    home.server.release_all();
    let ended = running.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(json(&ended.stdout).last().unwrap()["text"], "second");
    let last = home.server.bodies().pop().unwrap();
    assert_eq!(last["messages"].as_array().unwrap().last().unwrap()["content"], "look left");
}

#[test]
fn a_second_terminal_can_end_a_turn() {
    for (command, code) in [("cancel", 130), ("pause", 3)] {
        let (home, running) = busy();
        home.ok(&[command, "busy"]);
        assert_eq!(running.end().code, Some(code), "{command}");
    }
}

#[test]
fn whoever_holds_the_store_stays_until_the_others_are_done() {
    let home = Home::with_server(StrictServer::answering(|body| {
        let text = body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
        Answer::text(format!("answer to {text}")).stalling_before_headers()
    }));
    let mut holder = home.start(&["run", "--json", "first"]);
    holder.wait_for("request_prepared");
    let mut guest = home.start(&["run", "--json", "second"]);
    guest.wait_for("request_prepared");
    home.server.block_for_requests(2);
    home.ok(&["cancel", "--last"]);
    assert_eq!(guest.end().code, Some(130));

    let mut guest = home.start(&["run", "--json", "third"]);
    guest.wait_for("request_prepared");
    holder.signal(Signal::INT);
    assert_eq!(holder.wait_for("result")["outcome"], "cancelled");
    assert!(holder.is_running(), "the guest's turn still runs in it");
    home.server.block_for_requests(3);
    home.server.release_all();
    assert_eq!(guest.wait_for("result")["text"], "answer to third");
    assert_eq!(guest.end().code, Some(0));
    assert_eq!(holder.end().code, Some(130));
    assert!(!home.store().with_extension("redb.sock").exists());
}

#[test]
fn a_guest_that_goes_away_leaves_its_turn_to_the_holder() {
    let (home, holder) = busy();
    home.server.enqueue(Answer::text("for nobody").stalling_before_headers());
    let mut guest = home.start(&["run", "--json", "--name", "left", "more"]);
    guest.wait_for("request_prepared");
    home.server.block_for_requests(2);
    guest.signal(Signal::KILL);
    guest.end();
    home.server.release_all();
    assert_eq!(holder.end().code, Some(0));
    let log = home.json(&["log", "left", "--json"]);
    assert_eq!(log.last().unwrap()["outcome"], "finished");
}

#[test]
fn a_guest_cancels_its_own_turn_and_no_other() {
    let (home, holder) = busy();
    home.server.enqueue(Answer::text("never").stalling_before_headers());
    let guest = home.start(&["run", "--json", "more"]);
    home.server.block_for_requests(2);
    guest.signal(Signal::INT);
    let ended = guest.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    home.server.release_all();
    assert_eq!(json(&holder.end().stdout).last().unwrap()["outcome"], "finished");
}

#[test]
fn the_socket_is_for_its_owner_only_and_one_of_a_dead_process_is_no_trap() {
    let (home, holder) = busy();
    let socket = home.store().with_extension("redb.sock");
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::metadata(home.store()).unwrap().permissions().mode() & 0o777, 0o600);
    holder.signal(Signal::KILL);
    holder.end();
    assert!(socket.exists());
    home.server.enqueue(Answer::text("done"));
    assert_eq!(home.ok(&["resume", "busy"]), "done\n");
    assert!(!socket.exists());
}

#[test]
fn a_store_with_a_long_name_can_be_attached_to_as_well() {
    let home = Home::new();
    let deep = home.work().join("d".repeat(60)).join("e".repeat(60));
    let store = deep.join("store.redb");
    let store = store.to_str().unwrap();
    home.server.enqueue(Answer::text("done").stalling_before_headers());
    let mut command = home.podwork(&["--store", store, "run", "--json", "x"]);
    command.env("XDG_RUNTIME_DIR", home.work());
    let running = super::program::Running::of(command);
    home.server.block_for_requests(1);
    let mut command = home.podwork(&["--store", store, "pods", "--json"]);
    command.env("XDG_RUNTIME_DIR", home.work());
    let ended = Ended::of(command);
    assert_eq!(json(&ended.stdout)[0]["state"], "running", "{ended:?}");
    home.server.release_all();
    assert_eq!(running.end().code, Some(0));
}

#[test]
fn a_followed_log_shows_what_other_processes_write_one_after_the_other() {
    let home = Home::new();
    home.ok(&["run", "--name", "told", "one"]);
    let mut follower = home.start(&["log", "told", "--json", "--follow"]);
    follower.wait_for("turn_ended");
    home.ok(&["resume", "told", "two"]);
    assert_eq!(follower.wait_for("turn_ended")["turn"], 2);
    follower.signal(Signal::INT);
    assert_eq!(follower.end().code, Some(0));

    home.server.enqueue(Answer::text("three is done").stalling_before_headers());
    let holder = home.start(&["resume", "told", "three"]);
    home.server.block_for_requests(3);
    let mut follower = home.start(&["log", "told", "--json", "--follow", "--from", "12"]);
    follower.wait_for("request_prepared");
    home.server.release_all();
    assert_eq!(follower.wait_for("turn_ended")["turn"], 3);
    assert_eq!(holder.end().code, Some(0));
    home.ok(&["resume", "told", "four"]);
    assert_eq!(follower.wait_for("turn_ended")["turn"], 4, "the next holder is followed");
    follower.signal(Signal::INT);
    assert_eq!(follower.end().code, Some(0));
}

#[test]
fn a_follower_whose_reader_goes_away_ends_though_nothing_more_happens() {
    let home = Home::new();
    home.ok(&["run", "--name", "told", "one"]);
    let mut follower = home.start(&["log", "told", "--json", "--follow"]);
    follower.wait_for("turn_ended");
    follower.hang_up();
    let ended = follower.end();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_holder_that_does_not_answer_is_named() {
    let (home, holder) = busy();
    holder.signal(Signal::STOP);
    let ended = home.run(&["pods"]);
    holder.signal(Signal::CONT);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stderr.contains(&format!("process {}", holder.child.id())), "{ended:?}");
    home.server.release_all();
    assert_eq!(holder.end().code, Some(0));
}
