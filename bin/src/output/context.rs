//! A request's items, and what changed between two requests.

use std::fmt::Write as _;

use events::text::clean_str;
use events::{Item, ItemBody};

use crate::output::event::{call_line, preview, preview_of, tone_of_call};
use crate::output::layout::wrap;
use crate::output::number;
use crate::output::style::Tone;
use crate::view::context::{ContextView, Difference};

/// Columns of the label and the gap after it.
const MARGIN_COLUMNS: usize = 11;

/// Lines of a result that are shown.
const RESULT_LINES_MAX: usize = 6;

/// Bytes of a result that are shown.
const RESULT_BYTES_MAX: usize = 800;

/// The items as people read them.
pub(crate) fn items(view: &ContextView, columns_max: Option<usize>) -> String {
    let mut text = String::new();
    let request = view.request.map_or("the next request".to_owned(), |request| format!("request {request}"));
    let head = format!(
        "{request} to {} · {}, about {} tokens · {}",
        clean_str(&view.model.to_string()),
        number::count(view.items.len() as u64, "item"),
        number::tokens(view.estimated_tokens),
        number::bytes(view.body.len() as u64)
    );
    for line in wrap(&head, columns_max.unwrap_or(usize::MAX)) {
        let _ = writeln!(text, "{}", Tone::Faint.paint(&line));
    }
    if !view.system.is_empty() {
        entry(&mut text, ("system", Tone::Context), &preview_of(&view.system, 3, 400), columns_max);
    }
    if !view.tools.is_empty() {
        entry(&mut text, ("tools", Tone::Context), &clean_str(&view.tools.join(", ")), columns_max);
    }
    for one in &view.items {
        item(&mut text, one, columns_max);
    }
    text
}

fn item(text: &mut String, item: &Item, columns_max: Option<usize>) {
    let (label, tone, words) = match &item.body {
        ItemBody::User { text } => ("user", Tone::User, preview(text)),
        ItemBody::System { text } => ("system", Tone::Context, preview(text)),
        ItemBody::Text { text } => ("assistant", Tone::Strong, preview(text)),
        ItemBody::Reasoning(reasoning) => {
            let words = preview_of(&reasoning.text, 3, 400);
            ("reasoning", Tone::Faint, if words.is_empty() { "(hidden)".to_owned() } else { words })
        }
        ItemBody::Call(call) => {
            ("call", Tone::Work, format!("{} {}", call.call, call_line(&call.tool, &call.arguments)))
        }
        ItemBody::Result(result) => {
            let content = match &result.content {
                None => "(content left out by a prune)".to_owned(),
                Some(content) => preview_of(content.as_str(), RESULT_LINES_MAX, RESULT_BYTES_MAX),
            };
            let summary = preview_of(&result.summary, 1, RESULT_BYTES_MAX);
            let words = format!("{} {summary}\n{content}", result.call);
            ("result", tone_of_call(result.outcome), words.trim_end().to_owned())
        }
        ItemBody::Opaque(opaque) => {
            ("unknown", Tone::Faint, format!("({} of JSON)", number::bytes(opaque.json.len() as u64)))
        }
    };
    entry(text, (label, tone), &words, columns_max);
}

fn entry(text: &mut String, (label, tone): (&str, Tone), words: &str, columns_max: Option<usize>) {
    let width = columns_max.map_or(usize::MAX, |columns| columns.saturating_sub(MARGIN_COLUMNS));
    let mut margin = format!("{}{}", tone.paint(label), " ".repeat(MARGIN_COLUMNS - label.len()));
    for line in wrap(words, width) {
        text.push_str(format!("{margin}{line}").trim_end_matches(' '));
        text.push('\n');
        margin = " ".repeat(MARGIN_COLUMNS);
    }
}

/// Bytes around the first change that are shown.
const AROUND_BYTES: usize = 60;

/// What changed, and where the first changed byte lies.
pub(crate) fn difference(view: &ContextView, difference: &Difference, columns_max: Option<usize>) -> String {
    let width = columns_max.unwrap_or(usize::MAX);
    let mut lines = wrap(&changes(difference), width);
    if let Some(place) = difference.first_changed_byte {
        let place = view.body.floor_char_boundary(place);
        let around = AROUND_BYTES.min(width.saturating_sub(4) / 2);
        let before = clean_str(events::text::tail(&view.body[..place], around));
        let after = clean_str(events::text::head(&view.body[place..], around));
        lines.push(format!("  …{}{}…", Tone::Faint.paint(&before), Tone::Bad.paint(&after)));
    }
    lines.join("\n") + "\n"
}

fn changes(difference: &Difference) -> String {
    let Difference { items_same, items_gone, items_new, bytes_before, bytes_after, .. } = difference;
    let mut text = format!(
        "{} the same, {items_gone} gone, {items_new} new · {} became {}\n",
        number::count(*items_same as u64, "item"),
        number::bytes(*bytes_before as u64),
        number::bytes(*bytes_after as u64)
    );
    match difference.first_changed_byte {
        None => text += "The bodies are the same, byte for byte.",
        Some(place) => {
            let share = number::share(place as u64, *bytes_before as u64);
            let _ = write!(
                text,
                "First changed byte: {place} ({share} of the earlier body stays cached at best)"
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use events::event::tool::CallOutcome;
    use events::item::CallResult;
    use events::{CallId, Hash, PodId, RequestNumber, Seq};

    use super::*;

    fn view(body: &str, texts: &[&str]) -> ContextView {
        let user =
            |text: &&str| Arc::new(Item { seq: Seq(1), body: ItemBody::User { text: (*text).to_owned() } });
        ContextView {
            pod: PodId::from_bytes([1; 16]),
            request: Some(RequestNumber(2)),
            model: "openai:x".parse().expect("a model"),
            system: "Be brief.".to_owned(),
            tools: vec!["bash".to_owned()],
            items: texts.iter().map(user).collect(),
            estimated_tokens: 12,
            body: body.to_owned(),
            digest: Hash::of(body.as_bytes()),
            recorded: None,
        }
    }

    #[test]
    fn items_are_shown_in_order_and_what_was_pruned_says_so() {
        let mut view = view("{}", &["fix it"]);
        let result = CallResult {
            call: CallId(1),
            tool: "bash".to_owned(),
            outcome: CallOutcome::Ok,
            summary: "exit code 0".to_owned(),
            content: None,
        };
        view.items.push(Arc::new(Item { seq: Seq(2), body: ItemBody::Result(result) }));
        let text = anstream::adapter::strip_str(&items(&view, None)).to_string();
        assert_eq!(
            text,
            "request 2 to openai:x · 2 items, about 12 tokens · 2 B\n\
             system     Be brief.\n\
             tools      bash\n\
             user       fix it\n\
             result     c1 exit code 0\n           (content left out by a prune)\n"
        );
    }

    #[test]
    fn a_difference_names_the_first_changed_byte_and_shows_it() {
        let before = view("[\"one\"]", &["one"]);
        let after = view("[\"one\",\"two\"]", &["one", "two"]);
        let text = difference(&after, &after.difference(&before), None);
        let text = anstream::adapter::strip_str(&text).to_string();
        assert!(text.starts_with("1 item the same, 0 gone, 1 new · 7 B became 13 B\n"), "{text}");
        assert!(text.contains("First changed byte: 6 (85 % "), "{text}");
        assert!(text.contains("…[\"one\",\"two\"]…"), "{text}");
        let same = difference(&after, &after.difference(&after.clone()), None);
        assert!(same.contains("byte for byte"), "{same}");
    }
}
