//! The kernel of stream programs: which edges of a tile are news.
//!
//! Mostly few are. So a run of edges is looked at first, and what is news is noted without a
//! branch; R-MAT 22 has news in about one edge in 15 when components are joined, which no branch
//! predictor foresees. Programs that hand on what they learn want every edge to know what the one
//! before it changed, or a path takes as many passes as it has edges: their tiles are swept over an
//! edge at a time.
//!
//! Invariant: as in [`crate::kernel`], no key, right or wrong, leads outside the cells.
#![expect(unsafe_code, reason = "indexes cells whose number the width of a key bounds")]

use welter_store::chunk::Tile;
use welter_store::header::{Encoding, KEY_BITS};

use crate::dispatch::dispatched;
use crate::gather;
use crate::kernel::{Ahead, BUFFER, Coding, Scratch};

/// What a stream program knows of the sources and targets of a tile: `2^(32 - target_bits)` cells
/// from the tile's first source on, and `2^target_bits` from the stripe's first target on.
pub(crate) struct Sides<'a, C> {
    pub(crate) sources: &'a [C],
    pub(crate) targets: &'a [C],
    pub(crate) look: Look,
}

/// How the edges of a tile are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// A run at a time.
    Runs,
    /// Likewise, and they are news exactly where cells are unequal.
    Unequal,
    /// One after the other, by rising sources.
    Up,
    /// One after the other, by falling sources.
    Down,
}

/// Compressed keys lead to each other from the first on, so the end of a long tile is dear to come
/// by. One of more edges than this is dense, and so short of long paths: it is swept upwards only.
const DOWN_EDGES_MAX: usize = 4 * BUFFER;

/// Hands those edges of a tile to `edge` whose cells are `news`: source and target, relative to
/// the tile and the stripe, and weight.
pub(crate) fn sift_tile<C>(
    tile: &Tile<'_>,
    coding: Coding,
    sides: &Sides<'_, C>,
    scratch: &mut Scratch,
    news: impl Fn(&C, &C) -> bool + Copy,
    edge: impl Fn(u32, u32, f64) + Copy,
) {
    let is_long = coding.encoding == Encoding::Compressed && tile.edges > DOWN_EDGES_MAX;
    match sides.look {
        Look::Runs | Look::Unequal => sift_runs(tile, coding, sides, scratch, news, edge),
        Look::Down if !is_long => {
            for first in (0..tile.edges).step_by(BUFFER).rev() {
                let edges = first..tile.edges.min(first + BUFFER);
                coding.keys(tile, edges, scratch, |keys, weights| {
                    let places = (0..keys.len()).rev();
                    sweep(keys, weights, places, coding.target_bits, sides, news, edge);
                });
            }
        }
        Look::Up | Look::Down => coding.keys(tile, 0..tile.edges, scratch, |keys, weights| {
            sweep(keys, weights, 0..keys.len(), coding.target_bits, sides, news, edge);
        }),
    }
}

/// Looks at edges in this order, each when all before it are done with.
fn sweep<C>(
    keys: &[u32],
    weights: Option<&[f64]>,
    places: impl Iterator<Item = usize>,
    target_bits: u32,
    sides: &Sides<'_, C>,
    news: impl Fn(&C, &C) -> bool,
    edge: impl Fn(u32, u32, f64),
) {
    let cells = Cells::of(sides, target_bits);
    for place in places {
        let key = keys[place];
        let (source, target) = cells.of_key(key);
        if news(source, target) {
            let weight = weights.map_or(1.0, |weights| weights[place]);
            edge(key >> target_bits, key & cells.mask, weight);
        }
    }
}

/// The cells that keys can lead to.
struct Cells<'a, C> {
    sources: &'a [C],
    targets: &'a [C],
    target_bits: u32,
    mask: u32,
}

impl<'a, C> Cells<'a, C> {
    #[inline(always)]
    fn of(sides: &Sides<'a, C>, target_bits: u32) -> Self {
        assert!(target_bits < KEY_BITS, "a key has source bits");
        Self {
            sources: &sides.sources[..1 << (KEY_BITS - target_bits)],
            targets: &sides.targets[..1 << target_bits],
            target_bits,
            mask: (1 << target_bits) - 1,
        }
    }

    #[inline(always)]
    fn of_key(&self, key: u32) -> (&'a C, &'a C) {
        // SAFETY: 32 - target_bits bits, and `sources` was cut to 2^(32 - target_bits).
        let source = unsafe { self.sources.get_unchecked((key >> self.target_bits) as usize) };
        // SAFETY: masked to target_bits bits, and `targets` was cut to 2^target_bits.
        let target = unsafe { self.targets.get_unchecked((key & self.mask) as usize) };
        (source, target)
    }
}

fn sift_runs<C>(
    tile: &Tile<'_>,
    coding: Coding,
    sides: &Sides<'_, C>,
    scratch: &mut Scratch,
    news: impl Fn(&C, &C) -> bool + Copy,
    edge: impl Fn(u32, u32, f64) + Copy,
) {
    let target_bits = coding.target_bits;
    let mask = (1_u32 << target_bits) - 1;
    let mut found = [0; BUFFER];
    coding.keys(tile, 0..tile.edges, scratch, |keys, weights| {
        dispatched(
            #[inline(always)]
            || {
                let ahead = Ahead::of(keys);
                for (run, keys) in keys.chunks(BUFFER).enumerate() {
                    let count = sift(keys, ahead, target_bits, sides, news, &mut found);
                    let weights = weights.map(|weights| &weights[run * BUFFER..]);
                    for &place in &found[..count] {
                        let key = keys[place as usize];
                        let weight = weights.map_or(1.0, |weights| weights[place as usize]);
                        edge(key >> target_bits, key & mask, weight);
                    }
                }
            },
        );
    });
}

/// Notes the places of the keys whose cells are news, and says how many they are.
#[inline(always)]
fn sift<C>(
    keys: &[u32],
    ahead: Ahead,
    target_bits: u32,
    sides: &Sides<'_, C>,
    news: impl Fn(&C, &C) -> bool,
    found: &mut [u32; BUFFER],
) -> usize {
    assert!(keys.len() <= BUFFER, "no more places than can be noted");
    let cells = Cells::of(sides, target_bits);
    let (mut count, looked) = if sides.look == Look::Unequal {
        gather::unequal(keys, ahead, target_bits, sides, found)
    } else {
        (0, 0)
    };
    for (place, &key) in keys.iter().enumerate().skip(looked) {
        let (source, target) = cells.of_key(key);
        // SAFETY: at most one more than before for each key, of which there are at most BUFFER.
        let room = unsafe { found.get_unchecked_mut(count) };
        *room = place as u32;
        count += usize::from(news(source, target));
    }
    count
}
