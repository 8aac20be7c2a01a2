//! The order of results: a log has them between the reply that asked for them and the next one.
//! Transcripts of programs that let two requests run at once do not.

use std::collections::{BTreeSet, HashMap};

use actors::provider::ReplyPart;

use crate::import::transcript::{Entry, What};

/// A reply and what follows it up to the next one.
#[derive(Default)]
struct Segment {
    /// Up to where its calls can have results.
    open: Vec<Entry>,
    /// What follows an end of the turn.
    closed: Vec<Entry>,
}

/// Puts each result that comes late behind the reply that asked for it: before the next reply,
/// and before the turn's end. All else keeps its order.
pub(super) fn results_in_place(entries: Vec<Entry>) -> Vec<Entry> {
    let mut segments = vec![Segment::default()];
    // For each id the segments that wait for a result of it, the newest one last.
    let mut waiting: HashMap<String, Vec<usize>> = HashMap::new();
    for entry in entries {
        let mut segment = segments.len() - 1;
        if let What::Reply(answer) = &entry.what {
            segment += 1;
            segments.push(Segment::default());
            for part in &answer.parts {
                if let ReplyPart::Call { provider_id, .. } = part {
                    waiting.entry(provider_id.clone()).or_default().push(segment);
                }
            }
        }
        if let What::Result(output) = &entry.what
            && let Some(asked) = waiting.get_mut(&output.call).and_then(Vec::pop)
        {
            segments[asked].open.push(entry);
            continue;
        }
        let segment = &mut segments[segment];
        if segment.closed.is_empty() && !ends_calls(&entry.what) {
            segment.open.push(entry);
        } else {
            segment.closed.push(entry);
        }
    }
    segments.into_iter().flat_map(|segment| segment.open.into_iter().chain(segment.closed)).collect()
}

fn ends_calls(what: &What) -> bool {
    matches!(what, What::Interrupt(_) | What::TurnEnd | What::Failure(_))
}

/// Results that follow an entry.
pub(super) struct Results {
    /// There are some before the next reply.
    pub(super) any: bool,
    /// Which calls they answer; known for replies only.
    pub(super) ids: BTreeSet<String>,
}

/// The results that come after each entry and before the next reply.
pub(super) fn results_before_next_reply(entries: &[Entry]) -> Vec<Results> {
    let mut follow: Vec<Results> = Vec::with_capacity(entries.len());
    let mut seen = BTreeSet::new();
    for entry in entries.iter().rev() {
        let any = !seen.is_empty();
        let mut ids = BTreeSet::new();
        if let What::Result(output) = &entry.what {
            seen.insert(output.call.clone());
        }
        if let What::Reply(_) = &entry.what {
            ids = std::mem::take(&mut seen);
        }
        follow.push(Results { any, ids });
    }
    follow.reverse();
    follow
}
