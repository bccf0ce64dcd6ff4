//! What the passes of a stream program have taught, and its cells made anew from that.
//!
//! ```text
//! learnt    looked, news, changes u64, then edges: source u32, target u32, weight f64
//! control   vertices u64, degrees u32 each, then for each pass so far: bytes u64, learnt
//! ```
//!
//! In a pass, who streams edges shows them to cells of its own and keeps those that taught these
//! anything: for union-find that is a forest. At the barrier the kept edges of all are shown to the
//! real cells, in an order of their own, and vertices are settled until the next pass begins. What
//! the control carries is the edges, and not the cells: so a program has its cells as it likes.
//!
//! **Invariant:** all who replay the same control have the same cells, and are at the same step.
//! Tested by `who_sees_which_edges_does_not_matter`.
//! **Invariant:** an edge that was not kept would teach the real cells nothing, because they learn
//! all that the cells knew to which it was shown. Tested by
//! `who_sees_which_edges_does_not_matter`.

use std::cell::RefCell;

use bytemuck::pod_read_unaligned;
use welter_engine::EngineError;
use welter_engine::chunks::{Pulled, Scratch};
use welter_model::program::{Total, Vertex};
use welter_model::stream::{Edge, Known, Next, Seen, Stream};
use welter_protocol::names::Bytes;
use welter_worker::ingest::numbers;

/// One of so many sources has its edges among the few.
const FEW: u32 = 4;

/// Knowledge that edges have given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learnt {
    /// Edges that were looked at, that were news, and that changed something.
    pub(crate) counts: [u64; 3],
    /// Edges that are kept.
    pub(crate) edges: Vec<Edge>,
}

const COUNT_BYTES: usize = 24;
const EDGE_BYTES: usize = 16;

impl Learnt {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.counts.iter().flat_map(|count| count.to_le_bytes()).collect();
        for Edge { source, target, weight } in &self.edges {
            bytes.extend(source.to_le_bytes());
            bytes.extend(target.to_le_bytes());
            bytes.extend(weight.to_le_bytes());
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Self {
        // Another length is only what a planted bug let pass.
        let (counts, edges) = bytes.split_at(COUNT_BYTES.min(bytes.len()));
        let mut learnt = Self::default();
        for (count, bytes) in learnt.counts.iter_mut().zip(counts.as_chunks::<8>().0) {
            *count = u64::from_le_bytes(*bytes);
        }
        let edge = |bytes: &[u8]| {
            let [source, target] = [0, 4].map(|at| pod_read_unaligned(&bytes[at..at + 4]));
            Edge { source, target, weight: pod_read_unaligned(&bytes[8..]) }
        };
        learnt.edges = edges.chunks_exact(EDGE_BYTES).map(edge).collect();
        learnt
    }

    pub(crate) fn add(&mut self, other: Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count = count.wrapping_add(more);
        }
        self.edges.extend(other.edges);
    }

    fn seen<T: Total>(&self) -> Seen<T> {
        let [looked, news, changes] = self.counts;
        // The machine that decides has room for what a program asks for.
        Seen { looked, news, changes, total: T::default(), room: u64::MAX, kept: None }
    }
}

/// All that the passes so far have taught.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) degrees: Vec<u32>,
    pub(crate) passes: Vec<Learnt>,
}

impl Log {
    pub(crate) fn encode(&self) -> Bytes {
        let mut bytes = (self.degrees.len() as u64).to_le_bytes().to_vec();
        bytes.extend(self.degrees.iter().flat_map(|degree| degree.to_le_bytes()));
        for learnt in &self.passes {
            let learnt = learnt.encode();
            bytes.extend((learnt.len() as u64).to_le_bytes());
            bytes.extend(learnt);
        }
        bytes.into()
    }

    pub(crate) fn decode(mut bytes: &[u8]) -> Self {
        let mut take = |width: usize| {
            let (length, rest) = bytes.split_first_chunk::<8>()?;
            let (part, rest) =
                rest.split_at_checked(u64::from_le_bytes(*length) as usize * width)?;
            bytes = rest;
            Some(part)
        };
        let degrees = numbers(take(4).unwrap_or_default()).collect();
        let passes = std::iter::from_fn(|| take(1)).map(Learnt::decode).collect();
        Self { degrees, passes }
    }
}

/// Share of the edges that a pass shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Share {
    All,
    Few,
    Others,
    /// Nothing: edges that are news are handed over.
    Rest,
}

/// The cells of a program, and the pass that comes next.
pub(crate) struct Knowledge<S: Stream> {
    cells: Vec<S::Cell>,
    notes: Vec<S::Note>,
    /// None when the program has come to its end.
    pass: Option<(S::Step, Share)>,
}

impl<S: Stream> Knowledge<S> {
    /// The knowledge about a graph, after all that was learnt.
    pub(crate) fn replay(program: &S, vertices: u64, log: &Log) -> Self {
        let of = |index: u64| {
            // A missing degree is only what a planted bug let pass.
            let out_degree = log.degrees.get(index as usize).copied().unwrap_or(0).into();
            program.cell(Vertex { index, out_degree })
        };
        let (cells, notes) = (0..vertices).map(of).unzip();
        let mut known = Self { cells, notes, pass: None };
        let (mut next, mut passes, mut begun) = (program.first(), log.passes.iter(), false);
        loop {
            let (step, share) = match next {
                Next::Stop => return known,
                Next::Settle(step) => {
                    next = program.next(step, &known.settle(program, step));
                    continue;
                }
                Next::Few(step) => (step, Share::Few),
                Next::Pass(step) if begun => (step, Share::Others),
                Next::Pass(step) => (step, Share::All),
                Next::Rest(step) => (step, Share::Rest),
            };
            begun = share == Share::Few;
            known.pass = Some((step, share));
            let Some(learnt) = passes.next() else { return known };
            known.learn(program, learnt);
            known.pass = None;
            next = program.next(step, &learnt.seen());
        }
    }

    fn known(&self) -> Known<'_, S> {
        Known { cells: &self.cells, notes: &self.notes }
    }

    /// Whether the values are final.
    pub(crate) fn have_ended(&self) -> bool {
        self.pass.is_none()
    }

    pub(crate) fn value(&self, program: &S, vertex: u64) -> S::Value {
        program.value(self.known(), vertex as u32)
    }

    fn settle(&self, program: &S, step: S::Step) -> Seen<S::Total> {
        let settle = |vertex| program.settle(step, self.known(), vertex as u32);
        let total = (0..self.cells.len()).map(settle).fold(S::Total::default(), S::Total::merge);
        Seen { total, ..Learnt::default().seen() }
    }

    /// Shows those edges of a chunk that belong to the pass that comes next and are news, and keeps
    /// those that taught anything.
    pub(crate) fn sift(
        &self,
        program: &S,
        pulled: &Pulled<'_, '_>,
        scratch: &mut Scratch,
        learnt: &mut Learnt,
    ) -> Result<(), EngineError> {
        let Some((step, share)) = self.pass else { return Ok(()) };
        learnt.counts[0] += pulled.edges();
        let learnt = RefCell::new(learnt);
        pulled.sift(program, step, &self.cells, scratch, |edge| {
            let is_few = edge.source.is_multiple_of(FEW);
            if share == Share::Few && !is_few || share == Share::Others && is_few {
                return;
            }
            // Those before it in its run may have made it none.
            if !self.is_news(program, step, edge) {
                return;
            }
            let Learnt { counts: [_, news, changes], edges } = &mut **learnt.borrow_mut();
            *news += 1;
            if share == Share::Rest {
                edges.push(edge);
            } else if program.edge(step, self.known(), edge) {
                *changes += 1;
                edges.push(edge);
            }
        })
    }

    fn is_news(&self, program: &S, step: S::Step, edge: Edge) -> bool {
        // Out of bounds is only what a planted bug let pass.
        let [source, target] = [edge.source, edge.target].map(|end| self.cells.get(end as usize));
        source.zip(target).is_some_and(|(source, target)| program.news(step, source, target))
    }

    /// Shows what all have kept.
    fn learn(&self, program: &S, learnt: &Learnt) {
        let Some((step, share)) = self.pass else { return };
        let mut edges = learnt.edges.clone();
        edges.sort_by_key(|edge| (edge.source, edge.target, edge.weight.to_bits()));
        let is_news = |edge: &Edge| self.is_news(program, step, *edge);
        if share == Share::Rest {
            edges.retain(is_news);
            let pairs = edges.iter().map(|edge| [edge.source, edge.target]);
            return program.rest(self.known(), pairs.collect());
        }
        for edge in edges {
            if is_news(&edge) {
                program.edge(step, self.known(), edge);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use welter_algorithms::mcst::Cost;
    use welter_algorithms::{Mcst, Scc, Wcc};
    use welter_engine::chunks::{Cell, EdgeWriter, Form};
    use welter_protocol::Payload;
    use welter_protocol::random::Random;
    use welter_store::header::{CellId, Encoding};
    use welter_testing::graph::Graph;

    use super::*;
    use crate::catalogue::graph;

    /// Shows edges, as a chunk.
    fn show<S: Stream>(
        program: &S,
        known: &Knowledge<S>,
        encoding: Encoding,
        edges: &[Edge],
        learnt: &mut Learnt,
    ) {
        let vertices = 0..known.cells.len() as u64;
        let id = CellId { source_partition: 0, stripe: 0 };
        let cell = Cell { graph: 0, id, sources: vertices.clone(), targets: vertices };
        let mut writer = EdgeWriter::new(Form::usual(encoding), S::WEIGHTED);
        let bytes = Payload::from(writer.write(&cell, 0, edges).unwrap());
        let pulled = cell.open(&bytes).unwrap();
        known.sift(program, &pulled, &mut Scratch::default(), learnt).unwrap();
    }

    /// The values, when each edge is seen by one of so many, in any order.
    fn values<S: Stream>(
        program: &S,
        graph: &Graph,
        random: &mut Random,
        who: u64,
    ) -> Vec<S::Value> {
        let mut degrees = vec![0; graph.slots()];
        graph.pairs.iter().for_each(|&[source, _]| degrees[source as usize] += 1);
        let mut log = Log { degrees, passes: Vec::new() };
        loop {
            let replay = |log: &Log| Knowledge::replay(program, graph.slots() as u64, log);
            let known = replay(&Log::decode(&log.encode()));
            if known.have_ended() {
                return (0..graph.slots() as u64).map(|at| known.value(program, at)).collect();
            }
            let own: Vec<_> = (0..who).map(|_| replay(&log)).collect();
            let mut order: Vec<usize> = (0..graph.pairs.len()).collect();
            random.shuffle(&mut order);
            let mut learnt = Learnt::default();
            for places in order.chunks(7) {
                let edge = |place: &usize| {
                    let [source, target] = graph.pairs[*place];
                    let weight = if S::WEIGHTED { graph.weight(*place) } else { 1.0 };
                    Edge { source, target, weight }
                };
                let edges: Vec<Edge> = places.iter().map(edge).collect();
                let own = &own[random.below(who) as usize];
                let encoding =
                    *random.pick(&[Encoding::Packed, Encoding::Compressed, Encoding::Short]);
                show(program, own, encoding, &edges, &mut learnt);
            }
            log.passes.push(Learnt::decode(&learnt.encode()));
        }
    }

    fn judge<S: Stream>(program: &S) {
        for seed in 0..50 {
            let mut random = Random::new(seed);
            let graph = graph(&mut random, 48, 96);
            let all = [1, 1, 2, 5].map(|who| values(program, &graph, &mut random, who));
            let bytes = all.map(|values| bytemuck::cast_slice::<_, u8>(&values).to_vec());
            assert!(bytes.iter().all(|other| *other == bytes[0]), "seed {seed}");
        }
    }

    #[test]
    fn who_sees_which_edges_does_not_matter() {
        judge(&Wcc);
        judge(&Mcst::new(Cost::Minimum));
        for rest in [0, 20, u64::MAX] {
            judge(&Scc::with_rest(rest));
        }
    }

    #[test]
    fn of_edges_between_two_vertices_union_find_keeps_one() {
        let known = Knowledge::replay(&Wcc, 8, &Log::default());
        let edges = |pairs: &[(u32, u32)]| -> Vec<Edge> {
            let edge = |&(source, target)| Edge { source, target, weight: 1.0 };
            pairs.iter().map(edge).collect()
        };
        let mut learnt = Learnt::default();
        let mut shown = |pairs| {
            show(&Wcc, &known, Encoding::Packed, &edges(pairs), &mut learnt);
            (learnt.counts[0], learnt.counts[2], learnt.edges.clone())
        };
        let all = &[(0, 4), (4, 0), (0, 4), (0, 0), (4, 4)];
        assert_eq!(shown(all), (5, 1, edges(&[(0, 4)])));
        // Its turn comes later.
        assert_eq!(shown(&[(1, 2)]), (6, 1, edges(&[(0, 4)])));
    }
}
