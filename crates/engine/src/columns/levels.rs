//! Work of each iteration of a program with a frontier, for people.
//!
//! Invariant: the list takes 1 MiB at most, however many iterations there are. Tested by
//! `a_list_is_bounded_and_loses_nothing`.

/// Mode in which an iteration found its edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All stripes were folded; tiles without an active source were skipped.
    Dense,
    /// Vertices that an update could change looked among their neighbours for one that is active.
    Pull,
    /// Only the granules of active sources were read, and only what they reached was applied.
    Sparse,
    /// A pass over all parts that something new leads into, each of which was relaxed until
    /// nothing changed, out of step with the others.
    Asynchronous,
}

/// An iteration of a program with a frontier, or of a long run many that were done in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IterationStats {
    /// Mode in which edges were found.
    pub mode: Mode,
    /// Vertices that scattered.
    pub active: u64,
    /// Edges that were looked at.
    pub edges: u64,
    /// Number of iterations.
    pub iterations: u64,
}

/// Iterations that have an entry of their own. Searches of deep graphs have millions.
const LEVELS_MAX: usize = 1 << 15;

impl IterationStats {
    /// Statistics of one iteration.
    pub(crate) fn of(mode: Mode, active: u64, edges: u64) -> Self {
        Self { mode, active, edges, iterations: 1 }
    }

    /// Puts it at the end of a list. Those beyond the first [`LEVELS_MAX`] share an entry for each
    /// mode, so that the list takes 1 MiB at most.
    pub(crate) fn note(self, levels: &mut Vec<Self>) {
        let last = levels.iter_mut().skip(LEVELS_MAX);
        match { last }.find(|last| last.mode == self.mode) {
            Some(last) => {
                last.active += self.active;
                last.edges += self.edges;
                last.iterations += self.iterations;
            }
            None => levels.push(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_bounded_and_loses_nothing() {
        let mut levels = Vec::new();
        let count = 3 * LEVELS_MAX as u64;
        for number in 0..count {
            let mode = if number % 3 == 0 { Mode::Dense } else { Mode::Sparse };
            IterationStats::of(mode, 2, number).note(&mut levels);
        }
        assert_eq!(levels.len(), LEVELS_MAX + 2);
        assert!(levels.capacity() * size_of::<IterationStats>() <= 2 << 20);
        let sum = |of: fn(&IterationStats) -> u64| levels.iter().map(of).sum::<u64>();
        assert_eq!(sum(|level| level.iterations), count);
        assert_eq!(sum(|level| level.edges), count * (count - 1) / 2);
        let dense = levels.iter().filter(|level| level.mode == Mode::Dense);
        assert_eq!(dense.map(|level| level.iterations).sum::<u64>(), count.div_ceil(3));
    }
}
