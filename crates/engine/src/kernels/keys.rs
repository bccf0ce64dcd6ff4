//! Keys as places: which columns they lead to, and why none of them leads outside.
//!
//! ```text
//! key = source << target_bits | target       relative to the tile's first source, and the stripe's
//!                                            first destination
//! for all keys:  source < sources,  target < targets
//! ```
//!
//! Where columns are padded to what a key can tell apart, its [`Width`] says so, and nothing is
//! looked at: the engine's own columns are. Where they are as short as a partition, a run of keys
//! is checked against [`ColumnLengths`] before it is used, in one pass that vectorises. Chunks that
//! come from a disk or another machine may hold any keys.

use std::cell::Cell;

use welter_store::header::KEY_BITS;

use crate::machine::dispatch::dispatched;

/// Keys that lead nowhere outside two columns.
#[derive(Clone, Copy)]
pub(crate) struct Keys<'k> {
    all: &'k [u32],
    target_bits: u32,
    sources: usize,
    targets: usize,
}

impl<'k> Keys<'k> {
    /// Keys whose columns have a place for whatever a key can say.
    #[inline(always)]
    fn of_width(keys: &'k [u32], target_bits: u32) -> Self {
        assert!(target_bits < KEY_BITS, "a key has source bits");
        let (sources, targets) = (1 << (KEY_BITS - target_bits), 1 << target_bits);
        Self { all: keys, target_bits, sources, targets }
    }

    /// Keys that were looked at, if they lead nowhere outside.
    fn checked(
        keys: &'k [u32],
        target_bits: u32,
        [sources, targets]: [usize; 2],
    ) -> Result<Self, u32> {
        assert!(target_bits < KEY_BITS, "a key has source bits");
        let mask = (1_u32 << target_bits) - 1;
        let [last, last_target] = dispatched(
            #[inline(always)]
            || {
                // Two numbers: a pair of them that is folded does not become vectors.
                let (mut last, mut last_target) = (0, 0);
                for &key in keys {
                    last = last.max(key);
                    last_target = last_target.max(key & mask);
                }
                [last, last_target]
            },
        );
        let inside = ((last >> target_bits) as usize) < sources && (last_target as usize) < targets;
        if inside || keys.is_empty() {
            return Ok(Self { all: keys, target_bits, sources, targets });
        }
        Err(last)
    }

    /// A range of the keys.
    #[inline(always)]
    pub(crate) fn part(self, places: std::ops::Range<usize>) -> Self {
        Self { all: &self.all[places], ..self }
    }

    /// The keys alone.
    #[inline(always)]
    pub(crate) fn keys(self) -> &'k [u32] {
        self.all
    }

    /// Low bits that hold the destination.
    #[inline(always)]
    pub(crate) fn target_bits(self) -> u32 {
        self.target_bits
    }

    /// The low bits of a key that hold the destination.
    #[inline(always)]
    pub(crate) fn mask(self) -> u32 {
        (1 << self.target_bits) - 1
    }

    /// Sources are below this.
    #[inline(always)]
    pub(crate) fn sources(self) -> usize {
        self.sources
    }

    /// Destinations are below this.
    #[inline(always)]
    pub(crate) fn targets(self) -> usize {
        self.targets
    }
}

/// Bounds that keys are checked against before they are used as places.
pub(crate) trait Reach {
    /// The keys with their bounds, or none of them if one leads outside.
    fn hold<'k>(&self, keys: &'k [u32], target_bits: u32) -> Keys<'k>;
}

/// Columns have a place for whatever a key can say.
#[derive(Clone, Copy)]
pub(crate) struct Width;

impl Reach for Width {
    #[inline(always)]
    fn hold<'k>(&self, keys: &'k [u32], target_bits: u32) -> Keys<'k> {
        Keys::of_width(keys, target_bits)
    }
}

/// Columns of these lengths: of sources, and of destinations. A run of keys that leads outside is
/// left out whole, and noted.
#[derive(Debug)]
pub(crate) struct ColumnLengths {
    lengths: [usize; 2],
    outside: Cell<Option<u32>>,
}

impl ColumnLengths {
    pub(crate) fn new(lengths: [usize; 2]) -> Self {
        Self { lengths, outside: Cell::new(None) }
    }

    /// A key of a run that was left out.
    pub(crate) fn outside(&self) -> Option<u32> {
        self.outside.get()
    }
}

impl Reach for ColumnLengths {
    #[inline(always)]
    fn hold<'k>(&self, keys: &'k [u32], target_bits: u32) -> Keys<'k> {
        Keys::checked(keys, target_bits, self.lengths).unwrap_or_else(|key| {
            self.outside.set(Some(key));
            let [sources, targets] = self.lengths;
            Keys { all: &[], target_bits, sources, targets }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_run_is_kept_exactly_if_none_of_its_keys_leads_outside(
            keys in prop::collection::vec(prop_oneof![0_u32..64, any::<u32>()], 0..40),
            target_bits in 0_u32..32,
            lengths in [0_usize..70, 0_usize..70],
        ) {
            let mask = (1_u32 << target_bits) - 1;
            let inside = keys.iter().all(|key| {
                ((key >> target_bits) as usize) < lengths[0]
                    && ((key & mask) as usize) < lengths[1]
            });
            let columns = ColumnLengths::new(lengths);
            let held = columns.hold(&keys, target_bits);
            prop_assert_eq!(columns.outside().is_none(), inside);
            prop_assert_eq!(held.keys(), if inside { &keys[..] } else { &[] });
        }

        #[test]
        fn no_key_leads_outside_columns_of_its_width(key: u32, target_bits in 0_u32..32) {
            let keys = [key];
            let wide = Width.hold(&keys, target_bits);
            prop_assert!(((key >> target_bits) as usize) < wide.sources());
            prop_assert!(((key & wide.mask()) as usize) < wide.targets());
        }
    }
}
