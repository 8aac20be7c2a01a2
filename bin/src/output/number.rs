//! Numbers for people: rounded, with their unit.

/// Tokens: `812`, `4.2k`, `1.3M`.
pub(crate) fn tokens(number: u64) -> String {
    rounded(number, 1000, ["", "k", "M", "G"])
}

/// Bytes: `812 B`, `4.2 kB`.
pub(crate) fn bytes(number: u64) -> String {
    rounded(number, 1000, [" B", " kB", " MB", " GB"])
}

fn rounded(number: u64, step: u64, units: [&str; 4]) -> String {
    let mut unit = 0;
    let mut divisor = 1;
    // Half a last digit below the step is the step: 999,950 is 1.0M and not 1000.0k.
    while unit + 1 < units.len() && number.saturating_add(divisor / 20) >= divisor * step {
        divisor *= step;
        unit += 1;
    }
    if divisor == 1 {
        return format!("{number}{}", units[unit]);
    }
    let tenths = number.saturating_add(divisor / 20) / (divisor / 10);
    if tenths >= 1000 {
        format!("{}{}", tenths / 10, units[unit])
    } else {
        format!("{}.{}{}", tenths / 10, tenths % 10, units[unit])
    }
}

/// A time span: `24 ms`, `0.2 s`, `12 s`, `3 min 4 s`, `2 h 5 min`.
pub(crate) fn milliseconds(number: u64) -> String {
    let seconds = number / 1000;
    match seconds {
        _ if number < 100 => format!("{number} ms"),
        0..10 => format!("{seconds}.{} s", number % 1000 / 100),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// US dollars, with as many decimals as small amounts need.
pub(crate) fn usd(amount: f64) -> String {
    match amount {
        0.0 => "$0".to_owned(),
        amount if amount < 0.01 => format!("${amount:.4}"),
        _ => format!("${amount:.2}"),
    }
}

/// A part of a whole in per cent; nothing of nothing is none.
pub(crate) fn share(part: u64, whole: u64) -> String {
    let percent = u128::from(part) * 100 / u128::from(whole.max(1));
    format!("{percent} %")
}

/// `1 item`, `2 items`, `2 replies`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    match (number, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) => format!("{number} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_for_people() {
        let cases =
            [(0, "0"), (999, "999"), (1000, "1.0k"), (4249, "4.2k"), (99_949, "99.9k"), (128_000, "128k")];
        for (number, text) in cases {
            assert_eq!(tokens(number), text);
        }
        assert_eq!(tokens(999_949), "999k");
        assert_eq!(tokens(999_950), "1.0M");
        assert_eq!(tokens(1_300_000), "1.3M");
        assert!(tokens(u64::MAX).ends_with('G'));
        assert_eq!(bytes(12), "12 B");
        assert_eq!(bytes(16_384), "16.4 kB");
    }

    #[test]
    fn times_and_money_are_short() {
        assert_eq!(milliseconds(24), "24 ms");
        assert_eq!(milliseconds(240), "0.2 s");
        assert_eq!(milliseconds(12_900), "12 s");
        assert_eq!(milliseconds(184_000), "3 min 4 s");
        assert_eq!(milliseconds(7_500_000), "2 h 5 min");
        assert_eq!(usd(0.0), "$0");
        assert_eq!(usd(0.001_23), "$0.0012");
        assert_eq!(usd(1.239), "$1.24");
        assert_eq!(share(1, 3), "33 %");
        assert_eq!(share(0, 0), "0 %");
        assert_eq!(count(1, "item"), "1 item");
        assert_eq!(count(0, "item"), "0 items");
        assert_eq!(count(2, "reply"), "2 replies");
    }
}
