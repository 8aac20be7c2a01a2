//! The list of pods: children below their parent.

use std::collections::BTreeMap;

use events::text::clean_str;
use events::{PodId, TurnNumber};

use crate::output::event::short;
use crate::output::number;
use crate::output::style::Tone;
use crate::output::table::{Cell, table};
use crate::view::pods::{PodState, PodView};

/// The pods as a table.
pub(crate) fn tree(pods: &[PodView], columns_max: Option<usize>) -> String {
    const NUMBERS: &[usize] = &[3, 4, 5];
    let head = ["pod", "id", "state", "turn", "tokens", "cost", "model", "waits for"];
    let mut rows = vec![head.map(|text| (Tone::Faint, text.to_owned())).to_vec()];
    rows.extend(arranged(pods).into_iter().map(|(branch, pod)| row(&branch, pod)));
    table(&rows, NUMBERS, columns_max)
}

/// Each pod below its parent, with the lines that show it. A pod whose parent is not there stands
/// at the left.
fn arranged(pods: &[PodView]) -> Vec<(String, &PodView)> {
    let mut children: BTreeMap<Option<PodId>, Vec<&PodView>> = BTreeMap::new();
    for pod in pods {
        let parent = pod.parent.filter(|parent| pods.iter().any(|other| other.pod == *parent));
        children.entry(parent).or_default().push(pod);
    }
    let mut arranged = Vec::new();
    let mut waiting: Vec<(String, String, &PodView)> = Vec::new();
    for pod in children.remove(&None).into_iter().flatten().rev() {
        waiting.push((String::new(), String::new(), pod));
    }
    while let Some((branch, below, pod)) = waiting.pop() {
        arranged.push((branch, pod));
        // Taken out, so that pods that name each other as parents end the walk.
        let children = children.remove(&Some(pod.pod)).unwrap_or_default();
        let last = children.len().saturating_sub(1);
        for (index, child) in children.into_iter().enumerate().rev() {
            let (corner, line) = if index == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            waiting.push((format!("{below}{corner}"), format!("{below}{line}"), child));
        }
    }
    arranged
}

fn row(branch: &str, pod: &PodView) -> Vec<Cell> {
    let name = match (&pod.name, &pod.forked_from) {
        (Some(name), _) => clean_str(name),
        (None, Some(from)) => format!("fork of {}", short(from)),
        (None, None) => "-".to_owned(),
    };
    let turn = if pod.turn == TurnNumber(0) { "-".to_owned() } else { pod.turn.to_string() };
    let cost = pod.cost_usd.map_or("-".to_owned(), number::usd);
    vec![
        (Tone::Strong, format!("{branch}{name}")),
        (Tone::Plain, short(&pod.pod)),
        (tone(pod.state), pod.state.as_str().to_owned()),
        (Tone::Plain, turn),
        (Tone::Plain, number::tokens(pod.tokens)),
        (Tone::Plain, cost),
        (Tone::Faint, clean_str(pod.model.as_deref().unwrap_or("-"))),
        (Tone::Warning, pod.waits_for.as_deref().map(one_line).unwrap_or_default()),
    ]
}

fn one_line(text: &str) -> String {
    clean_str(text).lines().next().unwrap_or_default().to_owned()
}

fn tone(state: PodState) -> Tone {
    match state {
        PodState::Idle => Tone::Plain,
        PodState::Running => Tone::Good,
        PodState::Interrupted => Tone::Bad,
        PodState::Paused => Tone::Warning,
        PodState::Stopped => Tone::Faint,
    }
}

#[cfg(test)]
mod tests {
    use events::{Seq, Timestamp};

    use super::*;

    fn pod(number: u8, parent: Option<u8>) -> PodView {
        let id = |number| PodId::from_bytes([number; 16]);
        PodView {
            pod: id(number),
            name: Some(format!("pod{number}")),
            parent: parent.map(id),
            forked_from: None,
            state: PodState::Idle,
            turn: TurnNumber(2),
            outcome: None,
            waits_for: None,
            model: Some("openai:x".to_owned()),
            tokens: 4200,
            cost_usd: Some(0.5),
            events: Seq(9),
            at: Timestamp::default(),
        }
    }

    fn names(pods: &[PodView]) -> Vec<String> {
        let arranged = arranged(pods);
        arranged
            .iter()
            .map(|(branch, pod)| format!("{branch}{}", pod.name.as_deref().unwrap_or("")))
            .collect()
    }

    #[test]
    fn children_hang_below_their_parent() {
        let pods = [pod(1, None), pod(2, Some(1)), pod(3, None), pod(4, Some(2)), pod(5, Some(1))];
        assert_eq!(names(&pods), ["pod1", "├─ pod2", "│  └─ pod4", "└─ pod5", "pod3"]);
    }

    #[test]
    fn a_pod_without_its_parent_is_shown_and_a_circle_is_no_trap() {
        assert_eq!(names(&[pod(2, Some(1))]), ["pod2"]);
        assert_eq!(names(&[pod(1, Some(2)), pod(2, Some(1)), pod(3, None)]), ["pod3"]);
    }

    #[test]
    fn a_row_says_what_the_pod_took_and_waits_for() {
        let mut waiting = pod(7, None);
        waiting.waits_for = Some("resume: tired\nsecond line".to_owned());
        let text = anstream::adapter::strip_str(&tree(&[waiting], None)).to_string();
        let line = text.lines().nth(1).expect("a row");
        let words: Vec<&str> = line.split_whitespace().collect();
        let expected =
            ["pod7", "07070707-0707", "idle", "2", "4.2k", "$0.50", "openai:x", "resume:", "tired"];
        assert_eq!(words, expected);
    }
}
