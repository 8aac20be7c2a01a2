//! What a person at a terminal sees: a pseudo terminal stands for theirs.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};

use kit::server::Answer;
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::json;

use super::program::Home;

/// A terminal with a program in it.
struct Terminal {
    ours: File,
    child: Child,
    shown: String,
}

impl Terminal {
    fn open(mut command: Command, columns: u16) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&ours, size).unwrap();
        let path = ptsname(&ours, Vec::new()).unwrap();
        let path = path.to_str().unwrap();
        let open = || Stdio::from(File::options().read(true).write(true).open(path).unwrap());
        command.stdin(open()).stdout(open()).stderr(open()).env("TERM", "xterm");
        let child = command.spawn().unwrap();
        // The command holds the other side as well, and would keep it open.
        drop(command);
        Self { ours: File::from(ours), child, shown: String::new() }
    }

    fn read(&mut self) -> bool {
        let mut bytes = [0; 4096];
        // The other side has closed: Linux says so with an error.
        match self.ours.read(&mut bytes) {
            Ok(0) | Err(_) => false,
            Ok(read) => {
                self.shown.push_str(&String::from_utf8_lossy(&bytes[..read]));
                true
            }
        }
    }

    fn wait_for(&mut self, text: &str) {
        while !self.shown.contains(text) {
            assert!(self.read(), "{text} was not shown, but\n{}", self.shown);
        }
    }

    fn type_in(&mut self, text: &str) {
        self.ours.write_all(text.as_bytes()).unwrap();
    }

    fn end(mut self) -> (Option<i32>, String) {
        while self.read() {}
        (self.child.wait().unwrap().code(), std::mem::take(&mut self.shown))
    }
}

#[test]
fn words_are_shown_as_they_come_and_once() {
    let home = Home::new();
    home.server.enqueue(Answer::text("Hello to you.").in_pieces_of(40).stalling_after_events(3));
    let mut terminal = Terminal::open(home.podwork(&["run", "hi"]), 80);
    terminal.wait_for("Hello");
    home.server.release_all();
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(0));
    assert_eq!(shown.matches("Hello").count(), 1, "{shown}");
    assert!(shown.contains("to you."), "{shown}");
    assert!(shown.contains("finished · 1 request"), "{shown}");
}

#[test]
fn a_conversation_goes_on_line_by_line_until_the_input_ends() {
    let home = Home::new();
    home.server.enqueue(Answer::text("first answer"));
    home.server.enqueue(Answer::text("second answer"));
    let mut terminal = Terminal::open(home.podwork(&["run"]), 80);
    terminal.wait_for(">");
    terminal.type_in("first question\n");
    terminal.wait_for("first answer");
    terminal.wait_for("finished");
    terminal.type_in("second question\n");
    terminal.wait_for("second answer");
    terminal.type_in("\x04");
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(0));
    assert!(shown.contains("podwork resume"), "{shown}");
    let last = home.server.bodies().pop().unwrap();
    assert_eq!(last["messages"].as_array().unwrap().len(), 4, "one pod: {last}");
    assert_eq!(home.json(&["pods", "--json"]).len(), 1);
}

#[test]
fn a_line_that_is_typed_while_a_turn_runs_steers_it() {
    let home = Home::new();
    home.server.enqueue(Answer::text("one moment").stalling_before_headers());
    home.server.enqueue(Answer::text("turned left"));
    let mut terminal = Terminal::open(home.podwork(&["run"]), 80);
    terminal.type_in("walk\n");
    home.server.block_for_requests(1);
    terminal.wait_for("pod ");
    terminal.type_in("turn left\n");
    let mut follower = home.start(&["log", "--last", "--json", "--follow", "--from", "3"]);
    assert_eq!(follower.wait_for("input_received")["text"], "turn left");
    follower.signal(Signal::INT);
    follower.end();
    home.server.release_all();
    terminal.wait_for("turned left");
    terminal.type_in("\x04");
    assert_eq!(terminal.end().0, Some(0));
}

#[test]
fn nothing_is_wider_than_a_narrow_terminal_and_no_color_is_heard() {
    let home = Home::new();
    let long = "日本語 and a command that is much longer than the terminal is wide";
    home.server.enqueue(Answer::call("bash", &json!({"command": format!("echo '{long}'")})));
    home.server.enqueue(Answer::text("ok"));
    home.ok(&["run", "--name", "narrow", "work"]);
    for arguments in [["log", "narrow"].as_slice(), &["context", "narrow"]] {
        let mut command = home.podwork(arguments);
        command.env("NO_COLOR", "1");
        let (code, shown) = Terminal::open(command, 30).end();
        assert_eq!(code, Some(0));
        assert!(!shown.contains('\x1b'), "{shown}");
        for line in shown.lines() {
            // Wide characters take two columns, so no line has more characters than columns.
            assert!(line.trim_end().chars().count() <= 30, "{line:?} in\n{shown}");
        }
    }
    let (_, coloured) = Terminal::open(home.podwork(&["log", "narrow"]), 30).end();
    assert!(coloured.contains('\x1b'), "{coloured}");
}

/// A test that fails leaves no program behind that waits for its terminal.
impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
