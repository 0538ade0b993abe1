//! Parses the `Retry-After` header: seconds, or a date (RFC 9110, sections 10.2.3 and 5.6.7).

use reqwest::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};
use std::time::{Duration, SystemTime};

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Returns the wait that the server requests. `None` if the header is missing or invalid, or if its date has passed.
///
/// A date is relative to the server's own clock if the response has it, because the two clocks may differ by hours.
pub(super) fn requested_wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok();
    let wished = text(RETRY_AFTER)?.trim();
    if wished.bytes().all(|byte| byte.is_ascii_digit()) {
        return wished.parse().ok().map(Duration::from_secs);
    }
    let here = || now.duration_since(SystemTime::UNIX_EPOCH).ok().map(|since| since.as_secs());
    let there = text(DATE).and_then(seconds).or_else(here)?;
    seconds(wished)?.checked_sub(there).filter(|wait| *wait > 0).map(Duration::from_secs)
}

/// Returns the seconds from 1970 to a date in one of the three forms: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday,
/// 06-Nov-94 08:49:37 GMT`, and `Sun Nov  6 08:49:37 1994`.
fn seconds(date: &str) -> Option<u64> {
    let words: Vec<&str> = date.split([' ', ',', '-']).filter(|word| !word.is_empty()).take(7).collect();
    // The second form is that of asctime(3), which has no time zone.
    let (day, month, year, time) = match *words.as_slice() {
        [_, day, month, year, time, "GMT"] => (day, month, year, time),
        [_, month, day, time, year] => (day, month, year, time),
        _ => return None,
    };
    let number = |text: &str, most: u64| {
        let plain = text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u64>().ok().filter(|number| plain && *number <= most)
    };
    let month = MONTHS.iter().position(|name| month.eq_ignore_ascii_case(name))? as u64;
    // RFC 850 has years of two digits.
    let year = match (year.len(), number(year, 9999)?) {
        (2, year) if year < 70 => year + 2000,
        (2, year) => year + 1900,
        (_, year) => year,
    };
    let parts: Vec<u64> = time.split(':').map(|part| number(part, 60)).collect::<Option<_>>()?;
    let [hour, minute, second] = *parts.as_slice() else { return None };
    let day = number(day, 31)?.checked_sub(1)?;
    // A year begins on the first of March here, so that a leap day is its last; `transcript::rfc3339` does the reverse.
    let (year, month) = if month < 2 { (year.checked_sub(1)?, month + 10) } else { (year, month - 2) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    Some(days.checked_sub(719_468)? * 86_400 + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    #[test]
    fn dates_are_parsed_in_each_form() {
        for (date, want) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777)),
            ("Sun Nov  6 08:49:37 1994", Some(784_111_777)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Tue, 29 Feb 2000 00:00:00 GMT", Some(951_782_400)),
            ("Mon, 01 Mar 2100 00:00:00 GMT", Some(4_107_542_400)),
            ("Wed, 31 Dec 1969 23:59:59 GMT", None),
            ("Sun, 00 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49 GMT", None),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("Sun, 06 Nov 99999999999999999999 08:49:37 GMT", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(seconds(date), want, "{date}");
        }
    }

    #[test]
    fn a_date_is_relative_to_the_clock_of_the_server() {
        const NOON: &str = "Sun, 06 Nov 1994 12:00:00 GMT";
        const SOON: &str = "Sun, 06 Nov 1994 12:00:20 GMT";
        let noon = SystemTime::UNIX_EPOCH + Duration::from_secs(784_123_200);
        let hours = Duration::from_secs(5 * 3600);
        for (wished, date, now, want) in [
            ("7", None, noon, Some(7)),
            (" 0 ", None, noon, Some(0)),
            (SOON, None, noon, Some(20)),
            // One of the two clocks is wrong, but the wait is right.
            (SOON, Some(NOON), noon - hours, Some(20)),
            (SOON, Some(NOON), noon + hours, Some(20)),
            (SOON, Some("today"), noon, Some(20)),
            (SOON, None, noon + hours, None),
            (NOON, Some(SOON), noon, None),
            ("-5", None, noon, None),
            ("99999999999999999999999", None, noon, None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_static(wished));
            date.into_iter().for_each(|date| drop(headers.insert(DATE, HeaderValue::from_static(date))));
            assert_eq!(super::requested_wait(&headers, now).map(|wait| wait.as_secs()), want, "{wished} {date:?}");
        }
        assert_eq!(super::requested_wait(&HeaderMap::new(), noon), None);
    }
}
