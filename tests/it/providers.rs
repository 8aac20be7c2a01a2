//! The providers against the strict server: every request is accepted, and every failure is known
//! for what it is.

use std::sync::Arc;

use actors::provider::{Anthropic, Ask, Failure, OpenAi, Provider, Providers, Reply, ReplyPart};
use events::event::model::{FailureKind, Origin};
use events::event::tool::CallOutcome;
use events::item::{Call, CallResult, Opaque, Reasoning};
use events::{Arguments, CallId, Content, Item, ItemBody, RequestNumber, Seq, Spec};
use kit::server::{Answer, At, Dialect, StrictServer, Then, Trouble};
use kit::strict::{self, Rules};
use proptest::prelude::*;
use serde_json::{Value, json};

const MODELS: [&str; 2] = ["openai:m", "anthropic:m"];

fn providers(server: &StrictServer) -> Providers {
    let mut providers = Providers::none();
    providers.register("openai", Arc::new(OpenAi::at(&server.base_url_openai(), Some("key"))));
    providers.register("anthropic", Arc::new(Anthropic::at(&server.base_url_anthropic(), Some("key"))));
    providers
}

fn spec(model: &str) -> Spec {
    let mut spec = Spec::new(model.parse().unwrap());
    "Be brief.".clone_into(&mut spec.system);
    spec.reasoning_tokens = Some(2000);
    spec.tools = vec![events::ToolSpec {
        name: "bash".to_owned(),
        description: "Runs a command.".to_owned(),
        schema: json!({"type": "object", "properties": {"command": {"type": "string"}}}),
        effect: events::spec::Effect::Other,
    }];
    spec
}

async fn send(server: &StrictServer, model: &str, items: &[Item]) -> Result<Reply, Failure> {
    let (providers, spec) = (providers(server), spec(model));
    let body = providers.render(&spec, items).unwrap();
    let ask = Ask { request: RequestNumber(1), attempt: 1, spec: Arc::new(spec.clone()), body };
    let provider: Arc<dyn Provider> = providers.of(&spec).unwrap();
    provider.send(ask, tokio::sync::mpsc::channel(1).0).await
}

fn item(seq: u64, body: ItemBody) -> Item {
    Item { seq: Seq(seq), body }
}

fn user(seq: u64, text: &str) -> Item {
    item(seq, ItemBody::User { text: text.to_owned() })
}

/// The items of a reply, and a result for each of its calls.
fn exchange(seq: u64, model: &str, reply: &Reply, calls: &mut u32) -> Vec<Item> {
    let (provider, name) = model.split_once(':').unwrap();
    let origin = Origin { provider: provider.to_owned(), model: name.to_owned() };
    let mut results = Vec::new();
    let parts = reply.parts.iter().map(|part| match part.clone() {
        ReplyPart::Text(text) => ItemBody::Text { text },
        ReplyPart::Reasoning(reasoning) => ItemBody::Reasoning(reasoning.of(&origin)),
        ReplyPart::Opaque(json) => ItemBody::Opaque(Opaque { json, origin: origin.clone() }),
        ReplyPart::Call { provider_id, tool, raw } => {
            *calls += 1;
            results.push(result(*calls, Some("output")));
            let arguments = Arguments::parse(&raw).unwrap();
            ItemBody::Call(Call { call: CallId(*calls), tool, provider_id, arguments })
        }
    });
    let mut items: Vec<Item> = parts.map(|body| item(seq, body)).collect();
    items.extend(results.into_iter().map(|body| item(seq + 1, body)));
    items
}

fn result(call: u32, content: Option<&str>) -> ItemBody {
    let outcome = if call.is_multiple_of(2) { CallOutcome::Ok } else { CallOutcome::Failed };
    let content = content.map(Content::from);
    ItemBody::Result(CallResult {
        call: CallId(call),
        tool: "bash".to_owned(),
        outcome,
        summary: "ran".to_owned(),
        content,
    })
}

#[tokio::test]
async fn a_conversation_with_calls_and_sealed_reasoning_is_accepted_to_its_end() {
    for model in MODELS {
        let server = StrictServer::start();
        let odd = Answer::reasoning("first")
            .and_hidden_reasoning("second")
            .and_unknown(json!({"type": "new_kind", "z": 1.5, "a": [1, {"b": null}]}))
            .and_text("Let me look.")
            .and_raw_call("same id", "bash", "{\"command\": \"ls\"}")
            .and_raw_call("same id", "bash", "{\"command\":\"a\\u0000b\"}")
            .and_raw_call("", "no such tool!", "");
        let answers = (0..3).map(|round| odd.clone().in_pieces_of(1 + round * 7));
        server.enqueue_all(answers.chain([Answer::text("Done.")]));
        let (mut items, mut calls) = (vec![user(1, "go")], 0);
        for round in 0_u64..3 {
            let reply = send(&server, model, &items).await.unwrap();
            items.extend(exchange(10 * round + 2, model, &reply, &mut calls));
            items.push(item(10 * round + 4, ItemBody::System { text: "a child ended".to_owned() }));
            items.push(user(10 * round + 5, "and quickly"));
        }
        let last = send(&server, model, &items).await.unwrap();
        assert_eq!(last.parts, [ReplyPart::Text("Done.".to_owned())]);
        server.assert_no_refusals();
        let usage = last.usage.unwrap();
        assert!(usage.cached_tokens > usage.input_tokens / 3, "{usage:?}");
    }
}

#[tokio::test]
async fn a_conversation_that_changes_its_model_takes_nothing_sealed_along() {
    let (here, there) = (StrictServer::start(), StrictServer::start());
    let answer = Answer::reasoning("hm").and_unknown(json!({"type": "new"})).and_call("bash", &json!({}));
    for (first, second) in
        [("anthropic:m", "anthropic:n"), ("anthropic:m", "openai:m"), ("openai:m", "anthropic:m")]
    {
        here.enqueue(answer.clone());
        let mut items = vec![user(1, "go")];
        let reply = send(&here, first, &items).await.unwrap();
        items.extend(exchange(2, first, &reply, &mut 0));
        assert!(send(&there, second, &items).await.is_ok(), "{first} to {second}");
    }
    there.assert_no_refusals();
}

#[tokio::test]
async fn what_providers_have_against_a_request_is_known_for_what_it_is() {
    use FailureKind::{Auth, ContextTooLong, InvalidRequest, ModelNotFound, Overloaded, RateLimited, Server};
    let cases = [
        (Trouble::RateLimited { retry_after_seconds: Some(3) }, RateLimited),
        (Trouble::QuotaSpent, Auth),
        (Trouble::Overloaded, Overloaded),
        (Trouble::Unavailable, Overloaded),
        (Trouble::Broken, Server),
        (Trouble::Unauthorized, Auth),
        (Trouble::ModelNotFound, ModelNotFound),
        (Trouble::ContextTooLong, ContextTooLong),
        (Trouble::ContextTooLongLlama, ContextTooLong),
        (Trouble::ContextTooLongVllm, ContextTooLong),
        (Trouble::ContextTooLongWithOutput, ContextTooLong),
        (Trouble::TooLarge, ContextTooLong),
        (Trouble::Invalid("no".to_owned()), InvalidRequest),
    ];
    let server = StrictServer::start();
    for (model, dialect) in [("openai:m", Dialect::OpenAi), ("anthropic:m", Dialect::Anthropic)] {
        for (trouble, kind) in &cases {
            server.enqueue(Answer::trouble(trouble.clone()));
            let failure = send(&server, model, &[user(1, "go")]).await.unwrap_err();
            assert_eq!(failure.kind, *kind, "{model} {trouble:?}: {failure}");
            assert_eq!(failure.status, Some(trouble.status(dialect)));
            let seconds = failure.retry_after.map(|after| after.as_secs());
            assert_eq!(seconds, (*kind == RateLimited).then_some(3));
            if *trouble == Trouble::TooLarge {
                // Without its status nobody can know it in the middle of a stream.
                continue;
            }
            server.enqueue(Answer::text("some words").trouble_after_events(3, trouble.clone()));
            let failure = send(&server, model, &[user(1, "go")]).await.unwrap_err();
            assert_eq!(failure.kind, *kind, "{model} {trouble:?} in the stream: {failure}");
        }
    }
    server.assert_no_refusals();
}

#[tokio::test]
async fn answers_that_are_no_reply_are_known_for_what_they_are() {
    use FailureKind::{InvalidRequest, Malformed, Server, Transport, Truncated};
    let words = || Answer::text("some words that take several events to say");
    let server = StrictServer::start();
    for model in MODELS {
        for (answer, kind) in [
            (words().cut_after_events(4), Truncated),
            (words().cut_after_bytes(700), Truncated),
            (words().breaking_off(At::Events(4), Then::End), Truncated),
            (words().breaking_off(At::Events(4), Then::Garbage), Malformed),
            (Answer::html(), Server),
            (Answer::html_with_status_200(), Malformed),
            (Answer::redirect("http://127.0.0.1:1/"), InvalidRequest),
            (Answer::garbage(), Malformed),
            (Answer::bytes("no HTTP at all\r\n\r\n"), Transport),
            (Answer::empty(), FailureKind::Empty),
        ] {
            server.enqueue(answer.clone());
            let failure = send(&server, model, &[user(1, "go")]).await.unwrap_err();
            assert_eq!(failure.kind, kind, "{model} {answer:?}: {failure}");
        }
    }
}

#[tokio::test]
async fn a_request_that_is_dropped_ends_at_the_server() {
    for model in MODELS {
        let server = StrictServer::start();
        server.enqueue(Answer::text("some words").stalling_after_events(3));
        let items = [user(1, "go")];
        let asked = send(&server, model, &items);
        tokio::select! {
            _ = asked => panic!("the server stalls"),
            () = server.wait_for_stall() => {}
        }
        server.wait_for_disconnects(1).await;
    }
}

/// One exchange or one word of the user or the system, with odd texts.
fn any_unit() -> impl Strategy<Value = Vec<ItemBody>> {
    let text = || "[a \n\u{0}é👩\"\\\\]{0,6}";
    let origin = || Origin { provider: "anthropic".to_owned(), model: "m".to_owned() };
    let reasoning = move || {
        // What a provider signed goes back as it came, so it has nothing that providers refuse.
        ("[a \n]{0,6}", any::<bool>()).prop_map(move |(text, sealed)| {
            let signature = sealed.then(|| "sig".to_owned());
            ItemBody::Reasoning(Reasoning { text, signature, data: None, origin: origin() })
        })
    };
    let call = (text(), prop::option::of(text()));
    prop_oneof![
        text().prop_map(|text| vec![ItemBody::User { text }]),
        text().prop_map(|text| vec![ItemBody::System { text }]),
        (reasoning(), text()).prop_map(|(reasoning, text)| vec![reasoning, ItemBody::Text { text }]),
        reasoning().prop_map(|reasoning| vec![reasoning]),
        (reasoning(), prop::collection::vec(call, 1..4)).prop_map(|(reasoning, calls)| {
            let call = |(tool, _): &(String, Option<String>)| {
                let arguments = Arguments::parse("{\"a\":\"\\u0000\"}").unwrap();
                ItemBody::Call(Call {
                    call: CallId(0),
                    tool: tool.clone(),
                    provider_id: String::new(),
                    arguments,
                })
            };
            let results = calls.iter().map(|(_, content)| result(0, content.as_deref()));
            std::iter::once(reasoning).chain(calls.iter().map(call)).chain(results).collect()
        }),
    ]
}

/// Gives calls and results their numbers: the n-th result answers the n-th call.
fn numbered(units: Vec<Vec<ItemBody>>) -> Vec<Item> {
    let (mut calls, mut results) = (0, 0);
    let mut bodies: Vec<ItemBody> = units.into_iter().flatten().collect();
    for body in &mut bodies {
        match body {
            ItemBody::Call(call) => {
                calls += 1;
                call.call = CallId(calls);
            }
            ItemBody::Result(result) => {
                results += 1;
                result.call = CallId(results);
            }
            _ => {}
        }
    }
    bodies.into_iter().zip(1..).map(|(body, seq)| item(seq, body)).collect()
}

proptest! {
    #[test]
    fn every_context_is_sendable_in_both_dialects(units in prop::collection::vec(any_unit(), 0..12)) {
        let mut items = numbered(units);
        items.push(user(1000, "at last"));
        let providers = Providers::standard(&|_| None);
        for model in MODELS {
            let body = providers.render(&spec(model), &items).unwrap().to_vec();
            let body: Value = strict::parse(&body).map_err(|broken| TestCaseError::fail(format!("{broken:?}")))?;
            let rules = Rules::default();
            let verdict = match model {
                "openai:m" => strict::openai::check_with(&body, &rules),
                _ => strict::anthropic::check_with(&body, &rules),
            };
            prop_assert_eq!(verdict, Ok(()), "{}", body);
        }
    }
}
