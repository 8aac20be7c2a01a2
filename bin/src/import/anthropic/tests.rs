//! Small conversations made by hand.

use serde_json::json;

use crate::import::Format;
use crate::import::outline::{expect, import};

#[test]
fn a_request_body_becomes_a_log() {
    let body = json!({
        "model": "claude-x",
        "system": [{"type": "text", "text": "be good", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "look", "description": "looks", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "redacted_thinking", "data": "d"},
                {"type": "text", "text": "I look"},
                {"type": "tool_use", "id": "a", "name": "look", "input": {"z": 1, "a": 2}},
            ]},
            {"role": "user", "content": [
                {"type": "text", "text": "quick"},
                {"type": "tool_result", "tool_use_id": "a", "is_error": true, "content": [{"type": "text", "text": "no"}]},
            ]},
            {"role": "assistant", "content": "done"},
        ],
    });
    // The order of keys is that of the file.
    let text = body.to_string().replace("{\"a\":2,\"z\":1}", "{\"z\": 1, \"a\": 2}");
    let session = import(&text, Format::AnthropicMessages);
    expect(
        &session,
        &[
            "input go",
            "turn 1 started",
            "request 1",
            "reply Calls: <sealed hm>, <sealed >, I look, c1=look{\"z\": 1, \"a\": 2}",
            "c1 started",
            "c1 failed: no",
            "input quick",
            "request 2",
            "reply Stop: done",
            "turn 1 finished",
        ],
    );
    assert_eq!(session.spec.model.to_string(), "anthropic:claude-x");
    assert_eq!(session.spec.system, "be good");
    assert_eq!(session.spec.tools.len(), 1);
    assert_eq!(session.spec.tools[0].description, "looks");
}
