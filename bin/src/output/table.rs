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
    if let Some(columns_max) = columns_max {
        narrow(&mut widths, columns_max);
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

/// Takes columns from the widest until the row fits, as far as that goes.
fn narrow(widths: &mut [usize], columns_max: usize) {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > columns_max {
        match widths.iter_mut().max() {
            Some(widest) if *widest > CUT_COLUMNS_MIN => *widest -= 1,
            _ => return,
        }
    }
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
}
