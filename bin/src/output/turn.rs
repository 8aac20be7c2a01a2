//! A turn while it runs: JSON lines for programs, words and progress for people, and for a pipe
//! the answer alone.

use events::event::model::Part;
use events::event::turn::TurnOutcome;
use events::projection::status::words;
use events::text::clean_str;
use events::{Envelope, Event, PodId};
use serde::Serialize;

use crate::exit::{Exit, Problem};
use crate::output::event::{Entry, short};
use crate::output::layout::{cut, wrap};
use crate::output::style::Tone;
use crate::output::{Out, number, progress_is_shown, say, stderr_columns};
use crate::view::turn::TurnView;

/// How a turn is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Events as JSON lines, and the result.
    Json,
    /// Words as they come, for a terminal.
    Live,
    /// The last words, for a pipe.
    Answer,
}

/// Shows a turn.
pub(crate) struct TurnPrinter {
    out: Out,
    style: Style,
    progress: bool,
    quiet: bool,
    /// The words of the request in flight that are on the terminal already.
    streamed: String,
    pod: Option<(PodId, Option<String>)>,
}

/// The last line of `--json`.
#[derive(Serialize)]
#[serde(tag = "type", rename = "result")]
struct ResultLine<'a> {
    #[serde(flatten)]
    turn: &'a TurnView,
}

impl TurnPrinter {
    /// A printer to stdout and stderr.
    pub(crate) fn new(json: bool, quiet: bool) -> Self {
        let out = Out::stdout();
        let style = match (json, out.is_terminal()) {
            (true, _) => Style::Json,
            (false, true) => Style::Live,
            (false, false) => Style::Answer,
        };
        let progress = style != Style::Json && progress_is_shown() && !quiet;
        Self { out, style, progress, quiet, streamed: String::new(), pod: None }
    }

    /// The pod that is shown.
    pub(crate) fn pod(&self) -> Option<PodId> {
        self.pod.as_ref().map(|(pod, _)| *pod)
    }

    /// Which pod it is.
    pub(crate) fn about(&mut self, pod: PodId, name: Option<String>) {
        if self.progress && self.pod() != Some(pod) {
            let name = name.as_deref().map(|name| format!("{} ", clean_str(name))).unwrap_or_default();
            say(&Tone::Faint.paint(&format!("pod {name}{}", short(&pod))));
        }
        self.pod = Some((pod, name));
    }

    /// Words of the model as they come.
    pub(crate) fn delta(&mut self, text: &str, reasoning: bool) {
        if self.style == Style::Live && !reasoning {
            let text = clean_str(text);
            self.out.write(&text);
            self.out.flush();
            self.streamed.push_str(&text);
        }
    }

    /// An event.
    pub(crate) fn event(&mut self, envelope: &Envelope) {
        match self.style {
            Style::Json => self.out.json(envelope),
            Style::Live => self.live(envelope.event()),
            Style::Answer => {}
        }
        if self.progress && is_progress(envelope.event()) {
            let line = progress_line(&Entry::of(envelope.event()), stderr_columns());
            say(&line);
        }
    }

    fn live(&mut self, event: &Event) {
        #[expect(clippy::wildcard_enum_match_arm, reason = "only replies have words to show")]
        match event {
            Event::RequestPrepared(_) => self.streamed.clear(),
            Event::ReplyReceived(reply) => {
                let whole = clean_str(&words(&reply.parts));
                let rest = rest_of(&whole, &self.streamed);
                let shown = !whole.is_empty() || !self.streamed.is_empty();
                self.out.write(&rest);
                if shown && !(rest.ends_with('\n') || rest.is_empty() && self.streamed.ends_with('\n')) {
                    self.out.write("\n");
                }
                self.out.flush();
                self.streamed.clear();
            }
            Event::ReplyFailed(_) if !self.streamed.is_empty() => {
                self.out.line(&Tone::Faint.paint(" … (cut off)"));
                self.out.flush();
                self.streamed.clear();
            }
            _ => {}
        }
    }

    /// Lets programs have what is there.
    pub(crate) fn flush(&mut self) {
        self.out.flush();
    }

    /// Something for a person to know.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            say(&clean_str(text));
        }
    }

    /// The turn ended.
    pub(crate) fn ended(&mut self, turn: &TurnView) -> Exit {
        match self.style {
            Style::Json => self.out.json(&ResultLine { turn }),
            Style::Answer if !turn.text.is_empty() => self.out.line(turn.text.trim_end_matches('\n')),
            Style::Answer | Style::Live => {}
        }
        self.out.flush();
        if self.progress {
            say(&summary(turn));
        }
        if let Some(text) = unfinished(turn) {
            say(&text);
        }
        turn.exit()
    }

    /// The pod did what it was asked, and no turn was run for it.
    pub(crate) fn done(&mut self, pod: PodId, name: Option<&str>, text: &str) -> Exit {
        done(&mut self.out, self.style == Style::Json, self.quiet, (pod, name, text))
    }

    /// Nothing came of it.
    pub(crate) fn failed(&mut self, problem: Problem) -> Problem {
        if !self.streamed.is_empty() {
            self.out.write("\n");
        }
        self.out.flush();
        problem
    }
}

/// Says that a pod did what it was asked.
pub(crate) fn done(out: &mut Out, json: bool, quiet: bool, what: (PodId, Option<&str>, &str)) -> Exit {
    let (pod, name, text) = what;
    if json {
        out.json(&serde_json::json!({ "type": "result", "pod": pod, "name": name, "text": text }));
    } else if !quiet {
        let name = name.map(|name| format!("{} ", clean_str(name))).unwrap_or_default();
        say(&format!("{name}{}: {}", short(&pod), clean_str(text)));
    }
    out.flush();
    Exit::Done
}

/// What of a reply is not on the terminal yet. Blanks do not count: between two parts of a reply
/// there is a line end that no delta has.
fn rest_of(whole: &str, streamed: &str) -> String {
    let mut rest = whole.char_indices().filter(|(_, letter)| !letter.is_whitespace()).peekable();
    for letter in streamed.chars().filter(|letter| !letter.is_whitespace()) {
        if rest.next().is_none_or(|(_, other)| other != letter) {
            // Some words were lost on the way: all of them once more.
            return format!("\n{whole}");
        }
    }
    if streamed.trim().is_empty() {
        return whole.to_owned();
    }
    rest.peek().map(|(at, _)| whole[*at..].to_owned()).unwrap_or_default()
}

/// What a person wants to see of a turn while it runs, beside the words.
fn is_progress(event: &Event) -> bool {
    match event {
        Event::ReplyReceived(reply) => reply.parts.iter().any(|part| matches!(part, Part::BrokenCall { .. })),
        Event::TurnEnded(ended) => ended.outcome == TurnOutcome::Yielded,
        Event::HookAnswered(answered) => answered.verdict != events::event::hook::HookVerdict::Continue,
        Event::PodForked(_)
        | Event::SpecChanged(_)
        | Event::PodStopped(_)
        | Event::Notified(_)
        | Event::ReplyFailed(_)
        | Event::CallStarted(_)
        | Event::CallProgressed(_)
        | Event::CallEnded(_)
        | Event::PermissionAsked(_)
        | Event::PermissionAnswered(_)
        | Event::HookFailed(_)
        | Event::Pruned(_)
        | Event::CompactionStarted(_)
        | Event::CompactionFinished(_)
        | Event::CompactionFailed(_)
        | Event::CompactionSkipped(_)
        | Event::ChildSpawned(_)
        | Event::ChildEnded(_)
        | Event::MessageSent(_)
        | Event::LimitReached(_) => true,
        Event::PodOpened(_)
        | Event::InputReceived(_)
        | Event::TurnStarted(_)
        | Event::Paused(_)
        | Event::Resumed(_)
        | Event::RequestPrepared(_)
        | Event::RecordImported(_) => false,
    }
}

/// Columns of the label in progress lines.
const LABEL_COLUMNS: usize = 7;

fn progress_line(entry: &Entry, columns_max: Option<usize>) -> String {
    let room = columns_max.map_or(usize::MAX, |columns| columns.saturating_sub(LABEL_COLUMNS + 1));
    let mut lines = vec![format!(
        "{} {}",
        entry.tone.paint(&format!("{:<LABEL_COLUMNS$}", entry.label)),
        cut(first_line(&entry.text), room)
    )];
    let wanted = matches!(entry.tone, Tone::Bad | Tone::Warning);
    for (tone, text) in entry.below.iter().filter(|_| wanted) {
        let margin = " ".repeat(LABEL_COLUMNS + 1);
        lines.extend(wrap(text, room).iter().map(|line| format!("{margin}{}", tone.paint(line))));
    }
    lines.join("\n")
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn summary(turn: &TurnView) -> String {
    let usage = &turn.usage;
    let outcome = turn.outcome.map_or("idle", TurnOutcome::as_str);
    let mut parts = vec![
        outcome.to_owned(),
        number::count(usage.requests, "request"),
        format!("{} in, {} out", number::tokens(usage.input_tokens), number::tokens(usage.output_tokens)),
    ];
    if usage.cached_tokens > 0 {
        parts.push(format!("{} cached", number::share(usage.cached_tokens, usage.input_tokens)));
    }
    if usage.cost_usd > 0.0 {
        parts.push(number::usd(usage.cost_usd));
    }
    Tone::Faint.paint(&parts.join(" · "))
}

/// Why a turn did not finish, and what a person can do.
fn unfinished(turn: &TurnView) -> Option<String> {
    let outcome = turn.outcome.filter(|outcome| outcome.is_resumable())?;
    let reason =
        if turn.reason.is_empty() { String::new() } else { format!(": {}", clean_str(&turn.reason)) };
    let tone = if Exit::of(outcome) == Exit::Failed { Tone::Bad } else { Tone::Warning };
    let head =
        format!("{} the turn is {}{reason}", Tone::Strong.paint("podwork:"), tone.paint(outcome.as_str()));
    Some(format!("{head}\n`podwork resume {}` goes on with it.", short(&turn.pod)))
}

#[cfg(test)]
mod tests {
    use events::projection::UsageTotals;

    use super::*;

    #[test]
    fn only_what_is_not_on_the_terminal_yet_is_written_at_the_end_of_a_reply() {
        assert_eq!(rest_of("hello world", "hello "), "world");
        assert_eq!(rest_of("hello", "hello"), "");
        assert_eq!(rest_of("hello", ""), "hello");
        assert_eq!(rest_of("one\ntwo", "onetwo"), "", "parts are streamed without the line end");
        assert_eq!(rest_of("one\ntwo", "one"), "two");
        assert_eq!(rest_of("one two", "one wo"), "\none two", "words were lost");
        assert_eq!(rest_of("", "one"), "\n");
    }

    fn turn(outcome: Option<TurnOutcome>, reason: &str) -> TurnView {
        let mut usage = UsageTotals::default();
        (usage.requests, usage.input_tokens, usage.output_tokens) = (2, 4200, 31);
        TurnView {
            pod: PodId::from_bytes([1; 16]),
            name: None,
            outcome,
            reason: reason.to_owned(),
            text: "done".to_owned(),
            usage,
        }
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn the_result_line_is_no_event_and_has_what_programs_rely_on() {
        let turn = turn(Some(TurnOutcome::Finished), "");
        let json = serde_json::to_value(ResultLine { turn: &turn }).expect("serialises");
        assert_eq!(json["type"], "result");
        assert_eq!(json["pod"], "01010101-0101-0101-0101-010101010101");
        assert_eq!(json["outcome"], "finished");
        assert_eq!(json["text"], "done");
        assert_eq!(json["usage"]["input_tokens"], 4200);
    }

    #[test]
    fn a_turn_that_did_not_finish_says_why_and_how_to_go_on() {
        assert_eq!(unfinished(&turn(Some(TurnOutcome::Finished), "")), None);
        assert_eq!(unfinished(&turn(None, "")), None);
        let text = plain(&unfinished(&turn(Some(TurnOutcome::Paused), "no key")).expect("is told"));
        assert_eq!(
            text,
            "podwork: the turn is paused: no key\n`podwork resume 01010101-0101` goes on with it."
        );
    }

    #[test]
    fn the_summary_is_one_line() {
        let text = plain(&summary(&turn(Some(TurnOutcome::Finished), "")));
        assert_eq!(text, "finished · 2 requests · 4.2k in, 31 out");
    }

    #[test]
    fn progress_is_cut_to_the_width() {
        let entry = Entry {
            label: "call",
            tone: Tone::Work,
            text: "c1 bash a very long command\nsecond".to_owned(),
            below: Vec::new(),
        };
        assert_eq!(plain(&progress_line(&entry, Some(20))), "call    c1 bash a v…");
    }
}
