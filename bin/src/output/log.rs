//! A log for people: one event after the other, in columns where there is room for them.

use std::fmt::Write as _;

use events::{Envelope, Timestamp};

use crate::output::event::{Entry, LABEL_COLUMNS};
use crate::output::layout::{columns, wrap};
use crate::output::style::Tone;

/// Terminals narrower than this get the text below the label rather than beside it.
const WIDE_COLUMNS_MIN: usize = 64;

/// Columns of the place, the time and the label, with the gaps between them.
const MARGIN_COLUMNS: usize = 5 + 2 + TIME_LETTERS + 2 + LABEL_COLUMNS + 2;

/// `12:03:04`.
const TIME_LETTERS: usize = 8;

/// Writes a log; remembers the day, so that it is named once.
#[derive(Debug, Default)]
pub(crate) struct LogWriter {
    columns: Option<usize>,
    day: String,
}

impl LogWriter {
    /// For a terminal of so many columns, or for a file that has no width.
    pub(crate) fn new(columns: Option<usize>) -> Self {
        Self { columns, day: String::new() }
    }

    /// The event's lines, each with its line end.
    pub(crate) fn lines(&mut self, envelope: &Envelope) -> String {
        let entry = Entry::of(envelope.event());
        let (day, time) = day_and_time(envelope.at());
        let mut lines = String::new();
        if day != self.day {
            let _ = writeln!(lines, "{}", Tone::Faint.paint(&format!("{day} (UTC)")));
            self.day = day;
        }
        let seq = envelope.seq().to_string();
        if self.columns.is_some_and(|columns| columns < WIDE_COLUMNS_MIN) {
            let head = format!("{} {}", Tone::Faint.paint(&seq), entry.tone.paint(entry.label));
            self.narrow(&mut lines, &head, columns(&seq) + 1 + entry.label.len(), &entry);
        } else {
            let head = format!(
                "{}  {}  {}{}  ",
                Tone::Faint.paint(&format!("{seq:>5}")),
                Tone::Faint.paint(&time),
                entry.tone.paint(entry.label),
                " ".repeat(LABEL_COLUMNS - entry.label.len())
            );
            self.wide(&mut lines, &head, &entry);
        }
        lines
    }

    fn wide(&self, lines: &mut String, head: &str, entry: &Entry) {
        let width = self.columns.map_or(usize::MAX, |columns| columns.saturating_sub(MARGIN_COLUMNS));
        let mut head = head.to_owned();
        let margin = " ".repeat(MARGIN_COLUMNS);
        for line in wrap(&entry.text, width) {
            push(lines, &head, &line);
            head.clone_from(&margin);
        }
        for (tone, text) in &entry.below {
            for line in wrap(text, width) {
                push(lines, &margin, &tone.paint(&line));
            }
        }
    }

    fn narrow(&self, lines: &mut String, head: &str, head_columns: usize, entry: &Entry) {
        const MARGIN: &str = "  ";
        let width = self.columns.unwrap_or(WIDE_COLUMNS_MIN);
        if head_columns + 1 + columns(&entry.text) <= width && !entry.text.contains('\n') {
            push(lines, &format!("{head} "), &entry.text);
        } else {
            push(lines, head, "");
            for line in wrap(&entry.text, width.saturating_sub(MARGIN.len())) {
                push(lines, MARGIN, &line);
            }
        }
        for (tone, text) in &entry.below {
            for line in wrap(text, width.saturating_sub(MARGIN.len())) {
                push(lines, MARGIN, &tone.paint(&line));
            }
        }
    }
}

fn push(lines: &mut String, head: &str, line: &str) {
    lines.push_str(format!("{head}{line}").trim_end_matches(' '));
    lines.push('\n');
}

fn day_and_time(at: Timestamp) -> (String, String) {
    let text = at.to_string();
    match text.split_once('T') {
        Some((day, time)) => (day.to_owned(), events::text::head(time, TIME_LETTERS).to_owned()),
        None => (String::new(), text),
    }
}

#[cfg(test)]
mod tests {
    use events::envelope::Place;
    use events::event::tool::{CallEnded, CallOutcome};
    use events::event::turn::InputReceived;
    use events::{CallId, Draft, PodId, Position, Seq};

    use super::*;

    fn envelope(seq: u64, micros: i64, event: impl Into<events::Event>) -> Envelope {
        let place = Place {
            pod: PodId::from_bytes([7; 16]),
            seq: Seq(seq),
            position: Position(seq),
            at: Timestamp::from_micros(micros),
        };
        Envelope::seal(Draft::new(event), place)
    }

    fn input(text: &str) -> InputReceived {
        InputReceived { text: text.to_owned() }
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn a_wide_log_stands_in_columns_and_names_each_day_once() {
        let mut writer = LogWriter::new(None);
        let noon = 1_767_268_800_000_000;
        let first = writer.lines(&envelope(1, noon, input("fix it\nplease")));
        let second = writer.lines(&envelope(2, noon + 1_000_000, input("more")));
        assert_eq!(
            plain(&first),
            "2026-01-01 (UTC)\n    1  12:00:00  input       fix it\n                             please\n"
        );
        assert_eq!(plain(&second), "    2  12:00:01  input       more\n");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let ended = CallEnded {
            call: CallId(1),
            outcome: CallOutcome::Ok,
            summary: "the quick brown fox jumps over the lazy dog ".repeat(3),
            content: "日本語のテキスト".repeat(20).into(),
            content_hash: None,
            content_bytes: 0,
            elapsed_ms: 0,
        };
        for columns_max in [20, 40, 63, 64, 80, 120] {
            let lines = LogWriter::new(Some(columns_max)).lines(&envelope(12_345, 0, ended.clone()));
            for line in plain(&lines).lines() {
                assert!(columns(line) <= columns_max, "{columns_max}: {line}");
            }
        }
    }
}
