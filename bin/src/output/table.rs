//! Tables in columns: the last column is cut to the width, the others are as wide as they must be.

use crate::output::layout::{columns, cut};
use crate::output::style::Tone;

/// A cell and how it is meant.
pub(crate) type Cell = (Tone, String);

/// Columns between two cells.
const GAP: &str = "  ";

/// The least that is left of a cut column.
const CUT_COLUMNS_MIN: usize = 8;

/// The rows as text, one line each. Columns named in `numbers` stand to the right.
pub(crate) fn table(rows: &[Vec<Cell>], numbers: &[usize], columns_max: Option<usize>) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut widths = vec![0; count];
    for row in rows {
        for (width, (_, text)) in widths.iter_mut().zip(row) {
            *width = columns(text).max(*width);
        }
    }
    if let Some(columns_max) = columns_max
        && !narrow(&mut widths, columns_max)
    {
        return cards(rows, columns_max);
    }
    let mut lines = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (tone, text)) in row.iter().enumerate() {
            let text = cut(text, widths[column]);
            let space = " ".repeat(widths[column] - columns(&text));
            let gap = if column > 0 { GAP } else { "" };
            let painted = tone.paint(&text);
            let parts = if numbers.contains(&column) { [&space, &painted] } else { [&painted, &space] };
            line.push_str(gap);
            line.extend(parts.map(String::as_str));
        }
        lines.push_str(line.trim_end_matches(' '));
        lines.push('\n');
    }
    lines
}

/// Where a table does not fit at all: each row by itself, each cell on a line with its head.
fn cards(rows: &[Vec<Cell>], columns_max: usize) -> String {
    let Some((head, rows)) = rows.split_first() else { return String::new() };
    let width = head.iter().map(|(_, text)| columns(text)).max().unwrap_or(0);
    let mut lines = String::new();
    for (place, row) in rows.iter().enumerate() {
        if place > 0 {
            lines.push('\n');
        }
        for ((_, name), (tone, text)) in head.iter().zip(row).filter(|(_, (_, text))| !text.is_empty()) {
            let space = " ".repeat(width - columns(name));
            let text = cut(text, columns_max.saturating_sub(width + GAP.len()));
            let line = format!("{}{space}{GAP}{}", Tone::Faint.paint(name), tone.paint(&text));
            lines.push_str(line.trim_end_matches(' '));
            lines.push('\n');
        }
    }
    lines
}

/// Takes columns from the widest until the row fits; false when it cannot.
fn narrow(widths: &mut [usize], columns_max: usize) -> bool {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > columns_max {
        match widths.iter_mut().max() {
            Some(widest) if *widest > CUT_COLUMNS_MIN => *widest -= 1,
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<Cell> {
        cells.iter().map(|cell| (Tone::Plain, (*cell).to_owned())).collect()
    }

    #[test]
    fn words_stand_left_and_numbers_right() {
        let rows = [row(&["name", "n"]), row(&["a", "10"]), row(&["bb", "9"])];
        assert_eq!(table(&rows, &[1], None), "name   n\na     10\nbb     9\n");
    }

    #[test]
    fn a_table_that_is_too_wide_loses_of_its_widest_column() {
        let rows = [row(&["a", "a long text that does not fit", "z"])];
        assert_eq!(table(&rows, &[], Some(18)), "a  a long text…  z\n");
    }

    #[test]
    fn a_table_that_cannot_fit_becomes_a_list() {
        let rows = [row(&["pod", "tokens", "cost"]), row(&["one", "12", ""]), row(&["two", "3", "$1"])];
        let plain = anstream::adapter::strip_str(&table(&rows, &[], Some(11))).to_string();
        assert_eq!(plain, "pod     one\ntokens  12\n\npod     two\ntokens  3\ncost    $1\n");
    }
}
