//! As much of HTTP/1.1 as a test server needs, by hand, so that it can be broken by hand.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// A request larger than this is a mistake of the test.
const BODY_BYTES_MAX: usize = 64 << 20;

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    /// Names in lower case.
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
}

/// The next request of a connection; `None` when the client has closed it.
pub(super) async fn read_request(reader: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<Request>> {
    let Some(first) = read_line(reader).await? else { return Ok(None) };
    let mut words = first.split(' ');
    let mut request = Request {
        method: words.next().unwrap_or_default().to_owned(),
        path: words.next().unwrap_or_default().to_owned(),
        ..Request::default()
    };
    while let Some(line) = read_line(reader).await?.filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').ok_or_else(|| bad("a header without a colon"))?;
        request.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    if let Some(length) = request.headers.get("content-length") {
        let length = length.parse().map_err(|_| bad("a length that is no number"))?;
        read_exactly(reader, length, &mut request.body).await?;
    } else if request.headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        loop {
            let line = read_line(reader).await?.ok_or_else(|| bad("no chunk"))?;
            let length = usize::from_str_radix(line.trim(), 16).map_err(|_| bad("a chunk without a size"))?;
            read_exactly(reader, length, &mut request.body).await?;
            read_line(reader).await?;
            if length == 0 {
                break;
            }
        }
    }
    Ok(Some(request))
}

async fn read_line(reader: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<String>> {
    let mut line = String::new();
    if reader.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    line.truncate(line.trim_end().len());
    Ok(Some(line))
}

async fn read_exactly(
    reader: &mut (impl AsyncBufRead + Unpin),
    length: usize,
    body: &mut Vec<u8>,
) -> Result<()> {
    if body.len() + length > BODY_BYTES_MAX {
        return Err(bad("the body is too large"));
    }
    let start = body.len();
    body.resize(start + length, 0);
    reader.read_exact(&mut body[start..]).await?;
    Ok(())
}

fn bad(why: &str) -> Error {
    Error::new(ErrorKind::InvalidData, why)
}

/// Writes a whole response.
pub(super) async fn write_response(
    writer: &mut (impl AsyncWrite + Unpin),
    status: u16,
    headers: &[(String, String)],
    body: &[u8],
) -> Result<()> {
    let mut head = format!("HTTP/1.1 {status} {}\r\ncontent-length: {}\r\n", reason(status), body.len());
    for (name, value) in headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    writer.write_all(head.as_bytes()).await?;
    writer.write_all(body).await?;
    writer.flush().await
}

/// Writes the head of a response whose body comes in chunks.
pub(super) async fn write_stream_head(writer: &mut (impl AsyncWrite + Unpin)) -> Result<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
        cache-control: no-cache\r\nx-request-id: req_kit\r\nrequest-id: req_kit\r\n\
        transfer-encoding: chunked\r\n\r\n";
    writer.write_all(head.as_bytes()).await?;
    writer.flush().await
}

/// Writes bytes of a body, in pieces of at most so many; the empty piece ends the body.
pub(super) async fn write_pieces(
    writer: &mut (impl AsyncWrite + Unpin),
    bytes: &[u8],
    piece_bytes: Option<usize>,
) -> Result<()> {
    for piece in bytes.chunks(piece_bytes.unwrap_or(usize::MAX)) {
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend_from_slice(piece);
        chunk.extend_from_slice(b"\r\n");
        writer.write_all(&chunk).await?;
        writer.flush().await?;
        if piece_bytes.is_some() {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

/// Ends a body that comes in chunks.
pub(super) async fn write_stream_end(writer: &mut (impl AsyncWrite + Unpin)) -> Result<()> {
    writer.write_all(b"0\r\n\r\n").await?;
    writer.flush().await
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        302 => "Found",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        429 => "Too Many Requests",
        503 => "Service Unavailable",
        _ => "Status",
    }
}
