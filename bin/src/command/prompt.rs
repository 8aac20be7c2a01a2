//! Where a prompt comes from: the argument, a pipe, or a person at a terminal.

use std::io::{IsTerminal as _, Read as _};

use actors::limits::INPUT_BYTES_MAX;

use crate::exit::Problem;

/// The argument that stands for stdin.
const STDIN: &str = "-";

/// What there is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Prompt {
    /// This.
    Text(String),
    /// Nothing; a person is at the terminal.
    Conversation,
}

/// The prompt of `run`.
pub(super) fn of_run(argument: Option<String>) -> Result<Prompt, Problem> {
    match argument {
        Some(argument) => text(&argument).map(Prompt::Text),
        None if std::io::stdin().is_terminal() => Ok(Prompt::Conversation),
        None => from_stdin().map(Prompt::Text),
    }
}

/// A text that was given as an argument, or `-` for stdin.
pub(super) fn text(argument: &str) -> Result<String, Problem> {
    if argument == STDIN {
        return from_stdin();
    }
    checked(argument)
}

fn from_stdin() -> Result<String, Problem> {
    let mut bytes = Vec::new();
    let limit = INPUT_BYTES_MAX as u64 + 1;
    std::io::stdin()
        .lock()
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| Problem::usage(format!("stdin cannot be read: {error}")))?;
    checked(&String::from_utf8_lossy(&bytes))
}

fn checked(text: &str) -> Result<String, Problem> {
    let text = text.trim_end_matches(['\n', '\r']);
    if text.trim().is_empty() {
        return Err(Problem::usage("the prompt is empty"));
    }
    if text.len() > INPUT_BYTES_MAX {
        let problem = Problem::usage(format!("the prompt has more than {INPUT_BYTES_MAX} bytes"));
        return Err(problem.hint("Put it in a file and name the file in the prompt."));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_has_something_to_say_and_is_not_endless() {
        assert_eq!(text("fix it\n"), Ok("fix it".to_owned()));
        assert_eq!(text("  two\nlines"), Ok("  two\nlines".to_owned()));
        for empty in ["", " ", "\n\t"] {
            assert_eq!(text(empty).expect_err("refused").exit.code(), 2);
        }
        let long = "x".repeat(INPUT_BYTES_MAX + 1);
        assert_eq!(text(&long).expect_err("refused").exit.code(), 2);
    }
}
