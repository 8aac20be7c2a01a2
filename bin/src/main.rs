//! Who is asking: the command line of podwork.

use std::process::ExitCode;

use clap::Parser as _;

mod answer;
mod args;
mod command;
mod config;
mod demo;
mod door;
mod exit;
mod export;
mod import;
mod logging;
mod nearest;
mod office;
mod output;
mod select;
mod signals;
mod spec_patch;
mod store_path;
mod view;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    logging::start(&cli.global);
    ExitCode::from(command::execute(cli).code())
}
