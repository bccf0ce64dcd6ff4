//! Numbers as formats for small graphs write them.

use crate::text::fields::parse_weight;
use crate::words::show;

/// Reads a weight, which may be written as C and Python print the bits of a float: `0x1.8p+1`.
pub(super) fn number(text: &[u8]) -> Result<f64, String> {
    match hexadecimal(text) {
        Some(value) if value.is_infinite() => {
            Err(format!("expected a weight that fits a 64-bit float, found {}", show(text)))
        }
        Some(value) => Ok(value),
        None => parse_weight(text),
    }
}

/// The value of `0x1.8p+1`, rounded where it has more bits than a float.
fn hexadecimal(text: &[u8]) -> Option<f64> {
    let unsigned = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let digits = unsigned.strip_prefix(b"0x").or(unsigned.strip_prefix(b"0X"))?;
    let digits = std::str::from_utf8(digits).ok()?.to_ascii_lowercase();
    let (digits, exponent) = digits.split_once('p')?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let exponent = exponent.parse::<i32>().ok().filter(|exponent| exponent.abs() < 10_000)?;
    let (all, places) = ([whole, fraction].concat(), i32::try_from(fraction.len()).ok()?);
    let signed = all.starts_with(['+', '-']);
    let mantissa = u128::from_str_radix(&all, 16).ok().filter(|_| !signed)?;
    if mantissa == 0 {
        return Some(if text.starts_with(b"-") { -0.0 } else { 0.0 });
    }
    // In two steps, as the scale alone may be too small or too large for a float.
    let scale = exponent - 4 * places;
    let half = scale / 2;
    let value = mantissa as f64 * 2_f64.powi(half) * 2_f64.powi(scale - half);
    Some(if text.starts_with(b"-") { -value } else { value })
}
