//! One connection: reads requests, judges them, and carries the answers out.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::time::Duration;

use events::event::model::Usage;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use super::answer::{Answer, Delivery, Kind, Reply, Then, UsageStyle};
use super::stream::Stream;
use super::{Dialect, Recorded, Refused, Script, Shared, Totals, Trouble, anthropic, http, openai};
use crate::strict::{self, Broken, Rule};

/// Time between two comments of a stream that never says anything.
const KEEP_ALIVE_EVERY: Duration = Duration::from_millis(20);
/// Earlier requests whose beginnings count as cached.
const CACHED_REQUESTS_MAX: usize = 16;
const DEFAULT_TEXT: &str = "Nothing was scripted, so this is all there is to say.";

/// Serves a connection until the client closes it or an answer breaks it.
pub(super) async fn serve(socket: TcpStream, shared: Arc<Shared>) {
    // Pieces are to arrive as pieces.
    if socket.set_nodelay(true).is_err() {
        return;
    }
    let (reader, mut writer) = socket.into_split();
    let mut reader = BufReader::new(reader);
    while let Ok(Some(request)) = http::read_request(&mut reader).await {
        let last = request.headers.get("connection").is_some_and(|option| option == "close");
        let (dialect, answer, body) = judge(&shared, request);
        let ended = {
            let carried = carry_out(&shared, dialect, &answer, &body, &mut writer);
            tokio::select! {
                ended = carried => ended,
                () = closed(&mut reader) => Err(Error::from(ErrorKind::ConnectionAborted)),
            }
        };
        match ended {
            Ok(()) if last => return,
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Other => return,
            Err(_) => return shared.change(|state| state.disconnects += 1),
        }
    }
}

/// Returns when the client has closed the connection.
async fn closed(reader: &mut BufReader<OwnedReadHalf>) {
    match reader.fill_buf().await {
        Ok([]) | Err(_) => {}
        Ok(_) => std::future::pending().await,
    }
}

/// The end of a connection that the script wants.
fn broken_off() -> Error {
    Error::from(ErrorKind::Other)
}

/// Writes the request down, and chooses its answer.
fn judge(shared: &Shared, request: http::Request) -> (Dialect, Answer, Value) {
    let dialect = match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/v1/chat/completions") => Dialect::OpenAi,
        ("POST", "/v1/messages") => Dialect::Anthropic,
        (_, path) => {
            let body = format!("{{\"error\":{{\"message\":\"Not found: {path}\"}}}}");
            let answer = Answer::http(404, &[("content-type", "application/json")], body);
            return (Dialect::OpenAi, answer, Value::Null);
        }
    };
    let parsed = strict::parse(&request.body);
    let body = parsed.as_ref().ok().cloned().unwrap_or_default();
    let mut broken = headers(dialect, &request.headers);
    match parsed {
        Err(unreadable) => broken.extend(unreadable),
        Ok(body) => {
            let checked = match dialect {
                Dialect::OpenAi => strict::openai::check_with(&body, &shared.rules),
                Dialect::Anthropic => strict::anthropic::check_with(&body, &shared.rules),
            };
            broken.extend(checked.err().into_iter().flatten());
            if body["stream"] != true {
                let why = "this server only streams".to_owned();
                broken.push(Broken { rule: Rule::Field, at: "stream".to_owned(), why });
            }
        }
    }
    let answer = shared.change(|state| {
        let accepted = broken.is_empty();
        let recorded =
            Recorded { dialect, headers: request.headers, body: body.clone(), raw: request.body, accepted };
        state.requests.push(recorded);
        if !accepted {
            let answer = Answer::trouble(refusal(&broken));
            state.refused.push(Refused { request: state.requests.len() - 1, broken });
            return answer;
        }
        match &mut state.script {
            Script::Queue(queue) => queue.pop_front().unwrap_or_else(|| Answer::text(DEFAULT_TEXT)),
            Script::Function(function) => function(&body),
        }
    });
    (dialect, answer, body)
}

fn headers(dialect: Dialect, headers: &BTreeMap<String, String>) -> Vec<Broken> {
    let has = |name: &str, begins: &str| {
        headers.get(name).is_some_and(|value| value.starts_with(begins) && value.len() > begins.len())
    };
    let wanted: &[(&str, &str)] = match dialect {
        Dialect::OpenAi => &[("content-type", "application/jso"), ("authorization", "Bearer ")],
        Dialect::Anthropic => {
            &[("content-type", "application/jso"), ("x-api-key", ""), ("anthropic-version", "")]
        }
    };
    let missing = wanted.iter().filter(|(name, begins)| !has(name, begins));
    missing
        .map(|(name, _)| Broken {
            rule: Rule::Header,
            at: format!("headers.{name}"),
            why: "is missing or is not what it should be".to_owned(),
        })
        .collect()
}

fn refusal(broken: &[Broken]) -> Trouble {
    if broken.iter().any(|broken| broken.rule == Rule::Window) {
        return Trouble::ContextTooLong;
    }
    let key = |broken: &Broken| {
        broken.rule == Rule::Header && !broken.at.ends_with("type") && !broken.at.ends_with("version")
    };
    if broken.iter().any(key) {
        return Trouble::Unauthorized;
    }
    Trouble::Invalid(broken.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

async fn carry_out(
    shared: &Shared,
    dialect: Dialect,
    answer: &Answer,
    body: &Value,
    writer: &mut OwnedWriteHalf,
) -> Result<()> {
    if answer.delivery.stall_before_headers {
        stall(shared).await;
    }
    match &answer.kind {
        Kind::Reply(reply) => {
            let stream = render(shared, dialect, reply, body);
            deliver(shared, dialect, &stream, &answer.delivery, writer).await
        }
        Kind::Trouble(trouble) => {
            let mut headers = vec![
                ("content-type".to_owned(), "application/json".to_owned()),
                ("request-id".to_owned(), "req_kit".to_owned()),
                ("x-request-id".to_owned(), "req_kit".to_owned()),
            ];
            if let Some(seconds) = trouble.retry_after() {
                headers.push(("retry-after".to_owned(), seconds.to_string()));
            }
            let body = trouble.body(dialect).to_string();
            http::write_response(writer, trouble.status(dialect), &headers, body.as_bytes()).await
        }
        Kind::Http { status, headers, body } => http::write_response(writer, *status, headers, body).await,
        Kind::Bytes(bytes) => {
            writer.write_all(bytes).await?;
            writer.flush().await?;
            Err(broken_off())
        }
    }
}

/// The events of a reply, with what it took by the server's own count.
fn render(shared: &Shared, dialect: Dialect, reply: &Reply, body: &Value) -> Stream {
    let render = |usage, calls: &mut u64| {
        let mut call = || {
            *calls += 1;
            *calls
        };
        match dialect {
            Dialect::OpenAi => openai::stream(reply, body, usage, &mut call),
            Dialect::Anthropic => anthropic::stream(reply, body, usage, &shared.seal, &mut call),
        }
    };
    shared.change(|state| {
        let counted = count(&state.requests, reply);
        let usage = if let UsageStyle::Given(given) = reply.usage { given } else { counted };
        state.totals = Totals {
            replies: state.totals.replies + 1,
            input_tokens: state.totals.input_tokens + usage.input_tokens,
            cached_tokens: state.totals.cached_tokens + usage.cached_tokens,
            output_tokens: state.totals.output_tokens + usage.output_tokens,
        };
        render(usage, &mut state.calls)
    })
}

fn count(requests: &[Recorded], reply: &Reply) -> Usage {
    use super::answer::Part;
    let Some((last, before)) = requests.split_last() else { return Usage::default() };
    let common = |earlier: &Recorded| {
        earlier.raw.iter().zip(&last.raw).take_while(|(one, other)| one == other).count()
    };
    let recent = before.iter().rev().filter(|earlier| earlier.accepted).take(CACHED_REQUESTS_MAX);
    let cached = recent.map(common).max().unwrap_or_default();
    let size = |part: &Part| match part {
        Part::Text(text) | Part::Reasoning(text) | Part::HiddenReasoning(text) => text.len(),
        Part::Call { tool, raw, .. } => tool.len() + raw.len(),
        Part::Unknown(part) => part.to_string().len(),
    };
    let is_reasoning = |part: &&Part| matches!(part, Part::Reasoning(_) | Part::HiddenReasoning(_));
    let reasoning = reply.parts.iter().filter(is_reasoning).map(size).sum();
    Usage {
        input_tokens: strict::tokens(last.raw.len()),
        cached_tokens: cached as u64 / strict::BYTES_PER_TOKEN,
        cache_write_tokens: 0,
        output_tokens: strict::tokens(reply.parts.iter().map(size).sum()),
        reasoning_tokens: strict::tokens(reasoning),
    }
}

async fn deliver(
    shared: &Shared,
    dialect: Dialect,
    stream: &Stream,
    delivery: &Delivery,
    writer: &mut OwnedWriteHalf,
) -> Result<()> {
    http::write_stream_head(writer).await?;
    let pieces = delivery.piece_bytes;
    let Some((at, then)) = &delivery.break_off else {
        http::write_pieces(writer, stream.events.concat().as_bytes(), pieces).await?;
        return http::write_stream_end(writer).await;
    };
    let (before, after) = stream.split(*at);
    http::write_pieces(writer, &before, pieces).await?;
    match then {
        Then::Cut => return Err(broken_off()),
        Then::End => {}
        Then::Stall => {
            stall(shared).await;
            http::write_pieces(writer, &after, pieces).await?;
        }
        Then::Trouble(trouble) => {
            let event = match dialect {
                Dialect::OpenAi => format!("data: {}\n\n", trouble.body(dialect)),
                Dialect::Anthropic => format!("event: error\ndata: {}\n\n", trouble.body(dialect)),
            };
            http::write_pieces(writer, event.as_bytes(), pieces).await?;
        }
        Then::KeepAlive => loop {
            http::write_pieces(writer, b": keep-alive\n\n", pieces).await?;
            tokio::time::sleep(KEEP_ALIVE_EVERY).await;
        },
        Then::Garbage => http::write_pieces(writer, b"data: {\"half\n\n\xff\xfe\0\n\n", pieces).await?,
    }
    http::write_stream_end(writer).await
}

/// Waits until the test lets it go on. Counted while it lasts, however it ends.
async fn stall(shared: &Shared) {
    struct Stalling<'a>(&'a Shared);
    impl Drop for Stalling<'_> {
        fn drop(&mut self) {
            self.0.change(|state| state.stalls -= 1);
        }
    }
    shared.change(|state| state.stalls += 1);
    let _stalling = Stalling(shared);
    if let Ok(permit) = shared.releases.acquire().await {
        permit.forget();
    }
}
