//! `read_file`: lines of a file, as they are.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};

use events::item::Call;
use events::spec::Effect;
use events::{ToolSpec, text};
use futures_util::future::{BoxFuture, FutureExt as _};

use super::arguments::Field;
use super::lines::{Line, Next, next_line};
use super::output::{self, Capture};
use super::run::{Stop, Watch, decode, spec, with_files};
use super::{Scene, Tool, ToolOutput, file, path};
use crate::limits::{COUNT_AHEAD_BYTES_MAX, LINE_BYTES_MAX, READ_LINES_DEFAULT, TOOL_OUTPUT_KEPT_BYTES_MAX};
use crate::permit::Permitted;

/// Shows lines of a file. Memory is bounded, however large the file is.
#[derive(Clone, Copy, Debug)]
pub struct ReadFile;

const FIELDS: [Field; 3] = [
    Field::text("path", "Path of the file, relative to the working directory or absolute inside it."),
    Field::number("offset", None, "The first line to read, counted in lines from 1. Default: 1."),
    Field::number("limit", None, "How many lines to read at most. Default: 2000 lines."),
];

/// Bytes from which a file is known to be text or binary.
const SNIFF_BYTES: usize = 8 << 10;

/// Bytes between two looks at the watch.
const BYTES_PER_LOOK: u64 = 1 << 20;

impl Tool for ReadFile {
    fn spec(&self) -> ToolSpec {
        let description = "Reads lines of a text file and shows them unchanged, without line numbers. \
            The summary says which lines were shown, how many there are, and where to read on. \
            Very long lines are cut.";
        spec("read_file", Effect::ReadOnly, description, &FIELDS)
    }

    fn run(&self, call: Permitted<Call>, scene: Scene) -> BoxFuture<'static, ToolOutput> {
        async move {
            let arguments = match decode(&FIELDS, call.get()) {
                Ok(arguments) => arguments,
                Err(refusal) => return refusal,
            };
            let first = arguments.number("offset").unwrap_or(1);
            let count = arguments.number("limit").unwrap_or(READ_LINES_DEFAULT);
            let path = arguments.text("path").to_owned();
            with_files(scene, move |scene, watch| read(&path, first, count, scene, watch)).await
        }
        .boxed()
    }
}

fn read(path: &str, first: u64, count: u64, scene: &Scene, watch: &Watch) -> ToolOutput {
    let place = match path::resolve(&scene.directory, path) {
        Ok(place) => place,
        Err(error) => return ToolOutput::failed(error.to_string()),
    };
    let name = place.shown();
    let (file, metadata) = match file::open(&place.path) {
        Ok(opened) => opened,
        Err(error) => return ToolOutput::failed(format!("{name}: {error}")),
    };
    let mut reader = BufReader::with_capacity(64 << 10, file);
    let result = match sniff(&mut reader) {
        Ok(true) => read_binary(reader, metadata.len()).map(|capture| {
            let shown = capture.show(scene.output_bytes);
            ToolOutput::ok(format!("{name}: {}", shown.measure)).with_shown(shown)
        }),
        Ok(false) => read_lines(&mut reader, first, count, output::bound(scene.output_bytes), watch)
            .map(|read| read.output(&name, first)),
        Err(error) => Err(error),
    };
    result.unwrap_or_else(|error| ToolOutput::failed(format!("{name}: {error}")))
}

fn sniff(reader: &mut BufReader<File>) -> io::Result<bool> {
    let buffer = reader.fill_buf()?;
    Ok(output::is_binary(&buffer[..buffer.len().min(SNIFF_BYTES)]))
}

fn read_binary(reader: BufReader<File>, bytes: u64) -> io::Result<Capture> {
    let mut kept = Vec::new();
    reader.take(TOOL_OUTPUT_KEPT_BYTES_MAX as u64).read_to_end(&mut kept)?;
    let mut capture = Capture::new();
    capture.push(&kept);
    capture.skip(bytes.saturating_sub(kept.len() as u64));
    Ok(capture)
}

/// What was read, and what is known of the rest.
#[derive(Debug, Default)]
struct Lines {
    /// What the model sees.
    content: String,
    /// The lines asked for, as bytes.
    raw: Vec<u8>,
    raw_bytes: u64,
    /// Lines shown.
    shown: u64,
    /// Lines of the file, as far as they were counted.
    counted: u64,
    /// They were counted to the end.
    to_the_end: bool,
    stop: Option<Stop>,
}

/// Where a line lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Zone {
    Before,
    AskedFor,
    After,
}

/// Reads on from the first line until enough is shown, and then, for a while, only counts.
fn read_lines(
    reader: &mut BufReader<File>,
    first: u64,
    count: u64,
    bytes_max: usize,
    watch: &Watch,
) -> io::Result<Lines> {
    let end = first.saturating_add(count);
    let mut lines = Lines { stop: watch.stop(), ..Lines::default() };
    let mut line = Line::default();
    let (mut full, mut ahead, mut unseen) = (false, 0_u64, 0_u64);
    while lines.stop.is_none() && ahead < COUNT_AHEAD_BYTES_MAX {
        let number = lines.counted + 1;
        let zone = match number {
            _ if number < first => Zone::Before,
            _ if number < end => Zone::AskedFor,
            _ => Zone::After,
        };
        let mut of_line = 0_u64;
        let next = next_line(reader, &mut line, LINE_BYTES_MAX, |piece| {
            let bytes = piece.len() as u64;
            (of_line, unseen) = (of_line + bytes, unseen + bytes);
            if unseen >= BYTES_PER_LOOK {
                (unseen, lines.stop) = (0, watch.stop());
            }
            if zone == Zone::AskedFor {
                lines.keep(piece);
            }
            if full || zone == Zone::After {
                ahead += bytes;
            }
            let enough = zone == Zone::AskedFor && of_line >= COUNT_AHEAD_BYTES_MAX;
            lines.stop.is_none() && ahead < COUNT_AHEAD_BYTES_MAX && !enough
        })?;
        if next == Next::End {
            lines.to_the_end = true;
            break;
        }
        if next == Next::Line || zone == Zone::AskedFor {
            lines.counted = number;
        }
        if zone == Zone::AskedFor && !full {
            full = !lines.take(&line, next, bytes_max);
        }
        if next == Next::Stopped {
            break;
        }
    }
    Ok(lines)
}

impl Lines {
    fn keep(&mut self, piece: &[u8]) {
        self.raw_bytes += piece.len() as u64;
        let room = TOOL_OUTPUT_KEPT_BYTES_MAX - self.raw.len();
        self.raw.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    /// Shows one more line; false when there is no room for it.
    fn take(&mut self, line: &Line, next: Next, bytes_max: usize) -> bool {
        let text = whole_characters(line);
        let mut shown = text::clean(text.strip_suffix(b"\r").unwrap_or(text));
        if line.left_out > 0 {
            let at_least = if next == Next::Stopped { "at least " } else { "" };
            let left_out = line.left_out + (line.text.len() - text.len()) as u64;
            shown = format!("{shown} [... {at_least}{left_out} bytes of this line left out ...]");
        }
        if line.ended {
            shown.push('\n');
        }
        let fits = self.content.len() + shown.len() <= bytes_max;
        if fits {
            self.content.push_str(&shown);
            self.shown += 1;
        } else if self.shown == 0 {
            // Not even one line fits: its beginning is better than nothing.
            self.content.push_str(text::head(&shown, bytes_max));
            self.shown = 1;
        }
        fits
    }

    fn output(self, name: &str, first: u64) -> ToolOutput {
        let counted = self.counted;
        if let (None, true, 0) = (self.stop, self.to_the_end, counted) {
            return ToolOutput::ok(format!("{name}: the file is empty"));
        }
        if self.to_the_end && first > counted {
            return ToolOutput::failed(format!(
                "{name}: line {first} is past the end, the file has {counted} lines"
            ));
        }
        let last = first + self.shown.saturating_sub(1);
        let of = if self.to_the_end { counted.to_string() } else { format!("more than {counted}") };
        let read_on = if self.to_the_end && last >= counted {
            String::new()
        } else {
            format!("; read on with offset {}", first + self.shown)
        };
        let summary = format!("{name}: lines {first} to {last} of {of}{read_on}");
        let output = match self.stop {
            Some(stop) => stop.output(&format!("{name}: {} lines shown", self.shown)),
            None => ToolOutput::ok(summary),
        };
        let whole = (self.content.as_bytes() != self.raw.as_slice()).then_some(self.raw);
        ToolOutput { content: self.content, whole, bytes: self.raw_bytes, ..output }
    }
}

/// What is held of a line, without a character that the bound has cut in two.
fn whole_characters(line: &Line) -> &[u8] {
    let cut = match line.text.utf8_chunks().last() {
        Some(last) if line.left_out > 0 && last.invalid().len() < 4 => last.invalid().len(),
        Some(_) | None => 0,
    };
    &line.text[..line.text.len() - cut]
}

#[cfg(test)]
mod tests;
