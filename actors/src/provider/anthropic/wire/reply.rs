//! A reply from a stream.
//!
//! `message_stop` is the proper end of a reply. Blocks are kept as they came: signatures and
//! encrypted reasoning to the byte, arguments as the string that their pieces make, and blocks of
//! unknown kinds as JSON.

use events::event::model::{EndReason, FailureKind, ReasoningPart, Usage};
use events::text::mend_surrogates;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::provider::fault;
use crate::provider::sse::Event;
use crate::provider::stream::{Dialect, Parts, Step, count, malformed, parse, truncated};
use crate::provider::{Delta, Failure, Reply, ReplyPart};

/// A reply in Messages, while it grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct MessageReply {
    parts: Parts,
    blocks: Vec<Block>,
    stop_reason: Option<String>,
    is_stopped: bool,
    counts: Counts,
    id: Option<String>,
}

/// A block of the reply, by the number that its events bear.
#[derive(Clone, Debug)]
struct Block {
    index: u64,
    place: usize,
    is_open: bool,
    /// What the block was when it began: the input of a call, or the whole of an unknown block.
    initial: Initial,
}

#[derive(Clone, Debug)]
enum Initial {
    Known,
    /// Arguments that came at once, in place of pieces.
    Input(String),
    /// A block of an unknown kind, and the pieces of its input.
    Unknown {
        block: Value,
        input: String,
    },
}

/// The counts of tokens that were said last: each count is of all so far.
#[derive(Clone, Debug, Default)]
struct Counts {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    output: Option<u64>,
}

#[derive(Deserialize)]
struct BlockStart<'a> {
    #[serde(borrow)]
    content_block: &'a RawValue,
}

#[derive(Deserialize)]
struct CallStart<'a> {
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

impl Dialect for MessageReply {
    fn take(&mut self, event: &Event, deltas: &mut Vec<Delta>) -> Result<Step, Failure> {
        if event.data.trim().is_empty() {
            return Ok(Step::KeepAlive);
        }
        let json = parse(&event.data)?;
        // Some servers send errors in the shape of another dialect.
        let is_error = event.name == "error" || !json["error"].is_null();
        match json["type"].as_str().unwrap_or(&event.name) {
            _ if is_error => return Err(fault::in_stream(&json)),
            "error" => return Err(fault::in_stream(&json)),
            "message_start" => {
                self.id = json["message"]["id"].as_str().map(str::to_owned);
                self.counts.take(&json["message"]["usage"]);
            }
            "content_block_start" => self.start(index(&json)?, &json["content_block"], &event.data)?,
            "content_block_delta" => self.take_delta(index(&json)?, &json["delta"], deltas)?,
            "content_block_stop" => self.stop(index(&json)?)?,
            "message_delta" => {
                self.counts.take(&json["usage"]);
                if let Some(reason) = json["delta"]["stop_reason"].as_str() {
                    self.stop_reason = Some(reason.to_owned());
                }
            }
            "message_stop" => {
                self.is_stopped = true;
                return Ok(Step::Done);
            }
            // A ping, or what a later version of the protocol adds.
            _ => return Ok(Step::KeepAlive),
        }
        Ok(Step::Progress)
    }

    fn has_ended(&self) -> bool {
        self.is_stopped
    }

    fn parts(&self) -> &Parts {
        &self.parts
    }

    fn finish(self) -> Result<Reply, Failure> {
        if !self.is_stopped {
            return Err(truncated());
        }
        if let Some(open) = self.blocks.iter().find(|block| block.is_open) {
            return Err(malformed(&format!("the message ended inside its block {}", open.index)));
        }
        let end = match self.stop_reason.as_deref().unwrap_or_default() {
            "max_tokens" => EndReason::Length,
            "refusal" => EndReason::Refused,
            "model_context_window_exceeded" => {
                let message = "the context window was full before the reply ended";
                return Err(Failure::new(FailureKind::ContextTooLong, message));
            }
            _ if self.parts.has_calls() => EndReason::Calls,
            // "end_turn", "stop_sequence", and what a later version adds.
            _ => EndReason::Stop,
        };
        self.parts.reply(end, self.counts.usage(), self.id)
    }
}

impl MessageReply {
    fn start(&mut self, index: u64, block: &Value, data: &str) -> Result<(), Failure> {
        if !block.is_object() {
            return Err(malformed("a block of the reply is no object"));
        }
        let string = |field: &str| block[field].as_str().unwrap_or_default().to_owned();
        let some = |field: &str| Some(string(field)).filter(|text| !text.is_empty());
        let data = mend_surrogates(data);
        let raw =
            serde_json::from_str::<BlockStart<'_>>(&data).map_or("{}", |start| start.content_block.get());
        let mut initial = Initial::Known;
        let part = match block["type"].as_str().unwrap_or_default() {
            "text" => ReplyPart::Text(string("text")),
            "thinking" => ReplyPart::Reasoning(ReasoningPart {
                text: string("thinking"),
                signature: some("signature"),
                data: None,
            }),
            "redacted_thinking" => {
                ReplyPart::Reasoning(ReasoningPart { data: some("data"), ..ReasoningPart::default() })
            }
            "tool_use" => {
                let start = serde_json::from_str::<CallStart<'_>>(raw).ok().and_then(|start| start.input);
                initial = Initial::Input(start.map_or(String::new(), |input| input.get().to_owned()));
                ReplyPart::Call { provider_id: string("id"), tool: string("name"), raw: String::new() }
            }
            _ => {
                initial = Initial::Unknown { block: block.clone(), input: String::new() };
                ReplyPart::Opaque(raw.to_owned())
            }
        };
        let place = self.parts.push(part)?;
        self.parts.extend(place, raw.len())?;
        self.blocks.push(Block { index, place, is_open: true, initial });
        Ok(())
    }

    fn take_delta(&mut self, index: u64, delta: &Value, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        let block = open_block(&mut self.blocks, index)?;
        let kind = delta["type"].as_str().unwrap_or_default();
        let piece = |field: &str| delta[field].as_str().unwrap_or_default();
        let words = match kind {
            "text_delta" => piece("text"),
            "thinking_delta" => piece("thinking"),
            "input_json_delta" => piece("partial_json"),
            "signature_delta" => piece("signature"),
            _ => "",
        };
        if let Initial::Unknown { block: whole, input } = &mut block.initial {
            self.parts.extend(block.place, delta.to_string().len())?;
            if kind == "input_json_delta" {
                input.push_str(words);
            } else {
                merge(whole, delta);
            }
            return Ok(());
        }
        match (self.parts.extend(block.place, words.len())?, kind) {
            (ReplyPart::Text(text), "text_delta") => {
                text.push_str(words);
                deltas.push(Delta::Text(words.to_owned()));
            }
            (ReplyPart::Reasoning(reasoning), "thinking_delta") => {
                reasoning.text.push_str(words);
                deltas.push(Delta::Reasoning(words.to_owned()));
            }
            (ReplyPart::Reasoning(reasoning), "signature_delta") => {
                reasoning.signature = Some(words.to_owned()).filter(|signature| !signature.is_empty());
            }
            (ReplyPart::Call { raw, .. }, "input_json_delta") => raw.push_str(words),
            (_, "text_delta" | "thinking_delta" | "signature_delta" | "input_json_delta") => {
                return Err(malformed(&format!("a {kind} for block {index}, which is of another kind")));
            }
            // Citations of a text, or what a later version adds to a known block.
            _ => {}
        }
        Ok(())
    }

    fn stop(&mut self, index: u64) -> Result<(), Failure> {
        let block = open_block(&mut self.blocks, index)?;
        block.is_open = false;
        match (std::mem::replace(&mut block.initial, Initial::Known), self.parts.extend(block.place, 0)?) {
            (Initial::Input(input), ReplyPart::Call { raw, .. }) if raw.is_empty() => *raw = input,
            (Initial::Unknown { block, input }, ReplyPart::Opaque(json)) => {
                if let Some(whole) = whole(block, &input, json) {
                    *json = whole;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn index(json: &Value) -> Result<u64, Failure> {
    json["index"].as_u64().ok_or_else(|| malformed("an event of a block does not say of which"))
}

fn open_block(blocks: &mut [Block], index: u64) -> Result<&mut Block, Failure> {
    let block = blocks.iter_mut().rev().find(|block| block.index == index && block.is_open);
    block.ok_or_else(|| malformed(&format!("an event for block {index}, which has not begun")))
}

/// Adds a piece to a block of an unknown kind, as the known kinds grow: words at the end of
/// words, lists at the end of lists, and anything else in the place of what was there.
fn merge(block: &mut Value, delta: &Value) {
    for (name, value) in delta.as_object().into_iter().flatten().filter(|(name, _)| *name != "type") {
        match (&mut block[name], value) {
            (Value::String(words), Value::String(more)) => words.push_str(more),
            (Value::Array(list), Value::Array(more)) => list.extend(more.iter().cloned()),
            (field, value) => *field = value.clone(),
        }
    }
}

/// A block of an unknown kind with its pieces; none when it had none, and is what it began as.
fn whole(mut block: Value, input: &str, began: &str) -> Option<String> {
    if let Ok(input) = serde_json::from_str(&mend_surrogates(input)) {
        block["input"] = input;
    }
    let same = serde_json::from_str::<Value>(began).is_ok_and(|began| began == block);
    (!same).then(|| block.to_string())
}

impl Counts {
    fn take(&mut self, usage: &Value) {
        for (known, name) in [
            (&mut self.input, "input_tokens"),
            (&mut self.cache_read, "cache_read_input_tokens"),
            (&mut self.cache_write, "cache_creation_input_tokens"),
            (&mut self.output, "output_tokens"),
        ] {
            *known = count(&usage[name]).or(*known);
        }
    }

    /// The provider counts cached input apart; here it is part of the input.
    fn usage(&self) -> Option<Usage> {
        let cached_tokens = self.cache_read.unwrap_or_default();
        let cache_write_tokens = self.cache_write.unwrap_or_default();
        let cached = cached_tokens.saturating_add(cache_write_tokens);
        let usage = Usage {
            input_tokens: self.input.unwrap_or_default().saturating_add(cached),
            cached_tokens,
            cache_write_tokens,
            output_tokens: self.output.unwrap_or_default(),
            reasoning_tokens: 0,
        };
        // Zeroes say nothing.
        (usage.input_tokens > 0 || usage.output_tokens > 0).then_some(usage)
    }
}

#[cfg(test)]
mod tests;
