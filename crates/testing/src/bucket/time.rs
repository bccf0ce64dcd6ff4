//! Times in headers of requests.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The time of a text such as `20130524T000000Z`.
pub(super) fn of_signature(text: &str) -> Option<SystemTime> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    if (date.len(), time.len()) != (8, 6) {
        return None;
    }
    let number = |text: &str, from: usize, to: usize| text.get(from..to)?.parse().ok();
    let date = [number(date, 0, 4)?, number(date, 4, 6)?, number(date, 6, 8)?];
    of_calendar(date, [number(time, 0, 2)?, number(time, 2, 4)?, number(time, 4, 6)?])
}

/// The time of a text such as `Fri, 24 May 2013 00:00:00 GMT`.
pub(super) fn of_header(text: &str) -> Option<SystemTime> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, day, month, year, time, "GMT"] = words[..] else { return None };
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let mut parts = time.split(':').map(|part| part.parse().ok());
    let mut part = || parts.next()?;
    let time = [part()?, part()?, part()?];
    of_calendar([year.parse().ok()?, month, day.parse().ok()?], time)
}

/// The text of a time, such as `2013-05-24T00:00:00Z`.
pub(super) fn text(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    // Days since the first of March of the year 0, after which leap years have their day more.
    let days = seconds / 86_400 + 719_468;
    let (cycles, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (year * 365 + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (later, month) = if month < 10 { (0, month + 3) } else { (1, month - 9) };
    let (year, time) = (cycles * 400 + year + later, seconds % 86_400);
    let (hour, minute, second) = (time / 3_600, time / 60 % 60, time % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

fn of_calendar(
    [year, month, day]: [u64; 3],
    [hour, minute, second]: [u64; 3],
) -> Option<SystemTime> {
    // Years begin in March, so that the day that leap years have more is the last one.
    let (year, month) =
        if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    let days = days.checked_sub(719_469)?;
    Some(UNIX_EPOCH + Duration::from_secs(((days * 24 + hour) * 60 + minute) * 60 + second))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(time: Option<SystemTime>) -> Option<u64> {
        time.map(|time| time.duration_since(UNIX_EPOCH).unwrap().as_secs())
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        for (text, expected) in [
            ("19700101T000000Z", 0),
            ("20130524T000000Z", 1_369_353_600),
            ("20240229T235959Z", 1_709_251_199),
            ("20000301T000001Z", 951_868_801),
        ] {
            assert_eq!(seconds(of_signature(text)), Some(expected), "{text}");
        }
        for seconds in (0..4_000_000_000).step_by(7_654_321) {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            let text = text(time).replace(['-', ':'], "");
            assert_eq!(of_signature(&text), Some(time), "{text}");
        }
        for none in ["", "2013", "20130524T00000Z", "20130524T000000", "00000101T000000Z"] {
            assert_eq!(of_signature(none), None, "{none}");
        }
        let header = "Fri, 24 May 2013 00:00:01 GMT";
        assert_eq!(seconds(of_header(header)), Some(1_369_353_601));
        assert_eq!(of_header("Fri, 24 May 2013"), None);
    }
}
