//! What the demo says at its end: the log, what the crash cost, and how to look further.

use std::time::Duration;

use events::event::tool::CallOutcome;
use events::{Envelope, Event};

use super::NAME;
use super::stage::Stage;
use crate::output::event::{Entry, LABEL_COLUMNS};
use crate::output::layout::cut;
use crate::output::style::Tone;
use crate::output::{Out, number};

/// The log, one line an event.
pub(super) fn log(out: &mut Out, lines: &[String]) {
    let width = out.columns().unwrap_or(usize::MAX);
    for envelope in lines.iter().filter_map(|line| serde_json::from_str::<Envelope>(line).ok()) {
        let entry = Entry::of(envelope.event());
        let seq = format!("{:>4}", envelope.seq().0);
        let room = width.saturating_sub(seq.len() + LABEL_COLUMNS + 2);
        let text = cut(entry.text.lines().next().unwrap_or_default(), room);
        let label = format!("{:<LABEL_COLUMNS$}", entry.label);
        out.line(&format!("{} {} {text}", Tone::Faint.paint(&seq), entry.tone.paint(&label)));
    }
    out.flush();
}

/// What was lost, what was done twice, and how long it took.
pub(super) fn cost(out: &mut Out, before: &[String], log: &[String], pause: Option<Duration>) {
    let kept = before.iter().zip(log).take_while(|(one, other)| one == other).count();
    let lost = before.len() - kept;
    let told = number::count(before.len() as u64, "event");
    let verdict = if lost == 0 { "none is lost or changed" } else { "some are lost or changed" };
    item(out, &format!("{told} told before the kill: {verdict}."));
    let events: Vec<Envelope> = log.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    for envelope in &events {
        if let Event::CallEnded(ended) = envelope.event()
            && ended.outcome == CallOutcome::Unknown
        {
            item(
                out,
                &format!(
                    "One tool call ({}) has no known end. It was not run again in silence: the model was told.",
                    ended.call
                ),
            );
        }
    }
    let prepared = events.iter().filter(|event| matches!(event.event(), Event::RequestPrepared(_))).count();
    let replies = events.iter().filter(|event| matches!(event.event(), Event::ReplyReceived(_))).count();
    let again = prepared.saturating_sub(replies);
    item(out, &format!("{} sent, {again} of them twice.", number::count(prepared as u64, "request")));
    if let Some(pause) = pause {
        let milliseconds = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        item(out, &format!("{} from the kill to the next request.", number::milliseconds(milliseconds)));
    }
    out.flush();
}

fn item(out: &mut Out, text: &str) {
    let width = out.columns().unwrap_or(usize::MAX).saturating_sub(2);
    let mut mark = "- ";
    for line in crate::output::layout::wrap(text, width) {
        out.line(&format!("{mark}{line}"));
        mark = "  ";
    }
}

/// Commands to type next.
pub(super) fn commands(out: &mut Out, stage: &Stage) {
    let rows = [
        (format!("podwork log {NAME}"), "the events in full"),
        (format!("podwork context {NAME} --request 3"), "what the model was told after the crash"),
        (format!("podwork context {NAME} --request 3 --diff 2"), "what that changed, to the byte"),
        (format!("podwork usage {NAME}"), "tokens, and how many came from the cache"),
        (format!("podwork fork {NAME} --at 12 --name again"), "another way from the middle of it"),
    ];
    out.line(&format!("  export PODWORK_STORE={}", stage.store.display()));
    let width = rows.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    for (command, what) in rows {
        out.line(&format!("  {command:<width$}  {}", Tone::Faint.paint(&format!("# {what}"))));
    }
    out.flush();
}
