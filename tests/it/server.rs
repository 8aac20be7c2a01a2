//! The strict model server says what it is told to say, and misbehaves as it is told to.

use events::event::model::EndReason;
use kit::server::{Answer, At, StrictServer, Then, Trouble, UsageStyle};
use kit::strict::{Rule, Rules};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A client without any opinion: what came back, as text, and whether the body ended properly.
async fn post(base: &str, path: &str, body: &str) -> (String, bool) {
    let text = String::from_utf8_lossy(&read(open(base, path, body).await).await).into_owned();
    let ended = text.ends_with("\r\n0\r\n\r\n") || text.contains("content-length: ");
    (text, ended)
}

async fn read(mut socket: TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    // A broken connection is an answer as well: what had come until then.
    let _ = socket.read_to_end(&mut answer).await;
    answer
}

async fn open(base: &str, path: &str, body: &str) -> TcpStream {
    let address = base.trim_start_matches("http://").trim_end_matches("/v1");
    let mut socket = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         authorization: Bearer key\r\nx-api-key: key\r\nanthropic-version: 2023-06-01\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    socket
}

fn chat(text: &str) -> Value {
    json!({"model": "m", "stream": true, "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": text}]})
}

fn message(text: &str) -> Value {
    json!({"model": "m", "stream": true, "max_tokens": 100, "messages": [{"role": "user", "content": text}]})
}

async fn ask_openai(server: &StrictServer, body: &Value) -> (String, bool) {
    post(&server.base_url_openai(), "/v1/chat/completions", &body.to_string()).await
}

async fn ask_anthropic(server: &StrictServer, body: &Value) -> (String, bool) {
    post(&server.base_url_anthropic(), "/v1/messages", &body.to_string()).await
}

/// The body of an answer without the marks of its chunks.
fn unchunked(answer: &[u8]) -> Vec<u8> {
    let line_end = |bytes: &[u8]| bytes.windows(2).position(|pair| pair == b"\r\n");
    let head = answer.windows(4).position(|end| end == b"\r\n\r\n").unwrap();
    let mut rest = &answer[head + 4..];
    let mut body = Vec::new();
    while let Some(end) = line_end(rest) {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
    body
}

/// The data of all events of an answer.
fn data(answer: &str) -> Vec<Value> {
    let lines = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[tokio::test]
async fn a_scripted_reply_comes_in_the_words_of_both_dialects() {
    let server = StrictServer::start();
    let answer = Answer::reasoning("hm")
        .and_text("A text that is longer than one delta.")
        .and_call("bash", &json!({"command": "ls"}))
        .and_raw_call("odd id", "bash", "{\"half");
    server.enqueue_all([answer.clone(), answer]);

    let (openai, ended) = ask_openai(&server, &chat("x")).await;
    assert!(ended && openai.contains("data: [DONE]"));
    let events = data(&openai);
    let together =
        |path: &str| -> String { events.iter().filter_map(|event| event.pointer(path)?.as_str()).collect() };
    assert_eq!(together("/choices/0/delta/content"), "A text that is longer than one delta.");
    assert_eq!(together("/choices/0/delta/reasoning_content"), "hm");
    assert_eq!(together("/choices/0/delta/tool_calls/0/id"), "call_kit1odd id");
    assert_eq!(together("/choices/0/delta/tool_calls/0/function/arguments"), "{\"command\":\"ls\"}{\"half");
    assert_eq!(together("/choices/0/finish_reason"), "tool_calls");
    assert_eq!(events.last().unwrap()["usage"]["completion_tokens"], 18);

    let (anthropic, ended) = ask_anthropic(&server, &message("x")).await;
    assert!(ended && anthropic.contains("event: message_stop"));
    let events = data(&anthropic);
    let together =
        |path: &str| -> String { events.iter().filter_map(|event| event.pointer(path)?.as_str()).collect() };
    assert_eq!(together("/delta/text"), "A text that is longer than one delta.");
    assert_eq!(together("/delta/thinking"), "hm");
    assert_eq!(together("/delta/partial_json"), "{\"command\":\"ls\"}{\"half");
    assert_eq!(together("/delta/stop_reason"), "tool_use");
    assert_eq!(together("/delta/signature").len(), 56);
    server.assert_no_refusals();
    assert_eq!(server.unasked(), 0);
}

#[tokio::test]
async fn signed_reasoning_is_taken_back_from_where_it_came_and_nowhere_else() {
    let server = StrictServer::start();
    let other = StrictServer::start();
    server.enqueue(Answer::reasoning("hm").and_unknown(json!({"type": "new"})).and_text("yes"));
    let (answer, _) = ask_anthropic(&server, &message("x")).await;
    let events = data(&answer);
    let signature = events.iter().find_map(|event| event.pointer("/delta/signature")?.as_str()).unwrap();
    let unknown =
        &events.iter().find(|event| event["content_block"]["type"] == "new").unwrap()["content_block"];
    let mut next = message("x");
    let messages = next["messages"].as_array_mut().unwrap();
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": signature});
    messages
        .push(json!({"role": "assistant", "content": [thinking, unknown, {"type": "text", "text": "yes"}]}));
    messages.push(json!({"role": "user", "content": "y"}));
    ask_anthropic(&server, &next).await;
    server.assert_no_refusals();
    ask_anthropic(&other, &next).await;
    let rules: Vec<Rule> = other.refusals()[0].broken.iter().map(|broken| broken.rule).collect();
    assert_eq!(rules, [Rule::ReasoningForeign, Rule::UnknownPart]);
}

#[tokio::test]
async fn a_request_that_breaks_a_rule_is_refused_and_remembered_and_takes_nothing_from_the_script() {
    let server = StrictServer::start();
    server.enqueue(Answer::text("scripted"));
    let wrong = json!({"model": "m", "stream": true, "messages": [{"role": "assistant", "content": ""}]});
    let (answer, _) = ask_openai(&server, &wrong).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(answer.contains("invalid_request_error"), "{answer}");
    let rules: Vec<Rule> = server.refusals()[0].broken.iter().map(|broken| broken.rule).collect();
    assert_eq!(rules, [Rule::FirstTurn, Rule::LastTurn, Rule::EmptyText]);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| server.assert_no_refusals())).is_err());
    let (answer, _) = ask_openai(&server, &chat("x")).await;
    assert!(answer.contains("scripted"));
    assert_eq!(server.bodies(), [chat("x")]);
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn what_is_larger_than_the_window_is_refused_in_the_words_of_the_vendor() {
    let server = StrictServer::start_with(Rules { window_tokens: Some(50), ..Rules::default() });
    let (answer, _) = ask_anthropic(&server, &message(&"x".repeat(400))).await;
    assert!(answer.contains("prompt is too long"), "{answer}");
    let (answer, _) = ask_openai(&server, &chat(&"x".repeat(400))).await;
    assert!(answer.contains("context_length_exceeded"), "{answer}");
}

#[tokio::test]
async fn a_cut_stream_has_its_beginning_and_no_end() {
    let server = StrictServer::start();
    server.enqueue(Answer::text("words").cut_after_bytes(10));
    let (answer, ended) = ask_openai(&server, &chat("x")).await;
    assert!(answer.contains("data: {\"") && !answer.contains("words"), "{answer}");
    assert!(!ended);
    server.enqueue(Answer::text("words").cut_after_events(2));
    let (answer, ended) = ask_openai(&server, &chat("x")).await;
    assert!(answer.contains("words") && !answer.contains("stop"), "{answer}");
    assert!(!ended);
    server.enqueue(Answer::text("words").breaking_off(At::Events(2), Then::End));
    let (answer, ended) = ask_openai(&server, &chat("x")).await;
    assert!(answer.contains("words") && !answer.contains("stop"), "{answer}");
    assert!(ended);
}

#[tokio::test]
async fn a_stream_in_pieces_is_the_same_stream() {
    let server = StrictServer::start();
    let answer = Answer::text("é words").usage(UsageStyle::Absent);
    server.enqueue_all([answer.clone(), answer.in_pieces_of(1)]);
    let mut answers = Vec::new();
    for _ in 0..2 {
        let body = message("x").to_string();
        answers.push(read(open(&server.base_url_anthropic(), "/v1/messages", &body).await).await);
    }
    assert!(answers[1].windows(5).filter(|window| window == b"\r\n1\r\n").count() > 100);
    assert!(unchunked(&answers[0]) == unchunked(&answers[1]));
}

#[tokio::test]
async fn a_stalled_stream_goes_on_when_it_is_released() {
    let server = StrictServer::start();
    server.enqueue(Answer::text("words").stalling_after_events(1));
    let body = chat("x");
    let asked = ask_openai(&server, &body);
    let released = async {
        server.wait_for_stall().await;
        server.release();
    };
    let ((answer, ended), ()) = tokio::join!(asked, released);
    assert!(ended && answer.contains("words"));
}

#[tokio::test]
async fn a_client_that_goes_away_in_the_middle_is_noticed() {
    let server = StrictServer::start();
    let stalls = [
        Answer::text("words").stalling_before_headers(),
        Answer::text("words").stalling_after_events(1),
        Answer::text("words").breaking_off(At::Events(1), Then::KeepAlive),
    ];
    for (place, answer) in stalls.into_iter().enumerate() {
        server.enqueue(answer);
        let socket = open(&server.base_url_openai(), "/v1/chat/completions", &chat("x").to_string()).await;
        server.wait_for_requests(place + 1).await;
        drop(socket);
        server.wait_for_disconnects(place + 1).await;
    }
}

#[tokio::test]
async fn troubles_come_in_the_shapes_of_the_vendors() {
    let server = StrictServer::start();
    let troubles = [
        (Answer::rate_limited(7), "429", "rate_limit", "429", "rate_limit_error"),
        (Answer::overloaded(), "503", "overloaded", "529", "overloaded_error"),
        (Answer::unauthorized(), "401", "invalid_api_key", "401", "authentication_error"),
        (Answer::context_too_long(), "400", "context_length_exceeded", "400", "prompt is too long"),
        (Answer::trouble(Trouble::ContextTooLongLlama), "400", "n_ctx", "400", "n_ctx"),
        (Answer::trouble(Trouble::ModelNotFound), "404", "model_not_found", "404", "not_found_error"),
        (Answer::html(), "502", "<html>", "502", "<html>"),
        (Answer::redirect("http://127.0.0.1:9/"), "302", "location", "302", "location"),
    ];
    for (answer, openai_status, openai_words, anthropic_status, anthropic_words) in troubles {
        server.enqueue_all([answer.clone(), answer]);
        let (openai, _) = ask_openai(&server, &chat("x")).await;
        assert!(openai.starts_with(&format!("HTTP/1.1 {openai_status} ")), "{openai}");
        assert!(openai.contains(openai_words), "{openai}");
        let (anthropic, _) = ask_anthropic(&server, &message("x")).await;
        assert!(anthropic.starts_with(&format!("HTTP/1.1 {anthropic_status} ")), "{anthropic}");
        assert!(anthropic.contains(anthropic_words), "{anthropic}");
        assert_eq!(openai.contains("retry-after: 7"), openai_status == "429");
    }
    server.assert_no_refusals();
}

#[tokio::test]
async fn an_error_can_come_inside_a_stream_that_began_well() {
    let server = StrictServer::start();
    let answer = Answer::text("words").trouble_after_events(2, Trouble::Overloaded);
    server.enqueue_all([answer.clone(), answer]);
    let (openai, _) = ask_openai(&server, &chat("x")).await;
    assert!(openai.starts_with("HTTP/1.1 200 ") && openai.contains("overloaded") && !openai.contains("DONE"));
    let (anthropic, _) = ask_anthropic(&server, &message("x")).await;
    assert!(anthropic.starts_with("HTTP/1.1 200 ") && anthropic.contains("event: error"));
    assert!(!anthropic.contains("message_stop"));
}

#[tokio::test]
async fn ends_and_usage_are_said_as_the_script_wants() {
    let server = StrictServer::start();
    let refused = Answer::text("no").ending(EndReason::Refused).usage(UsageStyle::Absent);
    server.enqueue_all([refused.clone(), refused, Answer::text("x").usage(UsageStyle::BesideTheEnd)]);
    let (openai, _) = ask_openai(&server, &chat("x")).await;
    assert!(openai.contains("content_filter") && !openai.contains("prompt_tokens"), "{openai}");
    let (anthropic, _) = ask_anthropic(&server, &message("x")).await;
    assert!(anthropic.contains("refusal") && !anthropic.contains("input_tokens"), "{anthropic}");
    let (openai, _) = ask_openai(&server, &chat("x")).await;
    let beside =
        data(&openai).into_iter().find(|event| event["choices"][0]["finish_reason"] == "stop").unwrap();
    assert!(beside["usage"]["prompt_tokens"].is_u64());
}

#[tokio::test]
async fn a_function_can_answer_and_the_totals_are_what_was_said() {
    let server =
        StrictServer::answering(|body| Answer::text(body["messages"][0]["content"].as_str().unwrap()));
    let long = "words ".repeat(100);
    ask_openai(&server, &chat(&long)).await;
    let (answer, _) = ask_openai(&server, &chat(&long)).await;
    assert!(answer.contains("words"));
    let usage = &data(&answer).pop().unwrap()["usage"];
    let totals = server.totals();
    assert_eq!(totals.replies, 2);
    assert_eq!(totals.input_tokens, 2 * usage["prompt_tokens"].as_u64().unwrap());
    assert_eq!(totals.cached_tokens, usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap());
    assert_eq!(totals.output_tokens, 2 * 150);
}

#[test]
fn a_test_without_a_runtime_can_use_the_server() {
    let server = StrictServer::start();
    server.enqueue(Answer::text("words").stalling_before_headers());
    let base = server.base_url_openai();
    let client = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(post(&base, "/v1/chat/completions", &chat("x").to_string()))
    });
    server.block_for_requests(1);
    server.block_for_stall();
    server.release();
    assert!(client.join().unwrap().1);
}

#[tokio::test]
async fn a_request_without_a_key_is_refused() {
    let server = StrictServer::start();
    let address = server.base_url_anthropic();
    let address = address.trim_start_matches("http://");
    let mut socket = TcpStream::connect(address).await.unwrap();
    let request = "POST /v1/messages HTTP/1.1\r\ncontent-type: application/json\r\nanthropic-version: 1\r\n\
        connection: close\r\ncontent-length: 2\r\n\r\n{}";
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    assert_eq!(server.refusals()[0].broken[0].rule, Rule::Header);
}
