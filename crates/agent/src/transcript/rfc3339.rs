//! Formats times as in RFC 3339: UTC, in milliseconds.

use std::time::SystemTime;

/// Returns the current time.
pub(super) fn now() -> String {
    rfc3339(SystemTime::now())
}

/// Formats a time as in RFC 3339: UTC, in milliseconds. A time before 1970 is written as 1970.
pub fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format_seconds(since.as_secs(), since.subsec_millis())
}

/// Formats seconds since 1970 as a date and a time. The days are counted in eras of 400 years that begin on the first
/// of March, as in Howard Hinnant's `civil_from_days`, so that a leap day is the last of its year.
fn format_seconds(seconds: u64, millis: u32) -> String {
    let (days, of_day) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::format_seconds;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, millis, want) in [
            (0, 0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, 999, "2000-02-28T23:59:59.999Z"),
            (951_782_400, 5, "2000-02-29T00:00:00.005Z"),
            (1_709_251_199, 0, "2024-02-29T23:59:59.000Z"),
            (4_107_542_400, 0, "2100-03-01T00:00:00.000Z"),
            (1_795_648_602, 123, "2026-11-25T23:16:42.123Z"),
        ] {
            assert_eq!(format_seconds(seconds, millis), want);
        }
    }
}
