//! What can be typed: the commands and their flags. Wrong usage ends with exit code 2.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};

pub(crate) mod target;
pub(crate) mod work;

pub(crate) use target::{PodAndText, PodArgument};
pub(crate) use work::{ResumeArgs, RunArgs, WorkFlags};

/// LLM agents whose sessions survive.
#[derive(Debug, Parser)]
#[command(
    name = "podwork",
    version,
    about = "Runs LLM agents as pods: every step is in a log before it happens, so a session survives any crash.",
    after_help = "Start with `podwork demo`: it needs no key and no network.",
    disable_help_subcommand = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// Flags that every command takes
    #[command(flatten)]
    pub(crate) global: Global,
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that every command takes.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Global {
    /// The store [default: $PODWORK_STORE, else $XDG_DATA_HOME/podwork/store.redb]
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) store: Option<PathBuf>,
    /// A configuration file to read in place of the nearest podwork.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Say more on stderr; twice for even more
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    pub(crate) verbose: u8,
    /// Say nothing on stderr but errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Open a pod in the current directory and run one turn
    Run(RunArgs),
    /// Settle what was in flight, finish an unfinished turn, then submit PROMPT if given
    Resume(ResumeArgs),
    /// Give a pod input: steers a running turn, starts one in an idle pod
    Send(SendArgs),
    /// Put a notification before a pod: not a user's instruction
    Notify(NotifyArgs),
    /// List all pods as a tree
    Pods(ListArgs),
    /// Show the events of a pod
    Log(LogArgs),
    /// Show what a request sent, or what the next one would send
    Context(ContextArgs),
    /// Show tokens, cost and savings of a pod
    Usage(UsageArgs),
    /// Make a new pod that shares the past of another one
    Fork(ForkArgs),
    /// Compact a pod's context now
    Compact(ControlArgs),
    /// Let a pod start no more work until it is resumed
    Pause(ReasonArgs),
    /// End the running turn of a pod; it can be resumed
    Cancel(ControlArgs),
    /// Stop a pod for good
    Stop(StopArgs),
    /// Take in a transcript of another tool, or an export of podwork
    Import(ImportArgs),
    /// Write a pod's events as JSON lines
    Export(ExportArgs),
    /// Show the configuration, and where each value comes from
    Config(ListArgs),
    /// Watch a scripted agent work, die and go on: no key, no network
    Demo(DemoArgs),
}

/// `send`.
#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// The pod and the text
    #[command(flatten)]
    pub(crate) target: PodAndText,
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

/// `notify`.
#[derive(Debug, Args)]
pub(crate) struct NotifyArgs {
    /// The pod and the text
    #[command(flatten)]
    pub(crate) target: PodAndText,
    /// Who says it
    #[arg(long, value_name = "NAME")]
    pub(crate) source: String,
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

/// `pods` and `config`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// `log`.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Which pod
    #[command(flatten)]
    pub(crate) pod: PodArgument,
    /// Print the events as JSON lines
    #[arg(long)]
    pub(crate) json: bool,
    /// Begin with this event
    #[arg(long, value_name = "SEQ", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) from: u64,
    /// Go on as events are written, until Ctrl-C
    #[arg(short, long)]
    pub(crate) follow: bool,
}

/// `context`.
#[derive(Debug, Args)]
pub(crate) struct ContextArgs {
    /// Which pod
    #[command(flatten)]
    pub(crate) pod: PodArgument,
    /// The request [default: what the next one would send]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) request: Option<u32>,
    /// Print the items as JSON lines
    #[arg(long, conflicts_with = "wire")]
    pub(crate) json: bool,
    /// Print the exact JSON body for the provider
    #[arg(long)]
    pub(crate) wire: bool,
    /// Build it again and compare its digest with the log
    #[arg(long, requires = "request")]
    pub(crate) verify: bool,
    /// Show what changed since request M, with the first changed byte
    #[arg(long, value_name = "M", conflicts_with_all = ["wire", "verify"], value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) diff: Option<u32>,
}

/// `usage`.
#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// Which pod
    #[command(flatten)]
    pub(crate) pod: PodArgument,
    /// With all its children
    #[arg(long)]
    pub(crate) tree: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `fork`.
#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    /// Which pod
    #[command(flatten)]
    pub(crate) pod: PodArgument,
    /// The last event that is shared [default: the last one there is]
    #[arg(long, value_name = "SEQ", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) at: Option<u64>,
    /// What to call the fork
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `cancel` and `compact`.
#[derive(Debug, Args)]
pub(crate) struct ControlArgs {
    /// Which pod
    #[command(flatten)]
    pub(crate) pod: PodArgument,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `pause`.
#[derive(Debug, Args)]
pub(crate) struct ReasonArgs {
    /// Which pod
    #[command(flatten)]
    pub(crate) pod: PodArgument,
    /// Why, for the log
    #[arg(long, value_name = "TEXT", default_value = "paused by a person")]
    pub(crate) reason: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `stop`.
#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    /// Which pod
    #[command(flatten)]
    pub(crate) pod: PodArgument,
    /// With all its children
    #[arg(long)]
    pub(crate) tree: bool,
    /// Why, for the log
    #[arg(long, value_name = "TEXT", default_value = "stopped by a person")]
    pub(crate) reason: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The transcript
    pub(crate) file: PathBuf,
    /// Its format [default: found out from the file]
    #[arg(long, value_name = "F")]
    pub(crate) format: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Which pod
    #[command(flatten)]
    pub(crate) pod: PodArgument,
    /// The format: podwork-jsonl, which loses nothing, or openai-messages, the conversation alone
    #[arg(long, value_name = "F", default_value = "podwork-jsonl")]
    pub(crate) format: String,
}

/// `demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Where to play [default: a new temporary directory, which is kept]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn wrong_usage_ends_with_two() {
        for line in [
            "podwork nonsense",
            "podwork run --no-such-flag",
            "podwork run --window 0 x",
            "podwork run --window -5 x",
            "podwork run --max-cost -1 x",
            "podwork run --max-cost NaN x",
            "podwork run --max-requests 0 x",
            "podwork log",
            "podwork log a --last",
            "podwork log a --from 0",
            "podwork context a --verify",
            "podwork context a --json --wire",
            "podwork -v -q pods",
        ] {
            let error = parse(line).expect_err(line);
            assert_eq!(error.exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn global_flags_stand_before_or_after_the_command() {
        for line in ["podwork --store s.redb pods", "podwork pods --store s.redb"] {
            let cli = parse(line).expect(line);
            assert_eq!(cli.global.store, Some(PathBuf::from("s.redb")), "{line}");
        }
    }
}
