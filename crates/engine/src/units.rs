//! Numbers of bytes, for people.

/// `1.5 GiB`, for people. Rounded up in the third digit, so that a budget can be read off it.
pub fn human_bytes(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = (bytes.max(1).ilog2() / 10).min(units.len() as u32 - 1);
    if unit == 0 {
        return format!("{bytes} B");
    }
    let value = bytes as f64 / (1_u64 << (10 * unit)) as f64;
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    let scale = 10_f64.powi(digits as i32);
    format!("{:.digits$} {}", (value * scale).ceil() / scale, units[unit as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_rounded_up_for_people() {
        assert_eq!(human_bytes(0), "0 B");
        assert_eq!(human_bytes(1023), "1023 B");
        assert_eq!(human_bytes(1536), "1.50 KiB");
        assert_eq!(human_bytes((1 << 30) + 1), "1.01 GiB");
        assert_eq!(human_bytes(100 << 20), "100 MiB");
    }
}
