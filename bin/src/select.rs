//! Which pod somebody means: a name, an id, a unique beginning of an id, or the newest.

use std::fmt::Write as _;

use events::PodId;

use crate::args::target::PodName;
use crate::exit::Problem;
use crate::nearest::nearest;

/// A pod that may be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Its id.
    pub(crate) id: PodId,
    /// What people call it.
    pub(crate) name: Option<String>,
    /// Who spawned it.
    pub(crate) parent: Option<PodId>,
}

/// Candidates that an error message lists.
const LISTED_MAX: usize = 10;

/// The pod that is meant, of these in the order in which they were opened. A name counts before
/// the beginning of an id.
pub(crate) fn select(wanted: &PodName, pods: &[Candidate]) -> Result<PodId, Problem> {
    let Some(newest) = pods.last() else {
        return Err(Problem::usage("the store has no pod yet").hint("`podwork run` opens one."));
    };
    let text = match wanted {
        PodName::Last => return Ok(newest.id),
        PodName::Named(text) => text.trim(),
    };
    let named: Vec<&Candidate> = pods.iter().filter(|pod| pod.name.as_deref() == Some(text)).collect();
    let meant = if named.is_empty() { by_id(text, pods) } else { named };
    match meant.as_slice() {
        [one] => Ok(one.id),
        [] => Err(unknown(text, pods)),
        several => {
            let problem = Problem::usage(format!("`{text}` can be one of {} pods:", several.len()));
            Err(problem.hint(list(several.iter().copied())))
        }
    }
}

fn by_id<'a>(text: &str, pods: &'a [Candidate]) -> Vec<&'a Candidate> {
    let digits = |text: &str| text.replace('-', "").to_lowercase();
    let wanted = digits(text);
    let is_meant = |pod: &&Candidate| !wanted.is_empty() && digits(&pod.id.to_string()).starts_with(&wanted);
    pods.iter().filter(is_meant).collect()
}

fn unknown(text: &str, pods: &[Candidate]) -> Problem {
    let names = pods.iter().filter_map(|pod| pod.name.as_deref());
    let near = nearest(text, names).map(|name| format!("; the nearest name is `{name}`")).unwrap_or_default();
    Problem::usage(format!("there is no pod `{text}`{near}")).hint("The newest pods are:").hint(list(pods))
}

/// The newest of these, one a line.
fn list<'a>(
    pods: impl IntoIterator<Item = &'a Candidate, IntoIter: DoubleEndedIterator + ExactSizeIterator>,
) -> String {
    let pods = pods.into_iter();
    let hidden = pods.len().saturating_sub(LISTED_MAX);
    let mut lines: Vec<String> = pods
        .rev()
        .take(LISTED_MAX)
        .map(|pod| format!("  {}  {}", pod.id, pod.name.as_deref().unwrap_or("")).trim_end().to_owned())
        .collect();
    if hidden > 0 {
        let mut line = String::new();
        let _ = write!(line, "  … and {hidden} more: `podwork pods`");
        lines.push(line);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(first: u8, name: Option<&str>) -> Candidate {
        let mut bytes = [0xab; 16];
        bytes[0] = first;
        Candidate { id: PodId::from_bytes(bytes), name: name.map(str::to_owned), parent: None }
    }

    fn named(text: &str) -> PodName {
        PodName::Named(text.to_owned())
    }

    fn pods() -> Vec<Candidate> {
        vec![pod(0x01, Some("fix")), pod(0x02, None), pod(0x12, Some("fix")), pod(0x13, Some("02"))]
    }

    #[test]
    fn a_pod_is_found_by_its_name_its_id_or_the_beginning_of_its_id() {
        let pods = pods();
        assert_eq!(select(&PodName::Last, &pods), Ok(pods[3].id));
        assert_eq!(select(&named("13"), &pods), Ok(pods[3].id));
        assert_eq!(select(&named(&pods[1].id.to_string()), &pods), Ok(pods[1].id));
        assert_eq!(select(&named("01AB-abab"), &pods), Ok(pods[0].id));
        assert_eq!(select(&named("02"), &pods), Ok(pods[3].id), "a name counts before an id");
    }

    #[test]
    fn what_can_be_several_pods_lists_them() {
        let pods = pods();
        for text in ["fix", "1"] {
            let problem = select(&named(text), &pods).expect_err(text);
            assert_eq!(problem.exit.code(), 2);
            assert!(problem.message.starts_with(&format!("`{text}` can be one of 2 pods:")));
            assert!(problem.message.contains(&pods[2].id.to_string()), "{}", problem.message);
            assert!(!problem.message.contains(&pods[1].id.to_string()), "{}", problem.message);
        }
    }

    #[test]
    fn what_is_no_pod_lists_the_nearest_name_and_the_newest_pods() {
        let problem = select(&named("fxi"), &pods()).expect_err("unknown");
        assert!(problem.message.contains("the nearest name is `fix`"), "{}", problem.message);
        assert!(problem.message.contains(&pods()[1].id.to_string()), "{}", problem.message);
        assert!(select(&named(""), &pods()).is_err());
        assert!(select(&named("-"), &pods()).is_err());
        assert!(select(&PodName::Last, &[]).is_err());
    }

    #[test]
    fn a_long_list_is_cut() {
        let pods: Vec<Candidate> = (0..30).map(|first| pod(first, None)).collect();
        let problem = select(&named("zz"), &pods).expect_err("unknown");
        assert!(problem.message.contains("and 20 more"), "{}", problem.message);
        assert!(problem.message.lines().count() < 15);
    }
}
