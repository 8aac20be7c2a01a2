//! Each invariant can fail: items that somebody put together wrongly break it.

use events::event::model::Origin;
use events::event::tool::CallOutcome;
use events::item::{Call, CallResult, Reasoning};
use events::{Arguments, CallId, Content, Envelope, Item, ItemBody, Seq};
use kit::invariants::{
    configuration, pairing, reasoning, sendable, stable_prefix, steering, whole_exchanges,
};
use kit::log::{called, given, origin, said, spec, thought};
use serde_json::json;

fn item(seq: u64, body: ItemBody) -> Item {
    Item { seq: Seq(seq), body }
}

fn user(seq: u64, text: &str) -> Item {
    item(seq, ItemBody::User { text: text.to_owned() })
}

fn text(seq: u64, text: &str) -> Item {
    item(seq, ItemBody::Text { text: text.to_owned() })
}

fn call(seq: u64, id: u32) -> Item {
    let (tool, arguments) = ("bash".to_owned(), Arguments::default());
    item(seq, ItemBody::Call(Call { call: CallId(id), tool, provider_id: String::new(), arguments }))
}

fn result(seq: u64, id: u32, content: Option<&str>) -> Item {
    item(
        seq,
        ItemBody::Result(CallResult {
            call: CallId(id),
            tool: "bash".to_owned(),
            outcome: CallOutcome::Ok,
            summary: "done".to_owned(),
            content: content.map(Content::from),
        }),
    )
}

fn sealed(seq: u64, words: &str, origin: &Origin) -> Item {
    let (text, signature) = (words.to_owned(), Some("seal".to_owned()));
    item(seq, ItemBody::Reasoning(Reasoning { text, signature, data: None, origin: origin.clone() }))
}

fn anthropic() -> Origin {
    origin(&"anthropic:test".parse().unwrap())
}

/// A session with two calls, and a third in the next exchange.
fn log() -> Vec<Envelope> {
    given()
        .opened()
        .input("go")
        .turn()
        .request()
        .reply([thought("hm", "seal"), called("bash", &json!({})), called("bash", &json!({}))])
        .input("and mind the time")
        .ended(2, "two")
        .ended(1, "one")
        .request()
        .reply([said("so"), called("bash", &json!({}))])
        .ended(3, "three")
        .into_envelopes()
}

/// The context of [`log`].
fn right() -> Vec<Item> {
    vec![
        user(2, "go"),
        sealed(5, "hm", &anthropic()),
        call(5, 1),
        call(5, 2),
        result(8, 1, Some("one")),
        result(7, 2, Some("two")),
        user(6, "and mind the time"),
        text(10, "so"),
        call(10, 3),
        result(11, 3, Some("three")),
    ]
}

fn wrong(change: impl FnOnce(&mut Vec<Item>)) -> Vec<Item> {
    let mut items = right();
    change(&mut items);
    items
}

#[test]
fn the_context_of_a_log_keeps_every_invariant() {
    let view: events::projection::Context = events::project(&log());
    let shown: Vec<Item> = view.items(&anthropic()).iter().map(|item| (**item).clone()).collect();
    let right: Vec<Item> = right()
        .into_iter()
        .map(|mut item| {
            if let (ItemBody::Result(result), Some(shown)) =
                (&mut item.body, shown.iter().find(|shown| shown.seq == item.seq))
                && let ItemBody::Result(shown) = &shown.body
            {
                result.summary.clone_from(&shown.summary);
            }
            item
        })
        .collect();
    assert_eq!(shown, right);
    assert_eq!(pairing(&right), Ok(()));
    assert_eq!(whole_exchanges(&right, &right), Ok(()));
    assert_eq!(steering(&right, &log()), Ok(()));
    assert_eq!(sendable(&right), Ok(()));
    let made_on = |seq| (seq == Seq(5)).then(|| vec![user(2, "go")]);
    assert_eq!(reasoning(&right, &log(), &anthropic(), made_on), Ok(()));
    assert_eq!(stable_prefix(&right[..4], &right), Ok(()));
    assert_eq!(configuration(Some(&spec("anthropic:test")), &log()), Ok(()));
}

#[test]
fn pairing_can_fail() {
    let cases = [
        wrong(|items| drop(items.remove(4))),
        wrong(|items| drop(items.remove(2))),
        wrong(|items| items.swap(4, 5)),
        wrong(|items| items.swap(5, 6)),
        wrong(|items| items.push(result(9, 9, None))),
        wrong(|items| items.push(result(11, 3, None))),
        wrong(|items| drop(items.pop())),
        wrong(|items| {
            items[8] = call(10, 1);
            items[9] = result(11, 1, None);
        }),
    ];
    for items in cases {
        assert!(pairing(&items).is_err(), "{items:#?}");
    }
}

#[test]
fn whole_exchanges_can_fail() {
    let cut_inside = wrong(|items| {
        items.drain(..3);
        items.remove(1);
    });
    let middle_missing = wrong(|items| drop(items.drain(7..)));
    let emptied = wrong(|items| items[9] = result(11, 3, Some("")));
    for items in [cut_inside, middle_missing, emptied] {
        assert!(whole_exchanges(&items, &right()).is_err(), "{items:#?}");
    }
    let pruned = wrong(|items| items[4] = result(8, 1, None));
    assert_eq!(whole_exchanges(&pruned, &right()), Ok(()));
    assert_eq!(whole_exchanges(&right()[6..], &right()), Ok(()));
}

#[test]
fn steering_can_fail() {
    let cases = [
        wrong(|items| drop(items.remove(6))),
        wrong(|items| items.swap(1, 6)),
        wrong(|items| {
            let late = items.remove(6);
            items.push(late);
        }),
        wrong(|items| items[0] = user(2, "go, and mind the time")),
        wrong(|items| items.push(user(6, "and mind the time"))),
        wrong(|items| items.swap(0, 6)),
    ];
    for items in cases {
        assert!(steering(&items, &log()).is_err(), "{items:#?}");
    }
}

#[test]
fn sendable_can_fail() {
    let cases = [
        wrong(|items| items[0] = user(2, " ")),
        wrong(|items| items[7] = text(10, "")),
        wrong(|items| items.push(item(12, ItemBody::System { text: String::new() }))),
        wrong(|items| drop(items.drain(2..6))),
    ];
    for items in cases {
        assert!(sendable(&items).is_err(), "{items:#?}");
    }
}

#[test]
fn reasoning_can_fail() {
    let openai = origin(&"openai:test".parse().unwrap());
    let made_on = |_| Some(vec![user(2, "go")]);
    let cases = [
        wrong(|items| items[1] = sealed(5, "", &anthropic())),
        wrong(|items| items[1] = sealed(5, "hmm", &anthropic())),
        wrong(|items| items[1] = sealed(5, "hm", &openai)),
        wrong(|items| items[0] = user(2, "stop")),
        wrong(|items| drop(items.remove(0))),
        wrong(|items| {
            if let ItemBody::Reasoning(reasoning) = &mut items[1].body {
                reasoning.signature = None;
            }
        }),
    ];
    for items in cases {
        assert!(reasoning(&items, &log(), &anthropic(), made_on).is_err(), "{items:#?}");
    }
    assert!(reasoning(&right(), &log(), &openai, made_on).is_err());
}

#[test]
fn stable_prefix_can_fail() {
    assert!(stable_prefix(&right(), &right()[..4]).is_err());
    assert!(stable_prefix(&wrong(|items| items[4] = result(8, 1, None)), &right()).is_err());
}

#[test]
fn configuration_can_fail() {
    assert!(configuration(Some(&spec("openai:test")), &log()).is_err());
    assert!(configuration(None, &log()).is_err());
}
