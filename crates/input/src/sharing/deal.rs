//! Shares of machines: which bytes of which input each of them reads.
//!
//! ```text
//! inputs   |---- a ----|-- b.gz --|-------------- c --------------|    one behind the other
//! shares   |      0      |      1      |      2      |      3      |    about as many bytes each
//! ```
//!
//! An input that can be cut is cut there, at bytes: each record is read by the share in which it
//! begins. Another one, such as a compressed stream, is read whole by the share that has its
//! middle. So the edges of all shares, one after the other, are those of the inputs in their order.
//!
//! Invariant: each byte of each input is in one share. Tested by `each_byte_is_in_one_share`.

use std::ops::Range;

/// An input that is dealt out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dealt {
    /// Bytes as stored.
    pub(super) bytes: u64,
    /// Whether it can be cut.
    pub(super) is_cut: bool,
}

/// Inputs of a share by their numbers, each with the bytes that are read of it; none: all.
pub(super) type Share = Vec<(usize, Option<Range<u64>>)>;

/// The share of this number, of as many.
pub(super) fn share(inputs: &[Dealt], (number, shares): (usize, usize)) -> Share {
    let total: u64 = inputs.iter().map(|input| input.bytes).sum();
    let first = |number: usize| (u128::from(total) * number as u128 / shares as u128) as u64;
    let own = first(number)..first(number + 1);
    // Inputs of no bytes at the end are of the last share.
    let has = |byte: u64| own.contains(&byte.min(total.saturating_sub(1)));
    let is_only = total == 0 && number == 0;
    let mut before = 0;
    let mut found = Vec::new();
    for (input, &Dealt { bytes, is_cut }) in inputs.iter().enumerate() {
        let [start, end] = [own.start, own.end].map(|at| at.saturating_sub(before).min(bytes));
        if !is_cut || bytes == 0 {
            if is_only || has(before + bytes / 2) {
                found.push((input, None));
            }
        } else if start < end {
            found.push((input, (end - start < bytes).then_some(start..end)));
        }
        before += bytes;
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_byte_is_in_one_share(
            inputs in vec((0..50_u64, any::<bool>()), 0..9),
            shares in 1..7_usize,
        ) {
            let inputs: Vec<Dealt> =
                inputs.into_iter().map(|(bytes, is_cut)| Dealt { bytes, is_cut }).collect();
            let mut found = Vec::new();
            for number in 0..shares {
                for (input, range) in share(&inputs, (number, shares)) {
                    prop_assert!(range.is_none() || inputs[input].is_cut);
                    let all = range.is_none();
                    let range = range.unwrap_or(0..inputs[input].bytes);
                    prop_assert!(all || !range.is_empty());
                    found.push((input, range));
                }
            }
            // Ranges follow each other, each input from its first byte to its last one.
            let mut expected = inputs.iter().enumerate();
            let mut at = None;
            for (input, range) in found {
                if at.is_none_or(|(before, _)| before != input) {
                    prop_assert_eq!(expected.next().map(|(number, _)| number), Some(input));
                    at = Some((input, 0));
                }
                let begin = at.map_or(0, |(_, begin)| begin);
                prop_assert_eq!(range.start, begin);
                at = Some((input, range.end));
                prop_assert!(range.end == inputs[input].bytes || inputs[input].is_cut);
            }
            prop_assert_eq!(expected.next(), None);
        }
    }

    #[test]
    fn shares_have_about_as_many_bytes() {
        let inputs = [(1000, true), (100, false), (900, true), (2000, true)];
        let inputs = inputs.map(|(bytes, is_cut)| Dealt { bytes, is_cut });
        for number in 0..4 {
            let share = share(&inputs, (number, 4));
            let bytes: u64 = share
                .into_iter()
                .map(|(input, range)| range.map_or(inputs[input].bytes, |it| it.end - it.start))
                .sum();
            assert!((900..=1100).contains(&bytes), "{number}: {bytes}");
        }
        // One that cannot be cut is whole on one machine, and others have nothing.
        let whole = [Dealt { bytes: 1000, is_cut: false }];
        let shares = [0, 1, 2].map(|number| share(&whole, (number, 3)));
        assert_eq!(shares, [vec![], vec![(0, None)], vec![]]);
    }
}
