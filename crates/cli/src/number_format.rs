//! Numbers for people.

use std::time::Duration;

/// `59,445`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `59,445 vertices`, `1 vertex`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// `268 M`: three digits.
pub(crate) fn about(number: f64) -> String {
    let (scale, unit) = match number {
        _ if number >= 999.5e9 => (1e12, " T"),
        _ if number >= 999.5e6 => (1e9, " G"),
        _ if number >= 999.5e3 => (1e6, " M"),
        _ if number >= 9_999.5 => (1e3, " k"),
        _ => return format!("{number:.0}"),
    };
    let value = number / scale;
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$}{unit}")
}

/// `0.21 s`, `38 s`, `5 min 10 s`, `3 h 20 min`.
pub(crate) fn seconds(time: Duration) -> String {
    let whole = time.as_secs_f64().round() as u64;
    match whole {
        0..10 if time.subsec_nanos() > 0 => format!("{:.2} s", time.as_secs_f64()),
        0..120 => format!("{whole} s"),
        120..7_200 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3_600, whole % 3_600 / 60),
    }
}

/// `3.2 ms`, and as [`seconds`] from a second on.
pub(crate) fn short(time: f64) -> String {
    if time < 1.0 {
        return format!("{:.1} ms", 1e3 * time);
    }
    seconds(Duration::try_from_secs_f64(time).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(268_435_456), "268,435,456");
        assert_eq!(counted(1, "edge", "edges"), "1 edge");
        assert_eq!(counted(0, "edge", "edges"), "0 edges");
        assert_eq!(about(9_999.0), "9999");
        assert_eq!(about(10_000.0), "10.0 k");
        assert_eq!(about(268_435_456.0), "268 M");
        assert_eq!(about(1.5e9), "1.50 G");
    }

    #[test]
    fn times_are_readable() {
        assert_eq!(seconds(Duration::from_millis(210)), "0.21 s");
        assert_eq!(seconds(Duration::from_secs(38)), "38 s");
        assert_eq!(seconds(Duration::from_secs(310)), "5 min 10 s");
        assert_eq!(seconds(Duration::from_mins(200)), "3 h 20 min");
    }
}
