//! The client against a server on loopback that does what no server should.

use std::sync::Arc;

use events::event::model::EndReason;
use events::{ItemBody, RequestNumber};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::*;
use crate::provider::testing::{items, spec};
use crate::provider::{Anthropic, Ask, OpenAi, Provider, Providers, ReplyPart};

const KEY: &str = "sk-very-secret";
const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-request-id: req_7\r\nconnection: close\r\n\r\n";
const WORDS: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"ha\"}}]}\n\n";
const END: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

/// What the server does when it has sent what it has.
#[derive(Clone, Copy)]
enum Then {
    Close,
    /// Keeps the connection open until the client leaves.
    Hold,
    /// Sends this again and again until the client leaves.
    Repeat(&'static [u8]),
}

/// A server that answers one request so, and gives the request as it came.
async fn serve(answer: impl Into<Vec<u8>>, then: Then) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let answer = answer.into();
    let served = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.expect("a client");
        let request = read_request(&mut connection).await;
        // The client may leave before it has read all.
        let _ = connection.write_all(&answer).await;
        match then {
            Then::Close => {}
            Then::Hold => while connection.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {},
            Then::Repeat(bytes) => while connection.write_all(bytes).await.is_ok() {},
        }
        request
    });
    (address, served)
}

async fn read_request(connection: &mut TcpStream) -> String {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let read = connection.read(&mut piece).await.expect("a request");
        request.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let length = text.to_lowercase().split_once("content-length: ").map_or(0, |(_, rest)| {
            rest.split_once('\r').and_then(|(length, _)| length.parse().ok()).unwrap_or_default()
        });
        if text.split_once("\r\n\r\n").is_some_and(|(_, body)| body.len() >= length) || read == 0 {
            return text;
        }
    }
}

/// Deadlines that no test can wait for, except where it shortens one: a wait for the wrong one
/// never ends.
fn patient() -> Timeouts {
    let long = Duration::from_hours(24);
    Timeouts { connect: long, headers: long, idle: long, event: long, tail: long }
}

fn short() -> Duration {
    Duration::from_millis(50)
}

async fn ask(provider: impl Provider, model: &str) -> (Result<Reply, Failure>, Vec<Delta>) {
    let mut providers = Providers::none();
    let spec = spec(model);
    providers.register(&spec.model.provider, Arc::new(provider));
    let text = "hi ".repeat(60_000);
    let body = providers.render(&spec, items(vec![ItemBody::User { text }])).expect("known");
    let ask = Ask { request: RequestNumber(1), attempt: 1, spec: Arc::new(spec.clone()), body };
    let (sender, mut words) = mpsc::channel(16);
    let reply = providers.of(&spec).expect("known").send(ask, sender).await;
    let mut taken = Vec::new();
    while let Ok(delta) = words.try_recv() {
        taken.push(delta);
    }
    (reply, taken)
}

async fn openai(answer: impl Into<Vec<u8>>, then: Then, timeouts: Timeouts) -> Result<Reply, Failure> {
    let (url, _served) = serve(answer, then).await;
    ask(OpenAi::at(&url, Some(KEY)).with_timeouts(timeouts), "openai:m").await.0
}

fn stream(events: &[&str]) -> String {
    STREAM.to_owned() + &events.concat()
}

#[tokio::test]
async fn a_request_is_sent_with_its_length_and_its_key_and_the_reply_is_read() {
    let (url, served) = serve(stream(&[WORDS, END]), Then::Close).await;
    let (reply, words) = ask(OpenAi::at(&url, Some(KEY)).with_timeouts(patient()), "openai:m").await;
    let reply = reply.expect("a reply");
    assert_eq!((reply.parts, reply.end), (vec![ReplyPart::Text("ha".to_owned())], EndReason::Stop));
    assert_eq!(words, [Delta::Text("ha".to_owned())]);
    let request = served.await.expect("served");
    let (head, body) = request.split_once("\r\n\r\n").expect("a request");
    let head = head.to_lowercase();
    assert!(head.starts_with("post /v1/chat/completions http/1.1"), "{head}");
    assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
    assert!(!head.contains("transfer-encoding"), "{head}");
    assert!(head.contains(&format!("authorization: bearer {KEY}")), "{head}");
    assert!(body.len() > 180_000 && body.ends_with("hi \"}]}"));
}

#[tokio::test]
async fn the_other_dialect_has_its_own_path_and_headers() {
    let events = concat!(
        "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n",
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"ha\"}}\n\n",
        "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        "data: {\"type\":\"message_stop\"}\n\n",
    );
    let (url, served) = serve(stream(&[events]), Then::Close).await;
    let (reply, _) = ask(Anthropic::at(&url, Some(KEY)).with_timeouts(patient()), "anthropic:m").await;
    assert_eq!(reply.expect("a reply").parts, [ReplyPart::Text("ha".to_owned())]);
    let request = served.await.expect("served").to_lowercase();
    assert!(request.starts_with("post /v1/messages http/1.1"), "{request:.300}");
    assert!(request.contains(&format!("x-api-key: {KEY}")), "{request:.300}");
    assert!(request.contains("anthropic-version: 2023-06-01"), "{request:.300}");
}

#[tokio::test]
async fn a_refused_request_says_when_to_come_back_and_by_which_id_it_is_known() {
    let answer = |header: &str| {
        let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#;
        let length = body.len();
        format!(
            "HTTP/1.1 429 Too Many\r\nrequest-id: req_1\r\n{header}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    };
    let cases = [
        ("retry-after: 7", Some(Duration::from_secs(7))),
        ("retry-after: 1.5", Some(Duration::from_millis(1500))),
        ("retry-after: 7\r\nretry-after-ms: 250", Some(Duration::from_millis(250))),
        ("retry-after: Fri, 31 Dec 1999 23:59:59 GMT", None),
        ("retry-after: -1", None),
        ("retry-after: 1e300", None),
    ];
    for (header, retry_after) in cases {
        let failure = openai(answer(header), Then::Close, patient()).await.expect_err("refused");
        assert_eq!((failure.kind, failure.status), (FailureKind::RateLimited, Some(429)), "{header}");
        assert_eq!(failure.retry_after, retry_after, "{header}");
        assert_eq!(failure.provider_request_id.as_deref(), Some("req_1"));
    }
}

#[tokio::test]
async fn an_overloaded_provider_is_known_before_and_inside_the_stream() {
    let before = "HTTP/1.1 529 x\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(openai(before, Then::Close, patient()).await.expect_err("busy").kind, FailureKind::Overloaded);
    let error = "data: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n";
    let inside = openai(stream(&[WORDS, error]), Then::Hold, patient()).await.expect_err("busy");
    assert_eq!((inside.kind, inside.draft.as_str()), (FailureKind::Overloaded, "ha"));
    assert_eq!(inside.provider_request_id.as_deref(), Some("req_7"));
}

#[tokio::test]
async fn what_is_no_stream_is_no_reply() {
    let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>";
    let failure = openai(page, Then::Close, patient()).await.expect_err("a page");
    assert_eq!((failure.kind, failure.status), (FailureKind::Malformed, Some(200)));
    let json = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 37\r\n\r\n{\"error\":{\"type\":\"overloaded_error\"}} ";
    assert_eq!(
        openai(json, Then::Close, patient()).await.expect_err("an error").kind,
        FailureKind::Overloaded
    );
    let moved = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/login\r\ncontent-length: 0\r\n\r\n";
    let failure = openai(moved, Then::Close, patient()).await.expect_err("a redirect");
    assert_eq!((failure.kind, failure.status), (FailureKind::InvalidRequest, Some(302)));
    assert!(failure.message.contains("127.0.0.1:9/login"), "{failure}");
}

#[tokio::test]
async fn a_stream_that_is_cut_is_truncated_and_keeps_the_draft() {
    let closed = openai(stream(&[WORDS]), Then::Close, patient()).await.expect_err("cut");
    assert_eq!((closed.kind, closed.draft.as_str()), (FailureKind::Truncated, "ha"));
    let chunked = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{WORDS}\r\nff\r\nda",
        WORDS.len()
    );
    let broken = openai(chunked, Then::Close, patient()).await.expect_err("cut");
    assert_eq!((broken.kind, broken.draft.as_str()), (FailureKind::Truncated, "ha"));
}

#[tokio::test]
async fn a_reply_that_has_ended_does_not_wait_for_the_stream_to_end() {
    let timeouts = Timeouts { tail: short(), ..patient() };
    let reply = openai(stream(&[WORDS, END]), Then::Hold, timeouts).await.expect("a reply");
    assert_eq!(reply.parts, [ReplyPart::Text("ha".to_owned())]);
    let done = openai(stream(&[WORDS, END, "data: [DONE]\n\n"]), Then::Hold, patient()).await;
    assert!(done.is_ok());
}

#[tokio::test]
async fn silence_is_noticed_in_each_phase() {
    let timeouts = Timeouts { headers: short(), ..patient() };
    let silent = openai("", Then::Hold, timeouts).await.expect_err("no answer");
    assert_eq!(silent.kind, FailureKind::HeadersTimeout);
    let timeouts = Timeouts { idle: short(), ..patient() };
    let fallen = openai(stream(&[WORDS]), Then::Hold, timeouts).await.expect_err("silence");
    assert_eq!((fallen.kind, fallen.draft.as_str()), (FailureKind::IdleTimeout, "ha"));
    let stalled = "HTTP/1.1 500 x\r\ncontent-length: 99\r\n\r\nhalf";
    let timeouts = Timeouts { idle: short(), ..patient() };
    let failed = openai(stalled, Then::Hold, timeouts).await.expect_err("half an error");
    assert_eq!(failed.kind, FailureKind::Server);
}

#[tokio::test]
async fn comments_and_pings_do_not_keep_a_silent_reply_alive() {
    for alive in [b": keep-alive\n\n".as_slice(), b"data: {\"choices\":[]}\n\n", b"\n"] {
        let timeouts = Timeouts { event: short(), ..patient() };
        let failure = openai(stream(&[WORDS]), Then::Repeat(alive), timeouts).await.expect_err("no words");
        assert_eq!((failure.kind, failure.draft.as_str()), (FailureKind::IdleTimeout, "ha"));
    }
}

#[tokio::test]
async fn a_line_that_never_ends_is_refused_with_bounded_memory() {
    let line: &[u8] = Box::leak(vec![b'x'; 65_536].into_boxed_slice());
    let failure = openai(stream(&["data: "]), Then::Repeat(line), patient()).await.expect_err("too large");
    assert_eq!(failure.kind, FailureKind::TooLarge);
    let error = "HTTP/1.1 500 x\r\nconnection: close\r\n\r\n";
    let failure = openai(error, Then::Repeat(line), patient()).await.expect_err("an endless error");
    assert_eq!(failure.kind, FailureKind::Server);
}

#[tokio::test]
async fn where_nobody_listens_there_is_no_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let provider = OpenAi::at(&format!("http://{address}/v1"), None).with_timeouts(patient());
    let failure = ask(provider, "openai:m").await.0.expect_err("nobody");
    assert_eq!(failure.kind, FailureKind::Transport);
    assert!(failure.message.contains(&address.to_string()), "{failure}");
}

#[tokio::test]
async fn a_key_that_the_server_says_back_is_not_in_the_failure() {
    let body = format!(r#"{{"error":{{"message":"no such key: {KEY}","code":"invalid_api_key"}}}}"#);
    let answer = format!("HTTP/1.1 401 x\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let failure = openai(answer, Then::Close, patient()).await.expect_err("wrong key");
    assert_eq!(failure.kind, FailureKind::Auth);
    assert!(failure.message.contains("no such key: [key]"), "{failure}");
}

#[tokio::test]
async fn a_provider_on_the_network_asks_for_its_key() {
    for (provider, model, variable) in [
        (Providers::standard(&|_| None), "openai:m", "OPENAI_API_KEY"),
        (Providers::standard(&|_| Some(String::new())), "anthropic:m", "ANTHROPIC_API_KEY"),
    ] {
        let spec = Arc::new(spec(model));
        let provider = provider.of(&spec).expect("known");
        let body = provider.renderer(&spec).body();
        let ask = Ask { request: RequestNumber(1), attempt: 1, spec, body };
        let failure = provider.send(ask, mpsc::channel(1).0).await.expect_err("no key");
        assert_eq!(failure.kind, FailureKind::Auth);
        assert!(failure.message.contains(variable), "{failure}");
    }
}
