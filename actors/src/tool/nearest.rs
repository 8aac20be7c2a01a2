//! The name that was probably meant. Pure.

/// The candidate nearest to `name`, when one is near enough to be worth a question: a name that
/// lies within the other (`path` in `file_path`, `cmd` in `command`), or few letters away.
pub(crate) fn nearest<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let name = name.to_lowercase();
    let rank = |candidate: &str| {
        let distance = distance(&name, candidate);
        let longest = name.chars().count().max(candidate.chars().count());
        let within = !name.is_empty() && (lies_within(&name, candidate) || lies_within(candidate, &name));
        (within || distance * 2 <= longest).then_some(distance)
    };
    let ranked = candidates.iter().filter_map(|candidate| Some((rank(candidate)?, *candidate)));
    ranked.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// All letters of `short`, which has three at least, stand in `long` in this order.
fn lies_within(short: &str, long: &str) -> bool {
    let mut letters = long.chars();
    short.chars().count() >= 3 && short.chars().all(|letter| letters.any(|other| other == letter))
}

/// Levenshtein's: the least number of letters to put in, leave out or change.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, against) in other.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *against);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_was_meant_is_found() {
        let cases: [(&str, &[&str], Option<&str>); 9] = [
            ("file_path", &["path", "offset", "limit"], Some("path")),
            ("cmd", &["command", "timeout_seconds"], Some("command")),
            ("timeout", &["command", "timeout_seconds"], Some("timeout_seconds")),
            ("old_string", &["path", "old_text", "new_text", "all"], Some("old_text")),
            ("new_str", &["path", "old_text", "new_text", "all"], Some("new_text")),
            ("Read_File", &["read_file", "write_file"], Some("read_file")),
            ("grep", &["read_file", "search", "bash"], None),
            ("", &["path"], None),
            ("x", &[], None),
        ];
        for (name, candidates, near) in cases {
            assert_eq!(nearest(name, candidates), near, "{name}");
        }
    }
}
