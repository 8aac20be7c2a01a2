//! The process that holds the store: its runtime, and who is being served.

use std::collections::BTreeMap;

use actors::Runtime;
use events::PodId;
use tokio::sync::watch;

/// What requests are answered with. One for each process that holds a store.
pub(crate) struct Office {
    /// The actors.
    pub(crate) runtime: Runtime,
    activity: watch::Sender<Activity>,
}

/// Who is being served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Activity {
    /// Requests that must come to their end before the store is let go of.
    requests: usize,
    /// Requests that only follow a log and are ended when the store is let go of.
    followers: usize,
    /// Pods whose turns are waited for, and by how many requests.
    turns: BTreeMap<PodId, usize>,
    /// A person wants all work to end.
    cancelling: bool,
    /// The store is let go of; nobody is served any more.
    leaving: bool,
}

/// How long a request keeps the store open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stay {
    /// To its end.
    ToTheEnd,
    /// Not at all.
    NotAtAll,
}

impl Office {
    /// An office that serves nobody yet.
    pub(crate) fn new(runtime: Runtime) -> Self {
        Self { runtime, activity: watch::Sender::new(Activity::default()) }
    }

    /// Begins to serve a request; none when the store is being let go of.
    pub(crate) fn begin(&self, stay: Stay) -> Option<Served<'_>> {
        let begun = self.activity.send_if_modified(|activity| {
            if !activity.leaving {
                *activity.count(stay) += 1;
            }
            !activity.leaving
        });
        // Lazily: one that was not begun must not be ended either.
        begun.then(|| Served { office: self, stay })
    }

    /// Notes that a pod's turn is waited for.
    pub(crate) fn attend(&self, pod: PodId) -> Attending<'_> {
        self.activity.send_modify(|activity| *activity.turns.entry(pod).or_default() += 1);
        Attending { office: self, pod }
    }

    /// Somebody in this process waits for a turn of this pod.
    pub(crate) fn is_attended(&self, pod: PodId) -> bool {
        self.activity.borrow().turns.contains_key(&pod)
    }

    /// Ends all turns as cancelled.
    pub(crate) fn cancel_all(&self) {
        self.activity.send_modify(|activity| activity.cancelling = true);
    }

    /// Waits until all turns are to end.
    pub(crate) async fn cancelled(&self) {
        self.wait_for(|activity| activity.cancelling).await;
    }

    /// Waits until the store is let go of.
    pub(crate) async fn left(&self) {
        self.wait_for(|activity| activity.leaving).await;
    }

    /// Waits until no request keeps the store open, and from then on serves nobody.
    pub(crate) async fn leave(&self) {
        loop {
            self.wait_for(|activity| activity.requests == 0).await;
            // Between the wait and here somebody may have come: ask and close in one step.
            let left = self.activity.send_if_modified(|activity| {
                activity.leaving |= activity.requests == 0;
                activity.leaving
            });
            if left {
                return;
            }
        }
    }

    /// Waits until those who followed logs have been told.
    pub(crate) async fn followers_told(&self) {
        self.wait_for(|activity| activity.followers == 0).await;
    }

    async fn wait_for(&self, is_so: impl FnMut(&Activity) -> bool) {
        // The sender lives as long as the office, so the wait cannot be cut off.
        let _ = self.activity.subscribe().wait_for(is_so).await;
    }
}

impl Activity {
    fn count(&mut self, stay: Stay) -> &mut usize {
        match stay {
            Stay::ToTheEnd => &mut self.requests,
            Stay::NotAtAll => &mut self.followers,
        }
    }
}

/// A request that is being served, until it is dropped.
pub(crate) struct Served<'a> {
    office: &'a Office,
    stay: Stay,
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        self.office.activity.send_modify(|activity| *activity.count(self.stay) -= 1);
    }
}

/// A pod whose turn is waited for, until it is dropped.
pub(crate) struct Attending<'a> {
    office: &'a Office,
    pod: PodId,
}

impl Drop for Attending<'_> {
    fn drop(&mut self) {
        self.office.activity.send_modify(|activity| {
            if let Some(count) = activity.turns.get_mut(&self.pod) {
                *count -= 1;
                if *count == 0 {
                    activity.turns.remove(&self.pod);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt as _;
    use store::{AppendLog, MemoryStore};

    use super::*;

    async fn office() -> Office {
        let store = Arc::new(MemoryStore::new());
        let writer: Arc<dyn AppendLog> = Arc::<MemoryStore>::clone(&store);
        Office::new(Runtime::builder(store.reader(), writer).start().await.expect("starts"))
    }

    #[tokio::test]
    async fn an_office_is_left_when_the_last_request_has_its_answer_and_takes_no_more() {
        let office = office().await;
        let (one, other) = (office.begin(Stay::ToTheEnd), office.begin(Stay::ToTheEnd));
        let follower = office.begin(Stay::NotAtAll);
        let mut leaving = Box::pin(office.leave());
        drop(one);
        assert_eq!((&mut leaving).now_or_never(), None, "one request is left");
        assert!(office.begin(Stay::ToTheEnd).is_some(), "whoever comes meanwhile is served");
        drop(other);
        assert_eq!(leaving.now_or_never(), Some(()));
        assert_eq!(office.left().now_or_never(), Some(()));
        assert!(office.begin(Stay::ToTheEnd).is_none());
        assert_eq!(office.followers_told().now_or_never(), None);
        drop(follower);
        assert_eq!(office.followers_told().now_or_never(), Some(()));
    }

    #[tokio::test]
    async fn a_pod_is_attended_as_long_as_anybody_waits_for_it() {
        let office = office().await;
        let pod = PodId::from_bytes([1; 16]);
        let (one, other) = (office.attend(pod), office.attend(pod));
        drop(one);
        assert!(office.is_attended(pod));
        drop(other);
        assert!(!office.is_attended(pod));
    }
}
