//! What else makes a provider refuse a session for ever: empty turns, halves of characters,
//! output that is no text, and reasoning that was signed for something else.

use std::sync::Arc;

use actors::PodHandle;
use actors::provider::{Anthropic, Providers, Timeouts};
use actors::tool::Toolbox;
use events::event::turn::TurnOutcome;
use events::{Event, Seq, Spec};
use kit::server::{Answer, Dialect, StrictServer};
use kit::workshop::Workshop;
use serde_json::{Value, json};

use super::{MODELS, chunk, count, hasty, message, stream};

/// B01
#[tokio::test]
async fn replies_without_a_word_leave_no_trace_in_the_next_request() {
    let empty: [fn() -> Answer; 5] = [
        || Answer::empty().cut_after_events(1),
        || Answer::reasoning("I should say something."),
        || Answer::text(""),
        || Answer::text(" \n"),
        || Answer::rate_limited(0),
    ];
    for model in MODELS {
        for (place, empty) in empty.iter().enumerate() {
            let workshop = hasty(Timeouts::default()).await;
            let mut spec = workshop.spec_of(model);
            spec.limits.retries = 20;
            workshop.server.enqueue_all((0..20).map(|_| empty()));
            let pod = workshop.open_as(spec).await;
            // Some are a failed attempt, and some a turn in which nothing was said.
            let mut turns = 0;
            while workshop.server.unasked() > 0 {
                pod.run("go").await.unwrap();
                turns += 1;
            }
            pod.run("and now?").await.unwrap();
            let body = workshop.server.bodies().pop().unwrap();
            let messages = body["messages"].as_array().unwrap();
            let said = messages.iter().filter(|message| message["role"] == "assistant").count();
            assert!(said <= 1, "{model}, answer {place}, {turns} turns: {body:#}");
            workshop.server.assert_no_refusals();
        }
    }
}

/// B01
#[tokio::test]
async fn two_cancelled_prompts_a_third_and_a_compaction_are_all_accepted() {
    for model in MODELS {
        let workshop = Workshop::start().await;
        let mut spec = workshop.spec_of(model);
        spec.context.retained_tokens = 1;
        let pod = workshop.open_as(spec).await;
        for (requests, prompt) in [(1, "first"), (2, "second")] {
            workshop.server.enqueue(Answer::text("I never say this").stalling_after_events(1));
            pod.submit(prompt.repeat(200)).await.unwrap();
            workshop.server.wait_for_requests(requests).await;
            pod.cancel().await.unwrap();
            assert_eq!(pod.rest().await.unwrap().outcome, Some(TurnOutcome::Cancelled));
        }
        workshop.server.enqueue_all([Answer::text("At last."), Answer::text("A summary.")]);
        assert_eq!(pod.run("third").await.unwrap().text, "At last.");
        let body = workshop.server.bodies().pop().unwrap().to_string();
        assert!(body.contains("first") && body.contains("second") && body.contains("third"));
        pod.compact().await.unwrap();
        pod.rest().await.unwrap();
        assert_eq!(count(&workshop, pod.id(), "compaction_finished"), 1);
        workshop.server.enqueue(Answer::text("Yes."));
        assert_eq!(pod.run("still there?").await.unwrap().text, "Yes.");
        workshop.server.assert_no_refusals();
    }
}

/// A reply whose text has half of a pair of surrogates in it.
fn half_a_character(model: &str) -> Answer {
    let words = "broken: HALF.";
    if model.starts_with("openai") {
        let delta = json!({"role": "assistant", "content": words});
        return stream(&[chunk(&delta, None), chunk(&json!({}), Some("stop"))]);
    }
    let block = json!({"type": "text", "text": ""});
    stream(&message(&block, &json!({"type": "text_delta", "text": words}), "end_turn"))
}

/// B02
#[tokio::test]
async fn half_a_character_in_text_and_in_arguments_is_replaced_once_and_the_session_goes_on() {
    for model in MODELS {
        let workshop = hasty(Timeouts::default()).await;
        let halved = "{\"command\":\"echo 'half: \\ud99c' > out; cat out\"}";
        workshop.server.enqueue_all([
            Answer::empty().and_raw_call("one", "bash", halved),
            half_a_character(model),
            Answer::text("Fine."),
        ]);
        let pod = workshop.open_as(workshop.spec_of(model)).await;
        let rest = pod.run("go").await.unwrap();
        assert_eq!(rest.text, "broken: \u{fffd}.", "{}", rest.reason);
        let written = std::fs::read_to_string(workshop.directory.path().join("out")).unwrap();
        assert_eq!(written, "half: \u{fffd}\n");
        assert_eq!(pod.run("and on").await.unwrap().text, "Fine.");
        let body = workshop.server.bodies().pop().unwrap().to_string();
        assert!(!body.contains("d99c"), "{body}");
        workshop.server.assert_no_refusals();
    }
}

/// B02
#[tokio::test]
async fn output_is_cut_between_characters_wherever_the_cut_falls() {
    for model in MODELS {
        let workshop = Workshop::start().await;
        let mut spec = workshop.spec_of(model);
        spec.limits.tool_output_bytes = 300;
        let family = "👨‍👩‍👧‍👦".repeat(60);
        let commands = (0..25).map(|shift| {
            let file = format!("text{shift}");
            std::fs::write(workshop.directory.path().join(&file), "x".repeat(shift) + &family).unwrap();
            ("bash", json!({"command": format!("cat {file}")}))
        });
        workshop.server.enqueue_all([Answer::calls(commands), Answer::text("Seen.")]);
        let pod = workshop.open_as(spec).await;
        assert_eq!(pod.run("go").await.unwrap().text, "Seen.");
        let body = workshop.server.bodies().pop().unwrap().to_string();
        assert!(!body.contains('\u{fffd}'), "a character was cut in half: {body}");
        workshop.server.assert_no_refusals();
    }
}

/// B03
#[tokio::test]
async fn output_that_is_no_text_is_cleaned_for_the_model_and_kept_to_the_byte() {
    let outputs = [
        "printf 'nul \\000 bell \\007 osc \\033]0;title\\007 csi \\033[31mred\\033[0m'",
        "printf 'caf\\351 \\304\\343\\272\\303'",
        "head -c 100000 /dev/urandom | tee random",
        "head -c 20000 /proc/self/exe",
    ];
    for model in MODELS {
        let workshop = Workshop::start().await;
        let calls = outputs.map(|command| ("bash", json!({"command": command})));
        workshop.server.enqueue_all([Answer::calls(calls), Answer::text("Strange."), Answer::text("Yes.")]);
        let pod = workshop.open_as(workshop.spec_of(model)).await;
        pod.run("go").await.unwrap();
        assert_eq!(pod.run("and on").await.unwrap().text, "Yes.");
        workshop.server.assert_no_refusals();
        let body = workshop.server.bodies().pop().unwrap().to_string();
        assert!(body.contains("nul \u{fffd} bell \u{fffd} osc  csi red"), "{body}");
        let log = workshop.runtime.log();
        let whole: Vec<Vec<u8>> = workshop
            .log(pod.id())
            .iter()
            .filter_map(|envelope| match envelope.event() {
                Event::CallEnded(ended) => Some(log.content(ended.content_hash?).unwrap().unwrap()),
                _ => None,
            })
            .collect();
        let random = std::fs::read(workshop.directory.path().join("random")).unwrap();
        assert!(whole.contains(&random), "what was left out can be read");
        assert!(whole.contains(&b"caf\xe9 \xc4\xe3\xba\xc3".to_vec()));
        assert!(whole.contains(&b"nul \0 bell \x07 osc \x1b]0;title\x07 csi \x1b[31mred\x1b[0m".to_vec()));
    }
}

/// A pod whose model signs what it thinks, and whose old results are soon left out.
fn thoughtful(workshop: &Workshop) -> Spec {
    let mut spec = workshop.spec_of("anthropic:m");
    spec.reasoning_tokens = Some(2000);
    spec.context.prune_protected_tokens = 1000;
    spec.context.prune_min_savings = 1000;
    spec.context.retained_tokens = 2000;
    spec
}

/// Thinks and reads something long in each of so many steps.
fn loop_of(steps: usize) -> impl Iterator<Item = Answer> {
    let step = |step| {
        Answer::reasoning(format!("Step {step}, and why."))
            .and_hidden_reasoning("Nobody may know.")
            .and_text("Reading on.")
            .and_call("bash", &json!({"command": format!("yes {step} | head -c 4000")}))
    };
    (0..steps).map(step).chain([Answer::reasoning("Enough.").and_text("Done.")])
}

async fn go(workshop: &Workshop, pod: &PodHandle, prompt: &str, steps: usize) {
    workshop.server.enqueue_all(loop_of(steps));
    let rest = pod.run(prompt).await.unwrap();
    workshop.server.assert_no_refusals();
    assert_eq!(rest.outcome, Some(TurnOutcome::Finished), "{}", rest.reason);
}

fn thoughts(body: &Value) -> usize {
    body.to_string().matches("\"signature\"").count()
}

/// B05
#[tokio::test]
async fn signed_reasoning_survives_prunes_compaction_forks_and_restarts_or_is_left_out() {
    let mut workshop = Workshop::start().await;
    let pod = workshop.open_as(thoughtful(&workshop)).await;
    go(&workshop, &pod, "go", 10).await;
    let pruned = count(&workshop, pod.id(), "pruned");
    assert!(pruned >= 2, "{:?}", workshop.kinds(pod.id()));
    let sent: Vec<usize> = workshop.server.bodies().iter().map(thoughts).collect();
    assert_eq!(sent[..3], [0, 1, 2], "as long as nothing has changed all of it goes back");
    let head = workshop.log(pod.id()).len() as u64;
    for at in (1..=head).step_by(3) {
        let fork = workshop.runtime.fork(pod.id(), Some(Seq(at)), None).await.unwrap();
        go(&workshop, &fork, "another way", 1).await;
    }
    workshop.restart().await;
    let pod = workshop.runtime.pod(pod.id()).await.unwrap();
    go(&workshop, &pod, "on", 3).await;
    workshop.server.enqueue(Answer::text("A summary of ten steps."));
    pod.compact().await.unwrap();
    pod.rest().await.unwrap();
    assert_eq!(count(&workshop, pod.id(), "compaction_finished"), 1);
    go(&workshop, &pod, "further", 3).await;
    workshop.restart().await;
    let pod = workshop.runtime.pod(pod.id()).await.unwrap();
    go(&workshop, &pod, "to the end", 3).await;
    let sent: Vec<usize> = workshop.server.bodies().iter().rev().take(4).map(thoughts).collect();
    assert!(sent.iter().any(|thoughts| *thoughts > 0), "what was thought since the last change goes back");
}

/// A step of a tool loop during which the pod is paused; then it goes on with another model.
async fn switch(workshop: &Workshop, pod: &PodHandle, step: usize, spec: Spec) {
    let mut started = 0;
    workshop
        .wait_for(pod.id(), |event| {
            started += usize::from(matches!(event, Event::CallStarted(_)));
            started == step
        })
        .await;
    pod.pause("another model").await.unwrap();
    assert_eq!(pod.rest().await.unwrap().outcome, Some(TurnOutcome::Paused));
    pod.resume(Some(spec)).await.unwrap();
}

/// Two calls with an id that is odd and the same, one of which does not end.
fn step(id: &str, thought: &str) -> Answer {
    Answer::reasoning(thought).and_text("One moment.").and_raw_call(id, "list_files", "{}").and_raw_call(
        id,
        "bash",
        "{\"command\":\"sleep 1000\"}",
    )
}

/// B06
#[tokio::test]
async fn a_session_changes_its_provider_in_the_middle_of_a_tool_loop_and_back() {
    for route in [["anthropic:m", "openai:m", "anthropic:m"], ["openai:m", "anthropic:m", "openai:m"]] {
        let workshop = Workshop::start().await;
        let [first, second, third] = route.map(|model| workshop.spec_of(model));
        workshop.server.enqueue_all([
            step("toolu_01/odd id", "The first thought."),
            step("call.odd", "The second thought."),
            Answer::reasoning("The third.").and_text("Done."),
        ]);
        let pod = workshop.open_as(first).await;
        pod.submit("go").await.unwrap();
        switch(&workshop, &pod, 2, second).await;
        switch(&workshop, &pod, 4, third).await;
        let rest = pod.rest().await.unwrap();
        workshop.server.assert_no_refusals();
        assert_eq!((rest.outcome, rest.text.as_str()), (Some(TurnOutcome::Finished), "Done."));
        let requests = workshop.server.requests();
        let dialects: Vec<Dialect> = requests.iter().map(|request| request.dialect).collect();
        let expected =
            route.map(|model| if model.starts_with("openai") { Dialect::OpenAi } else { Dialect::Anthropic });
        assert_eq!(dialects, expected);
        let (middle, last) = (requests[1].body.to_string(), requests[2].body.to_string());
        assert!(!middle.contains("The first thought."), "what one provider signed is not another's");
        assert!(!last.contains("The second thought."));
        assert_eq!(last.contains("The first thought."), route[0] == "anthropic:m", "it is at home again");
        assert_eq!(last.matches("One moment.").count(), 2, "what was said is everybody's");
    }
}

/// B06
#[tokio::test]
async fn two_providers_that_speak_the_same_dialect_are_not_sent_what_the_other_signed() {
    let (here, there) = (StrictServer::start(), StrictServer::start());
    let mut providers = Providers::none();
    for (name, server) in [("here", &here), ("there", &there)] {
        providers.register(name, Arc::new(Anthropic::at(&server.base_url_anthropic(), Some("key"))));
    }
    let hidden = json!({"type": "a_kind_of_its_own", "words": "for its own eyes"});
    let end = || Answer::reasoning("The last thought.").and_text("Done.");
    here.enqueue_all([step("toolu_1", "The first thought.").and_unknown(hidden), end()]);
    there.enqueue(step("toolu_1", "The second thought.").and_hidden_reasoning("Nobody may know."));
    let workshop =
        Workshop::start_with(here, Toolbox::standard(), |builder| builder.providers(providers)).await;
    let pod = workshop.open_as(workshop.spec_of("here:m")).await;
    pod.submit("go").await.unwrap();
    switch(&workshop, &pod, 2, workshop.spec_of("there:m")).await;
    switch(&workshop, &pod, 4, workshop.spec_of("here:m")).await;
    assert_eq!(pod.rest().await.unwrap().text, "Done.");
    workshop.server.assert_no_refusals();
    there.assert_no_refusals();
    let last = workshop.server.bodies().pop().unwrap().to_string();
    assert!(last.contains("The first thought.") && last.contains("for its own eyes"), "it is at home again");
    assert!(!last.contains("The second thought."));
}
