//! The search for a planted bug, seed by seed.

use welter_protocol::planted::Bug;

use crate::planted::algorithm;
use crate::schedule::Overrides;
use crate::world::attempt;

/// The first seed of `seeds` that finds a bug, and what it says; where `unaudited`, without the
/// help of the protocol's own audits and assertions: a checker must find it.
pub fn find(bug: Bug, unaudited: bool, mut seeds: std::ops::Range<u64>) -> Option<(u64, String)> {
    let algorithm = algorithm(bug);
    let overrides = Overrides { bug: Some(bug), unaudited, algorithm, ..Overrides::default() };
    seeds.find_map(|seed| {
        let failure = match attempt(seed, &overrides) {
            Ok(report) => report.failure,
            Err(panic) => (!unaudited).then_some(panic),
        };
        failure.map(|failure| (seed, failure))
    })
}
