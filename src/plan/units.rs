//! Times, sizes and foreign text as an operator reads them.

use std::time::Duration;

/// The largest unit that fits, rounded down: `12s`, `3m`, `3h`, `5d`.
#[must_use]
pub fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// The time from `then_ms` to `now_ms`, both in milliseconds since 1970; zero when `then_ms` is later.
#[must_use]
pub fn since(then_ms: i64, now_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(now_ms.saturating_sub(then_ms)).unwrap_or(0))
}

/// A day in UTC, `30 Dec`, with its year when that is not the year of `now_ms`. Both in milliseconds since 1970.
#[must_use]
pub fn day(ms: i64, now_ms: i64) -> String {
    let date = |ms| jiff::Timestamp::from_millisecond(ms).ok().map(|t| jiff::tz::TimeZone::UTC.to_datetime(t).date());
    match (date(ms), date(now_ms)) {
        (Some(day), Some(now)) if day.year() == now.year() => day.strftime("%-d %b").to_string(),
        (Some(day), _) => day.strftime("%-d %b %Y").to_string(),
        (None, _) => "an unknown day".to_owned(),
    }
}

/// A size in decimal units: `412 MB`, `4.1 GB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes / 1_000),
        1_000_000..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{}.{} GB", bytes / 1_000_000_000, bytes % 1_000_000_000 / 100_000_000),
    }
}

/// A number and its noun: `1 client`, `2 clients`.
#[must_use]
pub fn count(number: usize, noun: &str) -> String {
    let plural = match noun.strip_suffix("ss") {
        Some(_) => "es",
        None => "s",
    };
    format!("{number} {noun}{}", if number == 1 { "" } else { plural })
}

/// The part of a conversation's id that people recognise: eight characters, of a path its last component's.
#[must_use]
pub fn short(conversation: &str) -> String {
    conversation.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default().chars().take(8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_show_their_largest_unit() {
        for (seconds, shown) in [(0, "0s"), (59, "59s"), (60, "1m"), (3_599, "59m"), (10_800, "3h"), (432_000, "5d")] {
            assert_eq!(span(Duration::from_secs(seconds)), shown);
        }
        assert_eq!(since(5_000, 2_000), Duration::ZERO);
        assert_eq!(since(i64::MIN, i64::MAX), Duration::from_millis(i64::MAX as u64));
    }

    #[test]
    fn a_day_has_its_year_only_when_it_is_another() {
        let now = 1_795_996_800_000; // 30 Nov 2026
        assert_eq!(day(now + 30 * 86_400_000, now), "30 Dec");
        assert_eq!(day(now + 40 * 86_400_000, now), "9 Jan 2027");
        assert_eq!(day(i64::MAX, now), "an unknown day");
    }

    #[test]
    fn sizes_and_counts_read_naturally() {
        assert_eq!(size(412_300_000), "412 MB");
        assert_eq!(size(4_190_000_000), "4.1 GB");
        assert_eq!((count(1, "process"), count(2, "process")), ("1 process".into(), "2 processes".into()));
        assert_eq!(count(0, "client"), "0 clients");
    }

    #[test]
    fn a_conversation_is_shown_by_its_first_eight_characters() {
        assert_eq!(short("4bfc71d6-1f0e-4b7e"), "4bfc71d6");
        assert_eq!(short("/home/a/.pi/2026-11-30T10.jsonl"), "2026-11-");
        assert_eq!(short(""), "");
    }
}
