//! Limits of runs: the iterations after which a program has ended, whatever the graph.
//!
//! A loop that runs until nothing changes ends because of an invariant: of those that wait one is
//! settled, of those that are open one is decided. Edges that no graph has, as damaged or forged
//! files may hold, can contradict it, and so can a program that is wrong. The invariant also says
//! how long the loop takes at most, and an engine ends what takes longer.

/// The iterations that a run takes at most; of a stream program, its passes.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// A number that the question states.
    Stated(u64),
    /// A number that follows from an invariant.
    Proved {
        /// The number for a graph of a number of vertices, those with a state of their own.
        most: fn(u64) -> u64,
        /// The invariant, as a sentence without its full stop.
        invariant: &'static str,
    },
}

/// Iterations that any run may take beyond a limit of vertices: those that find nothing left to
/// do, and those after which a small graph was resumed once more.
const SPARE: u64 = 64;

impl Limit {
    /// The limit of programs whose edges may be relaxed in any order
    /// ([`ORDER_INDEPENDENT`](crate::program::Program::ORDER_INDEPENDENT)). The smallest value of
    /// those that wait can become no smaller, so its vertex is done once its edges were relaxed: an
    /// iteration a vertex. Values that a checkpoint restores are sent again, which takes as many
    /// iterations once more.
    pub fn of_relaxing() -> Self {
        Self::Proved {
            most: |vertices| vertices.saturating_mul(2).saturating_add(SPARE),
            invariant: "each iteration settles the smallest value of those that wait",
        }
    }

    /// The number for a graph of `vertices` vertices.
    pub fn iterations(&self, vertices: u64) -> u64 {
        match self {
            Self::Stated(most) => *most,
            Self::Proved { most, .. } => most(vertices),
        }
    }

    /// The number, where the question states it.
    pub fn stated(&self) -> Option<u64> {
        match self {
            Self::Stated(most) => Some(*most),
            Self::Proved { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_a_proof_grows_with_the_graph_and_never_overflows() {
        let limit = Limit::of_relaxing();
        assert_eq!([0, 1, 1000].map(|vertices| limit.iterations(vertices)), [64, 66, 2064]);
        assert_eq!((limit.iterations(u64::MAX), limit.stated()), (u64::MAX, None));
        let stated = Limit::Stated(7);
        assert_eq!((stated.iterations(u64::MAX), stated.stated()), (7, Some(7)));
    }
}
