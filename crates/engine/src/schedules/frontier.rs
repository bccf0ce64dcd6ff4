//! The frontier: which vertices are active, and which of them scatter now.
//!
//! Flags, a byte a vertex, are the truth after a dense iteration. While few vertices are active
//! they stand in buckets by urgency, so that an iteration costs as much as it reaches and not as
//! much as there are vertices.
//!
//! Invariants, while `listed`: an active vertex stands in the bucket of its urgency. Where a vertex
//! can become active more than once it may stand in others too, or twice in its own, and has its
//! flag set; an entry of a vertex without the flag, or of another urgency, is void. Where one
//! update is enough every entry counts, and rows need no flags. Tested by `distances`, `depths` and
//! `rows_read_each_edge_about_once`.

use std::collections::BTreeMap;
use std::ops::Range;

use welter_model::program::Program;
use welter_store::header::Encoding;

use crate::columns::state::Elements;
use crate::edges::graph::Graph;
use crate::edges::index::granule_bits;
use crate::footprints::edges::GRANULES;
use crate::plan::FrontierMode;

/// A list is made when fewer than one in `LIST_BELOW` vertices are active.
const LIST_BELOW: u64 = 8;
/// Edges that are few in any schedule: none counts whether they are fewer still.
pub(crate) const FEW_EDGES: u64 = 1 << 14;

/// The active vertices.
pub(crate) struct Frontier {
    buckets: BTreeMap<u64, Vec<u32>>,
    listed: bool,
    /// Whether the columns say what the buckets say.
    shown: bool,
}

/// The vertices that scatter in a sparse iteration.
pub(crate) struct Selected {
    pub(crate) vertices: Vec<u32>,
    /// Edges that leave them; where these are few, perhaps more than there are.
    pub(crate) edges: u64,
}

impl Frontier {
    /// `active`: number of active vertices.
    pub(crate) fn new(active: u64) -> Self {
        Self { buckets: BTreeMap::new(), listed: active == 0, shown: true }
    }

    /// All active vertices scattered, and others are active now.
    pub(crate) fn scattered_all(&mut self, active: u64) {
        self.buckets.clear();
        self.listed = active == 0;
        self.shown = true;
    }

    /// All active vertices scattered, and these are active now, in a program without urgency. The
    /// columns say so.
    pub(crate) fn replace(&mut self, vertices: Vec<u32>) {
        self.buckets.clear();
        self.add_all(0, vertices);
        self.listed = true;
        self.shown = true;
    }

    /// Adds vertices whose values changed so that they are active.
    pub(crate) fn add<P: Program>(&mut self, program: &P, values: &[P::Value], vertices: Vec<u32>) {
        self.shown = false;
        if P::ANY_UPDATE_SUFFICES {
            return self.add_all(0, vertices);
        }
        let mut rest = vertices.into_iter().peekable();
        while let Some(&vertex) = rest.peek() {
            let urgency = |vertex: u32| program.urgency(&values[vertex as usize]);
            let first = urgency(vertex);
            // Most runs are short, but programs without urgency have one.
            let run = std::iter::from_fn(|| rest.next_if(|&vertex| urgency(vertex) == first));
            self.buckets.entry(first).or_default().extend(run);
        }
    }

    fn add_all(&mut self, urgency: u64, mut vertices: Vec<u32>) {
        let bucket = self.buckets.entry(urgency).or_default();
        if bucket.is_empty() { *bucket = vertices } else { bucket.append(&mut vertices) }
    }

    /// Takes the most urgent vertices, if they have `most` edges or fewer. Their flags are cleared
    /// where vertices can become active again.
    pub(crate) fn select<P: Program>(
        &mut self,
        graph: &Graph,
        program: &P,
        state: &mut Elements<'_, P>,
        most: u64,
    ) -> Option<Selected> {
        let mode = graph.plan.frontier_mode();
        if matches!(mode, FrontierMode::Dense | FrontierMode::Pull) {
            return None;
        }
        let auto = mode == FrontierMode::Auto;
        if auto && *state.active_count > graph.vertices() / LIST_BELOW {
            return None;
        }
        if !self.listed {
            self.collect(program, state, graph.vertices() as usize);
        }
        let (values, active) = (&*state.values, &mut *state.active[0]);
        while let Some((urgency, mut vertices)) = self.buckets.pop_first() {
            if !P::ANY_UPDATE_SUFFICES {
                vertices.retain(|&vertex| {
                    let vertex = vertex as usize;
                    let due = active[vertex] != 0 && program.urgency(&values[vertex]) == urgency;
                    active[vertex] &= u8::from(!due);
                    due
                });
            }
            if vertices.is_empty() {
                continue;
            }
            let edges = edges(graph, &vertices, if auto { most } else { u64::MAX });
            if auto && edges > most {
                if !P::ANY_UPDATE_SUFFICES {
                    for &vertex in &vertices {
                        active[vertex as usize] = 1;
                    }
                }
                self.add_all(urgency, vertices);
                return None;
            }
            return Some(Selected { vertices, edges });
        }
        None
    }

    /// Makes the buckets from the flags.
    fn collect<P: Program>(&mut self, program: &P, state: &Elements<'_, P>, count: usize) {
        const WORD: usize = 64;
        self.buckets.clear();
        let mut vertices = Vec::new();
        for (word, flags) in state.active[0][..count].chunks(WORD).enumerate() {
            if flags.iter().fold(0, |any, flag| any | flag) == 0 {
                continue;
            }
            let set = flags.iter().enumerate().filter(|(_, flag)| **flag != 0);
            vertices.extend(set.map(|(place, _)| (word * WORD + place) as u32));
        }
        self.add(program, state.values, vertices);
        (self.listed, self.shown) = (true, true);
    }

    /// Before an iteration in which all active vertices scatter: lets the columns say what the
    /// buckets say, which pushes leave behind.
    pub(crate) fn show<P: Program>(&mut self, program: &P, state: &mut Elements<'_, P>) {
        if !self.listed || self.shown {
            return;
        }
        let Elements { values, signals: [signals, _], active: [active, _], .. } = state;
        if P::ANY_UPDATE_SUFFICES {
            active.fill(0);
        }
        for &vertex in self.buckets.values().flatten() {
            let place = vertex as usize;
            active[place] |= u8::from(P::ANY_UPDATE_SUFFICES);
            if active[place] != 0 {
                signals[place] = program.signal(&values[place]);
            }
        }
        self.shown = true;
    }
}

/// The edges that leave some vertices, as far as it matters: more than `most` are too many, and few
/// are few, so that they need not be counted.
fn edges(graph: &Graph, vertices: &[u32], most: u64) -> u64 {
    let bound = vertices.len() as u64 * u64::from(graph.degree_max);
    if bound < FEW_EDGES.min(most) {
        return bound;
    }
    let mut sum = 0;
    for &vertex in vertices {
        sum += u64::from(graph.degrees[vertex as usize]);
        if sum > most {
            break;
        }
    }
    sum
}

/// Granules of each block that have an active source, a bit each.
pub(crate) struct Masks {
    words: Vec<u64>,
}

impl Masks {
    pub(crate) fn of_flags(graph: &Graph, flags: &[u8]) -> Self {
        let flags = &flags[..graph.vertices() as usize];
        let words = flags.chunks(1 << graph.layout.block_bits).map(|block| {
            block.chunks(1 << granule_bits(graph)).enumerate().fold(0, |mask, (granule, flags)| {
                let any = flags.iter().fold(0, |any, flag| any | flag) != 0;
                mask | u64::from(any) << granule
            })
        });
        Self { words: words.collect() }
    }

    /// Of blocks that have no active source.
    pub(crate) fn none(graph: &Graph) -> Self {
        let blocks = graph.vertices().div_ceil(1 << graph.layout.block_bits);
        Self { words: vec![0; blocks as usize] }
    }

    /// Notes the blocks that have an active source among some consecutive vertices. Granules are
    /// not told apart.
    pub(crate) fn add(&mut self, graph: &Graph, first: u64, flags: &[u8]) {
        let bits = graph.layout.block_bits;
        let mut rest = flags;
        let mut first = first;
        while !rest.is_empty() {
            let block = first >> bits;
            let count = rest.len().min((((block + 1) << bits) - first) as usize);
            let (flags, others) = rest.split_at(count);
            if flags.iter().fold(0, |any, flag| any | flag) != 0 {
                self.words[block as usize] = u64::MAX;
            }
            (rest, first) = (others, first + count as u64);
        }
    }

    pub(crate) fn of_list(graph: &Graph, blocks: usize, vertices: &[u32]) -> Self {
        let mut words = vec![0; blocks];
        for &vertex in vertices {
            words[(vertex >> graph.layout.block_bits) as usize] |=
                1 << ((vertex >> granule_bits(graph)) as usize % GRANULES);
        }
        Self { words }
    }

    /// Whether any of these blocks has an active source.
    pub(crate) fn any(&self, blocks: Range<usize>) -> bool {
        let end = blocks.end.min(self.words.len());
        self.words.get(blocks.start..end).is_some_and(|words| words.iter().any(|&word| word != 0))
    }

    /// The runs of active granules of a block.
    pub(crate) fn runs(&self, block: usize, encoding: Encoding) -> Runs {
        runs(self.words[block], encoding)
    }
}

/// The runs of granules in a mask. Compressed tiles are decoded from their begin, so they get one
/// run from the first granule to the last.
pub(crate) fn runs(mask: u64, encoding: Encoding) -> Runs {
    let whole = encoding == Encoding::Compressed || mask.count_ones() as usize > GRANULES * 7 / 8;
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
            GRANULES as u32 - self.mask.leading_zeros()
        } else {
            start + (!(self.mask >> start)).trailing_zeros()
        };
        self.mask = if end as usize == GRANULES { 0 } else { self.mask >> end << end };
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
