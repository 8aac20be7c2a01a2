//! The program starts. The tests that see all of it are in `tests/it/cli`; this one is here because
//! it makes cargo build the program that those run.

#[test]
fn podwork_says_its_version() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_podwork")).arg("--version").output();
    let output = output.expect("the program runs");
    assert!(output.status.success());
    let version = format!("podwork {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(String::from_utf8(output.stdout).expect("Unicode"), version);
}
