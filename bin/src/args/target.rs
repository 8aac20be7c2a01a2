//! How commands name the pod they are about.

use clap::Args;
use serde::{Deserialize, Serialize};

/// A pod: by name, id or the beginning of an id, or the newest one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PodName {
    /// What was typed.
    Named(String),
    /// The newest pod.
    Last,
}

/// One pod, as an argument or as `--last`.
#[derive(Clone, Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct PodArgument {
    /// A name, an id, or the beginning of an id
    #[arg(value_name = "POD")]
    pub(crate) pod: Option<String>,
    /// The newest pod
    #[arg(long)]
    pub(crate) last: bool,
}

impl PodArgument {
    /// Which pod was named.
    pub(crate) fn name(&self) -> PodName {
        self.pod.clone().map_or(PodName::Last, PodName::Named)
    }
}

/// A pod and a text: two arguments, or `--last` and one.
#[derive(Clone, Debug, Args)]
pub(crate) struct PodAndText {
    /// The newest pod
    #[arg(long)]
    pub(crate) last: bool,
    /// A name, an id, or the beginning of an id; then the text, `-` for stdin
    #[arg(value_names = ["POD", "TEXT"], num_args = 1..=2, required = true)]
    pub(crate) words: Vec<String>,
}

impl PodAndText {
    /// The pod and the text; an error text when a part is missing or one too many.
    pub(crate) fn split(&self) -> Result<(PodName, String), &'static str> {
        match (self.last, self.words.as_slice()) {
            (true, [text]) => Ok((PodName::Last, text.clone())),
            (false, [pod, text]) => Ok((PodName::Named(pod.clone()), text.clone())),
            (true, _) => Err("with --last there is one argument: the text"),
            (false, _) => Err("two arguments are needed: the pod and the text (or --last and the text)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn send(line: &[&str]) -> Result<(PodName, String), &'static str> {
        let cli = Cli::try_parse_from(line).expect("parses");
        let Command::Send(send) = cli.command else { panic!("not send") };
        send.target.split()
    }

    #[test]
    fn last_takes_the_place_of_the_pod() {
        assert_eq!(
            send(&["podwork", "send", "fix", "go on"]),
            Ok((PodName::Named("fix".to_owned()), "go on".to_owned()))
        );
        assert_eq!(send(&["podwork", "send", "--last", "go on"]), Ok((PodName::Last, "go on".to_owned())));
        assert!(send(&["podwork", "send", "fix"]).is_err());
        assert!(send(&["podwork", "send", "--last", "fix", "go on"]).is_err());
    }
}
