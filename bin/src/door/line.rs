//! Lines of JSON over a socket: bounded, and whole or not at all.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Bytes of one line: above the largest event with its content, which is the largest thing that
/// is sent.
const LINE_BYTES_MAX: u64 = 160 * 1024 * 1024;

/// Writes a value as a line.
pub(crate) async fn write(stream: &mut (impl AsyncWrite + Unpin), value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    stream.flush().await
}

/// Reads a value from a line; none when the other side has closed.
pub(crate) async fn read<T: DeserializeOwned>(
    stream: &mut (impl AsyncBufRead + Unpin),
) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    let read = stream.take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await?;
    if read == 0 {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        let text = "the connection ended in the middle of a line, or the line is too long";
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
    }
    Ok(Some(serde_json::from_slice(&line)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(bytes: &[u8]) -> Vec<io::Result<Option<String>>> {
        let mut stream = bytes;
        let mut all = Vec::new();
        loop {
            let next = read(&mut stream).await;
            let last = !matches!(next, Ok(Some(_)));
            all.push(next);
            if last {
                return all;
            }
        }
    }

    #[tokio::test]
    async fn lines_are_read_one_by_one_until_the_other_side_closes() {
        let mut bytes = Vec::new();
        for text in ["one", "two\nlines"] {
            write(&mut bytes, &text).await.expect("written");
        }
        let read = all(&bytes).await;
        let texts: Vec<_> = read.iter().map(|next| next.as_ref().expect("reads").as_deref()).collect();
        assert_eq!(texts, [Some("one"), Some("two\nlines"), None]);
    }

    #[tokio::test]
    async fn half_a_line_and_what_is_no_json_are_errors() {
        assert!(all(b"\"one").await[0].is_err());
        assert!(all(b"one\n").await[0].is_err());
    }
}
