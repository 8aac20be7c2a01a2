//! A guess at tokens, for what no provider has counted yet.

use crate::{Item, ItemBody};

/// Tokens that the frame of one message takes, whatever it says.
const TOKENS_PER_ITEM: u64 = 4;

/// Estimated tokens of a text. Four bytes of ASCII make a token on average, and every character
/// beyond it about one.
pub fn text_tokens(text: &str) -> u64 {
    let beyond = text.chars().filter(|character| !character.is_ascii()).count();
    let ascii = text.bytes().filter(u8::is_ascii).count();
    (ascii as u64).div_ceil(4) + beyond as u64
}

/// Estimated tokens of what the model is sent of an item.
pub fn item_tokens(item: &Item) -> u64 {
    TOKENS_PER_ITEM
        + match &item.body {
            ItemBody::User { text } | ItemBody::System { text } | ItemBody::Text { text } => {
                text_tokens(text)
            }
            ItemBody::Reasoning(reasoning) => {
                text_tokens(&reasoning.text)
                    + reasoning.signature.as_deref().map_or(0, text_tokens)
                    + reasoning.data.as_deref().map_or(0, text_tokens)
            }
            ItemBody::Call(call) => text_tokens(&call.tool) + text_tokens(call.arguments.raw()),
            ItemBody::Result(result) => {
                text_tokens(&result.summary)
                    + result.content.as_ref().map_or(0, |content| text_tokens(content.as_str()))
            }
            ItemBody::Opaque(opaque) => text_tokens(&opaque.json),
        }
}
