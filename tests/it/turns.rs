//! Turns of one pod, through the actors and the strict model server.

use events::Event;
use events::event::tool::CallOutcome;
use events::event::turn::TurnOutcome;
use kit::server::Answer;
use kit::workshop::Workshop;
use serde_json::json;

#[tokio::test]
async fn a_turn_without_calls_is_one_request_and_one_reply() {
    let workshop = Workshop::start().await;
    workshop.server.enqueue(Answer::text("Hello."));
    let pod = workshop.open().await;
    let rest = pod.run("Say hello.").await.unwrap();
    assert_eq!(rest.outcome, Some(TurnOutcome::Finished), "{}", rest.reason);
    assert_eq!(rest.text, "Hello.");
    assert_eq!(
        workshop.kinds(pod.id()),
        ["pod_opened", "input_received", "turn_started", "request_prepared", "reply_received", "turn_ended"]
    );
    workshop.server.assert_no_refusals();
}

#[tokio::test]
async fn a_tool_reads_a_file_and_its_result_is_in_the_next_request() {
    for model in ["openai:m", "anthropic:m"] {
        let workshop = Workshop::start().await;
        std::fs::write(workshop.directory.path().join("note.txt"), "the word is plover\n").unwrap();
        workshop.server.enqueue_all([
            Answer::call("read_file", &json!({"path": "note.txt"})),
            Answer::text("The word is plover."),
        ]);
        let pod = workshop.open_as(workshop.spec_of(model)).await;
        let rest = pod.run("What is the word?").await.unwrap();
        assert_eq!(rest.outcome, Some(TurnOutcome::Finished), "{}", rest.reason);
        let requests = workshop.server.bodies();
        assert_eq!(requests.len(), 2);
        assert!(requests[1].to_string().contains("the word is plover"));
        workshop.server.assert_no_refusals();
    }
}

#[tokio::test]
async fn results_of_parallel_calls_stand_in_the_order_of_the_calls() {
    let workshop = Workshop::start().await;
    workshop.server.enqueue_all([
        Answer::calls([
            ("bash", json!({"command": "while [ ! -e go ]; do sleep 0.01; done; echo first"})),
            ("bash", json!({"command": "touch go; echo second"})),
            ("bash", json!({"command": "exit 3"})),
        ]),
        Answer::text("done"),
    ]);
    let pod = workshop.open().await;
    pod.run("go").await.unwrap();
    let request = &workshop.server.bodies()[1];
    let results: Vec<String> = request["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].to_string())
        .collect();
    assert!(results[0].contains("first") && results[1].contains("second"), "{results:?}");
    let failed = workshop.log(pod.id()).iter().any(
        |envelope| matches!(envelope.event(), Event::CallEnded(ended) if ended.outcome == CallOutcome::Failed),
    );
    assert!(failed, "the third call failed and the others did not mind");
    workshop.server.assert_no_refusals();
}

#[tokio::test]
async fn an_unknown_tool_and_bad_arguments_are_results_and_the_turn_goes_on() {
    let workshop = Workshop::start().await;
    workshop.server.enqueue_all([
        Answer::calls([("fly", json!({})), ("read_file", json!({"pth": "x"}))]),
        Answer::text("I see."),
    ]);
    let pod = workshop.open().await;
    let rest = pod.run("go").await.unwrap();
    assert_eq!(rest.outcome, Some(TurnOutcome::Finished));
    let request = workshop.server.bodies()[1].to_string();
    assert!(request.contains("There is no tool `fly`"), "{request}");
    assert!(request.contains("path"), "{request}");
    workshop.server.assert_no_refusals();
}

#[tokio::test]
async fn input_during_a_turn_steers_it_after_the_results() {
    let workshop = Workshop::start().await;
    workshop.server.enqueue_all([
        Answer::call("bash", &json!({"command": "while [ ! -e go ]; do sleep 0.01; done"})),
        Answer::text("As you wish."),
    ]);
    let pod = workshop.open().await;
    pod.submit("Wait for the file.").await.unwrap();
    workshop.wait_for(pod.id(), |event| matches!(event, Event::CallStarted(_))).await;
    pod.submit("And then stop.").await.unwrap();
    std::fs::write(workshop.directory.path().join("go"), "").unwrap();
    let rest = pod.rest().await.unwrap();
    assert_eq!(rest.outcome, Some(TurnOutcome::Finished));
    let requests = workshop.server.bodies();
    assert_eq!(requests.len(), 2, "the input joined the running turn");
    let last = requests[1]["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(last.contains("And then stop."), "{last}");
    workshop.server.assert_no_refusals();
}

#[tokio::test]
async fn every_request_continues_the_one_before_byte_for_byte() {
    let workshop = Workshop::start().await;
    let answers = (0..8).map(|_| Answer::call("list_files", &json!({})));
    workshop.server.enqueue_all(answers.chain([Answer::text("done")]));
    let pod = workshop.open().await;
    pod.run("go").await.unwrap();
    let bodies = workshop.server.bodies();
    assert_eq!(bodies.len(), 9);
    for pair in bodies.windows(2) {
        let (before, after) =
            (pair[0]["messages"].as_array().unwrap(), pair[1]["messages"].as_array().unwrap());
        assert_eq!(before[..], after[..before.len()]);
    }
    workshop.server.assert_no_refusals();
}

#[tokio::test]
async fn an_overload_is_an_event_and_the_same_request_is_sent_again() {
    let workshop = Workshop::start().await;
    workshop.server.enqueue_all([Answer::rate_limited(0), Answer::text("Back.")]);
    let pod = workshop.open().await;
    let rest = pod.run("go").await.unwrap();
    assert_eq!(rest.text, "Back.");
    let kinds = workshop.kinds(pod.id());
    assert_eq!(kinds.iter().filter(|kind| **kind == "reply_failed").count(), 1);
    assert_eq!(kinds.iter().filter(|kind| **kind == "request_prepared").count(), 1);
    let bodies = workshop.server.bodies();
    assert_eq!(bodies[0], bodies[1]);
}

#[tokio::test]
async fn a_wrong_key_fails_the_turn_and_resume_goes_on_with_it() {
    let workshop = Workshop::start().await;
    workshop.server.enqueue_all([Answer::unauthorized(), Answer::text("In.")]);
    let pod = workshop.open().await;
    let rest = pod.run("go").await.unwrap();
    assert_eq!(rest.outcome, Some(TurnOutcome::Failed));
    pod.resume(None).await.unwrap();
    let rest = pod.rest().await.unwrap();
    assert_eq!((rest.outcome, rest.text.as_str()), (Some(TurnOutcome::Finished), "In."));
    workshop.server.assert_no_refusals();
}

#[tokio::test]
async fn past_the_bound_of_attempts_the_pod_pauses_and_one_resume_goes_on() {
    let workshop = Workshop::start().await;
    workshop.server.enqueue_all([Answer::rate_limited(0), Answer::rate_limited(0), Answer::text("Finally.")]);
    let mut spec = workshop.spec();
    spec.limits.retries = 1;
    let pod = workshop.open_as(spec).await;
    let rest = pod.run("go").await.unwrap();
    assert_eq!(rest.outcome, Some(TurnOutcome::Paused));
    assert_eq!(rest.state, events::projection::State::Paused);
    pod.resume(None).await.unwrap();
    assert_eq!(pod.rest().await.unwrap().text, "Finally.");
    workshop.server.assert_no_refusals();
}

#[tokio::test]
async fn a_second_prompt_waits_for_the_first() {
    let workshop = Workshop::start().await;
    workshop.server.enqueue_all([Answer::text("one"), Answer::text("two")]);
    let pod = workshop.open().await;
    pod.run("first").await.unwrap();
    let rest = pod.run("second").await.unwrap();
    assert_eq!(rest.text, "two");
    let turns = workshop.kinds(pod.id()).iter().filter(|kind| **kind == "turn_started").count();
    assert_eq!(turns, 2);
    workshop.server.assert_no_refusals();
}
