//! What a request sent, rebuilt from the log: its items, the exact body, and what changed since
//! another request.

use std::sync::Arc;

use actors::provider::{Body, Providers};
use events::event::model::{Origin, RequestPrepared};
use events::projection::{Context, Projection as _, Status};
use events::{Event, Hash, Item, Model, PodId, RequestNumber, Seq};
use serde::{Deserialize, Serialize};
use store::ReadLog;

use crate::exit::Problem;
use crate::view::each_event;

/// The context of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ContextView {
    /// The pod.
    pub(crate) pod: PodId,
    /// The request; none for the one that would come next.
    pub(crate) request: Option<RequestNumber>,
    /// The model that it is for.
    pub(crate) model: Model,
    /// The system prompt.
    pub(crate) system: String,
    /// The tools that the model is told of.
    pub(crate) tools: Vec<String>,
    /// The items.
    pub(crate) items: Vec<Arc<Item>>,
    /// Estimated input tokens of the items.
    pub(crate) estimated_tokens: u64,
    /// The body, byte for byte.
    pub(crate) body: String,
    /// Its digest.
    pub(crate) digest: Hash,
    /// The digest that the log has.
    pub(crate) recorded: Option<Hash>,
}

/// What changed from one request to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Difference {
    /// Items at the beginning that both have.
    pub(crate) items_same: usize,
    /// Items after them that only the earlier one has.
    pub(crate) items_gone: usize,
    /// Items after them that only the later one has.
    pub(crate) items_new: usize,
    /// The place of the first byte that differs, from 0; none when the bodies are the same.
    pub(crate) first_changed_byte: Option<usize>,
    /// Bytes of the earlier body.
    pub(crate) bytes_before: usize,
    /// Bytes of the later body.
    pub(crate) bytes_after: usize,
}

/// Rebuilds the context of a request, or of the next one.
pub(crate) fn view(
    log: &dyn ReadLog,
    pod: PodId,
    request: Option<RequestNumber>,
    providers: &Providers,
) -> Result<ContextView, Problem> {
    let prepared = match request {
        Some(number) => Some(prepared(log, pod, number)?),
        None => None,
    };
    let to = prepared.as_ref().map(|prepared| prepared.history_to);
    let (mut context, mut status) = (Context::default(), Status::default());
    each_event(log, pod, Seq(1), |envelope| {
        let is_before = to.is_none_or(|to| envelope.seq() <= to);
        if is_before {
            context.apply(envelope);
            status.apply(envelope);
        }
        is_before
    })?;
    let spec = status.spec.ok_or_else(|| Problem::store("the log does not say what the pod is"))?;
    let origin = match &prepared {
        Some(prepared) => prepared.origin.clone(),
        None => Origin { provider: spec.model.provider.clone(), model: spec.model.name.clone() },
    };
    let items = context.items(&origin);
    let body = providers.render(&spec, &items).map_err(|error| Problem::usage(error.to_string()))?;
    let Body { chunks, digest } = body;
    Ok(ContextView {
        pod,
        request,
        model: Model { provider: origin.provider, name: origin.model },
        system: spec.system,
        tools: spec.tools.into_iter().map(|tool| tool.name).collect(),
        estimated_tokens: items.iter().map(|item| events::estimate::item_tokens(item)).sum(),
        items,
        body: String::from_utf8_lossy(&chunks.concat()).into_owned(),
        digest,
        recorded: prepared.map(|prepared| prepared.digest),
    })
}

fn prepared(log: &dyn ReadLog, pod: PodId, number: RequestNumber) -> Result<RequestPrepared, Problem> {
    let (mut found, mut last) = (None, None);
    each_event(log, pod, Seq(1), |envelope| {
        if let Event::RequestPrepared(prepared) = envelope.event() {
            last = Some(prepared.request);
            if prepared.request == number {
                found = Some(prepared.clone());
            }
        }
        found.is_none()
    })?;
    found.ok_or_else(|| match last {
        Some(last) => {
            Problem::usage(format!("there is no request {number}; the pod has requests 1 to {last}"))
        }
        None => Problem::usage(format!("there is no request {number}; the pod has sent none yet")),
    })
}

impl ContextView {
    /// The rebuilt body is the one that was sent; none for a request that was not sent yet.
    pub(crate) fn matches(&self) -> Option<bool> {
        self.recorded.map(|recorded| recorded == self.digest)
    }

    /// What changed since an earlier request.
    pub(crate) fn difference(&self, before: &Self) -> Difference {
        let same = self.items.iter().zip(&before.items).take_while(|(one, other)| one.body == other.body);
        let items_same = same.count();
        Difference {
            items_same,
            items_gone: before.items.len() - items_same,
            items_new: self.items.len() - items_same,
            first_changed_byte: first_difference(before.body.as_bytes(), self.body.as_bytes()),
            bytes_before: before.body.len(),
            bytes_after: self.body.len(),
        }
    }
}

/// The place of the first byte that differs, where one text is the beginning of the other its end.
fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    let same = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    (same < one.len() || same < other.len()).then_some(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_changed_byte_is_where_the_shorter_text_ends_or_earlier() {
        assert_eq!(first_difference(b"abc", b"abc"), None);
        assert_eq!(first_difference(b"abc", b"abd"), Some(2));
        assert_eq!(first_difference(b"ab", b"abd"), Some(2));
        assert_eq!(first_difference(b"", b""), None);
    }
}
