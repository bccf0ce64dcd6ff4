//! The frontier: which vertices are active, and which of them scatter now.
//!
//! Flags, a byte a vertex, are the truth; beside them a list is kept while few vertices are active,
//! so that an iteration costs as much as it reaches and not as much as there are vertices.
//!
//! Invariant: while `listed`, the list holds each active vertex once.

use std::ops::Range;

use welter_model::program::Program;
use welter_store::header::Encoding;

use crate::graph::Graph;
use crate::index::{BANDS, band_bits};
use crate::plan::FrontierMode;
use crate::state::State;

/// An iteration is sparse when its sources have fewer than one in so many of all edges. Finding the
/// edges of a source costs as much as folding some tens of them in passing.
const DENSE_ABOVE: u64 = 24;
/// A list is made when fewer than one in so many vertices are active.
const LIST_BELOW: u64 = 8;

/// The active vertices.
pub(crate) struct Frontier {
    list: Vec<u32>,
    listed: bool,
}

/// The vertices that scatter in a sparse iteration.
pub(crate) struct Selected {
    pub(crate) vertices: Vec<u32>,
    /// Edges that leave them.
    pub(crate) edges: u64,
}

impl Frontier {
    /// `active`: number of active vertices.
    pub(crate) fn new(active: u64) -> Self {
        Self { list: Vec::new(), listed: active == 0 }
    }

    /// All active vertices scattered, and others are active now.
    pub(crate) fn scattered_all(&mut self, active: u64) {
        self.list.clear();
        self.listed = active == 0;
    }

    /// Adds vertices that became active.
    pub(crate) fn add(&mut self, vertices: &[u32]) {
        self.list.extend_from_slice(vertices);
    }

    /// Takes the most urgent vertices off the list, if their edges are few enough to be looked for
    /// one by one.
    pub(crate) fn select<P: Program>(
        &mut self,
        graph: &Graph,
        program: &P,
        state: &State<P>,
    ) -> Option<Selected> {
        if !P::MONOTONE
            || matches!(graph.plan.frontier_mode, FrontierMode::Dense | FrontierMode::Pull)
        {
            return None;
        }
        let auto = graph.plan.frontier_mode == FrontierMode::Auto;
        if !self.listed {
            if auto && state.active_count > graph.vertices() / LIST_BELOW {
                return None;
            }
            self.collect(&state.active[0][..graph.vertices() as usize]);
        }
        let urgency = |&vertex: &u32| program.urgency(&state.values[vertex as usize]);
        let first = self.list.iter().map(urgency).min()?;
        let mut selected = Selected { vertices: Vec::new(), edges: 0 };
        let most = graph.edges() / DENSE_ABOVE;
        for vertex in self.list.iter().filter(|vertex| urgency(vertex) == first) {
            selected.vertices.push(*vertex);
            selected.edges += u64::from(graph.degrees[*vertex as usize]);
            if auto && selected.edges > most {
                return None;
            }
        }
        self.list.retain(|vertex| urgency(vertex) != first);
        Some(selected)
    }

    /// Makes the list from the flags.
    fn collect(&mut self, flags: &[u8]) {
        const WORD: usize = 64;
        self.list.clear();
        for (word, flags) in flags.chunks(WORD).enumerate() {
            if flags.iter().fold(0, |any, flag| any | flag) == 0 {
                continue;
            }
            let set = flags.iter().enumerate().filter(|(_, flag)| **flag != 0);
            self.list.extend(set.map(|(place, _)| (word * WORD + place) as u32));
        }
        self.listed = true;
    }
}

/// Which bands of each block have an active source, a bit each.
pub(crate) struct Masks {
    words: Vec<u64>,
}

impl Masks {
    pub(crate) fn of_flags(graph: &Graph, flags: &[u8]) -> Self {
        let flags = &flags[..graph.vertices() as usize];
        let words = flags.chunks(1 << graph.plan.block_bits).map(|block| {
            block.chunks(1 << band_bits(graph)).enumerate().fold(0, |mask, (band, flags)| {
                let any = flags.iter().fold(0, |any, flag| any | flag) != 0;
                mask | u64::from(any) << band
            })
        });
        Self { words: words.collect() }
    }

    pub(crate) fn of_list(graph: &Graph, blocks: usize, vertices: &[u32]) -> Self {
        let mut words = vec![0; blocks];
        for &vertex in vertices {
            words[(vertex >> graph.plan.block_bits) as usize] |=
                1 << ((vertex >> band_bits(graph)) as usize % BANDS);
        }
        Self { words }
    }

    /// The runs of active bands of a block.
    pub(crate) fn runs(&self, block: usize, encoding: Encoding) -> Runs {
        runs(self.words[block], encoding)
    }
}

/// The runs of bands in a mask. Compressed tiles are decoded from their begin, so they get one run
/// from the first band to the last.
pub(crate) fn runs(mask: u64, encoding: Encoding) -> Runs {
    let whole = encoding == Encoding::Compressed || mask.count_ones() as usize > BANDS * 7 / 8;
    Runs { mask, whole }
}

/// Runs of set bits.
pub(crate) struct Runs {
    mask: u64,
    whole: bool,
}

impl Iterator for Runs {
    type Item = Range<usize>;

    #[inline]
    fn next(&mut self) -> Option<Range<usize>> {
        if self.mask == 0 {
            return None;
        }
        let start = self.mask.trailing_zeros();
        let end = if self.whole {
            BANDS as u32 - self.mask.leading_zeros()
        } else {
            start + (!(self.mask >> start)).trailing_zeros()
        };
        self.mask = if end as usize == BANDS { 0 } else { self.mask >> end << end };
        Some(start as usize..end as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_the_runs_of_set_bits() {
        let runs = |mask, whole| {
            let runs = Runs { mask, whole };
            runs.map(|run| (run.start, run.end)).collect::<Vec<_>>()
        };
        assert_eq!(runs(0, false), []);
        assert_eq!(runs(u64::MAX, false), [(0, 64)]);
        assert_eq!(runs(0b1101_1000, false), [(3, 5), (6, 8)]);
        assert_eq!(runs(0b1101_1000, true), [(3, 8)]);
        assert_eq!(runs(1 << 63 | 1, false), [(0, 1), (63, 64)]);
    }
}
