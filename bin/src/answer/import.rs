//! Pods made of transcripts.

use std::path::Path;

use super::Line;
use crate::door::protocol::{Imported, Outcome};
use crate::exit::Problem;
use crate::import::{Format, read};
use crate::office::Office;

/// Bytes of a transcript that are read: it is held in memory as a whole.
const FILE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Problems of one session that are told; the rest is counted.
const PROBLEMS_MAX: usize = 20;

/// Reads a file and makes a pod of each session in it.
pub(super) async fn import(
    office: &Office,
    line: &Line,
    file: &Path,
    format: Option<&str>,
) -> Result<Outcome, Problem> {
    let format: Option<Format> = match format {
        Some(name) => Some(name.parse().map_err(|error| Problem::usage(format!("--format: {error}")))?),
        None => None,
    };
    let bytes = bytes_of(file)?;
    let sessions = read(&bytes, format)
        .map_err(|error| Problem::failed(format!("{} cannot be imported: {error}", file.display())))?;
    let mut imported = Vec::new();
    for session in sessions {
        let events = session.drafts.len() as u64;
        let pod = office.runtime.import(session.drafts).await?;
        let mut problems: Vec<String> =
            session.problems.iter().take(PROBLEMS_MAX).map(ToString::to_string).collect();
        let untold = session.problems.len() - problems.len();
        if untold > 0 {
            problems.push(format!("and {untold} more"));
        }
        imported.push(Imported { pod, name: session.name, events, problems });
    }
    if imported.is_empty() {
        line.note("There is no session in the file.").await;
    }
    Ok(Outcome::Imported { sessions: imported })
}

fn bytes_of(file: &Path) -> Result<Vec<u8>, Problem> {
    let unreadable =
        |error: std::io::Error| Problem::usage(format!("{} cannot be read: {error}", file.display()));
    let size = std::fs::metadata(file).map_err(unreadable)?.len();
    if size > FILE_BYTES_MAX {
        let text = format!("{} has {size} bytes; at most {FILE_BYTES_MAX} are read", file.display());
        return Err(Problem::usage(text));
    }
    std::fs::read(file).map_err(unreadable)
}
