//! The files below a folder, in order, without what git ignores.

use std::ffi::OsStr;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};

/// All entries below `base`, itself included, sorted name by name. Hidden files are there, `.git`
/// and what ignore files name is not; links are entries and are not followed. What cannot be
/// read is left out.
pub(super) fn walk(base: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    WalkBuilder::new(base)
        .hidden(false)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_name(OsStr::cmp)
        .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git")
        .build()
        .filter_map(Result::ok)
}

/// The entry is a file with content that ends.
pub(super) fn is_file(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_file())
}

/// The entry is a folder.
pub(super) fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

/// A glob as people write it: without a slash it is about a file's name, wherever the file lies;
/// with one it is about the path from the base.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    matcher: GlobMatcher,
    of_names: bool,
}

impl Glob {
    /// Reads a glob; the error is for the model.
    pub(super) fn parse(pattern: &str, root: &Path) -> Result<Self, String> {
        // An absolute pattern inside the directory is as good as a relative one.
        let relative = root.to_str().and_then(|root| pattern.strip_prefix(root)).unwrap_or(pattern);
        let relative = relative.trim_start_matches("./").trim_start_matches('/');
        let matcher = GlobBuilder::new(relative)
            .literal_separator(true)
            .build()
            .map_err(|error| format!("`{pattern}` is no glob: {}", error.kind()))?
            .compile_matcher();
        Ok(Self { matcher, of_names: !relative.contains('/') })
    }

    /// The path, seen from the base, is meant.
    pub(super) fn matches(&self, relative: &Path) -> bool {
        let name = if self.of_names { relative.file_name().map(Path::new) } else { None };
        self.matcher.is_match(name.unwrap_or(relative))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_without_a_slash_is_about_names_and_one_with_a_slash_about_paths() {
        let cases = [
            ("*.rs", "src/deep/a.rs", true),
            ("*.rs", "a.toml", false),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/deep/a.rs", false),
            ("src/**/*.rs", "src/deep/a.rs", true),
            ("./src/*.rs", "src/a.rs", true),
            ("/pod/src/*.rs", "src/a.rs", true),
            ("*.{rs,toml}", "a.toml", true),
            ("**/a.*", "a.rs", true),
            ("[ab].rs", "src/b.rs", true),
        ];
        for (pattern, path, matches) in cases {
            let glob = Glob::parse(pattern, Path::new("/pod")).expect(pattern);
            assert_eq!(glob.matches(Path::new(path)), matches, "{pattern} {path}");
        }
    }

    #[test]
    fn what_is_no_glob_is_named() {
        let error = Glob::parse("src/[a", Path::new("/pod")).expect_err("no glob");
        assert!(error.starts_with("`src/[a` is no glob: "), "{error}");
    }
}
