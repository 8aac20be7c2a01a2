//! Rules about the sources that no compiler and no lint holds. Each function that judges is pure
//! and is shown a breach in `every_rule_can_be_broken`.

#![expect(clippy::unwrap_used, reason = "in a test the panic is the message")]

use std::path::{Path, PathBuf};

/// What fits on a few screens: longer files hide where something happens.
const FILE_LINES_MAX: usize = 400;

/// Which crates may not know of which others. What is not named here is free.
const FORBIDDEN: [(&str, &[&str]); 5] = [
    (
        "events",
        &[
            "tokio",
            "tokio-util",
            "ractor",
            "redb",
            "tracing",
            "reqwest",
            "rustls",
            "uuid",
            "store",
            "actors",
            "futures-util",
            "rustix",
            "tempfile",
        ],
    ),
    ("store", &["ractor", "reqwest", "rustls", "clap", "actors", "podwork-tests"]),
    ("actors", &["redb", "clap", "toml", "podwork-tests"]),
    ("bin", &["ractor", "redb", "reqwest", "rustls", "podwork-tests"]),
    ("tests", &["ractor", "reqwest", "clap"]),
];

/// Words that may not stand in sources that are pure: rules, wire formats and all of `events`.
const IMPURE: [&str; 8] = [
    "async fn",
    "async move",
    ".await",
    "tokio::",
    "std::fs",
    "std::time::Instant",
    "SystemTime",
    "std::thread",
];

/// Words that somebody wanted to come back to.
const LEFT_OVER: [&str; 5] = ["todo!(", "unimplemented!(", "dbg!(", "FIXME", "TODO"];

struct Source {
    /// From the root of the workspace, with `/`.
    path: String,
    text: String,
}

#[test]
fn arrows_between_crates_point_one_way() {
    for (krate, forbidden) in FORBIDDEN {
        let manifest = std::fs::read_to_string(root().join(krate).join("Cargo.toml")).unwrap();
        assert_eq!(wrong_arrows(&manifest, forbidden), Vec::<String>::new(), "{krate}/Cargo.toml");
    }
}

#[test]
fn only_providers_speak_http() {
    judge(|source| {
        let elsewhere = source.path.starts_with("actors/src/") && !source.path.contains("/provider");
        (elsewhere && source.text.contains("reqwest")).then(|| "speaks HTTP".to_owned())
    });
}

#[test]
fn no_file_is_longer_than_400_lines() {
    judge(|source| too_long(&source.text));
}

#[test]
fn every_module_opens_with_what_it_is() {
    judge(|source| headless(&source.text));
}

#[test]
fn a_module_stands_beside_its_folder() {
    judge(|source| is_mod_rs(&source.path).then(|| "is called mod.rs".to_owned()));
}

#[test]
fn nothing_is_left_over() {
    judge(|source| left_over(&source.text));
}

#[test]
fn exceptions_from_lints_have_a_reason() {
    judge(|source| unreasoned(&source.text));
}

#[test]
fn rules_wire_formats_and_facts_are_pure() {
    judge(|source| is_pure_by_name(&source.path).then(|| impure(&source.text)).flatten());
}

#[test]
fn every_path_that_the_pages_name_exists() {
    for page in ["README.md", "ARCHITECTURE.md"] {
        // A page that is not written yet names nothing.
        let Ok(text) = std::fs::read_to_string(root().join(page)) else { continue };
        let lost: Vec<String> = paths(&text).into_iter().filter(|path| !root().join(path).exists()).collect();
        assert_eq!(lost, Vec::<String>::new(), "{page} names what is not there");
    }
}

#[test]
fn no_file_knows_the_machine_that_it_was_written_on() {
    let homes = ["HOME", "CARGO_HOME"].iter().filter_map(|name| std::env::var(name).ok());
    // A home such as `/` would be everywhere.
    let homes = homes.filter(|home| home.len() > 3).map(|home| home + "/");
    let places: Vec<String> = homes.chain([root().to_str().unwrap().to_owned()]).collect();
    for path in files(&root(), &|_| true) {
        let Ok(text) = std::fs::read_to_string(root().join(&path)) else { continue };
        assert_eq!(machine_path(&text, &places), None, "{path}");
    }
}

#[test]
fn every_rule_can_be_broken() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\ntokio.workspace = true\n\
        serde = \"1\"\n[dev-dependencies]\nredb = { version = \"4\" }\n[lints]\nractor = true\n";
    assert_eq!(wrong_arrows(manifest, &["tokio", "redb", "ractor"]), ["tokio", "redb"]);
    assert!(too_long(&"//! x\n".repeat(401)).is_some());
    assert!(too_long(&"//! x\n".repeat(400)).is_none());
    assert!(headless("use std::fs;\n//! Late.").is_some());
    assert!(headless("//! A module.").is_none());
    assert!(is_mod_rs("actors/src/tool/mod.rs"));
    assert!(left_over(&["fn f() { ", "todo", "!() }"].concat()).is_some());
    assert!(unreasoned(&["#[", "allow(dead_code)]"].concat()).is_some());
    assert!(unreasoned(&["#[", "expect(dead_code)]"].concat()).is_some());
    assert!(unreasoned("#[expect(dead_code, reason = \"x\")]").is_none());
    assert!(unreasoned("#[expect(\n    dead_code,\n    reason = \"x\"\n)]").is_none());
    assert!(is_pure_by_name("actors/src/pod/decide.rs"));
    assert!(is_pure_by_name("actors/src/provider/openai/wire/reply.rs"));
    assert!(!is_pure_by_name("actors/src/pod.rs"));
    assert!(impure("fn f() { std::fs::read(x) }").is_some());
    assert!(impure("// An `async fn` would wait.\nfn f() {}").is_none());
    let page = "See `events/src/event/{pod,turn}.rs`, `cargo test`, `store::ReadLog` and `bin/`.";
    assert_eq!(paths(page), ["events/src/event/pod.rs", "events/src/event/turn.rs", "bin/"]);
    assert!(machine_path("see /here/x", &["/here".to_owned()]).is_some());
}

/// Fails with every source that a rule has something against.
fn judge(rule: impl Fn(&Source) -> Option<String>) {
    let wrong: Vec<String> = sources()
        .iter()
        .filter_map(|source| rule(source).map(|what| format!("{}: {what}", source.path)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn sources() -> Vec<Source> {
    let is_source = |path: &str| {
        let folder = path.split('/').next().unwrap_or_default();
        Path::new(path).extension().is_some_and(|extension| extension == "rs")
            && FORBIDDEN.iter().any(|(krate, _)| *krate == folder)
    };
    let paths = files(&root(), &is_source);
    assert!(paths.len() > 20, "the sources are found");
    let read = |path: String| Source { text: std::fs::read_to_string(root().join(&path)).unwrap(), path };
    paths.into_iter().map(read).collect()
}

/// Files below a folder that are wanted, without what is built or belongs to git.
fn files(root: &Path, wanted: &dyn Fn(&str) -> bool) -> Vec<String> {
    let (mut found, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let (path, name) = (entry.path(), entry.file_name());
            if name == "target" || name == ".git" || name == "proptest-regressions" {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if let Some(path) = path.strip_prefix(root).unwrap().to_str().filter(|path| wanted(path)) {
                found.push(path.to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Dependencies of any kind that a manifest should not have.
fn wrong_arrows(manifest: &str, forbidden: &[&str]) -> Vec<String> {
    let mut in_dependencies = false;
    let mut wrong = Vec::new();
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            in_dependencies = section.trim_end_matches(']').ends_with("dependencies");
            continue;
        }
        let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
        if in_dependencies && forbidden.contains(&name) {
            wrong.push(name.to_owned());
        }
    }
    wrong
}

fn too_long(text: &str) -> Option<String> {
    let lines = text.lines().count();
    (lines > FILE_LINES_MAX).then(|| format!("has {lines} lines, at most {FILE_LINES_MAX} are allowed"))
}

fn headless(text: &str) -> Option<String> {
    (!text.starts_with("//! ")).then(|| "does not begin with what it is (`//! `)".to_owned())
}

fn is_mod_rs(path: &str) -> bool {
    path.ends_with("/mod.rs")
}

/// The list of these words is the one place where they may stand.
fn left_over(text: &str) -> Option<String> {
    if text.contains("const LEFT_OVER") {
        return None;
    }
    LEFT_OVER.iter().find(|word| text.contains(*word)).map(|word| format!("has a left over `{word}`"))
}

fn unreasoned(text: &str) -> Option<String> {
    for opening in ["#[", "#!["] {
        if text.contains(&format!("{opening}allow(")) {
            return Some("allows a lint for ever; `expect` says when it is no longer needed".to_owned());
        }
        for attribute in text.split(&format!("{opening}expect(")).skip(1) {
            if !attribute.split(")]").next().unwrap_or_default().contains("reason = ") {
                return Some("expects a lint without a reason".to_owned());
            }
        }
    }
    None
}

fn is_pure_by_name(path: &str) -> bool {
    let is_rule = |name: &str| path.ends_with(&format!("/{name}.rs")) || path.contains(&format!("/{name}/"));
    path.starts_with("events/src/") || is_rule("decide") || is_rule("wire")
}

fn impure(text: &str) -> Option<String> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut breaches = code.filter_map(|line| IMPURE.iter().find(|word| line.contains(*word)));
    breaches.next().map(|word| format!("is to be pure and has `{word}`"))
}

/// Paths of the workspace between backticks, with braces spelled out.
fn paths(page: &str) -> Vec<String> {
    let folders = ["events/", "store/", "actors/", "bin/", "tests/", "benches/", "scripts/", ".ci/"];
    let quoted = page.split('`').skip(1).step_by(2);
    let is_path = |word: &&str| {
        folders.iter().any(|folder| word.starts_with(folder))
            && !word.contains([' ', '*', '<', '(', ':', '\n'])
    };
    quoted.filter(is_path).flat_map(spelled_out).collect()
}

fn spelled_out(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else { return vec![path.to_owned()] };
    let Some((names, after)) = rest.split_once('}') else { return vec![path.to_owned()] };
    names.split(',').map(|name| format!("{before}{}{after}", name.trim())).collect()
}

fn machine_path(text: &str, places: &[String]) -> Option<String> {
    places.iter().find(|place| text.contains(place.as_str())).cloned()
}
