//! The binary is there and runs. That it has a test of its own is also what makes
//! `cargo test --workspace` build it, for the tests that drive it from outside.

use std::process::Command;

#[test]
fn the_version_is_said_and_nothing_else() {
    let output = Command::new(env!("CARGO_BIN_EXE_podwork")).arg("--version").output().expect("it runs");
    assert!(output.status.success());
    let expected = concat!("podwork ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    assert!(output.stderr.is_empty());
}
