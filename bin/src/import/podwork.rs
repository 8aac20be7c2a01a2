//! podwork's own export: an envelope a line. Importing it gives the same events in the same
//! places. What cannot be read keeps its place, as the record that it is: places are what causes,
//! forks and compactions go by.

use events::event::imported::RecordImported;
use events::event::pod::PodOpened;
use events::{Content, Draft, Envelope, Event, Seq};

use super::json::Fields;
use super::source::{Problems, lines};
use super::{Format, ImportError, Session};

#[cfg(test)]
mod tests;

/// Places in a row that may be missing and are filled: more of them are no damage but another
/// file.
const GAP_EVENTS_MAX: u64 = 10_000;

/// A line that is known to be of this format.
pub(super) fn is_record(fields: &Fields) -> bool {
    ["pod", "seq", "at", "type"].iter().all(|key| fields.has(key))
}

/// Reads one or several logs: each begins with the place 1.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Session>, ImportError> {
    let mut problems = Problems::default();
    let mut logs: Vec<Log> = Vec::new();
    let lines = lines(bytes, &mut problems);
    for line in &lines {
        let read: Result<Envelope, _> = serde_json::from_str(&line.text);
        match read {
            Ok(envelope) if envelope.seq() == Seq(1) => logs.push(Log::of(&envelope)?),
            Ok(envelope) => log(&mut logs)?.add(line.number, &envelope, &line.text)?,
            Err(error) => log(&mut logs)?.keep(line.number, &line.text, &error.to_string()),
        }
    }
    let mut sessions: Vec<Session> = logs.into_iter().map(Log::into_session).collect();
    if let Some(first) = sessions.first_mut() {
        first.problems.splice(0..0, problems.into_list());
        return Ok(sessions);
    }
    Err(no_beginning())
}

fn log(logs: &mut [Log]) -> Result<&mut Log, ImportError> {
    logs.last_mut().ok_or_else(no_beginning)
}

fn no_beginning() -> ImportError {
    other_shape("it does not begin with event 1, `pod_opened`: export the whole log")
}

fn other_shape(why: &str) -> ImportError {
    ImportError::OtherShape { format: Format::Podwork, why: why.to_owned() }
}

struct Log {
    opened: PodOpened,
    spec: events::Spec,
    drafts: Vec<Draft>,
    problems: Problems,
}

impl Log {
    fn of(first: &Envelope) -> Result<Self, ImportError> {
        let Event::PodOpened(opened) = first.event() else { return Err(no_beginning()) };
        let (opened, spec) = (opened.clone(), opened.spec.clone());
        Ok(Self { opened, spec, drafts: vec![draft(first)], problems: Problems::default() })
    }

    fn next(&self) -> u64 {
        self.drafts.len() as u64 + 1
    }

    fn add(&mut self, line: usize, envelope: &Envelope, raw: &str) -> Result<(), ImportError> {
        let (next, seq) = (self.next(), envelope.seq().0);
        if seq < next {
            self.problems.note(line, format!("left out: event {seq} stands where {next} should"));
            return Ok(());
        }
        if seq - next > GAP_EVENTS_MAX {
            return Err(other_shape(&format!("line {line}: after event {} comes event {seq}", next - 1)));
        }
        if seq > next {
            self.problems.note(line, format!("the events {next} to {} are missing", seq - 1));
        }
        for _ in next..seq {
            self.drafts.push(kept("missing_event", ""));
        }
        if is_apart(envelope.event()) {
            self.keep(line, raw, "its content is not in the file");
            return Ok(());
        }
        if let Event::SpecChanged(changed) = envelope.event() {
            self.spec = changed.spec.clone();
        }
        self.drafts.push(draft(envelope));
        Ok(())
    }

    fn keep(&mut self, line: usize, raw: &str, why: &str) {
        self.problems.note(line, format!("no event that podwork knows, kept as it came: {why}"));
        self.drafts.push(kept("broken_line", raw));
    }

    fn into_session(self) -> Session {
        let problems = self.problems.into_list();
        Session { name: self.opened.name, spec: self.spec, drafts: self.drafts, problems }
    }
}

fn draft(envelope: &Envelope) -> Draft {
    Draft { cause: envelope.cause(), at: Some(envelope.at()), event: envelope.event().clone() }
}

fn kept(record: &str, raw: &str) -> Draft {
    let format = Format::Podwork.to_string();
    Draft::new(RecordImported { format, record: record.to_owned(), raw: raw.into() })
}

/// A content that is only named cannot be followed into another store.
fn is_apart(event: &Event) -> bool {
    #[expect(clippy::wildcard_enum_match_arm, reason = "two kinds have a content, whatever else is added")]
    let content = match event {
        Event::CallEnded(ended) => &ended.content,
        Event::RecordImported(record) => &record.raw,
        _ => return false,
    };
    matches!(content, Content::Apart { .. })
}
