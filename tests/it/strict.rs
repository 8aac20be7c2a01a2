//! Each rule of the strict validators can be broken, and what is right breaks none.

use kit::strict::seal::Prefix;
use kit::strict::{Rule, Rules, Seal, anthropic, openai, parse};
use serde_json::{Value, json};

/// What is broken by a change.
type Case = (&'static [Rule], fn(&mut Value));

/// Applies a change to a body and expects exactly these rules to be broken.
fn breaks(
    check: impl Fn(&Value) -> Vec<Rule>,
    right: &Value,
    change: impl FnOnce(&mut Value),
    rules: &[Rule],
) {
    let mut body = right.clone();
    change(&mut body);
    let mut broken = check(&body);
    broken.sort();
    broken.dedup();
    let mut rules = rules.to_vec();
    rules.sort();
    assert_eq!(broken, rules, "{body:#}");
}

mod chat_completions {
    use super::*;

    fn right() -> Value {
        let call =
            |id: &str| json!({"id": id, "type": "function", "function": {"name": "bash", "arguments": "{}"}});
        json!({
            "model": "m", "stream": true, "tool_choice": "auto",
            "tools": [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}],
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": "so", "tool_calls": [call("a"), call("b")]},
                {"role": "tool", "tool_call_id": "a", "content": "1"},
                {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "2"}]},
                {"role": "user", "content": [{"type": "text", "text": "and"}, {"type": "text", "text": "now"}]},
            ],
        })
    }

    fn check(body: &Value) -> Vec<Rule> {
        let broken = openai::check(body).err().unwrap_or_default();
        broken.into_iter().map(|broken| broken.rule).collect()
    }

    #[test]
    fn a_right_request_passes() {
        assert_eq!(openai::check(&right()), Ok(()));
    }

    #[test]
    fn turns_out_of_order_are_refused() {
        let cases: [Case; 7] = [
            (&[Rule::Alternation], |body| insert(body, 2, json!({"role": "user", "content": "x"}))),
            (&[Rule::SystemPlace, Rule::LastTurn], |body| {
                insert(body, 6, json!({"role": "system", "content": "x"}));
            }),
            (&[Rule::SystemPlace], |body| insert(body, 5, json!({"role": "system", "content": "x"}))),
            (&[Rule::FirstTurn], |body| insert(body, 1, json!({"role": "assistant", "content": "x"}))),
            (&[Rule::LastTurn], |body| insert(body, 6, json!({"role": "assistant", "content": "x"}))),
            (&[Rule::Role], |body| insert(body, 5, json!({"role": "narrator", "content": "x"}))),
            (&[Rule::EmptyTurn, Rule::LastTurn], |body| body["messages"] = json!([])),
        ];
        for (rules, change) in cases {
            breaks(check, &right(), change, rules);
        }
    }

    #[test]
    fn calls_and_answers_that_do_not_match_are_refused() {
        let cases: [Case; 8] = [
            (&[Rule::CallWithoutAnswer], |body| remove(body, 4)),
            (&[Rule::AnswerWithoutCall], |body| body["messages"][2]["tool_calls"] = json!(null)),
            (&[Rule::AnswerOrder], |body| swap(body, 3, 4)),
            (&[Rule::AnswerPlace, Rule::CallWithoutAnswer], |body| swap(body, 4, 5)),
            (&[Rule::AnswerWithoutCall], |body| {
                insert(body, 5, json!({"role": "tool", "tool_call_id": "b", "content": "x"}));
            }),
            (&[Rule::AnswerWithoutCall, Rule::CallWithoutAnswer], |body| {
                body["messages"][4]["tool_call_id"] = "c".into();
            }),
            (
                &[Rule::AnswerWithoutCall, Rule::CallWithoutAnswer, Rule::FirstTurn, Rule::AnswerPlace],
                |body| {
                    swap(body, 1, 3);
                },
            ),
            (&[Rule::CallWithoutAnswer, Rule::LastTurn], |body| {
                body["messages"].as_array_mut().unwrap().truncate(3);
            }),
        ];
        for (rules, change) in cases {
            breaks(check, &right(), change, rules);
        }
    }

    #[test]
    fn ids_names_and_arguments_that_are_odd_are_refused() {
        fn with_id(body: &mut Value, id: &str) {
            body["messages"][2]["tool_calls"][1]["id"] = id.into();
            body["messages"][4]["tool_call_id"] = id.into();
        }
        fn function(body: &mut Value) -> &mut Value {
            &mut body["messages"][2]["tool_calls"][1]["function"]
        }
        let cases: [Case; 9] = [
            (&[Rule::RepeatedId], |body| with_id(body, "a")),
            (&[Rule::Id], |body| with_id(body, "")),
            (&[Rule::Id], |body| with_id(body, "a b")),
            (&[Rule::Id], |body| with_id(body, &"x".repeat(41))),
            (&[Rule::ToolName], |body| function(body)["name"] = "a tool".into()),
            (&[Rule::ToolName], |body| function(body)["name"] = "".into()),
            (&[Rule::Arguments], |body| function(body)["arguments"] = "[]".into()),
            (&[Rule::Arguments], |body| function(body)["arguments"] = "{\"half".into()),
            (&[Rule::Field], |body| body["messages"][2]["tool_calls"][0]["type"] = "custom".into()),
        ];
        for (rules, change) in cases {
            breaks(check, &right(), change, rules);
        }
    }

    #[test]
    fn empty_words_unknown_fields_and_wrong_tools_are_refused() {
        let cases: [Case; 14] = [
            (&[Rule::EmptyText], |body| body["messages"][1]["content"] = "".into()),
            (&[Rule::EmptyText], |body| body["messages"][2]["content"] = "".into()),
            (&[Rule::EmptyText], |body| body["messages"][5]["content"][0]["text"] = "".into()),
            (&[Rule::EmptyTurn], |body| body["messages"][5]["content"] = json!([])),
            (&[Rule::EmptyTurn], |body| {
                insert(body, 5, json!({"role": "assistant", "content": null}));
            }),
            (&[Rule::Nul], |body| body["messages"][1]["content"] = "a\0b".into()),
            (&[Rule::UnknownField], |body| body["reasoning"] = json!({})),
            (&[Rule::UnknownField], |body| body["messages"][2]["reasoning_content"] = "hm".into()),
            (&[Rule::UnknownPart], |body| body["messages"][5]["content"][0] = json!({"type": "new"})),
            (&[Rule::ToolSchema], |body| {
                body["tools"][0]["function"]["parameters"] = json!({"type": "string"});
            }),
            (&[Rule::ToolSchema], |body| {
                body["tools"][0]["function"]["parameters"] = json!({"type": "object", "anyOf": []});
            }),
            (&[Rule::ToolName], |body| {
                let tool = body["tools"][0].clone();
                body["tools"].as_array_mut().unwrap().push(tool);
            }),
            (&[Rule::Field], |body| body["tools"] = json!([])),
            (&[Rule::Field], |body| body["tools"] = json!(null)),
        ];
        for (rules, change) in cases {
            breaks(check, &right(), change, rules);
        }
    }

    #[test]
    fn what_is_larger_than_the_window_is_refused() {
        let rules = Rules { window_tokens: Some(100), ..Rules::default() };
        let broken = openai::check_with(&right(), &rules).unwrap_err();
        assert_eq!(broken[0].rule, Rule::Window);
    }
}

mod messages {
    use super::*;

    fn seal() -> Seal {
        Seal::named("here")
    }

    fn right() -> Value {
        let mut body = json!({
            "model": "m", "stream": true, "max_tokens": 2048, "system": "be brief",
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "tools": [{"name": "bash", "input_schema": {"type": "object"}}],
            "messages": [{"role": "user", "content": "go"}],
        });
        let sealed = seal().sign(&Prefix::of(&body), "hm");
        let unknown = seal().stamp(&json!({"type": "new_thing"}));
        let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "bash", "input": {}});
        let messages = body["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": sealed}, unknown, call("a"), call("b"),
        ]}));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "1"},
            {"type": "tool_result", "tool_use_id": "b", "is_error": true},
            {"type": "text", "text": "and now"},
        ]}));
        body
    }

    fn check(body: &Value) -> Vec<Rule> {
        let rules = Rules { seal: Some(seal()), ..Rules::default() };
        let broken = anthropic::check_with(body, &rules).err().unwrap_or_default();
        broken.into_iter().map(|broken| broken.rule).collect()
    }

    fn content(body: &mut Value, message: usize) -> &mut Vec<Value> {
        body["messages"][message]["content"].as_array_mut().unwrap()
    }

    #[test]
    fn a_right_request_passes() {
        assert_eq!(check(&right()), []);
        assert_eq!(anthropic::check(&right()), Ok(()));
    }

    #[test]
    fn turns_out_of_order_are_refused() {
        let cases: [Case; 6] = [
            (&[Rule::Alternation], |body| insert(body, 3, json!({"role": "user", "content": "x"}))),
            (&[Rule::LastTurn], |body| insert(body, 3, json!({"role": "assistant", "content": "x"}))),
            (&[Rule::FirstTurn, Rule::ReasoningMoved], |body| {
                insert(body, 0, json!({"role": "assistant", "content": "x"}));
            }),
            (&[Rule::SystemPlace], |body| insert(body, 3, json!({"role": "system", "content": "x"}))),
            (&[Rule::Role], |body| insert(body, 3, json!({"role": "tool", "content": "x"}))),
            (&[Rule::EmptyTurn], |body| body["messages"] = json!([])),
        ];
        for (rules, change) in cases {
            breaks(check, &right(), change, rules);
        }
    }

    #[test]
    fn calls_and_answers_that_do_not_match_are_refused() {
        let cases: [Case; 7] = [
            (&[Rule::CallWithoutAnswer], |body| drop(content(body, 2).remove(1))),
            (&[Rule::AnswerWithoutCall], |body| drop(content(body, 1).pop())),
            (&[Rule::AnswerOrder], |body| content(body, 2).swap(0, 1)),
            (&[Rule::AnswerPlace], |body| content(body, 2).swap(1, 2)),
            (&[Rule::AnswerOrder], |body| {
                let twice = content(body, 2)[1].clone();
                content(body, 2).insert(2, twice);
            }),
            (&[Rule::CallWithoutAnswer, Rule::AnswerWithoutCall], |body| {
                let late = content(body, 2).remove(1);
                insert(body, 3, json!({"role": "assistant", "content": "x"}));
                insert(body, 4, json!({"role": "user", "content": [late]}));
            }),
            (&[Rule::CallWithoutAnswer, Rule::LastTurn], |body| remove(body, 2)),
        ];
        for (rules, change) in cases {
            breaks(check, &right(), change, rules);
        }
    }

    #[test]
    fn ids_names_and_arguments_that_are_odd_are_refused() {
        fn with_id(body: &mut Value, id: &str) {
            content(body, 1)[3]["id"] = id.into();
            content(body, 2)[1]["tool_use_id"] = id.into();
        }
        let cases: [Case; 6] = [
            (&[Rule::RepeatedId], |body| with_id(body, "a")),
            (&[Rule::Id], |body| with_id(body, "")),
            (&[Rule::Id], |body| with_id(body, "a.b")),
            (&[Rule::Id], |body| with_id(body, &"x".repeat(65))),
            (&[Rule::ToolName], |body| content(body, 1)[2]["name"] = "a tool".into()),
            (&[Rule::Arguments], |body| content(body, 1)[2]["input"] = "{}".into()),
        ];
        for (rules, change) in cases {
            breaks(check, &right(), change, rules);
        }
    }

    #[test]
    fn reasoning_that_is_not_as_it_was_signed_is_refused() {
        let cases: [Case; 8] = [
            (&[Rule::ReasoningAltered], |body| content(body, 1)[0]["thinking"] = "ho".into()),
            (&[Rule::ReasoningAltered], |body| content(body, 1)[0]["thinking"] = "".into()),
            (&[Rule::ReasoningMoved], |body| body["messages"][0]["content"] = "stop".into()),
            (&[Rule::ReasoningMoved], |body| content(body, 1).swap(0, 2)),
            (&[Rule::ReasoningForeign], |body| {
                let foreign = Seal::named("elsewhere").sign(&Prefix::default(), "hm");
                content(body, 1)[0]["signature"] = foreign.into();
            }),
            (&[Rule::ReasoningPlace], |body| content(body, 1)[0]["signature"] = "".into()),
            (&[Rule::ReasoningPlace], |body| {
                let thought = content(body, 1)[0].clone();
                insert(body, 1, json!({"role": "assistant", "content": [thought]}));
                insert(body, 2, json!({"role": "user", "content": "x"}));
                content(body, 3).remove(0);
            }),
            (&[Rule::ReasoningForeign], |body| {
                content(body, 1)[0] = json!({"type": "redacted_thinking", "data": "foreign"});
            }),
        ];
        for (rules, change) in cases {
            breaks(check, &right(), change, rules);
        }
    }

    #[test]
    fn hidden_reasoning_comes_back_whole() {
        let mut body = right();
        let prefix = Prefix::of(&json!({"messages": [body["messages"][0]]}));
        let data = seal().hide(&prefix, "secret");
        content(&mut body, 1)[0] = json!({"type": "redacted_thinking", "data": data});
        assert_eq!(check(&body), []);
        let cut = |body: &mut Value| {
            let data = data[..data.len() - 4].to_owned();
            content(body, 1)[0]["data"] = data.into();
        };
        breaks(check, &body, cut, &[Rule::ReasoningAltered]);
    }

    #[test]
    fn empty_words_unknown_fields_and_wrong_tools_are_refused() {
        let cases: [Case; 14] = [
            (&[Rule::EmptyText], |body| content(body, 2)[2]["text"] = " \n".into()),
            (&[Rule::EmptyText], |body| {
                content(body, 2)[1]["content"] = json!([{"type": "text", "text": ""}]);
            }),
            (&[Rule::EmptyText], |body| body["system"] = json!([{"type": "text", "text": ""}])),
            (&[Rule::EmptyTurn], |body| {
                insert(body, 3, json!({"role": "assistant", "content": []}));
                insert(body, 4, json!({"role": "user", "content": "x"}));
            }),
            (&[Rule::Nul], |body| content(body, 2)[2]["text"] = "a\0b".into()),
            (&[Rule::UnknownField], |body| body["seed"] = 1.into()),
            (&[Rule::UnknownField], |body| content(body, 2)[0]["name"] = "bash".into()),
            (&[Rule::UnknownPart], |body| content(body, 1)[1]["more"] = 1.into()),
            (&[Rule::ToolSchema], |body| body["tools"][0]["input_schema"] = json!({})),
            (&[Rule::Field], |body| body["max_tokens"] = 0.into()),
            (&[Rule::Budget], |body| body["thinking"]["budget_tokens"] = 2048.into()),
            (&[Rule::Budget], |body| body["tool_choice"] = json!({"type": "any"})),
            (&[Rule::CacheMark], |body| {
                let marked = json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}});
                body["system"] = Value::Array(vec![marked; 5]);
            }),
            (&[Rule::CacheMark], |body| {
                content(body, 1)[0]["cache_control"] = json!({"type": "ephemeral"});
            }),
        ];
        for (rules, change) in cases {
            breaks(check, &right(), change, rules);
        }
    }
}

#[test]
fn bytes_that_are_no_json_are_refused() {
    for raw in [&b"{\"a\":\"\xff\"}"[..], br#"{"a":"\ud83d"}"#, b"{", b"", b"{}{}"] {
        assert_eq!(parse(raw).unwrap_err()[0].rule, Rule::Json);
    }
}

fn insert(body: &mut Value, place: usize, message: Value) {
    body["messages"].as_array_mut().unwrap().insert(place, message);
}

fn remove(body: &mut Value, place: usize) {
    body["messages"].as_array_mut().unwrap().remove(place);
}

fn swap(body: &mut Value, one: usize, other: usize) {
    body["messages"].as_array_mut().unwrap().swap(one, other);
}
