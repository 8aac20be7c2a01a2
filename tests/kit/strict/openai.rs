//! What servers of the Chat Completions dialect refuse.
//!
//! The vendor itself takes two user messages in a row and system messages anywhere; compatible
//! servers whose chat templates raise an error for either are common, so both are refused here.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Broken, Judge, Rule, Rules};

/// The vendor's bound: "string too long, expected a string with maximum length 40".
const ID_LENGTH_MAX: usize = 40;
const TOOL_NAME_LENGTH_MAX: usize = 64;

const FIELDS: &[&str] = &[
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "n",
    "parallel_tool_calls",
    "presence_penalty",
    "prompt_cache_key",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
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
    tools(&mut judge, body);
    let messages = judge.array("body", body, "messages");
    if messages.is_empty() {
        judge.refuse(Rule::EmptyTurn, "messages", "there is no message");
    }
    turns(&mut judge, messages);
    pairs(&mut judge, messages);
    for (place, message) in messages.iter().enumerate() {
        one_message(&mut judge, &format!("messages[{place}]"), message);
    }
    judge.verdict()
}

fn tools(judge: &mut Judge<'_>, body: &Value) {
    if body["tools"].is_null() {
        for field in ["tool_choice", "parallel_tool_calls"] {
            if !body[field].is_null() {
                judge.refuse(Rule::Field, "body", format!("`{field}` is only allowed with `tools`"));
            }
        }
        return;
    }
    let mut names = BTreeSet::new();
    let tools = judge.array("body", body, "tools");
    if tools.is_empty() {
        judge.refuse(Rule::Field, "tools", "[] is too short");
    }
    for (place, tool) in tools.iter().enumerate() {
        let at = format!("tools[{place}]");
        judge.fields(&at, tool, &["type", "function"]);
        if tool["type"] != "function" {
            judge.refuse(Rule::Field, &at, "`type` should be function");
        }
        let function = &tool["function"];
        let at = format!("{at}.function");
        judge.fields(&at, function, &["name", "description", "parameters", "strict"]);
        let name = judge.string(&at, function, "name");
        judge.listed_tool(&at, name, TOOL_NAME_LENGTH_MAX, &mut names);
        judge.schema(&at, &function["parameters"]);
    }
}

/// The order of roles.
fn turns(judge: &mut Judge<'_>, messages: &[Value]) {
    let mut before = "";
    for (place, message) in messages.iter().enumerate() {
        let at = format!("messages[{place}]");
        let role = match message["role"].as_str().unwrap_or_default() {
            "developer" => "system",
            role => role,
        };
        if role == "system" && place > 0 {
            judge.refuse(Rule::SystemPlace, &at, "the system message must be at the beginning");
        }
        if role == before && role != "tool" {
            judge.refuse(Rule::Alternation, &at, format!("two {role} messages in a row"));
        }
        if matches!(before, "" | "system") && !matches!(role, "user" | "system") {
            judge.refuse(Rule::FirstTurn, &at, format!("the conversation begins with {role}"));
        }
        before = role;
    }
    if judge.rules.answerable && !matches!(before, "user" | "tool") {
        judge.refuse(Rule::LastTurn, "messages", format!("the conversation ends with {before:?}"));
    }
}

/// Calls and their answers.
fn pairs(judge: &mut Judge<'_>, messages: &[Value]) {
    let mut open: Vec<&str> = Vec::new();
    let mut left: BTreeSet<&str> = BTreeSet::new();
    for (place, message) in messages.iter().enumerate() {
        let at = format!("messages[{place}]");
        if message["role"] != "tool" {
            leave_open(judge, &at, &mut open, &mut left);
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            open = calls.map(|call| call["id"].as_str().unwrap_or_default()).collect();
            continue;
        }
        let id = message["tool_call_id"].as_str().unwrap_or_default();
        match open.iter().position(|call| *call == id) {
            Some(0) => {
                open.remove(0);
            }
            Some(later) => {
                judge.refuse(Rule::AnswerOrder, &at, format!("`{id}` is answered before its turn"));
                open.remove(later);
            }
            None if left.contains(id) => {
                judge.refuse(Rule::AnswerPlace, &at, format!("`{id}` is answered after other messages"));
            }
            None => judge.refuse(
                Rule::AnswerWithoutCall,
                &at,
                format!("`{id}` answers no call of the message right before"),
            ),
        }
    }
    leave_open(judge, "messages", &mut open, &mut left);
}

fn leave_open<'m>(judge: &mut Judge<'_>, at: &str, open: &mut Vec<&'m str>, left: &mut BTreeSet<&'m str>) {
    for id in open.drain(..) {
        judge.refuse(Rule::CallWithoutAnswer, at, format!("the call `{id}` before has no answer"));
        left.insert(id);
    }
}

fn one_message(judge: &mut Judge<'_>, at: &str, message: &Value) {
    match message["role"].as_str().unwrap_or_default() {
        "system" | "developer" | "user" => {
            judge.fields(at, message, &["role", "content", "name"]);
            content(judge, at, &message["content"]);
        }
        "tool" => {
            judge.fields(at, message, &["role", "content", "tool_call_id"]);
            judge.string(at, message, "tool_call_id");
            if !message["content"].is_string() {
                content(judge, at, &message["content"]);
            }
        }
        "assistant" => assistant(judge, at, message),
        role => judge.refuse(Rule::Role, at, format!("the role {role:?} is not supported")),
    }
}

fn assistant(judge: &mut Judge<'_>, at: &str, message: &Value) {
    judge.fields(at, message, &["role", "content", "name", "refusal", "tool_calls"]);
    let has_calls = !message["tool_calls"].is_null();
    if !message["content"].is_null() {
        content(judge, at, &message["content"]);
    } else if !has_calls && message["refusal"].is_null() {
        judge.refuse(Rule::EmptyTurn, at, "neither `content` nor `tool_calls`");
    }
    if !has_calls {
        return;
    }
    let calls = judge.array(at, message, "tool_calls");
    if calls.is_empty() {
        judge.refuse(Rule::EmptyTurn, at, "`tool_calls`: [] is too short");
    }
    for (place, call) in calls.iter().enumerate() {
        let at = format!("{at}.tool_calls[{place}]");
        judge.fields(&at, call, &["id", "type", "function"]);
        if call["type"] != "function" {
            judge.refuse(Rule::Field, &at, "`type` should be function");
        }
        let id = judge.string(&at, call, "id");
        judge.call_id(&at, id, ID_LENGTH_MAX);
        let function = &call["function"];
        judge.fields(&at, function, &["name", "arguments"]);
        let name = judge.string(&at, function, "name");
        judge.tool_name(&at, name, TOOL_NAME_LENGTH_MAX);
        let arguments = judge.string(&at, function, "arguments");
        match serde_json::from_str::<Value>(arguments) {
            Ok(Value::Object(_)) => {}
            Ok(_) => judge.refuse(Rule::Arguments, &at, "the arguments are no JSON object"),
            Err(error) => judge.refuse(Rule::Arguments, &at, format!("the arguments are no JSON: {error}")),
        }
    }
}

/// A string, or parts of text.
fn content(judge: &mut Judge<'_>, at: &str, content: &Value) {
    if let Some(text) = content.as_str() {
        return not_empty(judge, at, text);
    }
    let Some(parts) = content.as_array() else {
        return judge.refuse(Rule::Field, at, "`content` should be a string or an array");
    };
    if parts.is_empty() {
        judge.refuse(Rule::EmptyTurn, at, "`content`: [] is too short");
    }
    for (place, part) in parts.iter().enumerate() {
        let at = format!("{at}.content[{place}]");
        match part["type"].as_str().unwrap_or_default() {
            "text" => {
                judge.fields(&at, part, &["type", "text"]);
                let text = judge.string(&at, part, "text");
                not_empty(judge, &at, text);
            }
            kind => judge.refuse(Rule::UnknownPart, &at, format!("a part of the kind {kind:?}")),
        }
    }
}

fn not_empty(judge: &mut Judge<'_>, at: &str, text: &str) {
    if text.is_empty() {
        judge.refuse(Rule::EmptyText, at, "the text is empty");
    }
}
