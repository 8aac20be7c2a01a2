//! What the tests of the providers build requests from.

use events::event::model::Origin;
use events::event::tool::CallOutcome;
use events::item::{Call, CallResult, Opaque, Reasoning};
use events::{Arguments, CallId, Content, Item, ItemBody, Model, Seq, Spec};

use super::stream::{Decoder, Dialect};
use super::{Body, Delta, Failure, Renderer, Reply};

/// A pod without anything but its model.
pub(crate) fn spec(model: &str) -> Spec {
    Spec::new(model.parse().expect("a model"))
}

/// Who is meant by a model's name.
pub(crate) fn origin(model: &str) -> Origin {
    let Model { provider, name } = model.parse().expect("a model");
    Origin { provider, model: name }
}

/// Items, each at a place of its own.
pub(crate) fn items(bodies: Vec<ItemBody>) -> Vec<Item> {
    bodies.into_iter().zip(1..).map(|(body, seq)| Item { seq: Seq(seq), body }).collect()
}

/// The body of a request with these items.
pub(crate) fn body(mut renderer: impl Renderer, items: &[Item]) -> Body {
    for item in items {
        renderer.push(item);
    }
    renderer.body()
}

pub(crate) fn call(number: u32, tool: &str, raw: &str) -> ItemBody {
    let arguments = Arguments::parse(raw).expect("arguments");
    let provider_id = String::new();
    ItemBody::Call(Call { call: CallId(number), tool: tool.to_owned(), provider_id, arguments })
}

pub(crate) fn result(number: u32, outcome: CallOutcome, summary: &str, content: Option<&str>) -> ItemBody {
    ItemBody::Result(CallResult {
        call: CallId(number),
        tool: "bash".to_owned(),
        outcome,
        summary: summary.to_owned(),
        content: content.map(Content::from),
    })
}

pub(crate) fn reasoning(text: &str, signature: Option<&str>, model: &str) -> ItemBody {
    let signature = signature.map(str::to_owned);
    ItemBody::Reasoning(Reasoning { text: text.to_owned(), signature, data: None, origin: origin(model) })
}

pub(crate) fn opaque(json: &str, model: &str) -> ItemBody {
    ItemBody::Opaque(Opaque { json: json.to_owned(), origin: origin(model) })
}

/// What a stream comes to that arrives in these pieces.
pub(crate) fn decode<'a, D: Dialect + Default>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Result<Reply, Failure>, Vec<Delta>) {
    let (mut decoder, mut deltas) = (Decoder::new(D::default()), Vec::new());
    for piece in pieces {
        decoder.push(piece, &mut deltas);
    }
    (decoder.finish(), deltas)
}

/// What a stream comes to that consists of events with these data.
pub(crate) fn reply_of<D: Dialect + Default>(data: &[&str]) -> Result<Reply, Failure> {
    let stream = data.iter().fold(String::new(), |stream, data| stream + "data: " + data + "\n\n");
    decode::<D>([stream.as_bytes()]).0
}
