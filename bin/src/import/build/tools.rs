//! The tools of an imported pod: those that the transcript describes, and those that its calls
//! name. Providers refuse a request whose tools have odd names, so these are in the form in which
//! the calls themselves go to a provider.

use std::collections::BTreeSet;

use actors::provider::ReplyPart;
use events::ToolSpec;
use events::spec::Effect;
use serde_json::json;

use super::words;
use crate::import::transcript::{Entry, Transcript};

/// Bytes of a tool's name that every provider accepts.
const NAME_BYTES_MAX: usize = 64;

/// The tools in the order in which they are described or first called.
pub(super) fn of(transcript: &Transcript) -> Vec<ToolSpec> {
    let mut names = BTreeSet::new();
    let mut tools = Vec::new();
    for tool in &transcript.tools {
        let name = accepted(&tool.name);
        if names.insert(name.clone()) {
            let is_schema = tool.schema["type"] == "object";
            let schema = if is_schema { tool.schema.clone() } else { json!({"type": "object"}) };
            tools.push(ToolSpec { name, schema, ..tool.clone() });
        }
    }
    for part in transcript.entries.iter().filter_map(Entry::answer).flat_map(|answer| &answer.parts) {
        if let ReplyPart::Call { tool, .. } = part {
            let name = accepted(&words::tool_name(tool));
            if names.insert(name.clone()) {
                tools.push(unknown(name));
            }
        }
    }
    tools
}

/// A tool of which the transcript shows only the name.
fn unknown(name: String) -> ToolSpec {
    let description = "imported".to_owned();
    ToolSpec { name, description, schema: json!({"type": "object"}), effect: Effect::Other }
}

fn accepted(name: &str) -> String {
    let is_accepted = |character: &char| character.is_ascii_alphanumeric() || "_-".contains(*character);
    let mend = |character| if is_accepted(&character) { character } else { '_' };
    name.chars().take(NAME_BYTES_MAX).map(mend).collect()
}

#[cfg(test)]
mod tests {
    use actors::provider::ReplyPart;

    use super::*;
    use crate::import::Format;
    use crate::import::transcript::Answer;

    #[test]
    fn every_tool_has_a_name_that_providers_accept_and_stands_once() {
        let call = |tool: &str| ReplyPart::Call {
            provider_id: String::new(),
            tool: tool.to_owned(),
            raw: String::new(),
        };
        let parts = ["a.b", "a_b", "", &"x".repeat(99), "a.b"].map(call).to_vec();
        let mut transcript = Transcript::new(Format::OpenAiMessages, "openai");
        transcript.tools.push(ToolSpec { schema: json!(5), ..unknown("é".to_owned()) });
        transcript.push(1, None, Answer { parts, ..Answer::default() });
        let tools = of(&transcript);
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["_", "a_b", "unknown", &"x".repeat(64)]);
        assert_eq!(tools[0].schema, json!({"type": "object"}));
    }
}
