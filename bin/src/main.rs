//! Who is asking: the command line of podwork.
#![expect(dead_code, reason = "the commands that use the rest come with the runtime")]

use std::process::ExitCode;

use clap::Parser as _;

mod args;
mod command;
mod config;
mod exit;
mod export;
mod import;
mod logging;
mod nearest;
mod output;
mod store_path;

use output::style::Tone;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    logging::start(&cli.global);
    let exit = command::execute(cli).unwrap_or_else(|problem| {
        output::say(&format!("{} {problem}", Tone::Bad.paint("podwork:")));
        problem.exit
    });
    ExitCode::from(exit.code())
}
