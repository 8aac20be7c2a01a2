//! Contexts after conversion: whatever a log says, the strictest provider takes the request.

use std::sync::Arc;

use actors::provider::Providers;
use events::envelope::Place;
use events::event::model::{Part, ReasoningPart, ReplyReceived};
use events::projection::{Context, Projection, Status};
use events::{Draft, Envelope, Event, Item, Spec};
use kit::log::{arbitrary_log, given, origin, plausible_log, spec, thought};
use kit::strict::seal::Prefix;
use kit::strict::{Broken, Rules, Seal, anthropic, openai, parse};
use proptest::prelude::*;
use serde_json::{Value, json};

fn render(spec: &Spec, items: &[Arc<Item>]) -> Vec<u8> {
    Providers::standard(&|_| None).render(spec, items).unwrap().to_vec()
}

/// The spec of a pod, for this model whatever its own is.
fn spec_for(status: &Status, model: &str) -> Spec {
    let mut spec = status.spec.clone().unwrap_or_else(|| spec(model));
    spec.model = model.parse().unwrap();
    spec
}

/// A context may end with the model's words; a request with it is sent when there is an answer.
fn rules(seal: Option<Seal>) -> Rules {
    Rules { answerable: false, seal, ..Rules::default() }
}

fn judge(model: &str, raw: &[u8], seal: Option<Seal>) -> Result<Value, Vec<Broken>> {
    let body = parse(raw)?;
    match model.split_once(':').unwrap().0 {
        "openai" => openai::check_with(&body, &rules(seal)),
        _ => anthropic::check_with(&body, &rules(seal)),
    }
    .map(|()| body)
}

fn refused(broken: &[Broken], raw: &[u8], log: &[Envelope]) -> TestCaseError {
    let broken: Vec<String> = broken.iter().map(ToString::to_string).collect();
    let log: Vec<String> = log.iter().map(|envelope| serde_json::to_string(envelope).unwrap()).collect();
    let (broken, log) = (broken.join("\n"), log.join("\n"));
    TestCaseError::fail(format!("{broken}\nbody:\n{}\nlog:\n{log}", String::from_utf8_lossy(raw)))
}

/// Every cut of the log gives a request that the provider of this model takes.
fn is_taken(log: &[Envelope], model: &str, seal: Option<&Seal>) -> Result<(), TestCaseError> {
    let (mut context, mut status) = (Context::default(), Status::default());
    for (place, envelope) in log.iter().enumerate() {
        context.apply(envelope);
        status.apply(envelope);
        let spec = spec_for(&status, model);
        let items = context.items(&origin(&spec.model));
        // Nobody sends a request that says nothing.
        if items.is_empty() {
            continue;
        }
        let raw = render(&spec, &items);
        if let Err(broken) = judge(model, &raw, seal.cloned()) {
            return Err(refused(&broken, &raw, &log[..=place]));
        }
    }
    Ok(())
}

/// The log as it would be if these seals had signed what their models thought: each reply is
/// signed over the request that it answers, as the strict server does it.
fn signed(log: &[Envelope], seals: &[(&str, &Seal)]) -> Vec<Envelope> {
    let (mut context, mut status) = (Context::default(), Status::default());
    let mut prefixes = vec![Prefix::default(); seals.len()];
    let mut signed = Vec::new();
    for envelope in log {
        let mut event = envelope.event().clone();
        for ((model, seal), prefix) in seals.iter().zip(&prefixes) {
            if let Event::ReplyReceived(reply) = &mut event
                && origin(&model.parse().unwrap()) == reply.origin
            {
                sign(reply, prefix.clone(), seal);
            }
        }
        let place = Place {
            pod: envelope.pod(),
            seq: envelope.seq(),
            position: envelope.position(),
            at: envelope.at(),
        };
        let envelope = Envelope::seal(Draft::new(event), place);
        context.apply(&envelope);
        status.apply(&envelope);
        if let Event::RequestPrepared(_) = envelope.event() {
            for ((model, _), prefix) in seals.iter().zip(&mut prefixes) {
                let spec = spec_for(&status, model);
                let raw = render(&spec, &context.items(&origin(&spec.model)));
                *prefix = Prefix::of(&parse(&raw).unwrap());
            }
        }
        signed.push(envelope);
    }
    signed
}

fn sign(reply: &mut ReplyReceived, mut prefix: Prefix, seal: &Seal) {
    for part in &mut reply.parts {
        let block = match part {
            Part::Text { text } => {
                // What enters the log is cleaned at the door.
                *text = text.replace('\0', "\u{fffd}");
                json!({"type": "text", "text": text})
            }
            Part::Reasoning(reasoning) if reasoning.data.is_some() => {
                let data = seal.hide(&prefix, &reasoning.text);
                *reasoning = ReasoningPart { text: String::new(), signature: None, data: Some(data.clone()) };
                json!({"type": "redacted_thinking", "data": data})
            }
            Part::Reasoning(reasoning) => {
                let signature = seal.sign(&prefix, &reasoning.text);
                reasoning.signature = Some(signature.clone());
                json!({"type": "thinking", "thinking": reasoning.text, "signature": signature})
            }
            Part::Call(call) => json!({"type": "tool_use", "id": call.call, "name": call.tool,
                "input": call.arguments.object()}),
            Part::Opaque { json } => {
                let stamped = seal.stamp(&serde_json::from_str(json).unwrap());
                *json = stamped.to_string();
                stamped
            }
            // A reply that ended properly has such a call last; its arguments never parsed.
            Part::BrokenCall { .. } => continue,
        };
        prefix.push("assistant", &block);
    }
}

proptest! {
    // Rendering every cut is dear; `PROPTEST_CASES` counts here as well.
    #![proptest_config({
        let usual = ProptestConfig::default();
        ProptestConfig { cases: usual.cases / 4, ..usual }
    })]

    #[test]
    fn any_log_makes_requests_that_chat_completions_take(log in arbitrary_log()) {
        is_taken(&log, "openai:test", None)?;
    }

    #[test]
    fn any_log_makes_requests_that_messages_take(log in arbitrary_log()) {
        is_taken(&log, "anthropic:test", None)?;
    }

    #[test]
    fn sessions_make_requests_that_chat_completions_take(log in plausible_log()) {
        is_taken(&log, "openai:test", None)?;
    }

    #[test]
    fn reasoning_goes_back_to_who_signed_it_or_not_at_all(log in plausible_log()) {
        let (here, there) = (Seal::named("here"), Seal::named("there"));
        let log = signed(&log, &[("anthropic:test", &here), ("anthropic:other", &there)]);
        is_taken(&log, "anthropic:test", Some(&here))?;
        is_taken(&log, "anthropic:other", Some(&there))?;
    }
}

#[test]
fn signed_reasoning_is_really_sent_back() {
    let seal = Seal::named("here");
    let log = given().opened().input("go").turn().request().reply([thought("hm", ""), kit::log::said("yes")]);
    let log = log.input("on").turn().request().into_envelopes();
    let log = signed(&log, &[("anthropic:test", &seal)]);
    is_taken(&log, "anthropic:test", Some(&seal)).unwrap();
    let context: Context = events::project(&log);
    let spec = spec("anthropic:test");
    let body = parse(&render(&spec, &context.items(&origin(&spec.model)))).unwrap();
    assert_eq!(body["messages"][1]["content"][0]["thinking"], "hm");
}

#[test]
fn reasoning_behind_a_pruned_result_is_left_out() {
    let seal = Seal::named("here");
    let log = given()
        .opened()
        .input("go")
        .turn()
        .request()
        .reply([thought("first", ""), kit::log::called("bash", &json!({}))])
        .ended(1, "a long output")
        .request()
        .reply([thought("second", ""), kit::log::said("done")])
        .input("on")
        .pruned([1])
        .request();
    let log = signed(log.envelopes(), &[("anthropic:test", &seal)]);
    is_taken(&log, "anthropic:test", Some(&seal)).unwrap();
    let context: Context = events::project(&log);
    let spec = spec("anthropic:test");
    let body = String::from_utf8(render(&spec, &context.items(&origin(&spec.model)))).unwrap();
    assert!(body.contains("first") && !body.contains("second"), "{body}");
}
