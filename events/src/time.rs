//! When something was written down: for show only. No decision compares times.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// Microseconds since 1970-01-01 UTC, written as RFC 3339 with six decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Timestamp {
    micros: i64,
}

impl Timestamp {
    /// The moment so many microseconds after 1970-01-01 UTC.
    pub const fn from_micros(micros: i64) -> Self {
        Self { micros }
    }

    /// Microseconds since 1970-01-01 UTC.
    pub const fn as_micros(self) -> i64 {
        self.micros
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.micros.div_euclid(MICROS_PER_SECOND);
        let micros = self.micros.rem_euclid(MICROS_PER_SECOND);
        let (year, month, day) = civil_from_days(seconds.div_euclid(SECONDS_PER_DAY));
        let second = seconds.rem_euclid(SECONDS_PER_DAY);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
    }
}

/// The text is not a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a time is written as 2026-01-02T03:04:05.678901Z")]
pub struct TimestampError;

impl FromStr for Timestamp {
    type Err = TimestampError;

    /// Reads RFC 3339 in UTC with zero to nine decimals; what is finer than a microsecond is
    /// dropped.
    fn from_str(text: &str) -> Result<Self, TimestampError> {
        let text = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00"));
        let (date, time) = text.and_then(|text| text.split_once('T')).ok_or(TimestampError)?;
        let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
        let [year, month, day] = numbers(date.splitn(3, '-'))?;
        let [hour, minute, second] = numbers(time.splitn(3, ':'))?;
        let in_range = (0..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..=60).contains(&second)
            && fraction.len() <= 9
            && fraction.bytes().all(|byte| byte.is_ascii_digit());
        if !in_range {
            return Err(TimestampError);
        }
        let micros: i64 =
            format!("{fraction:0<6}")[..6].parse().map_err(|_: std::num::ParseIntError| TimestampError)?;
        let seconds =
            days_from_civil(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
        Ok(Self { micros: seconds * MICROS_PER_SECOND + micros })
    }
}

fn numbers<'a>(parts: impl Iterator<Item = &'a str>) -> Result<[i64; 3], TimestampError> {
    let parts: Vec<i64> = parts
        .map(|part| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok()))
        .collect::<Option<Option<_>>>()
        .flatten()
        .ok_or(TimestampError)?;
    parts.try_into().map_err(|_| TimestampError)
}

/// The day's date in the proleptic Gregorian calendar. Years are counted from March, so that the
/// leap day is the last of its year.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_moments_are_written_as_rfc_3339() {
        let known = [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            (1_767_323_045_678_901, "2026-01-02T03:04:05.678901Z"),
            (-1, "1969-12-31T23:59:59.999999Z"),
        ];
        for (micros, text) in known {
            assert_eq!(Timestamp::from_micros(micros).to_string(), text);
            assert_eq!(text.parse(), Ok(Timestamp::from_micros(micros)));
        }
    }

    #[test]
    fn what_is_not_a_time_is_refused() {
        for text in ["", "Z", "2026-01-02", "2026-13-02T00:00:00Z", "2026-01-02T00:00:0éZ"] {
            assert_eq!(text.parse::<Timestamp>(), Err(TimestampError), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_moment_of_four_digit_years_reads_back(micros in -62_135_596_800_000_000_i64..253_402_300_799_999_999) {
            let moment = Timestamp::from_micros(micros);
            prop_assert_eq!(moment.to_string().parse(), Ok(moment));
        }
    }
}
