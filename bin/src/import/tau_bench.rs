//! Results of tau-bench: an array of runs, each with its messages. A run becomes a session.

use super::json::{Fields, list};
use super::messages;
use super::source::{LineNumbers, Problems, document};
use super::transcript::Transcript;
use super::{Format, ImportError};

/// Reads all runs.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Transcript>, ImportError> {
    let mut problems = Problems::default();
    let text = document(bytes, &mut problems)?;
    let runs = list(&text).filter(|runs| !runs.is_empty()).ok_or_else(|| ImportError::OtherShape {
        format: Format::TauBench,
        why: "it is no array of runs".to_owned(),
    })?;
    let mut lines = LineNumbers::of(&text);
    let mut transcripts: Vec<Transcript> = runs.into_iter().map(|raw| run(raw, &mut lines)).collect();
    if let Some(last) = transcripts.last_mut() {
        last.problems.append(problems);
    }
    Ok(transcripts)
}

fn run(raw: &str, lines: &mut LineNumbers) -> Transcript {
    let mut transcript = Transcript::new(Format::TauBench, "openai");
    let line = lines.line(raw);
    let fields = Fields::parse(raw).unwrap_or_default();
    let task = fields.raw("task_id").map(|task| format!("task-{}", task.trim_matches('"')));
    let trial = fields.raw("trial").map(|trial| format!("-trial-{}", trial.trim_matches('"')));
    transcript.name = task.map(|task| task + &trial.unwrap_or_default());
    let Some(messages) = fields.list("traj") else {
        transcript.problems.note(line, "the run has no messages: kept as it came");
        transcript.keep(line, None, "run", raw);
        return transcript;
    };
    for key in ["task_id", "trial", "reward", "info"] {
        if let Some(value) = fields.raw(key) {
            transcript.keep(line, None, &format!("run/{key}"), value);
        }
    }
    for message in messages {
        messages::take(&mut transcript, lines.line(message), message);
    }
    transcript
}
