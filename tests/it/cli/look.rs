//! Commands that look, and those that fork, stop, export and import.

use kit::server::Answer;

use super::program::{Ended, Home, json as lines_of};

fn talked() -> Home {
    let home = Home::new();
    home.server.enqueue(Answer::text("one is done"));
    home.server.enqueue(Answer::text("two is done"));
    home.ok(&["run", "--name", "talk", "one"]);
    home.ok(&["resume", "talk", "two"]);
    home
}

#[test]
fn a_context_is_to_the_byte_what_the_server_got() {
    let home = talked();
    for (request, recorded) in (1..).zip(home.server.requests()) {
        let number = &request.to_string();
        let wire = home.ok(&["context", "talk", "--request", number, "--wire"]);
        assert_eq!(wire.as_bytes(), recorded.raw, "request {request}");
        let verified = home.json(&["context", "talk", "--request", number, "--verify", "--json"]);
        assert_eq!(verified[0]["matches"], true, "request {request}");
    }
    let difference = home.json(&["context", "talk", "--request", "2", "--diff", "1", "--json"]);
    assert_eq!(difference[0]["items_same"], 1);
    assert_eq!(difference[0]["items_new"], 2);
    let (first, second) = (&home.server.requests()[0].raw, &home.server.requests()[1].raw);
    let changed = first.iter().zip(second).position(|(one, other)| one != other).unwrap();
    assert_eq!(difference[0]["first_changed_byte"], changed);
    let unknown = home.run(&["context", "talk", "--request", "9"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
}

#[test]
fn a_fork_shares_the_past_and_goes_its_own_way() {
    let home = talked();
    home.ok(&["fork", "talk", "--at", "6", "--name", "other"]);
    home.server.enqueue(Answer::text("another two"));
    assert_eq!(home.ok(&["resume", "other", "two, differently"]), "another two\n");
    let pods = home.json(&["pods", "--json"]);
    assert_eq!(pods[1]["name"], "other");
    assert_eq!(pods[1]["forked_from"], pods[0]["pod"]);
    assert_eq!(pods[0]["events"], 11, "the source is as it was");
    assert_eq!(home.run(&["fork", "talk", "--at", "99"]).code, Some(2));
}

#[test]
fn a_pod_is_named_by_its_name_its_id_or_a_beginning_of_it() {
    let home = talked();
    let id = home.json(&["pods", "--json"])[0]["pod"].as_str().unwrap().to_owned();
    for name in ["talk", &id, &id[..8], &id.replace('-', ""), "--last"] {
        assert_eq!(home.json(&["log", name, "--json"]).len(), 11, "{name}");
    }
    home.ok(&["run", "--name", "talk", "again"]);
    let ambiguous = home.run(&["log", "talk"]);
    assert_eq!(ambiguous.code, Some(2));
    assert!(ambiguous.stderr.contains(&id), "{ambiguous:?}");
    let unknown = home.run(&["log", "tlak"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("`talk`"), "{unknown:?}");
}

#[test]
fn an_export_that_is_imported_is_the_same_log() {
    let home = talked();
    let export = home.ok(&["export", "talk"]);
    assert_eq!(export, home.ok(&["log", "talk", "--json"]));
    std::fs::write(home.work().join("talk.jsonl"), &export).unwrap();
    let imported = home.json(&["import", "talk.jsonl", "--json"]);
    let (mut original, mut copy) = (lines_of(&export), home.json(&["log", "--last", "--json"]));
    assert_eq!(copy[0]["pod"], imported[0]["pod"]);
    for event in original.iter_mut().chain(&mut copy) {
        // The pod is another one; all else is the same.
        event["pod"].take();
    }
    assert_eq!(copy, original);
    let bad = home.run(&["import", "missing.jsonl"]);
    assert_eq!(bad.code, Some(2), "{bad:?}");
}

#[test]
fn a_stopped_pod_takes_no_more_and_says_so() {
    let home = talked();
    home.ok(&["stop", "talk"]);
    assert_eq!(home.json(&["pods", "--json"])[0]["state"], "stopped");
    let ended = home.run(&["send", "talk", "more"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("stopped"), "{ended:?}");
    home.ok(&["stop", "talk"]);
}

#[test]
fn a_paused_pod_waits_until_it_is_resumed() {
    let home = talked();
    home.ok(&["pause", "talk", "--reason", "lunch"]);
    let pods = home.json(&["pods", "--json"]);
    assert_eq!(pods[0]["state"], "paused");
    assert_eq!(pods[0]["waits_for"], "resume: lunch");
    home.server.enqueue(Answer::text("three is done"));
    assert_eq!(home.ok(&["resume", "talk", "three"]), "three is done\n");
}

#[test]
fn usage_is_what_the_server_counted() {
    let home = talked();
    let usage = home.json(&["usage", "talk", "--json"]);
    assert_eq!(usage[0]["input_tokens"], home.server.totals().input_tokens);
    assert_eq!(usage[0]["cached_tokens"], home.server.totals().cached_tokens);
    assert_eq!(usage[0]["output_tokens"], home.server.totals().output_tokens);
    assert!(home.ok(&["usage", "talk"]).contains("talk"));
}

#[test]
fn looking_makes_no_store() {
    let home = Home::new();
    assert_eq!(home.ok(&["pods"]), "");
    assert_eq!(home.run(&["log", "--last"]).code, Some(2));
    assert!(!home.store().exists());
}

#[test]
fn the_configuration_names_the_origin_of_each_value_and_no_secret() {
    let home = Home::new();
    std::fs::write(home.work().join("podwork.toml"), "[limits]\nretries = 2\n").unwrap();
    let lines = home.json(&["config", "--json"]);
    let origin = |key: &str| {
        let line = lines.iter().find(|line| line["key"] == key).unwrap();
        line["origin"].as_str().unwrap().to_owned()
    };
    assert!(origin("limits.retries").ends_with("podwork.toml:2"));
    assert_eq!(origin("model"), "PODWORK_MODEL");
    assert_eq!(origin("store"), "PODWORK_STORE");
    assert!(!home.ok(&["config"]).contains("sk-the-secret-key"));
}

#[test]
fn a_pipe_gets_no_colours() {
    let home = talked();
    for arguments in
        [["pods"].as_slice(), &["log", "talk"], &["usage", "talk"], &["context", "talk"], &["config"]]
    {
        assert!(!home.ok(arguments).contains('\x1b'), "{arguments:?}");
    }
    let mut command = home.podwork(&["log", "talk"]);
    command.env("CLICOLOR_FORCE", "1");
    assert!(Ended::of(command).stdout.contains('\x1b'), "there are colours to be left out");
}
