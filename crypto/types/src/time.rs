//! Times that people read and write: unix seconds or RFC 3339 in UTC.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};

/// Reads `1795000000` or `2026-11-20T09:47:40Z`.
///
/// # Errors
/// What was expected, for text of any other form and for a date that is in no calendar.
pub fn parse(text: &str) -> Result<u64, String> {
    if let Ok(seconds) = text.parse() {
        return Ok(seconds);
    }
    rfc3339(text).ok_or_else(|| "expected unix seconds, or UTC such as 2026-11-20T09:47:40Z".to_owned())
}

fn rfc3339(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let lengths = month_lengths(year);
    let length = *lengths.get(usize::try_from(month.checked_sub(1)?).ok()?)?;
    if year < 1970 || !(1..=length).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let before = year - 1;
    // Days before 1 January of `year`, counted from 1 January of the year 1.
    let days = 365 * before + before / 4 - before / 100 + before / 400;
    let within: u64 = lengths[..month as usize - 1].iter().sum::<u64>() + day - 1;
    Some((days - DAYS_BEFORE_1970 + within) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// As RFC 3339; after the year 9999, the number.
pub fn format(unix_s: u64) -> String {
    let (mut days, rest) = (unix_s / 86_400, unix_s % 86_400);
    let mut year = 1970;
    // The format ends with the year 9999; after it, print the number.
    while days >= if is_leap(year) { 366 } else { 365 } {
        days -= if is_leap(year) { 366 } else { 365 };
        year += 1;
        if year > 9999 {
            return unix_s.to_string();
        }
    }
    let lengths = month_lengths(year);
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", month + 1, days + 1)
}

/// Days from 1 January of the year 1 to 1 January 1970 (proleptic Gregorian).
const DAYS_BEFORE_1970: u64 = 719_162;

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn month_lengths(year: u64) -> [u64; 12] {
    [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}

fn numbers(text: &str, separator: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; 3];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part =
            parts.next().filter(|part| part.len() == digits && part.bytes().all(|b| b.is_ascii_digit()))?;
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_instants_read_and_print() {
        for (text, unix_s) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T23:59:59Z", 951_868_799),
            ("2026-11-20T09:47:40Z", 1_795_168_060),
            ("2100-03-01T00:00:00Z", 4_107_542_400),
        ] {
            assert_eq!((parse(text), format(unix_s).as_str()), (Ok(unix_s), text));
        }
        assert_eq!(parse("1795000000"), Ok(1_795_000_000));
        assert_eq!(format(u64::MAX), u64::MAX.to_string());
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "-1",
            "2026-11-20",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-11-20T24:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-11-20T09:47:40+00:00",
            "26-11-20T09:47:40Z",
            "2026-11-20T09:47:+4Z",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
