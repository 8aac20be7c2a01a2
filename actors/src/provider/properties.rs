//! What holds for the requests of every dialect, whatever the items.

use events::event::tool::CallOutcome;
use events::{Hash, Item, ItemBody};
use proptest::prelude::*;

use super::Renderer;
use super::anthropic::wire::request::AnthropicRenderer;
use super::openai::wire::request::OpenAiRenderer;
use super::testing::{body, call, items, opaque, reasoning, result, spec};

const MODEL: &str = "anthropic:m";

/// The closing brackets of a body in either dialect.
const END_BYTES: usize = 4;

fn any_item() -> impl Strategy<Value = ItemBody> {
    let text = || "[a-c \"\\\\\n\u{0}é👩]{0,8}";
    let raw = prop::sample::select(vec!["{}", "{\"a\": \"\\u0000\"}", "{\"b\":1,\n\"a\":[]}"]);
    let model = prop::sample::select(vec![MODEL, "anthropic:other", "openai:m"]);
    let outcome = prop::sample::select(vec![CallOutcome::Ok, CallOutcome::Failed, CallOutcome::Unknown]);
    prop_oneof![
        5 => text().prop_map(|text| ItemBody::User { text }),
        5 => text().prop_map(|text| ItemBody::System { text }),
        5 => text().prop_map(|text| ItemBody::Text { text }),
        // Larger than a piece of a body.
        1 => Just(ItemBody::User { text: "x".repeat(70_000) }),
        5 => (text(), prop::option::of(Just("sig")), model.clone())
            .prop_map(|(text, signature, model)| reasoning(&text, signature, model)),
        5 => (1_u32..9, text(), raw).prop_map(|(number, tool, raw)| call(number, &tool, raw)),
        5 => (1_u32..9, outcome, text(), prop::option::of(text()))
            .prop_map(|(number, outcome, summary, content)| result(number, outcome, &summary, content.as_deref())),
        3 => (prop::sample::select(vec!["{\"type\":\"new\"}", "{\"type\":", "[]"]), model)
            .prop_map(|(json, model)| opaque(json, model)),
    ]
}

/// Words of the assistant may still be joined by a call that stands elsewhere; a request never
/// ends with them.
fn may_end_a_request(item: &Item) -> bool {
    match &item.body {
        ItemBody::User { text } | ItemBody::System { text } => !text.trim().is_empty(),
        ItemBody::Result(_) => true,
        ItemBody::Text { .. } | ItemBody::Reasoning(_) | ItemBody::Call(_) | ItemBody::Opaque(_) => false,
    }
}

fn check<R: Renderer>(items: &[Item], new: impl Fn() -> R) -> Result<(), TestCaseError> {
    let mut renderer = new();
    let mut before: Option<Vec<u8>> = None;
    for (place, item) in items.iter().enumerate() {
        renderer.push(item);
        let grown = renderer.body();
        let bytes = grown.to_vec();
        let anew = body(new(), &items[..=place]);
        prop_assert_eq!(&bytes, &anew.to_vec());
        prop_assert_eq!(grown.digest, anew.digest);
        prop_assert_eq!(grown.digest, Hash::of(&bytes));
        prop_assert!(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok());
        if let Some(before) = before {
            let kept = before.len() - END_BYTES;
            prop_assert!(bytes.starts_with(&before[..kept]), "{}", String::from_utf8_lossy(&bytes));
        }
        before = may_end_a_request(item).then_some(bytes);
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_body_that_grew_is_the_body_made_anew_and_begins_as_the_one_before(
        bodies in prop::collection::vec(any_item(), 0..16),
    ) {
        let (spec, items) = (spec(MODEL), items(bodies));
        check(&items, || OpenAiRenderer::new(&spec))?;
        check(&items, || AnthropicRenderer::new(&spec))?;
    }
}
