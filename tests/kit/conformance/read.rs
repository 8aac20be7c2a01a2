//! The laws of reading.

use std::sync::Arc;

use events::codec::CONTENT_APART_BYTES_MIN;
use events::{Event, Hash, Seq};
use store::{Append, Attachment};

use super::{Subject, assert_dense, ended, opened, pod};

/// Whatever the size of the page.
pub async fn pages_put_together_are_the_log(store: Subject) {
    let one = store.pod(1, 2500).await;
    let whole = store.read_all(one);
    assert_eq!(whole.len(), 2500);
    assert_dense(&whole, 1);
    for size in [1, 7, 256, 1024, 2499, 2500, 2501] {
        let mut pages = Vec::new();
        while let Some(from) = pages.len().checked_add(1) {
            let page = store.reader().read(one, Seq(from as u64), size).expect("reads");
            assert!(page.len() <= size);
            let last = page.len() < size;
            pages.extend(page);
            if last {
                break;
            }
        }
        assert_eq!(pages, whole, "in pages of {size}");
    }
    assert!(store.reader().read(one, Seq(1), 0).expect("reads").is_empty());
    assert!(store.reader().read(one, Seq(2501), 10).expect("reads").is_empty());
    assert!(store.reader().read(one, Seq(u64::MAX), usize::MAX).expect("reads").is_empty());
    assert_eq!(store.reader().read(one, Seq(0), 1).expect("reads"), whole[..1]);
}

/// Not an error: nobody opened it yet.
pub async fn a_pod_that_nobody_opened_has_no_head_and_no_events(store: Subject) {
    store.pod(1, 1).await;
    assert_eq!(store.reader().head(pod(2)).expect("reads"), None);
    assert!(store.reader().read(pod(2), Seq(1), 10).expect("reads").is_empty());
}

/// The oldest first, whatever their names and however busy they are.
pub async fn pods_come_in_the_order_in_which_they_were_opened(store: Subject) {
    assert!(store.reader().pods().expect("reads").is_empty());
    let (nine, three, five) = (store.pod(9, 2).await, store.pod(3, 1).await, store.pod(5, 1).await);
    let more = Append { pod: nine, expected: Seq(2), drafts: vec![super::said(3)] };
    store.append(more).await.expect("taken");
    let pods = store.reader().pods().expect("reads");
    assert_eq!(pods.iter().map(|head| head.pod).collect::<Vec<_>>(), [nine, three, five]);
    let places: Vec<_> = pods.iter().map(|head| (head.seq.0, head.first.0, head.last.0)).collect();
    assert_eq!(places, [(3, 1, 5), (1, 3, 3), (1, 4, 4)]);
    for head in pods {
        assert_eq!(store.reader().head(head.pod).expect("reads"), Some(head));
    }
}

/// From 1, without a hole, in the order of the answers.
pub async fn positions_are_dense_over_all_pods(store: Subject) {
    assert_eq!(store.reader().committed().borrow().0, 0);
    let mut seen = Vec::new();
    for number in 1..=5 {
        let one = store.pod(number, u64::from(number)).await;
        seen.extend(store.read_all(one).iter().map(|envelope| envelope.position().0));
        assert_eq!(store.reader().committed().borrow().0, seen.len() as u64);
    }
    assert_eq!(seen, (1..=15).collect::<Vec<_>>());
}

/// The event is whole for whoever reads it, and the content can be had by itself.
pub async fn a_large_content_is_read_with_its_event_and_by_its_hash(store: Subject) {
    for (number, bytes) in [(1, CONTENT_APART_BYTES_MIN), (2, 3_000_000)] {
        let text = format!("{number}").repeat(bytes);
        let drafts = vec![opened(), ended(&text), ended(&text)];
        store.append(Append { pod: pod(number), expected: Seq(0), drafts }).await.expect("taken");
        let log = store.read_all(pod(number));
        for envelope in &log[1..] {
            let Event::CallEnded(ended) = envelope.event() else { panic!("a call ended") };
            assert!(ended.content.as_str() == text, "the content is whole");
        }
        let content = store.reader().content(Hash::of(text.as_bytes())).expect("reads");
        assert!(content.as_deref() == Some(text.as_bytes()), "the content is there by its hash");
    }
}

/// Of any length, nothing included.
pub async fn an_attachment_is_read_by_its_hash(store: Subject) {
    let one = store.pod(1, 1).await;
    for (expected, length) in (1..).zip([0, 1, 65_280, 65_281, 1_000_000]) {
        let attachment = Attachment::new(vec![7; length]);
        let append = Append { pod: one, expected: Seq(expected), drafts: vec![super::said(expected + 1)] };
        // Twice in one append is as good as once.
        let attachments = vec![attachment.clone(), attachment.clone()];
        store.writer().append(vec![append], attachments).await.expect("taken");
        let read = store.reader().content(attachment.hash()).expect("reads");
        assert!(read.as_deref() == Some(attachment.bytes()), "{length} bytes come back");
    }
    assert_eq!(store.reader().content(Hash::of(b"never attached")).expect("reads"), None);
}

/// An append without events.
pub async fn attachments_alone_are_durable_too(store: Subject) {
    let attachment = Attachment::new(b"bytes".to_vec());
    let receipt = store.writer().append(Vec::new(), vec![attachment.clone()]).await.expect("taken");
    assert!(receipt.envelopes().is_empty());
    let read = store.reader().content(attachment.hash()).expect("reads");
    assert_eq!(read.as_deref(), Some(attachment.bytes()));
    assert_eq!(store.reader().committed().borrow().0, 0);
}

/// All or nothing holds for bytes too.
pub async fn an_attachment_of_a_refused_append_is_not_kept(store: Subject) {
    let attachment = Attachment::new(b"bytes".to_vec());
    let append = Append { pod: pod(1), expected: Seq(1), drafts: vec![opened()] };
    store.writer().append(vec![append], vec![attachment.clone()]).await.expect_err("a conflict");
    assert_eq!(store.reader().content(attachment.hash()).expect("reads"), None);
    let reader = Arc::clone(store.reader());
    assert!(reader.pods().expect("reads").is_empty());
}
