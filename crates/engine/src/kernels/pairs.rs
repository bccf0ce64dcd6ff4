//! Runs of edges of the input, and which of them a rule of two states holds for.
//!
//! As tiles are ([`crate::kernels::filter`]), a run is looked at without a branch, and the places
//! of edges that are found are noted.

use welter_model::edges::Pair;

use crate::kernels::bits::{Bits, End};
use crate::kernels::kernel::BUFFER;

/// A few edges by the slots of their ends, [`BUFFER`] at most.
#[derive(Clone, Copy)]
pub(crate) struct PairRun<'a> {
    pub(crate) pairs: &'a [Pair],
    pub(crate) weights: Option<&'a [f64]>,
    /// Bits of states, where the program has such, and the end that is looked at first.
    pub(crate) bits: Option<(&'a Bits, End)>,
}

/// Notes the places of the edges that a rule of two states holds for, without a branch. Where there
/// are bits, that is asked only of targets with a bit whose sources have one, or have none; the end
/// that fewer have is looked at first, since each look may be a miss of the cache.
#[inline(always)]
pub(crate) fn filter_pairs<'f, C>(
    states: &[C],
    (bits, from): (Option<(&Bits, End)>, bool),
    pairs: &[Pair],
    found: &'f mut [u32; BUFFER],
    rule: impl Fn(&C, &C) -> bool,
) -> &'f [u32] {
    let rule = |[source, target]: Pair| rule(&states[source as usize], &states[target as usize]);
    let Some((bits, first)) = bits else { return note(pairs, found, rule) };
    let has = |end, [source, target]: Pair| match end {
        End::Source => bits.has(end, source) == from,
        End::Target => bits.has(end, target),
    };
    let (first, second) = if from && first == End::Source {
        (first, End::Target)
    } else {
        (End::Target, End::Source)
    };
    let count = match bits.few().filter(|_| from) {
        Some(few) => {
            let count = note(pairs, found, |[source, _]| few.may_have(source)).len();
            keep(pairs, &mut found[..count], |pair| has(first, pair))
        }
        None => note(pairs, found, |pair| has(first, pair)).len(),
    };
    let count = keep(pairs, &mut found[..count], |pair| has(second, pair));
    let count = keep(pairs, &mut found[..count], rule);
    &found[..count]
}

/// Keeps those places whose edges a rule holds for, and says how many they are.
#[inline(always)]
fn keep(pairs: &[Pair], found: &mut [u32], rule: impl Fn(Pair) -> bool) -> usize {
    let mut kept = 0;
    for number in 0..found.len() {
        let place = found[number];
        found[kept] = place;
        kept += usize::from(rule(pairs[place as usize]));
    }
    kept
}

/// Notes the places of the edges that a rule holds for.
#[inline(always)]
fn note<'f>(
    pairs: &[Pair],
    found: &'f mut [u32; BUFFER],
    rule: impl Fn(Pair) -> bool,
) -> &'f [u32] {
    let mut count = 0;
    for (place, pair) in pairs.iter().enumerate() {
        found[count] = place as u32;
        count += usize::from(rule(*pair));
    }
    &found[..count]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SLOTS: usize = 200;

    proptest! {
        #[test]
        fn finds_what_a_plain_loop_finds(
            pairs in prop::collection::vec([0..SLOTS as u32, 0..SLOTS as u32], 0..300),
            states in prop::collection::vec(0_u8..8, SLOTS),
            from: bool,
            has_bits: bool,
            first_target: bool,
        ) {
            let asked = |state: &u8| [state.is_multiple_of(3), state.is_multiple_of(2)];
            let mut bits = Bits::new(SLOTS).unwrap();
            let mut count = 0;
            for (part, states) in bits.parts(128).zip(states.chunks(128)) {
                let mut part = part;
                count += part.ask(states, asked);
            }
            prop_assert_eq!(count, states.iter().filter(|state| asked(state)[0]).count() as u64);
            bits.fold(count);
            let first = if first_target { End::Target } else { End::Source };
            let rule = |source: &u8, target: &u8| source < target;
            let expected = (0..pairs.len()).filter(|&place| {
                let [source, target] = pairs[place].map(|slot| &states[slot as usize]);
                let may = asked(source)[0] == from && asked(target)[1];
                rule(source, target) && (may || !has_bits)
            });
            let expected: Vec<u32> = expected.map(|place| place as u32).collect();
            let bits = has_bits.then_some((&bits, first));
            let mut found = [0; BUFFER];
            let filtered = filter_pairs(&states, (bits, from), &pairs, &mut found, rule);
            prop_assert_eq!(filtered, expected);
        }
    }
}
