//! The commands, one file for each kind: what they ask and how they show the answer.

use crate::args::{Cli, Command};
use crate::exit::{Exit, Problem};

mod config;

/// Carries a command out.
pub(crate) fn execute(cli: Cli) -> Result<Exit, Problem> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other commands come with the runtime")]
    match cli.command {
        Command::Config(arguments) => config::show(&cli.global, &arguments),
        _ => Err(Problem::failed("this command is not built yet")),
    }
}
