//! What servers of the Messages dialect refuse.
//!
//! The vendor itself joins two turns of one role; gateways that refuse them are common, so they
//! are refused here. Signatures are bound to all that stood before the reasoning.

use std::collections::BTreeSet;

use serde_json::Value;

use super::seal::{Prefix, blocks};
use super::{Broken, Judge, Rule, Rules};

const ID_LENGTH_MAX: usize = 64;
const TOOL_NAME_LENGTH_MAX: usize = 64;
/// "A maximum of 4 blocks with cache_control may be provided."
const CACHE_MARKS_MAX: usize = 4;
/// "thinking.budget_tokens: input should be greater than or equal to 1024."
const BUDGET_TOKENS_MIN: u64 = 1024;

const FIELDS: &[&str] = &[
    "cache_control",
    "container",
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "output_config",
    "service_tier",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];

/// Judges a body under the default rules.
pub fn check(body: &Value) -> Result<(), Vec<Broken>> {
    check_with(body, &Rules::default())
}

/// Judges a body.
pub fn check_with(body: &Value, rules: &Rules) -> Result<(), Vec<Broken>> {
    let mut judge = Judge::of(body, rules);
    judge.fields("body", body, FIELDS);
    judge.string("body", body, "model");
    budgets(&mut judge, body);
    cache_marks(&mut judge, body);
    if !body["system"].is_null() {
        texts(&mut judge, "system", &body["system"]);
    }
    tools(&mut judge, body);
    let messages = judge.array("body", body, "messages");
    turns(&mut judge, messages);
    let mut prefix = Prefix::default();
    let mut open = Vec::new();
    let mut answered = BTreeSet::new();
    for (place, message) in messages.iter().enumerate() {
        let at = format!("messages[{place}]");
        judge.fields(&at, message, &["role", "content"]);
        parts(&mut judge, &at, message, &mut prefix);
        answers(&mut judge, &at, message, &mut open, &mut answered);
    }
    for id in open {
        judge.refuse(Rule::CallWithoutAnswer, "messages", format!("the call `{id}` has no answer"));
    }
    judge.verdict()
}

fn budgets(judge: &mut Judge<'_>, body: &Value) {
    let Some(output) = body["max_tokens"].as_u64().filter(|tokens| *tokens > 0) else {
        return judge.refuse(Rule::Field, "body", "`max_tokens` should be a positive integer");
    };
    if body["thinking"]["type"] != "enabled" {
        return;
    }
    let budget = body["thinking"]["budget_tokens"].as_u64().unwrap_or_default();
    if budget < BUDGET_TOKENS_MIN || budget >= output {
        judge.refuse(
            Rule::Budget,
            "thinking",
            format!("`budget_tokens` should be at least {BUDGET_TOKENS_MIN} and less than `max_tokens`"),
        );
    }
    if !matches!(body["tool_choice"]["type"].as_str(), None | Some("auto" | "none")) {
        judge.refuse(Rule::Budget, "tool_choice", "thinking may not be enabled when tool use is forced");
    }
}

fn cache_marks(judge: &mut Judge<'_>, body: &Value) {
    let marked = |value: &Value| usize::from(!value["cache_control"].is_null());
    let in_array = |value: &Value| value.as_array().into_iter().flatten().map(marked).sum::<usize>();
    // The mark of the whole request takes one of the four as well.
    let mut marks = marked(body) + in_array(&body["system"]) + in_array(&body["tools"]);
    for (place, message) in body["messages"].as_array().into_iter().flatten().enumerate() {
        for block in message["content"].as_array().into_iter().flatten() {
            marks += marked(block) + in_array(&block["content"]);
            let sealed = matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"));
            if sealed && marked(block) > 0 {
                judge.refuse(Rule::CacheMark, &format!("messages[{place}]"), "a cache mark on reasoning");
            }
        }
    }
    if marks > CACHE_MARKS_MAX {
        judge.refuse(Rule::CacheMark, "body", format!("{marks} cache marks, at most {CACHE_MARKS_MAX}"));
    }
}

fn tools(judge: &mut Judge<'_>, body: &Value) {
    if body["tools"].is_null() {
        if !body["tool_choice"].is_null() {
            judge.refuse(Rule::Field, "body", "`tool_choice` may only be specified with `tools`");
        }
        return;
    }
    let mut names = BTreeSet::new();
    for (place, tool) in judge.array("body", body, "tools").iter().enumerate() {
        let at = format!("tools[{place}]");
        judge.fields(&at, tool, &["type", "name", "description", "input_schema", "cache_control"]);
        let name = judge.string(&at, tool, "name");
        judge.listed_tool(&at, name, TOOL_NAME_LENGTH_MAX, &mut names);
        judge.schema(&at, &tool["input_schema"]);
    }
}

fn turns(judge: &mut Judge<'_>, messages: &[Value]) {
    if messages.is_empty() {
        return judge.refuse(Rule::EmptyTurn, "messages", "at least one message is required");
    }
    let mut before = "";
    for (place, message) in messages.iter().enumerate() {
        let at = format!("messages[{place}]");
        let role = message["role"].as_str().unwrap_or_default();
        match role {
            "user" | "assistant" => {}
            "system" => judge.refuse(Rule::SystemPlace, &at, "the system prompt is a field of its own"),
            role => judge.refuse(Rule::Role, &at, format!("the role {role:?} is not supported")),
        }
        if role == before {
            judge.refuse(Rule::Alternation, &at, "roles must alternate between user and assistant");
        }
        if place == 0 && role != "user" {
            judge.refuse(Rule::FirstTurn, &at, "the first message must use the user role");
        }
        before = role;
    }
    if judge.rules.answerable && before == "assistant" {
        judge.refuse(Rule::LastTurn, "messages", "the conversation must end with a user message");
    }
}

/// A string of text, or blocks of text only.
fn texts(judge: &mut Judge<'_>, at: &str, content: &Value) {
    if !(content.is_string() || content.is_array()) {
        return judge.refuse(Rule::Field, at, "should be a string or an array");
    }
    for (place, block) in blocks(content).iter().enumerate() {
        let at = format!("{at}[{place}]");
        if block["type"] == "text" {
            text(judge, &at, block);
        } else {
            judge.refuse(Rule::UnknownPart, &at, format!("a block of the kind {}", block["type"]));
        }
    }
}

fn text(judge: &mut Judge<'_>, at: &str, block: &Value) {
    judge.fields(at, block, &["type", "text", "cache_control"]);
    if judge.string(at, block, "text").trim().is_empty() {
        judge.refuse(Rule::EmptyText, at, "text content blocks must contain non-whitespace text");
    }
}

fn parts(judge: &mut Judge<'_>, at: &str, message: &Value, prefix: &mut Prefix) {
    let content = &message["content"];
    let role = message["role"].as_str().unwrap_or_default();
    if !(content.is_string() || content.is_array()) {
        return judge.refuse(Rule::Field, at, "`content` should be a string or an array");
    }
    let blocks = blocks(content);
    if blocks.is_empty() {
        judge.refuse(Rule::EmptyTurn, at, "all messages must have non-empty content");
    }
    for (place, block) in blocks.iter().enumerate() {
        let at = format!("{at}.content[{place}]");
        match (block["type"].as_str().unwrap_or_default(), role) {
            ("text", _) => text(judge, &at, block),
            ("tool_use", "assistant") => call(judge, &at, block),
            ("tool_result", "user") => result(judge, &at, block),
            ("thinking" | "redacted_thinking", "assistant") => reasoning(judge, &at, block, prefix),
            ("tool_use" | "tool_result" | "thinking" | "redacted_thinking", _) => {
                judge.refuse(Rule::Role, &at, format!("a {} block of the role {role}", block["type"]));
            }
            (kind, _) => {
                if !judge.rules.seal.as_ref().is_none_or(|seal| seal.is_stamped(block)) {
                    judge.refuse(Rule::UnknownPart, &at, format!("the tag {kind:?} was not sent from here"));
                }
            }
        }
        prefix.push(role, block);
    }
    let last = blocks.last().map_or("", |block| block["type"].as_str().unwrap_or_default());
    if role == "assistant" && matches!(last, "thinking" | "redacted_thinking") {
        judge.refuse(
            Rule::ReasoningPlace,
            at,
            "the final block in an assistant message cannot be `thinking`",
        );
    }
}

fn call(judge: &mut Judge<'_>, at: &str, block: &Value) {
    judge.fields(at, block, &["type", "id", "name", "input", "cache_control"]);
    let id = judge.string(at, block, "id");
    judge.call_id(at, id, ID_LENGTH_MAX);
    let name = judge.string(at, block, "name");
    judge.tool_name(at, name, TOOL_NAME_LENGTH_MAX);
    if !block["input"].is_object() {
        judge.refuse(Rule::Arguments, at, "`input` should be an object");
    }
}

fn result(judge: &mut Judge<'_>, at: &str, block: &Value) {
    judge.fields(at, block, &["type", "tool_use_id", "content", "is_error", "cache_control"]);
    judge.string(at, block, "tool_use_id");
    // A result may be empty as a string and as an absent field, but not as a block of text.
    if block["content"].is_array() {
        texts(judge, &format!("{at}.content"), &block["content"]);
    } else if !(block["content"].is_string() || block["content"].is_null()) {
        judge.refuse(Rule::Field, at, "`content` should be a string or an array");
    }
}

fn reasoning(judge: &mut Judge<'_>, at: &str, block: &Value, prefix: &Prefix) {
    let hidden = block["type"] == "redacted_thinking";
    let (fields, sealed) = if hidden {
        (&["type", "data"][..], judge.string(at, block, "data"))
    } else {
        (&["type", "thinking", "signature"][..], judge.string(at, block, "signature"))
    };
    judge.fields(at, block, fields);
    if sealed.is_empty() {
        return judge.refuse(Rule::ReasoningPlace, at, "reasoning without a signature");
    }
    let verdict = match &judge.rules.seal {
        None => Ok(()),
        Some(seal) if hidden => seal.check_hidden(sealed, prefix),
        Some(seal) => seal.check(sealed, prefix, block["thinking"].as_str().unwrap_or_default()),
    };
    if let Err(rule) = verdict {
        judge.refuse(rule, at, "invalid `signature` in `thinking` block");
    }
}

/// Answers stand first in the turn right after the calls, in their order.
fn answers(
    judge: &mut Judge<'_>,
    at: &str,
    message: &Value,
    open: &mut Vec<String>,
    answered: &mut BTreeSet<String>,
) {
    let id_of = |block: &Value, field: &str| block[field].as_str().unwrap_or_default().to_owned();
    let mut words_before = false;
    let mut calls = Vec::new();
    for block in message["content"].as_array().into_iter().flatten() {
        if block["type"] == "tool_use" {
            calls.push(id_of(block, "id"));
        }
        if block["type"] != "tool_result" {
            words_before = true;
            continue;
        }
        let id = id_of(block, "tool_use_id");
        match open.iter().position(|call| *call == id) {
            _ if words_before => {
                judge.refuse(Rule::AnswerPlace, at, format!("`{id}` is answered after other words"));
                open.retain(|call| *call != id);
            }
            Some(place) => {
                if place > 0 {
                    judge.refuse(Rule::AnswerOrder, at, format!("`{id}` is answered before its turn"));
                }
                open.remove(place);
            }
            None if answered.contains(&id) => {
                judge.refuse(Rule::AnswerOrder, at, format!("`{id}` is answered more than once"));
            }
            None => judge.refuse(
                Rule::AnswerWithoutCall,
                at,
                format!("unexpected `tool_use_id` {id:?}: no such call in the previous message"),
            ),
        }
        answered.insert(id);
    }
    for id in open.drain(..) {
        judge.refuse(
            Rule::CallWithoutAnswer,
            at,
            format!("the call `{id}` has no answer immediately after it"),
        );
    }
    *open = calls;
}
