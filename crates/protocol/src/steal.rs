//! To steal or not to steal (Chaos, sections 5.3 and 5.4).
//!
//! A computation engine that has done its own partitions proposes help with every foreign one, in
//! random order, again and again until no master needs any. The master accepts if the time to read
//! the vertex set is less than what is gained by one engine more:
//!
//! ```text
//! V / B + D / (B (H + 1)) < alpha D / (B H)      <=>      V < D (alpha / H - 1 / (H + 1))
//! ```
//!
//! `V`: bytes of the vertex set. `D`: bytes that remain to be read. `H`: computation engines on the
//! partition, its master included. `alpha`: the bias of Figure 17. `B`, the bandwidth that an
//! engine sees, cancels.
//!
//! **Invariant:** `alpha = 0` accepts nothing, and `D = 0` is never helped with, whatever `alpha`.
//! Tested by `the_criterion_at_its_boundaries`; checked by the simulator in `Stealing::effect`.

use std::collections::VecDeque;

use crate::random::Random;

/// Readiness of masters to be helped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bias {
    /// `alpha` in thousandths: 1000 is the paper's criterion. Whole numbers, so that the boundary
    /// lies where it should (0.8 helps up to three engines, and not a fourth by rounding).
    Thousandths(u32),
    /// `alpha` is infinite: as long as there is anything to read.
    Always,
}

impl Bias {
    /// Never.
    pub const NEVER: Self = Self::Thousandths(0);
    /// As the paper.
    pub const PAPER: Self = Self::Thousandths(1000);
}

/// Whether a master with `engines` computation engines on a partition, itself included, takes one
/// more. Bytes.
///
/// A vertex set of 50 MB, of whose partition 400 MB remain. The master takes one helper, for which
/// the time to read the vertex set pays, and a second one; a third would cost more than it gains:
///
/// ```
/// use welter_protocol::steal::{Bias, accepts};
///
/// let takes = |engines| accepts(Bias::PAPER, 50_000_000, 400_000_000, engines);
/// assert!(takes(1) && takes(2));
/// assert!(!takes(3));
/// assert!(!accepts(Bias::NEVER, 0, 400_000_000, 1));
/// assert!(accepts(Bias::Always, 50_000_000, 1, 30));
/// ```
pub fn accepts(bias: Bias, vertex_bytes: u64, remaining_bytes: u64, engines: u32) -> bool {
    let Bias::Thousandths(alpha) = bias else { return remaining_bytes > 0 };
    // Both sides times 1000 H (H + 1).
    let (engines, more) = (i128::from(engines.max(1)), i128::from(engines.max(1)) + 1);
    let gain = i128::from(remaining_bytes) * (i128::from(alpha) * more - 1000 * engines);
    i128::from(vertex_bytes) * 1000 * engines * more < gain
}

/// Input of a partition that is left at a storage engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Remaining {
    /// Bytes of its chunks.
    pub(crate) bytes: u64,
    /// Cells that have any (or the partition itself, where edges do not lie by cells).
    pub(crate) cells: u64,
    /// Vertices of the source partitions of these.
    pub(crate) sources: u64,
}

/// The rounds of proposals of one engine in one step.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    left: VecDeque<u32>,
    pub(crate) proposed: Option<u32>,
}

impl Rounds {
    /// Begins a round over these foreign partitions.
    pub(crate) fn begin(&mut self, mut foreign: Vec<u32>, random: &mut Random) {
        random.shuffle(&mut foreign);
        *self = Self { left: foreign.into(), proposed: None };
    }

    /// The next partition to propose help with.
    pub(crate) fn propose(&mut self) -> Option<u32> {
        self.proposed = self.left.pop_front();
        self.proposed
    }

    /// Whether no machine is left to be asked, or to answer.
    pub(crate) fn have_ended(&self) -> bool {
        self.left.is_empty() && self.proposed.is_none()
    }

    /// A master has answered.
    pub(crate) fn answered(&mut self) {
        self.proposed = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_criterion_at_its_boundaries() {
        const LOT: u64 = u64::MAX >> 24;
        // (alpha, V, D, H) -> accepted
        let cases: &[(Bias, u64, u64, u32, bool)] = &[
            (Bias::NEVER, 0, LOT, 1, false),
            (Bias::NEVER, 0, LOT, 1000, false),
            // alpha = 1: V < D / (H (H + 1)).
            (Bias::PAPER, 0, 0, 1, false),
            (Bias::PAPER, 0, 1, 1, true),
            (Bias::PAPER, 49, 100, 1, true),
            (Bias::PAPER, 50, 100, 1, false),
            (Bias::PAPER, 16, 100, 2, true),
            (Bias::PAPER, 17, 100, 2, false),
            (Bias::PAPER, 0, LOT, 100_000, true),
            // alpha = 0.8 helps while 0.8 (H + 1) > H: up to H = 3.
            (Bias::Thousandths(800), 0, LOT, 3, true),
            (Bias::Thousandths(800), 0, LOT, 4, false),
            (Bias::Thousandths(800), 29, 100, 1, true),
            (Bias::Thousandths(800), 30, 100, 1, false),
            // alpha = 1.2: V < D (1.2 - 0.5).
            (Bias::Thousandths(1200), 69, 100, 1, true),
            (Bias::Thousandths(1200), 70, 100, 1, false),
            (Bias::Always, LOT, 1, 1000, true),
            (Bias::Always, 0, 0, 1, false),
        ];
        for &(bias, vertices, remaining, engines, expected) in cases {
            let found = accepts(bias, vertices, remaining, engines);
            assert_eq!(found, expected, "{bias:?} V={vertices} D={remaining} H={engines}");
        }
    }

    #[test]
    fn alpha_of_four_fifths_never_takes_a_fifth_engine() {
        for engines in 1..100 {
            let found = accepts(Bias::Thousandths(800), 0, 1 << 40, engines);
            assert_eq!(found, engines <= 3, "H = {engines}");
        }
    }

    #[test]
    fn a_round_asks_everybody_once_in_random_order() {
        let mut random = Random::new(3);
        let mut rounds = Rounds::default();
        rounds.begin((0..9).collect(), &mut random);
        let mut asked: Vec<u32> = std::iter::from_fn(|| rounds.propose()).collect();
        assert!(!asked.is_sorted(), "in random order");
        asked.sort_unstable();
        assert_eq!(asked, (0..9).collect::<Vec<_>>());
        assert_eq!(rounds.proposed, None);
    }
}
