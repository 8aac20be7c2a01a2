//! Answers requests: one function for the command of this process and for those that come through
//! the socket.

use actors::PodHandle;
use events::{PodId, Seq};
use store::ReadLog;
use tokio::sync::mpsc;

use crate::args::target::PodName;
use crate::door::protocol::{Answer, Control, Outcome, Request};
use crate::exit::Problem;
use crate::office::{Office, Stay};
use crate::select::{Candidate, select};
use crate::view;

mod control;
mod import;
mod look;
mod turn;

/// Answers on their way to the asker before it has read any: enough that a log is not sent event
/// by event, and little enough that a slow reader is waited for.
pub(crate) const ANSWERS_MAX: usize = 64;

/// Controls on their way from the asker.
pub(crate) const CONTROLS_MAX: usize = 4;

/// The line to the asker.
pub(crate) struct Line {
    answers: mpsc::Sender<Answer>,
    controls: Option<mpsc::Receiver<Control>>,
    /// A pod whose turn the answer has set going without waiting for it.
    behind: Option<PodHandle>,
}

impl Line {
    /// A line over these channels.
    pub(crate) fn new(answers: mpsc::Sender<Answer>, controls: mpsc::Receiver<Control>) -> Self {
        Self { answers, controls: Some(controls), behind: None }
    }

    /// Says something; false when nobody listens any more.
    async fn say(&self, answer: Answer) -> bool {
        self.answers.send(answer).await.is_ok()
    }

    /// Says something that may as well be lost when the asker is slow.
    fn mention(&self, answer: Answer) {
        // Full or closed: the words are in the log as well.
        let _ = self.answers.try_send(answer);
    }

    async fn note(&self, text: impl Into<String>) {
        self.say(Answer::Note { text: text.into() }).await;
    }

    async fn about(&self, pod: &Named) {
        self.say(Answer::Pod { pod: pod.id, name: pod.name.clone() }).await;
    }
}

/// A pod that was named.
struct Named {
    id: PodId,
    name: Option<String>,
}

/// How long a request keeps the store open.
pub(crate) fn stay(request: &Request) -> Stay {
    match request {
        Request::Log { follow: true, .. } => Stay::NotAtAll,
        Request::Run { .. }
        | Request::Resume { .. }
        | Request::Send { .. }
        | Request::Notify { .. }
        | Request::Pods
        | Request::Log { follow: false, .. }
        | Request::Context { .. }
        | Request::Usage { .. }
        | Request::Fork { .. }
        | Request::Compact { .. }
        | Request::Pause { .. }
        | Request::Cancel { .. }
        | Request::Stop { .. }
        | Request::Import { .. } => Stay::ToTheEnd,
    }
}

/// Answers a request to its end; the last answer is a result or an error.
pub(crate) async fn answer(request: Request, office: &Office, mut line: Line) {
    let last = match work(request, office, &mut line).await {
        Ok(result) => Answer::Result { result: Box::new(result) },
        Err(problem) => Answer::Error { problem },
    };
    line.say(last).await;
    if let Some(pod) = line.behind.take() {
        // The store is not let go of under a turn that has just been steered. A pod that is gone
        // has none.
        let _ = pod.rest().await;
    }
}

async fn work(request: Request, office: &Office, line: &mut Line) -> Result<Outcome, Problem> {
    match request {
        Request::Run { spec, name, prompt } => turn::run(office, line, *spec, name, prompt).await,
        Request::Resume { pod, prompt, patch } => turn::resume(office, line, &pod, prompt, &patch).await,
        Request::Send { pod, text } => turn::submit(office, line, &pod, turn::Words::User(text)).await,
        Request::Notify { pod, source, text } => {
            turn::submit(office, line, &pod, turn::Words::Notification { source, text }).await
        }
        Request::Pods => look::pods(office),
        Request::Log { pod, from, follow } => look::log(office, line, &pod, from, follow).await,
        Request::Context { pod, request, since } => look::context(office, &pod, request, since),
        Request::Usage { pod, tree } => look::usage(office, &pod, tree),
        Request::Fork { pod, at, name } => control::fork(office, &pod, at, name).await,
        Request::Compact { pod } => control::compact(office, line, &pod).await,
        Request::Pause { pod, reason } => control::pause(office, &pod, reason).await,
        Request::Cancel { pod } => control::cancel(office, &pod).await,
        Request::Stop { pod, tree, reason } => control::stop(office, &pod, tree, &reason).await,
        Request::Import { file, format } => import::import(office, line, &file, format.as_deref()).await,
    }
}

/// Finds out which pod is meant.
fn find(log: &dyn ReadLog, wanted: &PodName) -> Result<Named, Problem> {
    let candidates = view::pods::candidates(log)?;
    let id = select(wanted, &candidates)?;
    Ok(named(&candidates, id))
}

fn named(candidates: &[Candidate], id: PodId) -> Named {
    let name = candidates.iter().find(|pod| pod.id == id).and_then(|pod| pod.name.clone());
    Named { id, name }
}

/// Opens a pod and says where its log stood before that.
async fn open(office: &Office, id: PodId) -> Result<(PodHandle, Seq), Problem> {
    let log = office.runtime.log();
    let head = log.head(id)?;
    let head = head.map_or(Seq(0), |head| head.seq);
    let pod = office.runtime.pod(id).await?;
    Ok((pod, head))
}
