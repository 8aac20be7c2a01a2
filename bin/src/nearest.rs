//! What somebody may have meant who wrote something unknown.

/// The known name that is nearest to what was written: the fewest letters to change, and among
/// equals the first. `None` when nothing is known.
pub(crate) fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known.into_iter().min_by_key(|name| distance(written, name))
}

/// Letters to insert, delete, replace or swap with their neighbour to make one text of the other.
pub(crate) fn distance(one: &str, other: &str) -> usize {
    let one: Vec<char> = one.to_lowercase().chars().collect();
    let other: Vec<char> = other.to_lowercase().chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (row, left) in one.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, right) in other.iter().enumerate() {
            let replaced = above[column] + usize::from(left != right);
            let mut least = replaced.min(above[column + 1] + 1).min(current[column] + 1);
            let swapped = row > 0 && column > 0 && one[row - 1] == *right && other[column - 1] == *left;
            if swapped {
                least = least.min(before[column - 1] + 1);
            }
            current.push(least);
        }
        before = std::mem::replace(&mut above, current);
    }
    above[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_changed_letters() {
        for (one, other, letters) in
            [("", "", 0), ("a", "", 1), ("bash", "bahs", 1), ("kitten", "sitting", 3), ("Model", "model", 0)]
        {
            assert_eq!(distance(one, other), letters, "{one} {other}");
            assert_eq!(distance(other, one), letters, "{other} {one}");
        }
    }

    #[test]
    fn the_nearest_name_is_found() {
        assert_eq!(nearest("raed_file", ["bash", "read_file", "write_file"]), Some("read_file"));
        assert_eq!(nearest("x", []), None);
    }
}
