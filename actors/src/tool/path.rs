//! Paths that a model writes, and where they lead.
//!
//! A path is followed link by link, as the kernel would, and refused when it ends outside the
//! pod's directory. What is checked here can change before it is used: a command of the same pod
//! may put a link in the place of a folder in between. The check holds a model to its directory;
//! it is no wall against a program that runs with the same rights.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::limits::LINKS_MAX;

/// A place inside the pod's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The pod's directory, absolute and without links.
    pub(crate) root: PathBuf,
    /// The place, absolute and without links; it need not exist.
    pub(crate) path: PathBuf,
}

impl Place {
    /// How the place is shown: from the pod's directory.
    pub(crate) fn shown(&self) -> String {
        shown(&self.root, &self.path)
    }
}

/// A path inside the root as it is shown to the model.
pub(crate) fn shown(root: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(root).unwrap_or(path);
    if relative.as_os_str().is_empty() { ".".to_owned() } else { relative.to_string_lossy().into_owned() }
}

/// Why a path is not used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PathError {
    /// There is nothing to follow.
    #[error("the path is empty")]
    Empty,
    /// No file has such a name.
    #[error("the path contains a NUL byte")]
    Nul,
    /// A shell would expand it; podwork does not.
    #[error("`~` is not expanded: give the path from {}", root.display())]
    Tilde {
        /// The pod's directory.
        root: PathBuf,
    },
    /// It leads out.
    #[error("refused: `{path}` leads outside the pod's directory {}", root.display())]
    Outside {
        /// As the model wrote it.
        path: String,
        /// The pod's directory.
        root: PathBuf,
    },
    /// Links that lead to each other.
    #[error("`{path}` leads through more than {LINKS_MAX} links")]
    Links {
        /// As the model wrote it.
        path: String,
    },
    /// A part of it cannot be looked at.
    #[error("`{path}`: {source}")]
    Unreadable {
        /// As the model wrote it.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// The pod's directory is not there.
    #[error("the pod's directory {} cannot be used: {source}", directory.display())]
    Directory {
        /// The pod's directory.
        directory: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Follows a path from the pod's directory, and refuses one that leads out of it.
pub(crate) fn resolve(directory: &Path, path: &str) -> Result<Place, PathError> {
    let root = directory
        .canonicalize()
        .map_err(|source| PathError::Directory { directory: directory.to_owned(), source })?;
    if path.is_empty() {
        return Err(PathError::Empty);
    }
    if path.contains('\0') {
        return Err(PathError::Nul);
    }
    if path == "~" || path.starts_with("~/") {
        return Err(PathError::Tilde { root });
    }
    let end = follow(&root, path)?;
    if end.starts_with(&root) {
        Ok(Place { root, path: end })
    } else {
        Err(PathError::Outside { path: path.to_owned(), root })
    }
}

/// Where the path ends, link by link. `at` is at all times a real path without links, down to
/// where the file system ends; below that nothing exists that could be a link.
fn follow(root: &Path, path: &str) -> Result<PathBuf, PathError> {
    let mut at = root.to_owned();
    let mut steps = VecDeque::new();
    put_before(&mut steps, Path::new(path));
    let mut links = 0;
    while let Some(step) = steps.pop_front() {
        match step {
            Step::Root => at = PathBuf::from("/"),
            Step::Up => {
                at.pop();
            }
            Step::Down(name) => {
                at.push(name);
                if let Some(target) = link(&at, path)? {
                    links += 1;
                    if links > LINKS_MAX {
                        return Err(PathError::Links { path: path.to_owned() });
                    }
                    at.pop();
                    put_before(&mut steps, &target);
                }
            }
        }
    }
    Ok(at)
}

enum Step {
    Root,
    Up,
    Down(OsString),
}

fn put_before(steps: &mut VecDeque<Step>, path: &Path) {
    for component in path.components().rev() {
        match component {
            Component::Prefix(_) | Component::RootDir => steps.push_front(Step::Root),
            Component::CurDir => {}
            Component::ParentDir => steps.push_front(Step::Up),
            Component::Normal(name) => steps.push_front(Step::Down(name.to_owned())),
        }
    }
}

/// Where the link at this place points; `None` when it is no link or does not exist.
fn link(at: &Path, path: &str) -> Result<Option<PathBuf>, PathError> {
    let unreadable = |source| PathError::Unreadable { path: path.to_owned(), source };
    match at.symlink_metadata() {
        Ok(metadata) if metadata.is_symlink() => at.read_link().map(Some).map_err(unreadable),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(error)),
    }
}

#[cfg(test)]
mod tests;
