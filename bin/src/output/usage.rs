//! What pods took, as a table.

use events::text::clean_str;

use crate::output::event::short;
use crate::output::number;
use crate::output::style::Tone;
use crate::output::table::{Cell, table};
use crate::view::usage::{Savings, UsageView};

/// The pods and, when there are several, their sum.
pub(crate) fn usage(pods: &[UsageView], columns_max: Option<usize>) -> String {
    const NUMBERS: &[usize] = &[1, 2, 3, 4, 5, 6, 7];
    let head = ["pod", "requests", "failed", "calls", "input", "cached", "output", "cost"];
    let mut rows = vec![head.map(|text| (Tone::Faint, text.to_owned())).to_vec()];
    rows.extend(pods.iter().map(row));
    if pods.len() > 1 {
        rows.push(row(&sum(pods)));
    }
    let mut text = table(&rows, NUMBERS, columns_max);
    for pod in pods {
        text += &notes(pod, pods.len() > 1);
    }
    text
}

fn row(pod: &UsageView) -> Vec<Cell> {
    let totals = &pod.totals;
    let name = pod.name.as_deref().map_or_else(|| short(&pod.pod), clean_str);
    let indent = "  ".repeat(usize::try_from(pod.depth).unwrap_or(0));
    let cached = format!(
        "{} ({})",
        number::tokens(totals.cached_tokens),
        number::share(totals.cached_tokens, totals.input_tokens)
    );
    let priced = totals.cost_usd > 0.0 || totals.unpriced_replies == 0;
    let cost = if priced { number::usd(totals.cost_usd) } else { "-".to_owned() };
    let numbers = [
        totals.requests.to_string(),
        totals.failed_attempts.to_string(),
        totals.calls.to_string(),
        number::tokens(totals.input_tokens),
        cached,
        number::tokens(totals.output_tokens),
        cost,
    ];
    let mut row = vec![(Tone::Strong, format!("{indent}{name}"))];
    row.extend(numbers.map(|text| (Tone::Plain, text)));
    row
}

fn sum(pods: &[UsageView]) -> UsageView {
    let mut sum = pods[0].clone();
    sum.name = Some("all".to_owned());
    for pod in &pods[1..] {
        let (all, one) = (&mut sum.totals, &pod.totals);
        all.requests += one.requests;
        all.failed_attempts += one.failed_attempts;
        all.calls += one.calls;
        all.input_tokens = all.input_tokens.saturating_add(one.input_tokens);
        all.cached_tokens = all.cached_tokens.saturating_add(one.cached_tokens);
        all.cache_write_tokens = all.cache_write_tokens.saturating_add(one.cache_write_tokens);
        all.output_tokens = all.output_tokens.saturating_add(one.output_tokens);
        all.reasoning_tokens = all.reasoning_tokens.saturating_add(one.reasoning_tokens);
        all.cost_usd += one.cost_usd;
        all.unpriced_replies += one.unpriced_replies;
    }
    sum
}

/// What a row has no room for, where there is anything to say.
fn notes(pod: &UsageView, with_name: bool) -> String {
    let totals = &pod.totals;
    let mut notes = Vec::new();
    if totals.reasoning_tokens > 0 {
        notes.push(format!("{} of the output were reasoning", number::tokens(totals.reasoning_tokens)));
    }
    if totals.cache_write_tokens > 0 {
        notes.push(format!(
            "{} of the input were written to the cache",
            number::tokens(totals.cache_write_tokens)
        ));
    }
    if totals.unpriced_replies > 0 {
        notes.push(format!(
            "{} without a price: write [models.\"PROVIDER:NAME\"] prices into the configuration",
            number::count(totals.unpriced_replies, "reply")
        ));
    }
    notes.extend(savings(&pod.savings));
    let name = pod.name.as_deref().map_or_else(|| short(&pod.pod), clean_str);
    let head = if with_name { format!("{name}: ") } else { String::new() };
    let lines: Vec<String> =
        notes.into_iter().map(|note| Tone::Faint.paint(&format!("{head}{note}")) + "\n").collect();
    lines.concat()
}

fn savings(savings: &Savings) -> Vec<String> {
    let mut notes = Vec::new();
    if savings.prunes > 0 {
        notes.push(format!(
            "prune: {}, {} left out, about {} tokens not sent",
            number::count(savings.prunes, "time"),
            number::count(savings.pruned_results, "result"),
            number::tokens(savings.pruned_tokens)
        ));
    }
    if savings.compactions > 0 {
        notes.push(format!(
            "compaction: {}, about {} tokens not sent",
            number::count(savings.compactions, "time"),
            number::tokens(savings.compacted_tokens)
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use events::PodId;
    use events::projection::UsageTotals;

    use super::*;

    fn view(number: u8, depth: u32) -> UsageView {
        let mut totals = UsageTotals::default();
        (totals.requests, totals.failed_attempts, totals.calls) = (3, 1, 2);
        (totals.input_tokens, totals.cached_tokens, totals.output_tokens) = (4000, 1000, 200);
        totals.cost_usd = 0.5;
        let mut savings = Savings::default();
        (savings.prunes, savings.pruned_results, savings.pruned_tokens) = (1, 2, 9000);
        UsageView { pod: PodId::from_bytes([number; 16]), name: None, depth, totals, savings }
    }

    fn plain(pods: &[UsageView]) -> String {
        anstream::adapter::strip_str(&usage(pods, None)).to_string()
    }

    #[test]
    fn one_pod_is_one_row_and_its_savings() {
        let text = plain(&[view(1, 0)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        let words: Vec<&str> = lines[1].split_whitespace().collect();
        assert_eq!(words, ["01010101-0101", "3", "1", "2", "4.0k", "1.0k", "(25", "%)", "200", "$0.50"]);
        assert_eq!(lines[2], "prune: 1 time, 2 results left out, about 9.0k tokens not sent");
    }

    #[test]
    fn a_tree_has_its_sum_below() {
        let text = plain(&[view(1, 0), view(2, 1)]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[2].starts_with("  02020202-0202"), "{text}");
        let words: Vec<&str> = lines[3].split_whitespace().collect();
        assert_eq!(words[..5], ["all", "6", "2", "4", "8.0k"]);
    }

    #[test]
    fn replies_without_a_price_are_told() {
        let mut view = view(1, 0);
        view.totals.cost_usd = 0.0;
        view.totals.unpriced_replies = 2;
        let text = plain(&[view]);
        assert!(text.contains("2 replies without a price"), "{text}");
        assert!(text.lines().nth(1).expect("a row").ends_with(" -"), "{text}");
    }
}
