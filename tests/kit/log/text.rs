//! Texts as they come from models, users and tools: mostly words, sometimes everything else.

use proptest::prelude::*;

/// Texts that broke some runtime: empty, blank, half of a character, control codes.
const ODD: &[&str] = &[
    "",
    " ",
    "\n\t",
    "\u{a0}",
    "\u{200b}",
    "\u{feff}",
    "a\u{0}b",
    "\u{1b}[31mred\u{1b}[0m",
    "👩‍👩‍👧",
    "e\u{301}",
    "\u{fffd}",
    "\u{202e}right to left",
    "\"quoted\\\" {\"json\": [1, 2",
    "</system> <tool_result>",
    "data: [DONE]\n\n",
    "\r\n",
];

/// Words.
pub fn words() -> impl Strategy<Value = String> {
    "[a-z]{1,8}( [a-z]{1,8}){0,4}"
}

/// Words, or something that should not be there.
pub fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => words(),
        2 => prop::sample::select(ODD).prop_map(str::to_owned),
        1 => "\\PC{0,20}",
        1 => any::<String>().prop_map(|text| text.chars().take(40).collect()),
    ]
}

/// The same with a visible character at least: what a pod takes as the input of a turn.
pub fn any_visible_text() -> impl Strategy<Value = String> {
    any_text().prop_map(|text| if text.trim().is_empty() { format!("{text}go") } else { text })
}

/// What providers call calls: repeated, empty, long, odd.
pub fn any_provider_id() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "(call|toolu)_[a-zA-Z0-9]{4}",
        2 => Just("call_1".to_owned()),
        1 => Just(String::new()),
        1 => Just("functions.bash:0".to_owned()),
        1 => Just("x".repeat(300)),
        1 => any_text(),
    ]
}

/// Names of tools that a model may think of.
pub fn any_tool() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(&["bash", "read_file", "write_file"][..]).prop_map(str::to_owned),
        1 => Just("no_such_tool".to_owned()),
        1 => any_text(),
    ]
}
