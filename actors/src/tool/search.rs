//! `search`: lines that match a regular expression.

use std::io::{BufRead as _, BufReader};
use std::path::Path;

use events::item::Call;
use events::spec::Effect;
use events::{ToolSpec, text};
use futures_util::future::{BoxFuture, FutureExt as _};
use regex::bytes::{Regex, RegexBuilder};

use super::arguments::{Decoded, Field};
use super::lines::{Line, Next, next_line};
use super::path::{self, shown};
use super::run::{Stop, Watch, decode, spec, with_files};
use super::walk::{Glob, is_file, walk};
use super::{Scene, Tool, ToolOutput, file, output};
use crate::limits::{SEARCH_LINE_BYTES_MAX, SEARCH_LINES_MAX, SEARCH_SHOWN_BYTES_MAX};
use crate::permit::Permitted;

/// Finds lines in the files below a folder.
#[derive(Clone, Copy, Debug)]
pub struct Search;

const FIELDS: [Field; 3] = [
    Field::text(
        "pattern",
        "Regular expression in Rust syntax, matched against one line at a time; no look-around and no \
         backreferences. (?i) at the beginning ignores case.",
    ),
    Field::text(
        "path",
        "Folder or file to search, relative to the working directory. Default: the working directory.",
    )
    .optional(),
    Field::text("glob", "Glob that files must match, such as *.rs or src/**/*.rs. Default: all files.")
        .optional(),
];

/// A NUL in the first bytes of a file: it is not searched.
const SNIFF_BYTES: usize = 8 << 10;

/// Bytes between two looks at the watch.
const BYTES_PER_LOOK: usize = 1 << 20;

impl Tool for Search {
    fn spec(&self) -> ToolSpec {
        let description = "Searches the lines of all files in a folder and the folders below it. Shows \
            path:line: text, sorted by path. Files that git ignores and binary files are left out. At \
            most 500 lines are shown and the rest is counted.";
        spec("search", Effect::ReadOnly, description, &FIELDS)
    }

    fn run(&self, call: Permitted<Call>, scene: Scene) -> BoxFuture<'static, ToolOutput> {
        async move {
            let arguments = match decode(&FIELDS, call.get()) {
                Ok(arguments) => arguments,
                Err(refusal) => return refusal,
            };
            with_files(scene, move |scene, watch| {
                search(&arguments, scene, watch).unwrap_or_else(ToolOutput::failed)
            })
            .await
        }
        .boxed()
    }
}

fn search(arguments: &Decoded, scene: &Scene, watch: &Watch) -> Result<ToolOutput, String> {
    let regex = compile(arguments.text("pattern"))?;
    let path = arguments.optional_text("path").unwrap_or(".");
    let place = path::resolve(&scene.directory, path).map_err(|error| error.to_string())?;
    let metadata = place.path.symlink_metadata().map_err(|error| format!("{}: {error}", place.shown()))?;
    if !metadata.is_dir() {
        file::check_kind(&metadata).map_err(|error| format!("{}: {error}", place.shown()))?;
    }
    let glob = arguments.optional_text("glob").map(|glob| Glob::parse(glob, &place.root)).transpose()?;
    let mut found = Found::new(output::bound(scene.output_bytes));
    for entry in walk(&place.path) {
        found.stop = found.stop.or_else(|| watch.stop());
        if found.stop.is_some() {
            break;
        }
        let relative = entry.path().strip_prefix(&place.path).unwrap_or(entry.path());
        let meant = entry.depth() == 0 || glob.as_ref().is_none_or(|glob| glob.matches(relative));
        if is_file(&entry) && meant {
            found.search_file(&regex, entry.path(), &shown(&place.root, entry.path()), watch);
        }
    }
    Ok(found.output())
}

fn compile(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).build().map_err(|error| {
        // The last line says what is wrong; those before it draw an arrow.
        let error = error.to_string();
        let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("`{pattern}` is no regular expression: {reason}")
    })
}

/// Matching lines, as many as are shown, and the number of all.
struct Found {
    bytes_max: usize,
    content: String,
    shown: u64,
    lines: u64,
    files: u64,
    searched: u64,
    stop: Option<Stop>,
}

impl Found {
    fn new(bytes_max: usize) -> Self {
        Self { bytes_max, content: String::new(), shown: 0, lines: 0, files: 0, searched: 0, stop: None }
    }

    /// Searches one file. What cannot be read is passed over, as the walk passes over folders.
    fn search_file(&mut self, regex: &Regex, path: &Path, name: &str, watch: &Watch) {
        let Ok((opened, _)) = file::open(path) else { return };
        let mut reader = BufReader::with_capacity(64 << 10, opened);
        match reader.fill_buf() {
            Ok(start) if !start[..start.len().min(SNIFF_BYTES)].contains(&0) => self.searched += 1,
            Ok(_) | Err(_) => return,
        }
        let (mut line, mut number, before, mut unseen) = (Line::default(), 0_u64, self.lines, 0);
        let mut next = |line: &mut Line, stop: &mut Option<Stop>| {
            next_line(&mut reader, line, SEARCH_LINE_BYTES_MAX, |piece| {
                unseen += piece.len();
                if unseen >= BYTES_PER_LOOK {
                    (unseen, *stop) = (0, watch.stop());
                }
                stop.is_none()
            })
        };
        while let (None, Ok(Next::Line)) = (self.stop, next(&mut line, &mut self.stop)) {
            number += 1;
            let text = line.text.strip_suffix(b"\r").unwrap_or(&line.text);
            if let Some(place) = regex.find(text) {
                self.take(name, number, text, place.start());
            }
        }
        self.files += u64::from(self.lines > before);
    }

    fn take(&mut self, name: &str, number: u64, text: &[u8], at: usize) {
        self.lines += 1;
        if self.shown + 1 < self.lines || self.shown >= SEARCH_LINES_MAX as u64 {
            return;
        }
        let line =
            format!("{}:{number}: {}\n", text::clean_str(name).replace('\n', "\u{fffd}"), around(text, at));
        if self.content.len() + line.len() <= self.bytes_max {
            self.content.push_str(&line);
            self.shown += 1;
        }
    }

    fn output(self) -> ToolOutput {
        let found = match (self.lines, self.lines - self.shown) {
            (0, _) => format!("no matches in {} files", self.searched),
            (lines, 0) => format!("{lines} matching lines in {} files", self.files),
            (lines, rest) => format!(
                "{lines} matching lines in {} files, the first {} shown and {rest} not: narrow the search",
                self.files, self.shown
            ),
        };
        match self.stop {
            Some(stop) => stop.output(&found),
            None => ToolOutput::ok(found),
        }
        .with_content(self.content)
    }
}

/// The line, or the part of a long one in which the match begins.
fn around(line: &[u8], at: usize) -> String {
    if line.len() <= SEARCH_SHOWN_BYTES_MAX {
        return text::clean(line).replace('\n', " ");
    }
    let from = at.saturating_sub(SEARCH_SHOWN_BYTES_MAX / 4);
    let rest = String::from_utf8_lossy(&line[from..]);
    let rest = if from > 0 { rest.trim_start_matches('\u{fffd}') } else { &rest };
    let part = text::clean_str(text::head(rest, SEARCH_SHOWN_BYTES_MAX)).replace('\n', " ");
    format!("{}{part}...", if from > 0 { "..." } else { "" })
}

#[cfg(test)]
mod tests;
