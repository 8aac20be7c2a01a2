//! When podwork is killed, its commands do not live on.

use std::env;
use std::process::Command;

use super::*;
use crate::tool::sweep_pod;
use crate::tool::test_scene::wait_until;

/// Tells the process that this test starts what it is there for, and where.
const STAGE: &str = "PODWORK_TEST_CRASH_DIRECTORY";

const COMMAND: &str = "setsid sh -c 'echo $$ >x; mv x escaped; exec sleep 1000' & \
    echo $$ >y; mv y shell; while :; do sleep 1000; done";

#[test]
fn a_shell_dies_with_podwork_and_a_sweep_ends_what_is_left() {
    let mut stage = Stage::new();
    if let Some(directory) = env::var_os(STAGE) {
        stage.scene.directory = directory.into();
        stage.scene.pod = stage.read("pod").parse().expect("an id");
        stage.run(Bash, &json!({ "command": COMMAND }));
        return;
    }
    stage.write("pod", stage.scene.pod.to_string());
    let this_test = "tool::bash::tests::crash::a_shell_dies_with_podwork_and_a_sweep_ends_what_is_left";
    let mut podwork = Command::new(env::current_exe().expect("a test binary"))
        .args(["--exact", this_test])
        .env(STAGE, &stage.scene.directory)
        .spawn()
        .expect("it starts");
    wait_until("the command began", || stage.path("shell").exists() && stage.path("escaped").exists());
    let (shell, escaped) = (stage.read("shell"), stage.read("escaped"));
    assert!(lives(&shell) && lives(&escaped));
    podwork.kill().expect("it is ours");
    podwork.wait().expect("it is ours");
    // The kernel kills the shell where `setpriv` is there to ask for it; the rest is for the sweep.
    let setpriv = Command::new("setpriv").args(["--pdeathsig", "KILL", "true"]).status();
    if setpriv.is_ok_and(|status| status.success()) {
        wait_until("the shell is gone", || !lives(&shell));
    }
    assert!(lives(&escaped));
    assert!(sweep_pod(stage.scene.pod) > 0);
    assert!(!lives(&shell) && !lives(&escaped));
}
