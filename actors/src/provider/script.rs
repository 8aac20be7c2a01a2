//! Replies from a file, for demonstrations and tests: `script:FILE`.
//!
//! The file has one JSON object a line; lines that are empty or begin with `#` are left out.
//! Reply N answers request number N of its pod, whatever was asked, so that a pod that is
//! resumed goes on where it was. A relative FILE is looked for in the directory that the program
//! runs in, then in the pod's.
//!
//! ```text
//! {"text":"Let me look.","calls":[{"tool":"read_file","arguments":{"path":"README.md"}}]}
//! {"error":{"kind":"overloaded","message":"busy","times":2},"text":"Done.","wait_ms":100}
//! ```
//!
//! | field | |
//! |---|---|
//! | `reasoning`, `text`, `calls` | the parts of the reply, in this order |
//! | `calls[].tool`, `.arguments`, `.id` | `arguments` is an object, or a string for arguments that may not parse; `id` is the provider's id |
//! | `end` | `stop`, `calls`, `length` or `refused`; without it `calls` when there are calls, else `stop` |
//! | `usage` | `input_tokens`, `output_tokens`, and those of `cached_tokens`, `cache_write_tokens`, `reasoning_tokens` that are not 0 |
//! | `wait_ms` | time before the reply or the error |
//! | `error` | the attempt fails: `kind` as in the event `reply_failed`, and `message`, `status`, `retry_after_ms`; with `times` only so many attempts fail, and the next one has the reply |

mod wire;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use events::Spec;
use events::event::model::FailureKind;
use futures_util::future::BoxFuture;
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;

use self::wire::Line;
use super::openai::wire::request::OpenAiRenderer;
use super::{Ask, Delta, Failure, Provider, Renderer, Reply, ReplyPart};
use crate::limits::SCRIPT_BYTES_MAX;

/// A line of a script is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the script: {why}")]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

/// The provider of scripted replies.
#[derive(Clone, Debug)]
pub struct Script {
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    /// The model's name is the file's.
    Files,
    /// The same lines for every model's name.
    Lines(Arc<Vec<Line>>),
}

impl Script {
    /// Reads the file that the model's name says, at every request.
    pub fn files() -> Self {
        Self { source: Source::Files }
    }

    /// Always this script, whatever the model is called.
    pub fn of(text: &str) -> Result<Self, ScriptError> {
        Ok(Self { source: Source::Lines(Arc::new(wire::parse(text)?)) })
    }
}

impl Provider for Script {
    /// The body is what an OpenAI-compatible server would get.
    fn renderer(&self, spec: &Spec) -> Box<dyn Renderer> {
        Box::new(OpenAiRenderer::new(spec))
    }

    fn send(&self, ask: Ask, deltas: mpsc::Sender<Delta>) -> BoxFuture<'static, Result<Reply, Failure>> {
        let source = self.source.clone();
        Box::pin(async move {
            let lines = match source {
                Source::Lines(lines) => lines,
                Source::Files => Arc::new(read(&ask.spec).await?),
            };
            let line = wire::line(&lines, ask.request)?;
            if let Some(wait) = line.wait() {
                tokio::time::sleep(wait).await;
            }
            let reply = line.answer(ask.request, ask.attempt)?;
            for part in &reply.parts {
                show(part, &deltas);
            }
            Ok(reply)
        })
    }
}

/// Passes words on when somebody takes them.
fn show(part: &ReplyPart, deltas: &mpsc::Sender<Delta>) {
    let delta = match part {
        ReplyPart::Text(text) => Delta::Text(text.clone()),
        ReplyPart::Reasoning(reasoning) => Delta::Reasoning(reasoning.text.clone()),
        ReplyPart::Call { .. } | ReplyPart::Opaque(_) => return,
    };
    // Full or closed: nobody takes them.
    let _ = deltas.try_send(delta);
}

async fn read(spec: &Spec) -> Result<Vec<Line>, Failure> {
    let path = place(Path::new(&spec.model.name), Path::new(&spec.directory)).await;
    let refuse = |why: &dyn std::fmt::Display| {
        Failure::new(FailureKind::InvalidRequest, &format!("the script {}: {why}", path.display()))
    };
    let file = tokio::fs::File::open(&path).await.map_err(|error| refuse(&error))?;
    let mut text = String::new();
    let read = file.take(SCRIPT_BYTES_MAX + 1).read_to_string(&mut text).await;
    if read.map_err(|error| refuse(&error))? as u64 > SCRIPT_BYTES_MAX {
        return Err(refuse(&format!("it is larger than {SCRIPT_BYTES_MAX} bytes")));
    }
    wire::parse(&text).map_err(|error| refuse(&error))
}

async fn place(file: &Path, directory: &Path) -> PathBuf {
    if tokio::fs::try_exists(file).await.unwrap_or(false) { file.to_owned() } else { directory.join(file) }
}

impl Line {
    fn wait(&self) -> Option<Duration> {
        self.wait_ms.map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use events::event::model::EndReason;
    use events::{Model, RequestNumber};

    use super::*;

    fn ask(name: &str, directory: &str, request: u32, attempt: u32) -> Ask {
        let mut spec = Spec::new(Model { provider: "script".to_owned(), name: name.to_owned() });
        spec.directory = directory.to_owned();
        let body = Script::files().renderer(&spec).body();
        Ask { request: RequestNumber(request), attempt, spec: Arc::new(spec), body }
    }

    async fn send(script: &Script, ask: Ask) -> Result<Reply, Failure> {
        script.send(ask, mpsc::channel(1).0).await
    }

    #[tokio::test]
    async fn a_relative_file_is_found_in_the_directory_of_the_pod() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("replies.jsonl");
        write!(std::fs::File::create(path).expect("a file"), "{{\"text\":\"hello\"}}").expect("written");
        let ask = ask("replies.jsonl", &directory.path().to_string_lossy(), 1, 1);
        let reply = send(&Script::files(), ask).await.expect("a reply");
        assert_eq!((reply.parts, reply.end), (vec![ReplyPart::Text("hello".to_owned())], EndReason::Stop));
    }

    #[tokio::test]
    async fn a_file_that_is_not_there_is_named() {
        let failure = send(&Script::files(), ask("/nowhere/x.jsonl", "", 1, 1)).await.expect_err("no file");
        assert_eq!(failure.kind, FailureKind::InvalidRequest);
        assert!(failure.message.contains("/nowhere/x.jsonl"), "{failure}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_when_the_request_is_dropped() {
        let script = Script::of("{\"text\":\"late\",\"wait_ms\":60000}").expect("a script");
        let answer = send(&script, ask("x", "", 1, 1));
        assert!(tokio::time::timeout(Duration::from_secs(1), answer).await.is_err());
    }

    #[tokio::test]
    async fn words_are_passed_on_to_whoever_takes_them() {
        let script = Script::of("{\"reasoning\":\"hm\",\"text\":\"yes\"}").expect("a script");
        let (sender, mut taken) = mpsc::channel(8);
        script.send(ask("x", "", 1, 1), sender).await.expect("a reply");
        assert_eq!(taken.recv().await, Some(Delta::Reasoning("hm".to_owned())));
        assert_eq!(taken.recv().await, Some(Delta::Text("yes".to_owned())));
        assert_eq!(taken.recv().await, None);
    }
}
