//! A reply from a stream.
//!
//! A `finish_reason` is the proper end of a reply. `[DONE]` is not asked for: not every server
//! sends it, and nothing of the reply can be missing after the reason. What the dialect leaves
//! open is read as kindly as it can be without guessing: servers differ in how they number calls,
//! and in what they leave out.

use std::borrow::Cow;

use events::event::model::{EndReason, FailureKind, Usage};
use serde_json::Value;

use crate::provider::fault;
use crate::provider::sse::Event;
use crate::provider::stream::{Dialect, Parts, Step, count, malformed, parse, truncated};
use crate::provider::{Delta, Failure, Reply, ReplyPart};

/// A reply in Chat Completions, while it grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChatReply {
    parts: Parts,
    calls: Vec<OpenCall>,
    end: Option<EndReason>,
    is_refused: bool,
    usage: Option<Usage>,
    id: Option<String>,
}

/// Where a call is, by the number that its pieces bear.
#[derive(Clone, Debug)]
struct OpenCall {
    index: Option<u64>,
    place: usize,
}

impl Dialect for ChatReply {
    fn take(&mut self, event: &Event, deltas: &mut Vec<Delta>) -> Result<Step, Failure> {
        match event.data.trim() {
            "" => return Ok(Step::KeepAlive),
            "[DONE]" => return Ok(Step::Done),
            _ => {}
        }
        let chunk = parse(&event.data)?;
        if is_error(event, &chunk) {
            return Err(fault::in_stream(&chunk));
        }
        if self.id.is_none() {
            self.id = chunk["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
        }
        let usage = usage(&chunk["usage"]);
        self.usage = usage.or(self.usage);
        let choice = &chunk["choices"][0];
        let has_delta = self.take_delta(&choice["delta"], deltas)?;
        if let Some(reason) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) {
            self.end = Some(end(reason, choice)?);
        } else if !has_delta && usage.is_none() {
            return Ok(Step::KeepAlive);
        }
        Ok(Step::Progress)
    }

    fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    fn parts(&self) -> &Parts {
        &self.parts
    }

    fn finish(self) -> Result<Reply, Failure> {
        let end = match self.end.ok_or_else(truncated)? {
            EndReason::Stop | EndReason::Calls if self.is_refused => EndReason::Refused,
            // Some say "stop" after calls, and some "tool_calls" after none.
            EndReason::Stop | EndReason::Calls if self.parts.has_calls() => EndReason::Calls,
            EndReason::Stop | EndReason::Calls => EndReason::Stop,
            end @ (EndReason::Length | EndReason::Refused) => end,
        };
        self.parts.reply(end, self.usage, self.id)
    }
}

impl ChatReply {
    /// Takes a piece of the reply; says whether there was anything in it.
    fn take_delta(&mut self, delta: &Value, deltas: &mut Vec<Delta>) -> Result<bool, Failure> {
        let Some(fields) = delta.as_object() else { return Ok(false) };
        for name in ["reasoning_content", "reasoning"] {
            if let Some(words) = words(&delta[name]) {
                self.parts.reasoning(words)?;
                deltas.push(Delta::Reasoning(words.to_owned()));
                // Some send the same words under both names.
                break;
            }
        }
        self.take_content(&delta["content"], deltas)?;
        if let Some(words) = words(&delta["refusal"]) {
            self.is_refused = true;
            self.parts.text(words)?;
            deltas.push(Delta::Text(words.to_owned()));
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.take_call(call)?;
        }
        if delta["function_call"].is_object() {
            // The form before there were several calls in one reply.
            self.take_function(Some(0), "", &delta["function_call"])?;
        }
        Ok(fields.iter().any(|(name, value)| name != "role" && !is_nothing(value)))
    }

    /// Content is a string; a few servers send a list of parts.
    fn take_content(&mut self, content: &Value, deltas: &mut Vec<Delta>) -> Result<(), Failure> {
        if let Some(words) = words(content) {
            self.parts.text(words)?;
            deltas.push(Delta::Text(words.to_owned()));
        }
        for part in content.as_array().into_iter().flatten() {
            if let Some(words) = words(&part["text"]) {
                self.parts.text(words)?;
                deltas.push(Delta::Text(words.to_owned()));
            }
            for thought in part["thinking"].as_array().into_iter().flatten() {
                if let Some(words) = words(&thought["text"]) {
                    self.parts.reasoning(words)?;
                    deltas.push(Delta::Reasoning(words.to_owned()));
                }
            }
        }
        Ok(())
    }

    fn take_call(&mut self, call: &Value) -> Result<(), Failure> {
        let id = words(&call["id"]).unwrap_or_default();
        self.take_function(call["index"].as_u64(), id, &call["function"])
    }

    fn take_function(&mut self, index: Option<u64>, id: &str, function: &Value) -> Result<(), Failure> {
        let name = words(&function["name"]).unwrap_or_default();
        let place = match self.call_place(index, id, name) {
            Some(place) => place,
            None => self.begin_call(index)?,
        };
        // A string, except where a server sends the object itself.
        let arguments = match &function["arguments"] {
            Value::Null => Cow::Borrowed(""),
            Value::String(piece) => Cow::Borrowed(piece.as_str()),
            whole @ (Value::Object(_) | Value::Array(_) | Value::Bool(_) | Value::Number(_)) => {
                Cow::Owned(whole.to_string())
            }
        };
        let part = self.parts.extend(place, id.len() + name.len() + arguments.len())?;
        let ReplyPart::Call { provider_id, tool, raw } = part else {
            return Err(malformed("a piece of a call belongs to no call"));
        };
        for (known, piece) in [(provider_id, id), (tool, name)] {
            // Repeated by some servers in every piece, and sent late by others.
            if known.is_empty() {
                piece.clone_into(known);
            }
        }
        raw.push_str(&arguments);
        Ok(())
    }

    fn begin_call(&mut self, index: Option<u64>) -> Result<usize, Failure> {
        let (provider_id, tool, raw) = Default::default();
        let place = self.parts.push(ReplyPart::Call { provider_id, tool, raw })?;
        self.calls.push(OpenCall { index, place });
        Ok(place)
    }

    /// Which call a piece goes on with; none when it begins one.
    fn call_place(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let known_id = |call: &OpenCall| match self.parts.part(call.place) {
            Some(ReplyPart::Call { provider_id, .. }) => provider_id.as_str(),
            _ => "",
        };
        let mut latest = self.calls.iter().rev();
        let call = match index {
            Some(_) => latest.find(|call| call.index == index)?,
            None if !id.is_empty() => latest.find(|call| known_id(call) == id)?,
            None if name.is_empty() => latest.next()?,
            None => return None,
        };
        // Some number all their calls 0 and tell them apart by id.
        let known = known_id(call);
        let is_other = !name.is_empty() && !id.is_empty() && !known.is_empty() && known != id;
        (!is_other).then_some(call.place)
    }
}

fn is_error(event: &Event, chunk: &Value) -> bool {
    event.name == "error"
        || !chunk["error"].is_null()
        || chunk["object"] == "error"
        || chunk["type"] == "error"
}

fn words(value: &Value) -> Option<&str> {
    value.as_str().filter(|words| !words.is_empty())
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn end(reason: &str, choice: &Value) -> Result<EndReason, Failure> {
    Ok(match reason {
        "tool_calls" | "function_call" => EndReason::Calls,
        "length" | "max_tokens" | "model_length" => EndReason::Length,
        "content_filter" | "refusal" => EndReason::Refused,
        "insufficient_system_resource" => {
            return Err(Failure::new(FailureKind::Overloaded, "the provider had no capacity to go on"));
        }
        "error" => return Err(fault::in_stream(choice)),
        // "stop", and the names that servers have for it.
        _ => EndReason::Stop,
    })
}

/// Usage, in which the cached tokens are among the input tokens. Numbers that make no sense are
/// no reason to lose a reply, and zeroes say nothing.
fn usage(usage: &Value) -> Option<Usage> {
    let number = |value: &Value| count(value).unwrap_or_default();
    let input = &usage["prompt_tokens_details"];
    // The second name is DeepSeek's.
    let cached = count(&input["cached_tokens"]).or_else(|| count(&usage["prompt_cache_hit_tokens"]));
    let input_tokens = number(&usage["prompt_tokens"]);
    let cached_tokens = cached.unwrap_or_default().min(input_tokens);
    let usage = Usage {
        input_tokens,
        cached_tokens,
        cache_write_tokens: number(&input["cache_creation_tokens"]).min(input_tokens - cached_tokens),
        output_tokens: number(&usage["completion_tokens"]),
        reasoning_tokens: number(&usage["completion_tokens_details"]["reasoning_tokens"]),
    };
    (usage.input_tokens > 0 || usage.output_tokens > 0).then_some(usage)
}

#[cfg(test)]
mod tests;
