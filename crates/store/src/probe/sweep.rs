//! Sweep over sizes and depths: which are tried, and for how long.
//!
//! Each size has its share of the time, and what one leaves is for those that follow. Depths
//! continue for as long as the rate grows with them.

use std::time::{Duration, Instant};

use super::figures::{DEPTHS, Rate};
use crate::StoreError;

/// Growth of the rate for which the next depth is tried, too.
const GROWTH: f64 = 1.05;
/// Depths in a row without growth, after which a size is done.
const FLAT: u32 = 2;
/// A depth gets one part in `SHARE` of the time that its size has left.
const SHARE: u32 = 4;
/// The shortest time that is measured.
const LEAST: Duration = Duration::from_millis(10);
/// Bytes that are in flight at most.
pub(super) const IN_FLIGHT_BYTES: u64 = 256 << 20;

/// Rates of all sizes within about `time`. `measure` receives size, depth and the time that it may
/// take, and returns nothing where there is too little to be moved.
pub(super) fn sweep(
    sizes: &[u32],
    time: Duration,
    mut measure: impl FnMut(u32, u32, Duration) -> Result<Option<Rate>, StoreError>,
) -> Result<Vec<Rate>, StoreError> {
    let began = Instant::now();
    let mut rates: Vec<Rate> = Vec::new();
    for (number, bytes) in sizes.iter().enumerate() {
        let share = (number + 1) as f64 / sizes.len() as f64;
        let ends = began + time.mul_f64(share);
        let (mut best, mut flat) = (0.0, 0);
        for depth in DEPTHS {
            let left = ends.saturating_duration_since(Instant::now());
            let moved = u64::from(*bytes) * u64::from(depth);
            let known = rates.iter().map(|rate| rate.bytes_per_second).fold(best, f64::max);
            // On a slow device large requests alone would take longer than all others.
            let is_slow = known > 0.0 && moved as f64 / known > left.as_secs_f64();
            let is_first = rates.is_empty();
            if !is_first && (moved > IN_FLIGHT_BYTES || left < LEAST || is_slow) {
                break;
            }
            let Some(rate) = measure(*bytes, depth, (left / SHARE).max(LEAST))? else { break };
            rates.push(rate);
            flat = if rate.bytes_per_second > GROWTH * best { 0 } else { flat + 1 };
            best = best.max(rate.bytes_per_second);
            if flat >= FLAT {
                break;
            }
        }
    }
    Ok(rates)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes and depths that are tried on a device with such rates.
    fn tried(rate: impl Fn(u32, u32) -> f64) -> Vec<(u32, u32)> {
        let measure = |request_bytes, depth, _| {
            let bytes_per_second = rate(request_bytes, depth);
            Ok(Some(Rate { request_bytes, depth, bytes_per_second, processor_share: 0.0 }))
        };
        let rates = sweep(&[4096, 1 << 20], Duration::from_mins(10), measure).unwrap();
        rates.iter().map(|rate| (rate.request_bytes, rate.depth)).collect()
    }

    #[test]
    fn depths_go_on_while_the_rate_grows() {
        let one = |bytes: u32, depths: &[u32]| -> Vec<(u32, u32)> {
            depths.iter().map(|depth| (bytes, *depth)).collect()
        };
        let flat = tried(|_, _| 1e9);
        assert_eq!(flat, [one(4096, &[1, 2, 4]), one(1 << 20, &[1, 2, 4])].concat());
        let grows = tried(|_, depth| 1e6 * f64::from(depth));
        assert_eq!(grows, [one(4096, &DEPTHS), one(1 << 20, &DEPTHS)].concat());
        let four = tried(|_, depth| 1e9 * f64::from(depth.min(4)));
        assert_eq!(four[..5], one(4096, &[1, 2, 4, 8, 16]));
    }

    #[test]
    fn what_would_take_longer_than_all_is_not_tried() {
        let tried = tried(|_, _| 1000.0);
        assert_eq!(tried.last(), Some(&(4096, 4)), "{tried:?}");
    }
}
