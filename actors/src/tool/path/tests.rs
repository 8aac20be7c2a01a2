//! Paths that stay inside, paths that try to leave, and the kernel as the judge.

use std::fs;
use std::os::unix::fs::symlink;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// A pod's directory with a neighbour that it must not reach, and links of every kind.
struct Fixture {
    _base: TempDir,
    outside: PathBuf,
    pod: PathBuf,
}

fn fixture() -> Fixture {
    let base = TempDir::new().expect("a temporary directory");
    let real = base.path().canonicalize().expect("it exists");
    let (pod, outside) = (real.join("pod"), real.join("outside"));
    fs::create_dir_all(pod.join("src/deep")).unwrap();
    fs::create_dir_all(&outside).unwrap();
    fs::create_dir_all(real.join("pod-neighbour")).unwrap();
    fs::write(pod.join("src/a.rs"), "a").unwrap();
    fs::write(outside.join("secret"), "s").unwrap();
    symlink("src", pod.join("inside_link")).unwrap();
    symlink(&outside, pod.join("outside_link")).unwrap();
    symlink("../outside/secret", pod.join("file_link")).unwrap();
    symlink("../../outside", pod.join("src/up_link")).unwrap();
    symlink("../outside/not_yet", pod.join("dangling_out")).unwrap();
    symlink("src/not_yet", pod.join("dangling_in")).unwrap();
    symlink("loop_b", pod.join("loop_a")).unwrap();
    symlink("loop_a", pod.join("loop_b")).unwrap();
    symlink("outside_link", pod.join("link_to_link")).unwrap();
    symlink(&pod, real.join("other_name")).unwrap();
    Fixture { _base: base, outside, pod }
}

#[test]
fn paths_inside_are_followed_to_where_they_lead() {
    let f = fixture();
    let cases = [
        ("src/a.rs", "src/a.rs"),
        ("./src/./a.rs", "src/a.rs"),
        ("src/deep/../a.rs", "src/a.rs"),
        ("inside_link/a.rs", "src/a.rs"),
        ("inside_link/deep/../a.rs", "src/a.rs"),
        ("new/folder/file", "new/folder/file"),
        ("new/../src/a.rs", "src/a.rs"),
        ("dangling_in", "src/not_yet"),
        ("../pod/src/a.rs", "src/a.rs"),
        (".", "."),
        ("src/..", "."),
    ];
    for (path, end) in cases {
        assert_eq!(resolve(&f.pod, path).expect(path).shown(), end, "{path}");
    }
}

#[test]
fn absolute_paths_inside_are_fine_by_every_name_of_the_directory() {
    let f = fixture();
    for name in [f.pod.clone(), f.pod.with_file_name("other_name")] {
        let path = name.join("src/a.rs");
        for directory in [&f.pod, &f.pod.with_file_name("other_name")] {
            let place = resolve(directory, path.to_str().unwrap()).expect("inside");
            assert_eq!(place.shown(), "src/a.rs");
        }
    }
}

#[test]
fn paths_that_lead_out_are_refused() {
    let f = fixture();
    let absolute = f.outside.join("secret");
    let neighbour = f.pod.with_file_name("pod-neighbour");
    let cases = [
        "..",
        "../outside/secret",
        "src/../../outside/secret",
        "new/../../outside/secret",
        "new/folder/../../../outside/new",
        "inside_link/../../outside/secret",
        "outside_link",
        "outside_link/secret",
        "outside_link/new",
        "outside_link/new/newer",
        "link_to_link/secret",
        "file_link",
        "src/up_link/secret",
        "src/up_link/new",
        "dangling_out",
        "/",
        "/etc/passwd",
        "/proc/self/root",
        "../pod-neighbour/file",
        absolute.to_str().unwrap(),
        neighbour.to_str().unwrap(),
    ];
    for path in cases {
        let error = resolve(&f.pod, path).expect_err(path);
        assert!(matches!(error, PathError::Outside { .. }), "{path}: {error}");
        assert!(error.to_string().contains(path) && error.to_string().contains("outside"), "{error}");
    }
}

#[test]
fn a_parent_step_after_a_link_is_taken_from_where_the_link_leads() {
    let f = fixture();
    symlink(f.pod.join("src/deep"), f.pod.join("deep")).unwrap();
    assert_eq!(resolve(&f.pod, "deep/../a.rs").expect("inside").shown(), "src/a.rs");
}

#[test]
fn what_is_no_path_is_refused_by_name() {
    let f = fixture();
    let cases = [
        ("", "the path is empty"),
        ("a\0b", "the path contains a NUL byte"),
        ("loop_a", "`loop_a` leads through more than 40 links"),
    ];
    for (path, error) in cases {
        assert_eq!(resolve(&f.pod, path).expect_err(path).to_string(), error);
    }
    for path in ["~", "~/.ssh/id_rsa"] {
        assert!(matches!(resolve(&f.pod, path), Err(PathError::Tilde { .. })), "{path}");
    }
    let through_a_file = resolve(&f.pod, "src/a.rs/b").expect_err("no folder");
    assert!(matches!(through_a_file, PathError::Unreadable { .. }), "{through_a_file}");
    let long = resolve(&f.pod, &"x".repeat(5000)).expect_err("too long");
    assert!(matches!(long, PathError::Unreadable { .. }), "{long}");
}

#[test]
fn a_pod_whose_directory_is_gone_is_told_so() {
    let f = fixture();
    fs::remove_dir_all(&f.pod).unwrap();
    let error = resolve(&f.pod, "a").expect_err("gone");
    assert!(error.to_string().starts_with("the pod's directory"), "{error}");
}

/// Pieces from which paths are put together that try to leave.
fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "..",
        ".",
        "src",
        "deep",
        "a.rs",
        "new",
        "inside_link",
        "outside_link",
        "up_link",
        "file_link",
        "dangling_out",
        "dangling_in",
        "loop_a",
        "pod",
        "outside",
        "",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_path_that_is_accepted_is_inside_for_the_kernel_as_well(
        pieces in prop::collection::vec(piece(), 1..8),
        absolute in any::<bool>(),
    ) {
        let f = fixture();
        let mut path = pieces.join("/");
        if absolute {
            path = format!("{}/{path}", f.pod.display());
        }
        if let Ok(place) = resolve(&f.pod, &path) {
            prop_assert!(place.path.starts_with(&f.pod));
            // Where the kernel can follow the path as well, it comes to the same place.
            if let Ok(real) = f.pod.join(&path).canonicalize() {
                prop_assert_eq!(&real, &place.path);
            }
            // And no beginning of the place is a link.
            for ancestor in place.path.ancestors().take_while(|ancestor| *ancestor != f.pod) {
                prop_assert!(!ancestor.is_symlink());
            }
        } else if let Ok(real) = f.pod.join(&path).canonicalize() {
            // Nothing inside is refused.
            prop_assert!(path.is_empty() || !real.starts_with(&f.pod), "{}", path);
        }
    }
}
