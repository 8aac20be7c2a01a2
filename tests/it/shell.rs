//! The kit finds and runs the binary that was built with it.

use kit::shell::Podwork;

#[test]
fn the_binary_of_this_build_runs_in_a_place_of_its_own() {
    let podwork = Podwork::new();
    let finished = podwork.run(["--version"]).expect_code(0);
    assert!(finished.stdout.starts_with("podwork "), "{finished:?}");
    assert!(!podwork.store().exists());
}
