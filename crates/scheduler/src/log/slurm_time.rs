//! Times and durations as Slurm writes them.

/// Seconds since 1970 of `2024-11-13T08:30:40`, with or without an offset from
/// UTC, or of Unix seconds (`SLURM_TIME_FORMAT=%s`). A time without offset is local
/// to the cluster; it is read as if it were UTC.
pub(super) fn time(text: &str) -> Option<i64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) && (6..=11).contains(&text.len()) {
        return text.parse().ok();
    }
    let (date, clock) = text.split_once(['T', ' '])?;
    let mut fields = date.split('-');
    let (year, month, day) = (
        number(fields.next()?)?,
        number(fields.next()?)?,
        number(fields.next()?)?,
    );
    if fields.next().is_some() || !(1970..=9999).contains(&year) {
        return None;
    }
    let (clock, offset) = match clock.find(['+', '-', 'Z']) {
        Some(at) => (&clock[..at], zone(&clock[at..])?),
        None => (clock, 0),
    };
    let mut fields = clock.split(':');
    let (hour, minute, second) = (
        number(fields.next()?)?,
        number(fields.next()?)?,
        fields.next().map_or(Some(0), number)?,
    );
    if fields.next().is_some() || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(days(year, month, day)? * 86_400 + hour * 3600 + minute * 60 + second - offset)
}

/// Seconds since 1970 of a date, with or without a time of day and its offset from UTC:
/// `2024-11-13`, `2024-11-13T08:30`.
pub fn date(text: &str) -> Option<i64> {
    let text = text.trim();
    match text.contains(['T', ' ']) {
        true => time(text),
        false => time(&format!("{text}T00:00")),
    }
}

/// Seconds of `[days-]hours:minutes:seconds[.fraction]` or `minutes:seconds`.
pub(super) fn duration(text: &str) -> Option<i64> {
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (number(days)?, clock),
        None => (0, text),
    };
    let clock = clock.split_once('.').map_or(clock, |(whole, _)| whole);
    let fields: Vec<i64> = clock.split(':').map(number).collect::<Option<_>>()?;
    let seconds = match fields[..] {
        [hours, minutes, seconds] => hours * 3600 + minutes * 60 + seconds,
        [minutes, seconds] => minutes * 60 + seconds,
        _ => return None,
    };
    Some(days * 86_400 + seconds)
}

/// Seconds of a time limit written as a duration; −1: there is none.
pub(super) fn limit(text: &str) -> Option<i64> {
    if is_unlimited(text) {
        return Some(-1);
    }
    duration(text)
}

/// Seconds of a time limit in minutes; −1: there is none.
pub(super) fn limit_in_minutes(text: &str) -> Option<i64> {
    if is_unlimited(text) {
        return Some(-1);
    }
    text.parse::<i64>().ok()?.checked_mul(60)
}

fn is_unlimited(text: &str) -> bool {
    matches!(text, "UNLIMITED" | "Partition_Limit")
}

/// A number of at most nine digits.
fn number(text: &str) -> Option<i64> {
    let sound = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    sound.then(|| text.parse().ok()).flatten()
}

/// Seconds east of UTC of `Z`, `+02:00`, `-0130`.
fn zone(text: &str) -> Option<i64> {
    if text == "Z" {
        return Some(0);
    }
    let (sign, digits) = text.split_at(1);
    let digits = digits.replace(':', "");
    if digits.len() != 4 {
        return None;
    }
    let value = number(&digits)?;
    let seconds = value / 100 * 3600 + value % 100 * 60;
    Some(if sign == "-" { -seconds } else { seconds })
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let leap = |year: i64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let index = usize::try_from(month - 1)
        .ok()
        .filter(|&index| index < 12)?;
    let length = BEFORE.get(index + 1).unwrap_or(&365) - BEFORE[index];
    let length = length + i64::from(month == 2 && leap(year));
    if !(1..=length).contains(&day) {
        return None;
    }
    // Leap days up to the end of the year before.
    let leaps = |year: i64| year / 4 - year / 100 + year / 400;
    let years = (year - 1970) * 365 + leaps(year - 1) - leaps(1969);
    let this_year = BEFORE[index] + i64::from(month > 2 && leap(year));
    Some(years + this_year + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_date() {
        // `date -u -d TIME +%s`
        assert_eq!(time("1970-01-01T00:00:00"), Some(0));
        assert_eq!(time("2024-02-29T12:00:00"), Some(1_709_208_000));
        assert_eq!(time("2000-03-01T00:00:00"), Some(951_868_800));
        assert_eq!(time("2024-11-13T08:30:40"), Some(1_731_486_640));
        assert_eq!(time("2024-11-13T08:30:40+01:00"), Some(1_731_483_040));
        assert_eq!(time("2024-11-13T08:30:40-0130"), Some(1_731_492_040));
        assert_eq!(time("1731486640"), Some(1_731_486_640));
        for text in [
            "Unknown",
            "None",
            "",
            "2023-02-29T00:00:00",
            "2024-13-01T00:00:00",
            "2024-01-01T24:00:00",
            "2024-01-01",
            "T",
            "-",
            "2024-01-01T00:00:00+1",
            "٣-٣-٣T٣",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
    }

    #[test]
    fn dates_may_have_a_time() {
        assert_eq!(date("2024-02-29"), time("2024-02-29T00:00:00"));
        assert_eq!(date(" 2024-02-29 12:00 "), Some(1_709_208_000));
        for text in ["12 h", "1731486640", "2023-02-29", "noon", ""] {
            assert_eq!(date(text), None, "{text}");
        }
    }

    #[test]
    fn durations_have_days() {
        assert_eq!(
            duration("1-06:51:32"),
            Some(86_400 + 6 * 3600 + 51 * 60 + 32)
        );
        assert_eq!(duration("00:01:30"), Some(90));
        assert_eq!(duration("22:53.824"), Some(22 * 60 + 53));
        for text in [
            "UNLIMITED",
            "Partition_Limit",
            "",
            "90",
            "1-",
            "-1:00:00",
            "1:2:3:4",
        ] {
            assert_eq!(duration(text), None, "{text}");
        }
    }
}
