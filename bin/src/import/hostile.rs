//! Files that were cut, joined, damaged or made to harm.

use events::envelope::Place;
use events::{Draft, Envelope, PodId, Position, Seq, Timestamp};

/// Seals drafts as a store would.
pub(super) fn sealed(drafts: &[Draft]) -> Vec<Envelope> {
    let place = |index: usize| Place {
        pod: PodId::from_bytes([7; 16]),
        seq: Seq(index as u64 + 1),
        position: Position(index as u64 + 1),
        at: Timestamp::from_micros(1_767_323_045_678_901),
    };
    drafts.iter().enumerate().map(|(index, draft)| Envelope::seal(draft.clone(), place(index))).collect()
}
