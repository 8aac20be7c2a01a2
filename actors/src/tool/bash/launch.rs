//! Starting a shell.
//!
//! No code of ours runs between fork and exec: programs of util-linux do what is needed there.
//! `setsid` gives the shell a session of its own, and with it no terminal to open; `setpriv` asks
//! the kernel to kill the shell when podwork dies. Where one of them is missing a process group
//! has to do, and what is left after a crash is swept at the next start.

use std::env;
use std::ffi::OsStr;
use std::io::{self, PipeWriter};
use std::os::unix::fs::PermissionsExt as _;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, mpsc};

use rustix::process::Pid;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Child;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::environment::environment;
use super::family::Family;

/// A command that is to be started.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) command: String,
    pub(super) directory: PathBuf,
    /// Names the call in the environment.
    pub(super) mark: String,
}

/// A command that runs. Dropped, it is killed with everything that belongs to it.
#[derive(Debug)]
pub(super) struct Running {
    /// The shell.
    pub(super) child: Child,
    /// What it writes to stdout and stderr, in one stream, so that the order is kept.
    pub(super) pipe: Receiver,
    /// All processes of the call.
    pub(super) family: Family,
    /// Everything was ended in order; there is nothing to kill.
    pub(super) ended: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            self.family.kill_from_drop();
        }
    }
}

/// Starts a command.
pub(super) async fn launch(order: Launch) -> io::Result<Running> {
    let (reader, writer) = io::pipe()?;
    let pipe = Receiver::from_owned_fd(reader.into())?;
    let (reply, answer) = oneshot::channel();
    let request = Request { order, pipe, writer, runtime: Handle::current(), reply };
    let gone = || io::Error::other("the thread that starts commands has ended");
    LAUNCHER.send(request).map_err(|_| gone())?;
    answer.await.map_err(|_| gone())?
}

struct Request {
    order: Launch,
    pipe: Receiver,
    writer: PipeWriter,
    runtime: Handle,
    reply: oneshot::Sender<io::Result<Running>>,
}

/// The kernel's word that a parent died is about the thread that forked. Threads of a runtime come
/// and go, so one thread that lives as long as the process starts all commands.
static LAUNCHER: LazyLock<mpsc::Sender<Request>> = LazyLock::new(|| {
    let (sender, requests) = mpsc::channel::<Request>();
    let serve = move || {
        let wrapper = Wrapper::find();
        for request in requests {
            let Request { order, pipe, writer, runtime, reply } = request;
            // A runtime that is shutting down may panic; the others still need this thread.
            let start = AssertUnwindSafe(|| start(&wrapper, &order, pipe, writer, &runtime));
            let started = std::panic::catch_unwind(start)
                .unwrap_or_else(|_| Err(io::Error::other("the runtime is shutting down")));
            // Whoever asked may be gone; then what was started ends here, by its drop.
            drop(reply.send(started));
        }
    };
    let thread = std::thread::Builder::new().name("podwork-launch".to_owned()).spawn(serve);
    if let Err(error) = thread {
        tracing::error!(%error, "no thread for starting commands");
    }
    sender
});

fn start(
    wrapper: &Wrapper,
    order: &Launch,
    pipe: Receiver,
    writer: PipeWriter,
    runtime: &Handle,
) -> io::Result<Running> {
    let mut command = wrapper.command(&order.command);
    command
        .current_dir(&order.directory)
        .env_clear()
        .envs(environment(env::vars_os(), &order.mark))
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let mut command = tokio::process::Command::from(command);
    command.kill_on_drop(true);
    if !wrapper.has_session() {
        command.process_group(0);
    }
    let _inside = runtime.enter();
    let child = command.spawn()?;
    // Our ends of the pipe are closed with the command: the reader sees the end of the output.
    drop(command);
    let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let pid = pid.ok_or_else(|| io::Error::other("the shell has no process id"))?;
    let family = Family::new(pid, wrapper.has_session(), order.mark.clone());
    Ok(Running { child, pipe, family, ended: false })
}

/// The programs that a command is started through.
#[derive(Debug)]
struct Wrapper {
    /// `setsid`, `setpriv` with its options, then the shell.
    words: Vec<PathBuf>,
    has_session: bool,
}

impl Wrapper {
    /// Looks for the programs once and tries them.
    fn find() -> Self {
        let shell = program("bash").or_else(|| program("sh")).unwrap_or_else(|| "/bin/sh".into());
        let mut words = Vec::new();
        words.extend(program("setsid").filter(|setsid| works(std::slice::from_ref(setsid))));
        let has_session = !words.is_empty();
        if let Some(setpriv) = program("setpriv") {
            let tied = [setpriv, "--pdeathsig".into(), "KILL".into()];
            if works(&tied) {
                words.extend(tied);
            }
        }
        words.push(shell);
        Self { words, has_session }
    }

    fn has_session(&self) -> bool {
        self.has_session
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(&self.words[0]);
        // After `--` a line that begins with a hyphen is a command too.
        command.args(&self.words[1..]).args(["-c", "--", line]);
        command
    }
}

/// The program on the path. Folders that are relative to wherever podwork was started are passed
/// over: a project must not bring its own shell.
fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let found = env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name));
    found.into_iter().find(|program| is_executable(program))
}

fn is_executable(program: &Path) -> bool {
    program.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// The wrapper can start a program that does nothing.
fn works(words: &[PathBuf]) -> bool {
    let Some(nothing) = program("true") else { return false };
    let mut command = Command::new(&words[0]);
    command.args(words[1..].iter().map(|word| -> &OsStr { word.as_ref() })).arg(nothing);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
