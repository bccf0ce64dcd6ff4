//! The kernel of stream programs: which edges of a tile are candidates.
//!
//! Mostly few are. So a run of edges is looked at first, and what is a candidate is noted without a
//! branch; R-MAT 22 has candidates in about one edge in 15 when components are joined, which no
//! branch predictor foresees. Programs that hand on what they learn want every edge to know what
//! the one before it changed, or a path takes as many passes as it has edges: their tiles are swept
//! over an edge at a time.
//!
//! Invariant: as in [`crate::kernels::kernel`], no key, right or wrong, leads outside the states.
//! Checked in `Cells::of`. Tested by `a_run_is_kept_exactly_if_none_of_its_keys_leads_outside`.
#![expect(unsafe_code, reason = "indexes states that keys lead nowhere outside of")]

use welter_store::chunk::Tile;
use welter_store::header::Encoding;

use crate::kernels::gather;
use crate::kernels::gather::{Endpoints, VisitOrder};
use crate::kernels::kernel::{Ahead, BUFFER, Coding, DecodeBuffers};
use crate::kernels::keys::{Keys, Reach};
use crate::machine::dispatch::dispatched;

/// Compressed keys lead to each other from the first on, so the end of a long tile is dear to come
/// by. One of more edges than this is dense, and so short of long paths: it is swept upwards only.
const DOWN_EDGES_MAX: usize = 4 * BUFFER;

/// Hands those edges of a tile to `edge` whose states `is_candidate`: source and target, relative
/// to the tile and the stripe, and weight.
pub(crate) fn filter_tile<C>(
    tile: &Tile<'_>,
    (coding, reach): (Coding, &impl Reach),
    endpoints: &Endpoints<'_, C>,
    scratch: &mut DecodeBuffers,
    is_candidate: impl Fn(&C, &C) -> bool + Copy,
    edge: impl Fn(u32, u32, f64) + Copy,
) {
    let target_bits = coding.target_bits;
    let is_long = coding.encoding == Encoding::Compressed && tile.edges > DOWN_EDGES_MAX;
    match endpoints.look {
        VisitOrder::Runs | VisitOrder::Unequal => {
            filter_runs(tile, (coding, reach), endpoints, scratch, is_candidate, edge);
        }
        VisitOrder::Down if !is_long => {
            for first in (0..tile.edges).step_by(BUFFER).rev() {
                let edges = first..tile.edges.min(first + BUFFER);
                coding.runs(tile, edges, BUFFER, scratch, |keys, weights| {
                    let keys = reach.hold(keys, target_bits);
                    let places = (0..keys.keys().len()).rev();
                    sweep(keys, weights, places, endpoints, is_candidate, edge);
                });
            }
        }
        VisitOrder::Up | VisitOrder::Down => {
            coding.keys(tile, 0..tile.edges, scratch, |keys, weights| {
                let keys = reach.hold(keys, target_bits);
                sweep(keys, weights, 0..keys.keys().len(), endpoints, is_candidate, edge);
            });
        }
    }
}

/// Looks at edges in this order, each when all before it are done with.
fn sweep<C>(
    keys: Keys<'_>,
    weights: Option<&[f64]>,
    places: impl Iterator<Item = usize>,
    endpoints: &Endpoints<'_, C>,
    is_candidate: impl Fn(&C, &C) -> bool,
    edge: impl Fn(u32, u32, f64),
) {
    let states = EndpointStates::of(endpoints, keys);
    for place in places {
        let (key, source, target) = states.at(place);
        if is_candidate(source, target) {
            let weight = weights.map_or(1.0, |weights| weights[place]);
            edge(key >> states.target_bits, key & states.mask, weight);
        }
    }
}

/// The states that keys lead to.
struct EndpointStates<'a, 'k, C> {
    sources: &'a [C],
    targets: &'a [C],
    keys: &'k [u32],
    target_bits: u32,
    mask: u32,
}

impl<'a, 'k, C> EndpointStates<'a, 'k, C> {
    #[inline(always)]
    fn of(endpoints: &Endpoints<'a, C>, keys: Keys<'k>) -> Self {
        Self {
            sources: &endpoints.sources[..keys.sources()],
            targets: &endpoints.targets[..keys.targets()],
            keys: keys.keys(),
            target_bits: keys.target_bits(),
            mask: keys.mask(),
        }
    }

    /// The key at a place, and the states that it leads to.
    #[inline(always)]
    fn at(&self, place: usize) -> (u32, &'a C, &'a C) {
        let key = self.keys[place];
        // SAFETY: the source of each of the keys is below `Keys::sources`, to which `sources` was
        // cut.
        let source = unsafe { self.sources.get_unchecked((key >> self.target_bits) as usize) };
        // SAFETY: the target of each is below `Keys::targets`, to which `targets` was cut.
        let target = unsafe { self.targets.get_unchecked((key & self.mask) as usize) };
        (key, source, target)
    }
}

fn filter_runs<C>(
    tile: &Tile<'_>,
    (coding, reach): (Coding, &impl Reach),
    endpoints: &Endpoints<'_, C>,
    scratch: &mut DecodeBuffers,
    is_candidate: impl Fn(&C, &C) -> bool + Copy,
    edge: impl Fn(u32, u32, f64) + Copy,
) {
    let mut found = [0; BUFFER];
    coding.keys(tile, 0..tile.edges, scratch, |keys, weights| {
        let keys = reach.hold(keys, coding.target_bits);
        dispatched(
            #[inline(always)]
            || {
                let ahead = Ahead::of(keys.keys());
                let all = keys.keys().len();
                for start in (0..all).step_by(BUFFER) {
                    let keys = keys.part(start..all.min(start + BUFFER));
                    let count = filter_keys(keys, ahead, endpoints, is_candidate, &mut found);
                    let weights = weights.map(|weights| &weights[start..]);
                    for &place in &found[..count] {
                        let key = keys.keys()[place as usize];
                        let weight = weights.map_or(1.0, |weights| weights[place as usize]);
                        edge(key >> keys.target_bits(), key & keys.mask(), weight);
                    }
                }
            },
        );
    });
}

/// Notes the places of the keys whose states are candidates, and says how many they are.
#[inline(always)]
fn filter_keys<C>(
    keys: Keys<'_>,
    ahead: Ahead,
    endpoints: &Endpoints<'_, C>,
    is_candidate: impl Fn(&C, &C) -> bool,
    found: &mut [u32; BUFFER],
) -> usize {
    assert!(keys.keys().len() <= BUFFER, "no more places than can be noted");
    let states = EndpointStates::of(endpoints, keys);
    let (mut count, looked) = if endpoints.look == VisitOrder::Unequal {
        gather::unequal(keys, ahead, endpoints, found)
    } else {
        (0, 0)
    };
    for place in looked..keys.keys().len() {
        let (_, source, target) = states.at(place);
        // SAFETY: at most one more than before for each key, of which there are at most BUFFER.
        let room = unsafe { found.get_unchecked_mut(count) };
        *room = place as u32;
        count += usize::from(is_candidate(source, target));
    }
    count
}
