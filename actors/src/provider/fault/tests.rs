//! Errors in the shapes in which providers were seen to send them.

use FailureKind::{
    Auth, ContextTooLong, InvalidRequest, Malformed, ModelNotFound, Overloaded, RateLimited, Refused, Server,
};

use super::*;

fn failure(status: u16, body: &str) -> Failure {
    of_answer(Answer { status, content_type: "application/json", location: None, body: body.as_bytes() })
}

#[track_caller]
fn expect(kind: FailureKind, cases: &[(u16, &str)]) {
    for (status, body) in cases {
        let failure = failure(*status, body);
        assert_eq!(failure.kind, kind, "{status} {body}");
        assert_eq!(failure.status, Some(*status));
    }
}

#[test]
fn a_context_that_is_too_long_is_known_in_every_shape() {
    expect(
        ContextTooLong,
        &[
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"Your input exceeds the window","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"}}"#,
            ),
            (
                413,
                r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"request (4020 tokens) exceeds the available context size (2048 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":4020,"n_ctx":2048}}"#,
            ),
            (
                400,
                r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.","type":"BadRequestError","param":null,"code":400}"#,
            ),
            (
                400,
                r#"{"error":{"message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096.","type":"BadRequestError","code":400}}"#,
            ),
            (
                400,
                r#"[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#,
            ),
            (
                413,
                r#"{"error":{"message":"Request too large for model on tokens per minute (TPM): Limit 6000, Requested 7000","type":"tokens","code":"rate_limit_exceeded"}}"#,
            ),
            (500, r#"{"error":"the prompt is too long for the context window"}"#),
            (413, "<html><head><title>413 Request Entity Too Large</title></head></html>"),
        ],
    );
}

#[test]
fn a_key_that_does_not_open_is_known() {
    expect(
        Auth,
        &[
            (
                401,
                r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}"#,
            ),
            (
                401,
                r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
            ),
            (403, r#"{"type":"error","error":{"type":"permission_error","message":"no access"}}"#),
            (401, r#"{"error":{"message":"Invalid API Key","type":"authentication_error","code":401}}"#),
            (
                429,
                r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API"}}"#,
            ),
            (402, r#"{"error":{"message":"Insufficient Balance","type":"unknown_error"}}"#),
            (401, "Unauthorized"),
        ],
    );
}

#[test]
fn a_limit_of_requests_is_known_even_when_it_speaks_of_tokens() {
    expect(
        RateLimited,
        &[
            (
                429,
                r#"{"error":{"message":"Rate limit reached for gpt on tokens per min (TPM): Limit 30000, Used 29000. The context window is shared.","type":"tokens","code":"rate_limit_exceeded"}}"#,
            ),
            (429, r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#),
            (429, "too many requests"),
            (429, ""),
        ],
    );
}

#[test]
fn a_provider_without_capacity_is_known() {
    expect(
        Overloaded,
        &[
            (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#),
            (503, r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#),
            (503, "<html>Service Unavailable</html>"),
            (
                500,
                r#"{"error":{"message":"The server is currently overloaded with other requests","type":"server_error"}}"#,
            ),
            (200, r#"{"error":{"message":"Overloaded","type":"overloaded_error"}}"#),
        ],
    );
}

#[test]
fn other_failures_are_told_apart() {
    expect(
        ModelNotFound,
        &[
            (
                404,
                r#"{"error":{"message":"The model `x` does not exist","type":"invalid_request_error","code":"model_not_found"}}"#,
            ),
            (404, r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"}}"#),
            (
                404,
                r#"{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error"}}"#,
            ),
        ],
    );
    expect(
        InvalidRequest,
        &[
            (404, r#"{"error":{"message":"File Not Found","type":"not_found_error","code":404}}"#),
            (
                400,
                r#"{"error":{"code":400,"message":"'messages' is required","type":"invalid_request_error"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"max_tokens is too large: 100000. This model supports at most 16384 completion tokens","type":"invalid_request_error"}}"#,
            ),
            (422, r#"{"detail":[{"loc":["body","messages"],"msg":"field required"}]}"#),
        ],
    );
    expect(
        Refused,
        &[(400, r#"{"error":{"message":"The response was filtered","code":"content_filter","status":400}}"#)],
    );
    expect(
        Server,
        &[
            (500, r#"{"type":"error","error":{"type":"api_error","message":"Internal server error"}}"#),
            (502, "<html><head><title>502 Bad Gateway</title></head></html>"),
            (408, ""),
        ],
    );
}

#[test]
fn errors_inside_a_stream_need_no_status() {
    let kind = |json: &str| in_stream(&serde_json::from_str(json).expect("JSON")).kind;
    let cases = [
        (Overloaded, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#),
        (Server, r#"{"type":"error","error":{"type":"api_error","message":"Internal server error"}}"#),
        (Server, r#"{"error":{"code":502,"message":"Upstream error"}}"#),
        (RateLimited, r#"{"error":{"code":429,"message":"Provider returned error"}}"#),
        (
            ContextTooLong,
            r#"{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"{\"message\":\"prompt is too long\"}"}}}"#,
        ),
        (InvalidRequest, r#"{"error":{"type":"invalid_request_error","message":"no"}}"#),
        (Server, r#"{"error":"something"}"#),
        (Server, r#"{"error":[]}"#),
    ];
    for (expected, json) in cases {
        assert_eq!(kind(json), expected, "{json}");
    }
}

#[test]
fn a_message_says_what_the_provider_said() {
    let said = failure(429, r#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#).message;
    assert_eq!(said, "the provider answered 429 (rate_limit_error): slow down");
    let page = failure(502, "<html>\n<TITLE>502 Bad Gateway</TITLE><p>nginx</p>").message;
    assert_eq!(page, "the server answered 502: 502 Bad Gateway");
    assert_eq!(failure(400, "").message, "the server answered 400");
}

#[test]
fn an_answer_of_another_kind_asks_for_the_base_url() {
    let page = of_answer(Answer { status: 200, content_type: "text/html", location: None, body: b"<html>" });
    assert_eq!(page.kind, Malformed);
    assert!(page.message.contains("text/html") && page.message.contains("base URL"), "{page}");
    let location = Some("https://elsewhere/login");
    let moved = of_answer(Answer { status: 302, content_type: "", location, body: b"" });
    assert_eq!(moved.kind, InvalidRequest);
    assert!(moved.message.contains("https://elsewhere/login"), "{moved}");
}

#[test]
fn a_message_is_cleaned_and_cut() {
    let body = format!(r#"{{"error":{{"message":"\u001b[31mred\u0000{}"}}}}"#, "x".repeat(10_000));
    let message = failure(500, &body).message;
    assert!(message.starts_with("the provider answered 500: red\u{fffd}xxx"), "{message}");
    assert!(message.len() <= crate::limits::FAILURE_MESSAGE_BYTES_MAX);
}

#[test]
fn no_body_at_all_makes_the_classification_panic() {
    let bodies = [
        "",
        "null",
        "[]",
        "{}",
        "7",
        "\"x\"",
        r#"{"error":null}"#,
        r#"{"error":7}"#,
        "<title>",
        "</title><title>",
        "\u{fffd}",
    ];
    for body in bodies {
        for status in [100, 200, 301, 404, 500, 999] {
            assert!(!failure(status, body).message.is_empty(), "{status} {body}");
        }
    }
}
