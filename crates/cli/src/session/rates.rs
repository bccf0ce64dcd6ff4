//! Rates that a probe kept in a bucket: where they are looked for, and which of them decide.

use std::cmp::Reverse;
use std::path::Path;

use welter_store::probe::{Probe, Rate};

use crate::elsewhere;
use crate::failure::Failure;

/// Bytes of an input, or of a result, for which it pays to ask for rates beside it, a request for
/// each folder.
pub(super) const WORTH_A_QUESTION: u64 = 64 << 20;
/// Share of the best rate with which larger requests are taken, since each costs money.
const NEARLY: f64 = 0.95;

/// The rates that a probe kept in the folder of a file, or in one above it.
pub(super) fn kept_rates(path: &Path) -> Result<Option<Probe>, Failure> {
    let is_file = path.extension().is_some();
    let folder = if is_file { path.parent().unwrap_or(path) } else { path };
    let Some(remote) = elsewhere::to_read(folder)? else { return Ok(None) };
    Ok(Probe::kept_elsewhere(&*remote, folder)?)
}

/// The rate that decides of those that fit: near the best of them, with the largest requests, of
/// these the fewest at a time. None where nothing fits.
pub(super) fn best_rate(rates: &[Rate], fits: impl Fn(&Rate) -> bool) -> Option<&Rate> {
    let fit: Vec<&Rate> = rates.iter().filter(|rate| fits(rate)).collect();
    let best = fit.iter().map(|rate| rate.bytes_per_second).fold(0.0, f64::max);
    let near = fit.into_iter().filter(|rate| rate.bytes_per_second >= NEARLY * best);
    near.max_by_key(|rate| (rate.request_bytes, Reverse(rate.depth)))
}
