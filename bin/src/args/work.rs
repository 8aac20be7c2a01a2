//! The flags of the commands that run turns.

use std::path::PathBuf;

use clap::Args;

use crate::args::target::PodName;

/// `run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What to do; `-` reads it from stdin, and so does a pipe. Without it, a conversation.
    pub(crate) prompt: Option<String>,
    /// How to do it
    #[command(flatten)]
    pub(crate) work: WorkFlags,
}

/// `resume`.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// A name, an id, or the beginning of an id [default: the newest pod]
    #[arg(value_name = "POD")]
    pub(crate) pod: Option<String>,
    /// What to do next; `-` reads it from stdin
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
    /// The newest pod
    #[arg(long)]
    pub(crate) last: bool,
    /// How to do it; what is given changes the pod from now on
    #[command(flatten)]
    pub(crate) work: WorkFlags,
}

impl ResumeArgs {
    /// The pod and the prompt: with `--last` or `--name` the first argument is the prompt.
    pub(crate) fn split(&self) -> Result<(PodName, Option<String>), &'static str> {
        if let (Some(name), false) = (&self.work.name, self.last) {
            return match &self.prompt {
                Some(_) => Err("with --name there is one argument at most: the prompt"),
                None => Ok((PodName::Named(name.clone()), self.pod.clone())),
            };
        }
        match (self.last, &self.pod, &self.prompt) {
            (true, _, Some(_)) => Err("with --last there is one argument at most: the prompt"),
            (true, prompt, None) | (false, None, prompt) => Ok((PodName::Last, prompt.clone())),
            (false, Some(pod), prompt) => Ok((PodName::Named(pod.clone()), prompt.clone())),
        }
    }
}

/// Flags of `run` and `resume`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WorkFlags {
    /// What to call the pod; for `resume`, the pod that is called so
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The model, as PROVIDER:NAME: openai:NAME, anthropic:NAME or script:FILE
    #[arg(long, value_name = "PROVIDER:NAME")]
    pub(crate) model: Option<String>,
    /// A file whose text takes the place of the system prompt
    #[arg(long, value_name = "FILE")]
    pub(crate) system: Option<PathBuf>,
    /// The directory that the tools work in [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// The tools that the model may use [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', num_args = 0..=1)]
    pub(crate) tools: Option<Vec<String>>,
    /// Allow every tool
    #[arg(long)]
    pub(crate) yes: bool,
    /// Size of the model's context window in tokens
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) window: Option<u64>,
    /// Requests to the model in the whole session
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_requests: Option<u64>,
    /// Input and output tokens of the whole session
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// Cost of the whole session in US dollars
    #[arg(long, value_name = "USD", value_parser = positive)]
    pub(crate) max_cost: Option<f64>,
    /// Wall time of a turn in seconds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_seconds: Option<u64>,
    /// Print the events as JSON lines, and the result as the last one
    #[arg(long)]
    pub(crate) json: bool,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err("a positive number of US dollars is expected, such as 0.50".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn resume(line: &str) -> Result<(PodName, Option<String>), &'static str> {
        let cli = Cli::try_parse_from(line.split_whitespace()).expect("parses");
        let Command::Resume(resume) = cli.command else { panic!("not resume") };
        resume.split()
    }

    #[test]
    fn resume_takes_the_newest_pod_when_none_is_named() {
        let named = |pod: &str| PodName::Named(pod.to_owned());
        assert_eq!(resume("podwork resume"), Ok((PodName::Last, None)));
        assert_eq!(resume("podwork resume fix"), Ok((named("fix"), None)));
        assert_eq!(resume("podwork resume fix go"), Ok((named("fix"), Some("go".to_owned()))));
        assert_eq!(resume("podwork resume --last go"), Ok((PodName::Last, Some("go".to_owned()))));
        assert_eq!(resume("podwork resume --name fix go"), Ok((named("fix"), Some("go".to_owned()))));
        assert!(resume("podwork resume --name fix go on").is_err());
        assert!(resume("podwork resume --last fix go").is_err());
    }

    #[test]
    fn a_list_of_tools_is_split_at_commas_and_may_be_empty() {
        let tools = |line: &[&str]| {
            let cli = Cli::try_parse_from(line).expect("parses");
            let Command::Run(run) = cli.command else { panic!("not run") };
            run.work.tools
        };
        let line = ["podwork", "run", "--tools", "bash,read_file", "hi"];
        assert_eq!(tools(&line), Some(vec!["bash".to_owned(), "read_file".to_owned()]));
        assert_eq!(tools(&["podwork", "run", "--tools=", "hi"]), Some(vec![String::new()]));
        assert_eq!(tools(&["podwork", "run", "hi"]), None);
    }
}
