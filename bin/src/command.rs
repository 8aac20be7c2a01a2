//! The commands, one file for each kind: what they ask at the door and how they show the answer.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::args::{Cli, Command, Global};
use crate::config::Environment;
use crate::door::protocol::{Answer, Outcome, Request};
use crate::door::{Door, Exchange, Need};
use crate::exit::{Exit, Problem};
use crate::output::say;
use crate::output::style::Tone;
use crate::signals::Signals;
use crate::store_path::store_path;

mod config;
mod control;
mod conversation;
mod look;
mod prompt;
mod spec;
mod turn;

/// Carries a command out and tells the person what went wrong, if anything did.
pub(crate) fn execute(cli: Cli) -> Exit {
    let Cli { global, command } = cli;
    #[expect(clippy::wildcard_enum_match_arm, reason = "all others need the store")]
    let done = match command {
        Command::Config(arguments) => config::show(&global, &arguments),
        Command::Demo(arguments) => crate::demo::play(&arguments),
        other => at_the_door(global, other),
    };
    done.unwrap_or_else(|problem| report(&problem))
}

/// Tells the person what went wrong.
fn report(problem: &Problem) -> Exit {
    say(&format!("{} {problem}", Tone::Bad.paint("podwork:")));
    problem.exit
}

/// What commands that need the store work with.
struct Desk {
    door: Door,
    global: Global,
    environment: Environment,
    signals: Signals,
}

/// How long other processes' commands may take before the person is told what is waited for.
const NOTICE_AFTER: Duration = Duration::from_millis(500);

/// Threads for the actors and the store: their work is waiting, mostly.
const THREADS: usize = 2;

fn at_the_door(global: Global, command: Command) -> Result<Exit, Problem> {
    let environment = Environment::read()?;
    let (store, _) = store_path(global.store.clone(), &environment)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
    let runtime = runtime.map_err(|error| Problem::failed(format!("no threads: {error}")))?;
    let exit = runtime.block_on(async {
        let signals = Signals::listen()?;
        let mut desk = Desk { door: Door::new(store), global, environment, signals };
        let exit = desk.carry_out(command).await.unwrap_or_else(|problem| report(&problem));
        Ok(desk.close(exit).await)
    });
    // A thread that waits for a terminal's next line would be waited for.
    runtime.shutdown_background();
    exit
}

impl Desk {
    fn carry_out(&mut self, command: Command) -> Pin<Box<dyn Future<Output = Result<Exit, Problem>> + '_>> {
        match command {
            Command::Run(arguments) => Box::pin(turn::run(self, arguments)),
            Command::Resume(arguments) => Box::pin(turn::resume(self, arguments)),
            Command::Send(arguments) => Box::pin(turn::send(self, arguments)),
            Command::Notify(arguments) => Box::pin(turn::notify(self, arguments)),
            Command::Pods(arguments) => Box::pin(look::pods(self, arguments)),
            Command::Log(arguments) => Box::pin(look::log(self, arguments)),
            Command::Context(arguments) => Box::pin(look::context(self, arguments)),
            Command::Usage(arguments) => Box::pin(look::usage(self, arguments)),
            Command::Fork(arguments) => Box::pin(control::fork(self, arguments)),
            Command::Compact(arguments) => Box::pin(control::compact(self, arguments)),
            Command::Pause(arguments) => Box::pin(control::pause(self, arguments)),
            Command::Cancel(arguments) => Box::pin(control::cancel(self, arguments)),
            Command::Stop(arguments) => Box::pin(control::stop(self, arguments)),
            Command::Import(arguments) => Box::pin(control::import(self, arguments)),
            Command::Export(arguments) => Box::pin(look::export(self, arguments)),
            Command::Config(_) | Command::Demo(_) => unreachable!("they need no store and are done before"),
        }
    }

    async fn ask(&mut self, request: &Request, need: Need) -> Result<Exchange, Problem> {
        self.door.ask(request, need).await
    }

    /// Asks for something that has one answer.
    async fn look(&mut self, request: &Request, need: Need) -> Result<Outcome, Problem> {
        let mut exchange = self.ask(request, need).await?;
        loop {
            let next = tokio::select! {
                next = exchange.answers.recv() => next,
                () = self.signals.next() => return Err(interrupted()),
            };
            match next {
                Some(Answer::Result { result }) => return Ok(*result),
                Some(Answer::Error { problem }) => return Err(problem),
                Some(Answer::Note { text }) if !self.global.quiet => say(&text),
                Some(
                    Answer::Accepted
                    | Answer::Pod { .. }
                    | Answer::Event { .. }
                    | Answer::Delta { .. }
                    | Answer::Note { .. }
                    | Answer::Leaving,
                ) => {}
                None => return Err(silence()),
            }
        }
    }

    /// Waits for what other processes asked of this one, and lets go of the store.
    async fn close(self, exit: Exit) -> Exit {
        let Self { mut door, mut signals, .. } = self;
        let cancel_all = door.cancel_all();
        let closing = door.close();
        let notice = tokio::time::sleep(NOTICE_AFTER);
        tokio::pin!(closing, notice);
        let (mut told, mut asked) = (false, false);
        loop {
            tokio::select! {
                () = &mut closing => return exit,
                () = &mut notice, if !told => {
                    told = true;
                    say("Commands of other terminals are still at work here; Ctrl-C ends their turns as cancelled.");
                }
                () = signals.next() => {
                    if asked {
                        quit();
                    }
                    asked = true;
                    cancel_all();
                }
            }
        }
    }
}

/// Ends the process at once: what is in the log is safe.
fn quit() -> ! {
    std::process::exit(i32::from(Exit::Cancelled.code()))
}

fn interrupted() -> Problem {
    Problem { exit: Exit::Cancelled, message: "interrupted".to_owned() }
}

fn silence() -> Problem {
    Problem::failed("podwork broke: the work ended without an answer")
        .hint("What is in the log is safe. `-v` and PODWORK_LOG=debug say more.")
}

/// What was answered is not what was asked for.
fn wrong_answer() -> Problem {
    Problem::failed("podwork broke: the answer does not belong to the question")
}
