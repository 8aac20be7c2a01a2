//! The rules of a compaction: what is summarised, of what the summary is made, and when it is
//! accepted.

use std::sync::Arc;

use events::estimate::{item_tokens, text_tokens};
use events::projection::Context;
use events::text::{head, tail};
use events::{Item, ItemBody, Seq, Spec};

/// What the summariser is told to write.
const INSTRUCTIONS: &str = "You summarise the beginning of a working session between a user and an assistant, so that \
the assistant can go on without it. Write five parts with these headings: Completed tasks; Active task; Key decisions; \
Directives of the user (in the user's own words); Current work (files, commands and results that still matter). Be \
exact about names, paths, numbers and errors. Write nothing else.";

/// Bytes of one item that the summariser is shown; the rest of it is left out in the middle.
const ITEM_BYTES_MAX: usize = 8 * 1024;

/// What of its window the transcript may fill; the rest is for instructions and the summary.
const WINDOW_SHARE: (u64, u64) = (3, 5);

/// A summary must make the context smaller by at least this share.
const GAIN_SHARE: u64 = 10;

/// The first event that is kept word for word, so that the kept end has at least `retained_tokens`
/// of the unpruned history; `None` when nothing lies before it.
pub(crate) fn kept_from(context: &Context, retained_tokens: u64) -> Option<Seq> {
    let history = context.history();
    let mut retained = 0;
    let mut end = history.items().len();
    for unit in history.units().iter().rev() {
        retained += history.items()[unit.start..end].iter().map(|item| item_tokens(item)).sum::<u64>();
        end = unit.start;
        if retained >= retained_tokens {
            break;
        }
    }
    let kept = history.units().partition_point(|unit| unit.start < end);
    // A unit that a compaction took already cannot be taken again.
    let earliest = context.kept_from();
    let takes_something = kept > 0 && end > earliest;
    takes_something.then(|| history.units()[kept..].first().map(|unit| unit.seq)).flatten()
}

/// The pod that writes the summary: the same model without tools.
pub(crate) fn summariser(spec: &Spec) -> Spec {
    let mut summariser = spec.clone();
    INSTRUCTIONS.clone_into(&mut summariser.system);
    summariser.tools.clear();
    summariser.reasoning_tokens = None;
    summariser
}

/// The items as the summariser reads them. When they do not fit into its window, the oldest are
/// left out, and it is told so.
pub(crate) fn transcript(items: &[Arc<Item>], window_tokens: u64) -> String {
    let budget = window_tokens.saturating_mul(WINDOW_SHARE.0) / WINDOW_SHARE.1;
    let mut lines = Vec::new();
    let mut tokens = 0;
    for item in items.iter().rev() {
        let line = line(item);
        tokens += text_tokens(&line);
        if tokens > budget {
            lines.push(format!("[{} earlier entries are left out]", items.len() - lines.len()));
            break;
        }
        lines.push(line);
    }
    lines.reverse();
    lines.join("\n\n")
}

fn line(item: &Item) -> String {
    let (who, text) = match &item.body {
        ItemBody::User { text } => ("USER", text.clone()),
        ItemBody::System { text } => ("SYSTEM", text.clone()),
        ItemBody::Text { text } => ("ASSISTANT", text.clone()),
        ItemBody::Reasoning(reasoning) => ("ASSISTANT THOUGHT", reasoning.text.clone()),
        ItemBody::Call(call) => ("ASSISTANT CALLED", format!("{} {}", call.tool, call.arguments.raw())),
        ItemBody::Result(result) => {
            let content = result.content.as_ref().map_or("", |content| content.as_str());
            ("RESULT", format!("{} {}: {}\n{content}", result.call, result.outcome.as_str(), result.summary))
        }
        ItemBody::Opaque(_) => ("ASSISTANT", "[a part of an unknown kind]".to_owned()),
    };
    if text.len() <= ITEM_BYTES_MAX {
        return format!("{who}: {text}");
    }
    let (start, end) = (head(&text, ITEM_BYTES_MAX / 2), tail(&text, ITEM_BYTES_MAX / 2));
    let left_out = text.len() - start.len() - end.len();
    format!("{who}: {start}\n[... {left_out} bytes left out ...]\n{end}")
}

/// How a summary stands before the model.
pub(crate) fn frame(summary: &str) -> String {
    format!("Summary of the session so far, which this stands in place of:\n\n{}", summary.trim())
}

/// Whether a summary is worth its place: not empty, and the context at least a tenth smaller and
/// below the threshold.
pub(crate) fn accept(
    summary: &str,
    tokens_before: u64,
    tokens_after: u64,
    threshold: Option<u64>,
) -> Result<(), String> {
    if summary.trim().is_empty() {
        return Err("the summary is empty".to_owned());
    }
    if tokens_after > tokens_before - tokens_before.div_ceil(GAIN_SHARE) {
        return Err(format!(
            "it would leave {tokens_after} of {tokens_before} tokens, which saves too little"
        ));
    }
    match threshold {
        Some(threshold) if tokens_after > threshold => {
            Err(format!("it would leave {tokens_after} tokens, which is above the threshold of {threshold}"))
        }
        Some(_) | None => Ok(()),
    }
}
