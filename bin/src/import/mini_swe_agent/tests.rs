//! Small trajectories made by hand.

use serde_json::json;

use super::command;
use crate::import::Format;
use crate::import::outline::{expect, import};

#[test]
fn the_fence_of_shell_is_the_call_and_what_follows_its_result() {
    let messages = json!([
        {"role": "system", "content": "be good"},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "I look\n```bash\nls \"x\"\n```\n"},
        {"role": "user", "content": "<returncode>2</returncode>\n<output>no</output>"},
        {"role": "assistant", "content": "```mswea_bash_command\nls\n```"},
        {"role": "user", "content": "<returncode>0</returncode>"},
    ]);
    let expected = [
        "input go",
        "turn 1 started",
        "request 1",
        "reply Calls: I look\n```bash\nls \"x\"\n```\n, c1=bash{\"command\":\"ls \\\"x\\\"\"}",
        "c1 started",
        "c1 failed: <returncode>2</returncode>\n<output>no</output>",
        "request 2",
        "reply Calls: ```mswea_bash_command\nls\n```, c2=bash{\"command\":\"ls\"}",
        "c2 started",
        "c2 ok: <returncode>0</returncode>",
    ];
    let last = ["turn 1 cancelled the transcript ends here, in the middle of the turn"];
    let session = import(&messages.to_string(), Format::MiniSweAgent);
    expect(&session, &[expected.as_slice(), &last].concat());
    let wrapped =
        json!({"info": {}, "messages": messages, "trajectory_format": "mini-swe-agent-1"}).to_string();
    let session = import(&wrapped, Format::MiniSweAgent);
    expect(&session, &[expected.as_slice(), &["kept info"], &last].concat());
}

#[test]
fn the_first_fence_of_shell_counts() {
    let cases = [
        ("```python\nx\n```\n```bash\na\nb\n```\n```bash\nc\n```", Some("a\nb")),
        ("```bash\nnever closed", None),
        ("no fence", None),
        ("``````", None),
    ];
    for (content, wanted) in cases {
        assert_eq!(command(content), wanted, "{content}");
    }
}
