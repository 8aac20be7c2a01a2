//! `edit_file`: one text in a file for another.

use std::io::Read as _;

use events::ToolSpec;
use events::item::Call;
use events::spec::Effect;
use futures_util::future::{BoxFuture, FutureExt as _};

use self::replace::{Edit, edit};
use super::arguments::{Decoded, Field};
use super::run::{decode, spec, with_files};
use super::{Scene, Tool, ToolOutput, file, path};
use crate::limits::EDIT_BYTES_MAX;
use crate::permit::Permitted;

mod replace;

/// Replaces a text in a file that occurs exactly once, or everywhere.
#[derive(Clone, Copy, Debug)]
pub struct EditFile;

const FIELDS: [Field; 4] = [
    Field::text("path", "Path of the file, relative to the working directory or absolute inside it."),
    Field::text(
        "old_text",
        "The text to replace, exactly as it stands in the file, white space included. \
         It must occur exactly once unless all is true.",
    ),
    Field::text("new_text", "The text to put in its place; empty to delete the old one."),
    Field::flag("all", "Replace every occurrence. Default: false."),
];

impl Tool for EditFile {
    fn spec(&self) -> ToolSpec {
        let description = "Replaces a text in a file by another. The old text must be unique in the file: \
            give enough lines around the place, or set all to true. The file keeps its line endings.";
        spec("edit_file", Effect::Other, description, &FIELDS)
    }

    fn run(&self, call: Permitted<Call>, scene: Scene) -> BoxFuture<'static, ToolOutput> {
        async move {
            let arguments = match decode(&FIELDS, call.get()) {
                Ok(arguments) => arguments,
                Err(refusal) => return refusal,
            };
            with_files(scene, move |scene, _| change(&arguments, scene).unwrap_or_else(ToolOutput::failed))
                .await
        }
        .boxed()
    }
}

fn change(arguments: &Decoded, scene: &Scene) -> Result<ToolOutput, String> {
    let place = path::resolve(&scene.directory, arguments.text("path")).map_err(|error| error.to_string())?;
    let name = place.shown();
    let failed = |error: &dyn std::fmt::Display| format!("{name}: {error}");
    let _alone = file::hold(&place.path);
    file::replaceable(&place.path).map_err(|error| failed(&error))?;
    let (opened, metadata) = file::open(&place.path).map_err(|error| failed(&error))?;
    let mut old = Vec::new();
    opened.take(EDIT_BYTES_MAX + 1).read_to_end(&mut old).map_err(|error| failed(&error))?;
    if old.len() as u64 > EDIT_BYTES_MAX {
        return Err(failed(&format!("larger than {EDIT_BYTES_MAX} bytes: edit it with a command")));
    }
    let wanted =
        Edit { old: arguments.text("old_text"), new: arguments.text("new_text"), all: arguments.flag("all") };
    let edited = edit(&old, wanted).map_err(|error| failed(&error))?;
    file::replace(&place.path, &edited.content, Some(&metadata))
        .map_err(|error| failed(&format!("cannot be written: {error}")))?;
    Ok(ToolOutput::ok(format!("{name}: {}", edited.summary)))
}

#[cfg(test)]
mod tests;
