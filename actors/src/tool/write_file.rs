//! `write_file`: a file with this content, whole or not at all.

use std::fs;

use events::ToolSpec;
use events::item::Call;
use events::spec::Effect;
use futures_util::future::{BoxFuture, FutureExt as _};

use super::arguments::Field;
use super::run::{decode, spec, with_files};
use super::{Scene, Tool, ToolOutput, file, path};
use crate::permit::Permitted;

/// Creates a file or replaces all of it. Doing it twice is the same as doing it once.
#[derive(Clone, Copy, Debug)]
pub struct WriteFile;

const FIELDS: [Field; 2] = [
    Field::text("path", "Path of the file, relative to the working directory or absolute inside it."),
    Field::text("content", "The whole content of the file, as text."),
];

impl Tool for WriteFile {
    fn spec(&self) -> ToolSpec {
        let description = "Creates a file with the given content, or replaces the whole content of one. \
            Folders on the way are created. To change a part of a file, use edit_file.";
        spec("write_file", Effect::Idempotent, description, &FIELDS)
    }

    fn run(&self, call: Permitted<Call>, scene: Scene) -> BoxFuture<'static, ToolOutput> {
        async move {
            let arguments = match decode(&FIELDS, call.get()) {
                Ok(arguments) => arguments,
                Err(refusal) => return refusal,
            };
            with_files(scene, move |scene, _| {
                write(arguments.text("path"), arguments.text("content"), scene)
                    .unwrap_or_else(ToolOutput::failed)
            })
            .await
        }
        .boxed()
    }
}

fn write(path: &str, content: &str, scene: &Scene) -> Result<ToolOutput, String> {
    let place = path::resolve(&scene.directory, path).map_err(|error| error.to_string())?;
    if path.ends_with('/') {
        return Err(format!("`{path}` names a folder: give the path of a file"));
    }
    let name = place.shown();
    let _alone = file::hold(&place.path);
    let old = file::replaceable(&place.path).map_err(|error| format!("{name}: {error}"))?;
    if let Some(folder) = place.path.parent() {
        fs::create_dir_all(folder)
            .map_err(|error| format!("{}: cannot be created: {error}", path::shown(&place.root, folder)))?;
    }
    file::replace(&place.path, content.as_bytes(), old.as_ref())
        .map_err(|error| format!("{name}: cannot be written: {error}"))?;
    let size = format!("{} bytes, {} lines", content.len(), content.lines().count());
    Ok(ToolOutput::ok(match old {
        None => format!("{name}: created, {size}"),
        Some(old) => format!("{name}: replaced, {size}; it had {} bytes", old.len()),
    }))
}

#[cfg(test)]
mod tests;
