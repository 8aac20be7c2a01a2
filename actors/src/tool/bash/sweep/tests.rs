//! Sweeping after a crash: the processes are there, and nobody remembers them but their mark.

use std::process::{Child, Command, Stdio};

use super::*;
use crate::tool::bash::environment::MARK;
use crate::tool::test_scene::wait_until;

/// A process that a dead podwork started, reaped when the test ends.
struct Orphan(Child);

impl Orphan {
    fn new(mark: &str) -> Self {
        let mut command = Command::new("setsid");
        command.args(["sleep", "1000"]).env(MARK, mark).stdin(Stdio::null());
        let orphan = Self(command.spawn().expect("it starts"));
        let environ = format!("/proc/{}/environ", orphan.0.id());
        let marked = || std::fs::read(&environ).is_ok_and(|block| !block.is_empty());
        wait_until("the process has its environment", marked);
        orphan
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().expect("it is ours").is_none()
    }

    fn ends(&mut self) {
        wait_until("the process ends", || !self.lives());
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn pod() -> PodId {
    PodId::from_bytes(*uuid::Uuid::now_v7().as_bytes())
}

#[test]
fn a_sweep_ends_the_processes_of_its_call_and_no_others() {
    let (pod, other) = (pod(), pod());
    let mut wanted = Orphan::new(&format!("{pod}:c1"));
    let mut nested = Orphan::new(&format!("{pod}:c1,{other}:c5"));
    let mut spared =
        [format!("{pod}:c2"), format!("{pod}:c11"), format!("{other}:c1")].map(|mark| Orphan::new(&mark));
    assert_eq!(sweep(pod, CallId(1)), 2);
    wanted.ends();
    nested.ends();
    assert!(spared.iter_mut().all(Orphan::lives));
    assert_eq!(sweep(pod, CallId(1)), 0, "a second sweep finds nothing");
}

#[test]
fn a_sweep_of_a_pod_ends_the_processes_of_all_its_calls() {
    let (pod, other) = (pod(), pod());
    let mut wanted = [1, 2].map(|call| Orphan::new(&format!("{pod}:c{call}")));
    let mut spared = Orphan::new(&format!("{other}:c1"));
    assert_eq!(sweep_pod(pod), 2);
    wanted.iter_mut().for_each(Orphan::ends);
    assert!(spared.lives());
}

#[test]
fn a_signal_does_not_reach_a_process_that_took_over_the_id() {
    let pod = pod();
    let mut orphan = Orphan::new(&format!("{pod}:c1"));
    let found = living(&Wanted::Pod(format!("{pod}:")));
    let earlier = Process { started: found[0].started - 1, ..found[0].clone() };
    earlier.signal(Signal::KILL);
    assert!(orphan.lives());
    found[0].signal(Signal::KILL);
    orphan.ends();
}
