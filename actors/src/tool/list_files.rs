//! `list_files`: the files below a folder.

use std::path::{Path, PathBuf};

use events::item::Call;
use events::spec::Effect;
use events::{ToolSpec, text};
use futures_util::future::{BoxFuture, FutureExt as _};
use ignore::DirEntry;

use super::arguments::Field;
use super::path::{self, shown};
use super::run::{Stop, Watch, decode, spec, with_files};
use super::walk::{Glob, is_folder, walk};
use super::{Scene, Tool, ToolOutput, output};
use crate::limits::LIST_ENTRIES_MAX;
use crate::permit::Permitted;

/// Names the files below a folder, sorted.
#[derive(Clone, Copy, Debug)]
pub struct ListFiles;

const FIELDS: [Field; 2] = [
    Field::text("path", "Folder to list, relative to the working directory. Default: the working directory.")
        .optional(),
    Field::text(
        "pattern",
        "Glob that files must match: *.rs is about names in every folder, src/**/*.rs about the \
         path from the folder. Default: all files.",
    )
    .optional(),
];

impl Tool for ListFiles {
    fn spec(&self) -> ToolSpec {
        let description = "Lists files in a folder and all folders below it, sorted, one path a line, \
            relative to the working directory. Files that git ignores are left out; empty folders end \
            with a slash; links show where they point. At most 1000 files are named and the rest is counted.";
        spec("list_files", Effect::ReadOnly, description, &FIELDS)
    }

    fn run(&self, call: Permitted<Call>, scene: Scene) -> BoxFuture<'static, ToolOutput> {
        async move {
            let arguments = match decode(&FIELDS, call.get()) {
                Ok(arguments) => arguments,
                Err(refusal) => return refusal,
            };
            with_files(scene, move |scene, watch| {
                let path = arguments.optional_text("path").unwrap_or(".");
                list(path, arguments.optional_text("pattern"), scene, watch)
                    .unwrap_or_else(ToolOutput::failed)
            })
            .await
        }
        .boxed()
    }
}

fn list(path: &str, pattern: Option<&str>, scene: &Scene, watch: &Watch) -> Result<ToolOutput, String> {
    let place = path::resolve(&scene.directory, path).map_err(|error| error.to_string())?;
    let name = place.shown();
    place.path.symlink_metadata().map_err(|error| format!("{name}: {error}"))?;
    let glob = pattern.map(|pattern| Glob::parse(pattern, &place.root)).transpose()?;
    let mut listing = Listing::new(&place.root, output::bound(scene.output_bytes));
    // A folder is named only when nothing of it is: what follows it in the walk tells.
    let mut open_folder: Option<PathBuf> = None;
    let mut stop = None;
    for entry in walk(&place.path) {
        stop = watch.stop();
        if stop.is_some() {
            break;
        }
        if let Some(folder) = open_folder.take()
            && !entry.path().starts_with(&folder)
        {
            listing.folder(&folder);
        }
        if is_folder(&entry) {
            open_folder = (glob.is_none() && entry.depth() > 0).then(|| entry.into_path());
        } else if glob.as_ref().is_none_or(|glob| glob.matches(from_base(&place.path, &entry))) {
            listing.file(&entry);
        }
    }
    if let Some(folder) = open_folder {
        listing.folder(&folder);
    }
    Ok(listing.output(&name, stop))
}

/// The path that a glob is about. A base that is a file itself goes by its name.
fn from_base<'a>(base: &Path, entry: &'a DirEntry) -> &'a Path {
    match entry.path().strip_prefix(base) {
        Ok(relative) if !relative.as_os_str().is_empty() => relative,
        _ => Path::new(entry.file_name()),
    }
}

/// Entries, as many as are shown, and the number of all.
struct Listing<'a> {
    root: &'a Path,
    bytes_max: usize,
    content: String,
    named: usize,
    count: u64,
}

impl<'a> Listing<'a> {
    fn new(root: &'a Path, bytes_max: usize) -> Self {
        Self { root, bytes_max, content: String::new(), named: 0, count: 0 }
    }

    fn folder(&mut self, folder: &Path) {
        self.entry(&format!("{}/", shown(self.root, folder)));
    }

    fn file(&mut self, entry: &DirEntry) {
        let mut name = shown(self.root, entry.path());
        if entry.path_is_symlink()
            && let Ok(target) = entry.path().read_link()
        {
            name = format!("{name} -> {}", target.display());
        }
        self.entry(&name);
    }

    fn entry(&mut self, name: &str) {
        self.count += 1;
        // A name may hold anything but a slash and a NUL, a line end too.
        let line = text::clean_str(name).replace('\n', "\u{fffd}") + "\n";
        let all_named = self.named as u64 + 1 == self.count;
        if all_named && self.named < LIST_ENTRIES_MAX && self.content.len() + line.len() <= self.bytes_max {
            self.content.push_str(&line);
            self.named += 1;
        }
    }

    fn output(self, name: &str, stop: Option<Stop>) -> ToolOutput {
        let found = match (self.count, self.count - self.named as u64) {
            (0, _) => format!("{name}: no files"),
            (count, 0) => format!("{name}: {count} entries"),
            (count, rest) => format!(
                "{name}: {count} entries, the first {} shown and {rest} not: give a path or a pattern",
                self.named
            ),
        };
        match stop {
            Some(stop) => stop.output(&found),
            None => ToolOutput::ok(found),
        }
        .with_content(self.content)
    }
}

#[cfg(test)]
mod tests;
