//! The demo comes to its end and tells no lies.

use super::program::{Ended, Home};

#[test]
fn the_demo_kills_its_agent_and_the_agent_mends_the_project() {
    let home = Home::new();
    let directory = home.work().join("demo");
    let mut command = home.podwork(&["demo", "--dir", directory.to_str().unwrap()]);
    command.env_remove("OPENAI_BASE_URL").env_remove("OPENAI_API_KEY");
    let ended = Ended::of(command);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for part in [
        "FAIL  sum.sh 1 2 3 is 3, expected 6",
        "kill -9",
        "c4 unknown",
        "none is lost or changed",
        "6 requests sent, 0 of them twice",
        "6 requests rebuilt from the log",
        "ok    sum.sh 1 2 3 is 6",
        "podwork log fix-the-sum",
    ] {
        assert!(ended.stdout.contains(part), "{part} is not in\n{}", ended.stdout);
    }
    let sum = std::fs::read_to_string(directory.join("project/sum.sh")).unwrap();
    assert!(sum.contains("-gt 0"));
    let again = home.run(&["demo", "--dir", directory.to_str().unwrap()]);
    assert_eq!(again.code, Some(2), "a directory in use is left alone: {again:?}");
}
