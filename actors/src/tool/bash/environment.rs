//! The environment of a command: what programs need to find their way, without secrets, and told
//! that nobody is there to answer. Pure.

use std::ffi::{OsStr, OsString};

/// The variable whose value names the call that a process belongs to.
pub(super) const MARK: &str = "PODWORK_CALL";

/// What is passed on. A list of what is allowed, since nobody can list all secrets; nothing here
/// opens a door (no agents of keys, no session bus, no tokens).
const PASSED_ON: [&str; 41] = [
    // who and where
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    "HOSTNAME",
    // where programs keep their files
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_DATA_DIRS",
    "XDG_CONFIG_DIRS",
    // tool chains
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CC",
    "CXX",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    // networks whose certificates are their own
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "no_proxy",
    "SOURCE_DATE_EPOCH",
    "NIX_PATH",
    "NIX_PROFILES",
];

/// Passed on when they hold no password.
const PROXIES: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

/// Nobody is there: programs that ask would wait for ever, so they are told to fail instead.
const NOBODY_THERE: [(&str, &str); 21] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("AWS_PAGER", ""),
    // An editor that changes nothing: a rebase goes on, a commit without a message does not.
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_EDITOR", "true"),
    // Without a terminal vi reads its answers from stderr, which is a pipe of output here, for
    // ever. This lets it do what its options say and end, with an error, where it would ask.
    ("VIMINIT", "autocmd VimEnter * cquit"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "false"),
    ("GCM_INTERACTIVE", "never"),
    ("SSH_ASKPASS", "false"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("SUDO_ASKPASS", "/bin/false"),
    ("GIT_SSH_COMMAND", "ssh -o BatchMode=yes"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("PIP_NO_INPUT", "1"),
    ("HOMEBREW_NO_AUTO_UPDATE", "1"),
];

/// The environment of a command, made of podwork's own. The mark of a call inside which podwork
/// itself runs stands before the new one, so that the outer call can end the inner one's processes.
pub(super) fn environment(
    own: impl IntoIterator<Item = (OsString, OsString)>,
    mark: &str,
) -> Vec<(OsString, OsString)> {
    let mut marks = OsString::new();
    let mut variables: Vec<(OsString, OsString)> = Vec::new();
    for (name, value) in own {
        if name == MARK && !value.is_empty() {
            marks = value;
            marks.push(",");
        } else if passes(&name, &value) {
            variables.push((name, value));
        }
    }
    marks.push(mark);
    variables.extend(NOBODY_THERE.map(|(name, value)| (name.into(), value.into())));
    variables.push((MARK.into(), marks));
    variables
}

fn passes(name: &OsStr, value: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    PASSED_ON.contains(&name)
        || name.starts_with("LC_")
        || (PROXIES.contains(&name) && !value.as_encoded_bytes().contains(&b'@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(own: &[(&str, &str)]) -> Vec<(String, String)> {
        let own = own.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let text = |text: OsString| text.into_string().expect("text");
        environment(own, "pod:c1").into_iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    fn value<'a>(environment: &'a [(String, String)], name: &str) -> Option<&'a str> {
        environment.iter().rfind(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    #[test]
    fn secrets_stay_behind_and_the_way_around_is_passed_on() {
        let environment = of(&[
            ("PATH", "/bin"),
            ("LC_ALL", "C.UTF-8"),
            ("OPENAI_API_KEY", "sk"),
            ("ANTHROPIC_API_KEY", "sk"),
            ("GITHUB_TOKEN", "t"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("SSH_AUTH_SOCK", "/tmp/agent"),
            ("BASH_ENV", "/tmp/evil"),
            ("LD_PRELOAD", "/tmp/evil.so"),
            ("PODWORK_STORE", "/store"),
            ("HTTP_PROXY", "http://user:password@proxy"),
            ("https_proxy", "http://proxy:3128"),
        ]);
        let fixed = NOBODY_THERE.iter().map(|(name, _)| *name);
        let passed: Vec<&str> = environment
            .iter()
            .map(|(name, _)| name.as_str())
            .filter(|name| !fixed.clone().any(|fixed| fixed == *name))
            .collect();
        assert_eq!(passed, ["PATH", "LC_ALL", "https_proxy", MARK]);
    }

    #[test]
    fn programs_are_told_that_nobody_is_there() {
        let environment = of(&[("TERM", "xterm"), ("EDITOR", "vim"), ("PAGER", "less")]);
        for (name, wanted) in [("TERM", "dumb"), ("GIT_TERMINAL_PROMPT", "0"), ("PAGER", "cat")] {
            assert_eq!(value(&environment, name), Some(wanted));
        }
    }

    #[test]
    fn the_mark_of_an_outer_call_is_kept_before_the_own_one() {
        assert_eq!(value(&of(&[]), MARK), Some("pod:c1"));
        assert_eq!(value(&of(&[(MARK, "outer:c7")]), MARK), Some("outer:c7,pod:c1"));
    }
}
