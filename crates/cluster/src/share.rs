//! A machine's share of the input: some edges of a stream, by their places in its order.
//!
//! ```text
//! share(r) = edges [e r / m, e (r + 1) / m)    of e edges, among m machines
//!          = parts [p r / m, p (r + 1) / m)    of p parts, where a part does not know its edges
//! ```
//!
//! The number of edges of a part may depend on the memory of a machine, and their order does not;
//! parts that do not know their edges are cut alike everywhere (raw records, generators, kept
//! graphs). Edges are read one part at a time, so a part is in memory. Both ways of an edge, where
//! the graph is read so, are one machine's.
//!
//! **Invariant:** the shares of all machines have each edge once, and a share that is begun anew
//! hands out the same edges. Tested by `shares_are_all_edges_once_and_again` and
//! `shares_do_not_depend_on_how_a_stream_is_cut`.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use welter_engine::EngineError;
use welter_model::edge_sample::{PIECE_EDGES, ROUNDS, Sample};
use welter_model::edges::{Batch, EdgeList, EdgeStream, Reading, StreamError};
use welter_protocol::Rank;
use welter_worker::{Input, InputEdge};

/// Parts of a stream that one machine reads, whose slots are known beforehand.
pub struct Share {
    stream: Arc<dyn EdgeStream>,
    reading: Reading,
    weighted: bool,
    parts: Range<usize>,
    /// Edges of these parts that are its own, counted from the first one.
    own: Range<u64>,
    /// Edges of these parts that were passed.
    passed: u64,
    /// Vertices that get a loop, where a program wants one at each, and no other.
    members: Range<u64>,
    /// Parts and members that are still to come.
    left: (Range<usize>, Range<u64>),
    /// Edges of the part at hand, and how many of them were handed out.
    edges: Vec<InputEdge>,
    at: usize,
}

/// Share of `all` that falls to one of `machines` machines.
fn range(all: u64, rank: Rank, machines: usize) -> Range<u64> {
    assert!(rank < machines, "a rank is below the number of machines");
    let first = |rank: usize| (u128::from(all) * rank as u128 / machines as u128) as u64;
    first(rank)..first(rank + 1)
}

/// Parts that hold the share of a machine, and which of their edges are its own.
pub(crate) fn parts(
    stream: &dyn EdgeStream,
    (rank, machines): (Rank, usize),
) -> (Range<usize>, Range<u64>) {
    let sizes: Option<Vec<u64>> = (0..stream.parts()).map(|part| stream.part_edges(part)).collect();
    let Some(sizes) = sizes else {
        let parts = range(stream.parts() as u64, rank, machines);
        return (parts.start as usize..parts.end as usize, 0..u64::MAX);
    };
    let own = range(sizes.iter().sum(), rank, machines);
    let (mut parts, mut before, mut begin) = (0..0, 0, 0);
    for (part, size) in sizes.into_iter().enumerate() {
        let end = begin + size;
        if begin < own.end && own.start < end {
            if parts.is_empty() {
                (parts, before) = (part..part, begin);
            }
            parts.end = part + 1;
        }
        begin = end;
    }
    (parts, own.start.saturating_sub(before)..own.end.saturating_sub(before))
}

/// The edges of a machine alone, of a stream that is not needed any more then.
///
/// # Errors
/// When the stream cannot be read.
pub fn own_edges(stream: &dyn EdgeStream, me: (Rank, usize)) -> Result<EdgeList, StreamError> {
    let mut list = EdgeList::new(stream.slots(), stream.weighted());
    let (parts, own) = parts(stream, me);
    let mut passed = 0;
    for part in parts {
        stream.read(part, &mut |batch| {
            let within = own_of(&own, &mut passed, batch.pairs.len());
            let weights = batch.weights.map_or(Vec::new(), |all| all[within.clone()].to_vec());
            list.push(batch.pairs[within].to_vec(), weights);
            passed < own.end
        })?;
    }
    Ok(list)
}

/// The edges of a batch of `edges` that are a machine's own.
pub(crate) fn own_of(own: &Range<u64>, passed: &mut u64, edges: usize) -> Range<usize> {
    let place = |place: u64| place.saturating_sub(*passed).min(edges as u64) as usize;
    let within = place(own.start)..place(own.end);
    *passed += edges as u64;
    within
}

impl Share {
    /// The share of a machine. Parallel edges are kept, whatever `reading.duplicates` is; with
    /// `Directions` their weights say which way each of them leads.
    pub fn new(stream: Arc<dyn EdgeStream>, reading: Reading, me: (Rank, usize)) -> Self {
        let (parts, own) = parts(&*stream, me);
        let left = (parts.clone(), 0..0);
        Self {
            stream,
            reading,
            weighted: true,
            parts,
            own,
            passed: 0,
            members: 0..0,
            left,
            edges: Vec::new(),
            at: 0,
        }
    }

    /// The share without the weights of the stream, unless they are wanted: all are 1.
    #[must_use]
    pub fn weighted(mut self, is_wanted: bool) -> Self {
        self.weighted = is_wanted;
        self
    }

    /// The share with a loop at each of the vertices that fall to this machine, of `vertices` in
    /// all.
    #[must_use]
    pub fn with_members(mut self, vertices: u64, (rank, machines): (Rank, usize)) -> Self {
        self.members = range(vertices, rank, machines);
        self.left.1 = self.members.clone();
        self
    }

    /// Reads a part, with all that an edge of it stands for.
    fn read(&mut self, part: usize) -> Result<(), EngineError> {
        let Self { stream, reading, edges, weighted, own, passed, .. } = self;
        stream.read(part, &mut |batch| {
            let within = own_of(own, passed, batch.pairs.len());
            append((batch, within), (reading, *weighted), edges);
            *passed < own.end
        })?;
        Ok(())
    }

    /// Hands the edges of all parts, or a sample of these parts, to `visit` until it returns
    /// `false`. The number of edges of the stream that were read.
    fn pass(
        &mut self,
        sample: Option<Sample>,
        edges_max: usize,
        visit: &mut dyn FnMut(&[InputEdge]) -> bool,
    ) -> Result<u64, EngineError> {
        self.begin();
        let Self { stream, reading, weighted, own, passed, edges, parts, .. } = self;
        let (piece_max, mut count) = ((edges_max / 2).clamp(1, PIECE_EDGES), 0);
        let goes_on = Cell::new(true);
        let mut on_batch = |batch: Batch<'_>| {
            let within = match sample {
                None => own_of(own, passed, batch.pairs.len()),
                Some(_) => 0..batch.pairs.len(),
            };
            count += within.len() as u64;
            for first in within.clone().step_by(piece_max) {
                let piece = first..within.end.min(first + piece_max);
                edges.clear();
                append((batch, piece), (reading, *weighted), edges);
                goes_on.set(visit(edges));
                if !goes_on.get() {
                    return false;
                }
            }
            sample.is_some() || *passed < own.end
        };
        let rounds = if sample.is_some() { ROUNDS } else { 1 };
        let passes = parts.clone().flat_map(|part| (0..rounds).map(move |round| (part, round)));
        for (part, round) in passes.take_while(|_| goes_on.get()) {
            match sample {
                None => stream.read(part, &mut on_batch)?,
                Some(sample) => stream.sample(part, (sample, round), &mut on_batch)?,
            }
        }
        edges.clear();
        Ok(count)
    }

    /// Gets more edges, where those at hand are handed out and there are any.
    fn fill(&mut self, edges_max: usize) -> Result<(), EngineError> {
        while self.at == self.edges.len() && !self.is_read() {
            self.edges.clear();
            self.at = 0;
            if let Some(part) = self.left.0.next() {
                self.read(part)?;
                continue;
            }
            let members = self.left.1.by_ref().take(edges_max);
            let member = |vertex| InputEdge { source: vertex, target: vertex, weight: 1.0 };
            self.edges.extend(members.map(member));
        }
        Ok(())
    }

    /// Edges of the share, or about as many where parts do not know theirs.
    fn expected_edges(&self) -> u64 {
        let all = self.stream.edges();
        let even = u128::from(all) * self.parts.len() as u128 / self.stream.parts().max(1) as u128;
        (self.own.end - self.own.start).min(even as u64).max(1)
    }

    /// Whether nothing more is to come than what is at hand.
    fn is_read(&self) -> bool {
        self.left.0.is_empty() && self.left.1.is_empty()
    }
}

impl Input for Share {
    fn begin(&mut self) {
        self.left = (self.parts.clone(), self.members.clone());
        self.passed = 0;
        self.edges.clear();
        self.at = 0;
    }

    fn piece(&mut self, edges_max: usize) -> Result<(&[InputEdge], bool), EngineError> {
        self.fill(edges_max)?;
        let start = self.at;
        debug_assert!(start <= self.edges.len(), "edges are handed out once");
        self.at = self.edges.len().min(start + edges_max);
        let is_last = self.at == self.edges.len() && self.is_read();
        Ok((&self.edges[start..self.at], is_last))
    }

    /// Edges are made in pieces that stay in a cache, where those of a part would not.
    fn each(
        &mut self,
        edges_max: usize,
        visit: &mut dyn FnMut(&[InputEdge]) -> bool,
    ) -> Result<(), EngineError> {
        let mut goes_on = true;
        self.pass(None, edges_max, &mut |edges| {
            goes_on = visit(edges);
            goes_on
        })?;
        // Loops of members are left.
        self.left.0 = 0..0;
        while goes_on {
            let (edges, is_last) = self.piece(edges_max)?;
            goes_on = visit(edges) && !is_last;
        }
        Ok(())
    }

    /// A sample of the parts that hold the share, loops of members not among them.
    fn sample(
        &mut self,
        edges_max: usize,
        visit: &mut dyn FnMut(&[InputEdge]) -> bool,
    ) -> Result<u64, EngineError> {
        let sample = Sample::of(self.stream.edges());
        let found = self.pass(Some(sample), edges_max, visit)?;
        if found == 0 {
            self.each(edges_max, visit)?;
            return Ok(1);
        }
        Ok((self.expected_edges() / found).max(1))
    }
}

/// Appends all that some edges of a batch stand for.
fn append(
    (batch, within): (Batch<'_>, Range<usize>),
    (reading, weighted): (&Reading, bool),
    edges: &mut Vec<InputEdge>,
) {
    let weights = batch.weights.filter(|_| weighted);
    for edge in within {
        let [source, target] = batch.pairs[edge];
        let weight = weights.map_or(1.0, |weights| weights[edge]);
        let ends = if reading.reversed { [target, source] } else { [source, target] };
        let [source, target] = ends.map(u64::from);
        if source == target && reading.drop_self_loops {
            continue;
        }
        let [weight, back] = reading.weights(weight, source == target);
        edges.push(InputEdge { source, target, weight });
        if reading.both_ways() && source != target {
            edges.push(InputEdge { source: target, target: source, weight: back });
        }
    }
}

#[cfg(test)]
mod tests {
    use welter_model::edges::{Duplicates, EdgeList};

    use super::*;
    use crate::own_edges::OwnEdges;

    fn all(share: &mut Share, edges_max: usize) -> Vec<[u32; 2]> {
        share.begin();
        let mut edges = Vec::new();
        loop {
            let (piece, is_last) = share.piece(edges_max).unwrap();
            assert!(piece.len() <= edges_max);
            edges.extend(piece.iter().map(|edge| [edge.source, edge.target].map(|end| end as u32)));
            if is_last {
                return edges;
            }
        }
    }

    /// Edges that a share hands to a visitor, and how many of them it wants.
    fn visited(share: &mut Share, edges_max: usize) -> Vec<[u32; 2]> {
        let mut edges = Vec::new();
        let visit = &mut |piece: &[InputEdge]| {
            assert!(piece.len() <= edges_max.max(2));
            edges.extend(piece.iter().map(|edge| [edge.source, edge.target].map(|end| end as u32)));
            true
        };
        share.each(edges_max, visit).unwrap();
        edges
    }

    /// The edges of all parts of a stream.
    fn pairs_of(stream: &dyn EdgeStream) -> Vec<[u32; 2]> {
        let mut found = Vec::new();
        for part in 0..stream.parts() {
            let visit = &mut |batch: Batch<'_>| {
                found.extend_from_slice(batch.pairs);
                true
            };
            stream.read(part, visit).unwrap();
        }
        found
    }

    /// A list whose parts do not know how many edges they have.
    struct Unknown(EdgeList);

    impl EdgeStream for Unknown {
        fn parts(&self) -> usize {
            self.0.parts()
        }

        fn edges(&self) -> u64 {
            self.0.edges()
        }

        fn weighted(&self) -> bool {
            self.0.weighted()
        }

        fn slots(&self) -> Option<u64> {
            self.0.slots()
        }

        fn read(
            &self,
            part: usize,
            visit: &mut dyn FnMut(Batch<'_>) -> bool,
        ) -> Result<(), StreamError> {
            self.0.read(part, visit)
        }
    }

    #[test]
    fn edges_of_a_machine_are_counted_where_parts_do_not_know_them() {
        let mut list = EdgeList::new(Some(9), true);
        for size in [3, 1, 4, 1, 5] {
            list.push(vec![[size, 1]; size as usize], vec![f64::from(size); size as usize]);
        }
        let expected: Vec<[u32; 2]> = list.pairs().collect();
        let stream: Arc<dyn EdgeStream> = Arc::new(Unknown(list));
        for machines in 1..7 {
            let own = |rank| OwnEdges::new(stream.clone(), (rank, machines)).unwrap();
            let shares: Vec<_> = (0..machines).map(|rank| pairs_of(&own(rank))).collect();
            assert_eq!(shares.concat(), expected);
            let counts = (0..machines).map(|rank| own(rank).edges() as usize);
            assert!(counts.eq(shares.iter().map(Vec::len)));
            assert!(own(0).weighted() && own(0).slots() == Some(9));
        }
    }

    #[test]
    fn weights_may_say_which_way_edges_lead() {
        let duplicates = Duplicates::Directions;
        let directed = Reading { duplicates, ..Reading::default() };
        let weights = |reading| {
            let stream = Arc::new(EdgeList::from_pairs(vec![[0, 1], [0, 1], [2, 1]]));
            let mut share = Share::new(stream, reading, (0, 1));
            let (edges, _) = share.piece(100).unwrap();
            edges.iter().map(|edge| edge.weight).collect::<Vec<_>>()
        };
        assert_eq!(weights(directed), [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
        assert_eq!(weights(Reading { undirected: true, ..directed }), [3.0; 6]);
    }

    #[test]
    fn weights_may_be_left() {
        let mut list = EdgeList::new(Some(2), true);
        list.push(vec![[0, 1]], vec![2.5]);
        let stream: Arc<dyn EdgeStream> = Arc::new(list);
        for (is_wanted, expected) in [(true, 2.5), (false, 1.0)] {
            let share = Share::new(stream.clone(), Reading::default(), (0, 1));
            let mut share = share.weighted(is_wanted);
            let (edges, _) = share.piece(1).unwrap();
            assert_eq!(edges[0].weight.to_bits(), f64::to_bits(expected));
        }
    }

    #[test]
    fn shares_are_all_edges_once_and_again() {
        let pairs: Vec<[u32; 2]> = (0..50).map(|edge| [edge % 7, edge % 5]).collect();
        let mut list = EdgeList::new(Some(7), false);
        pairs.chunks(8).for_each(|pairs| list.push(pairs.to_vec(), Vec::new()));
        let stream: Arc<dyn EdgeStream> = Arc::new(list);
        let both = Reading { undirected: true, drop_self_loops: true, ..Reading::default() };
        let back = Reading { reversed: true, ..Reading::default() };
        let turned = |&[source, target]: &[u32; 2]| [target, source];
        for machines in 1..10 {
            for (reading, members) in [(Reading::default(), 0), (back, 0), (both, 7)] {
                let mut found = Vec::new();
                for rank in 0..machines {
                    let me = (rank, machines);
                    let share = Share::new(stream.clone(), reading, me);
                    let mut share = share.with_members(members, me);
                    let edges = all(&mut share, 3);
                    assert_eq!(all(&mut share, 1000), edges);
                    assert_eq!(visited(&mut share, 3), edges, "a visitor is shown them too");
                    found.extend(edges);
                }
                let mut expected = match (reading.reversed, reading.undirected) {
                    (true, _) => pairs.iter().map(turned).collect(),
                    (_, true) => {
                        let some = pairs.iter().filter(|[source, target]| source != target);
                        some.flat_map(|pair| [*pair, turned(pair)]).collect()
                    }
                    _ => pairs.clone(),
                };
                expected.extend((0..members as u32).map(|vertex| [vertex; 2]));
                expected.sort_unstable();
                found.sort_unstable();
                assert_eq!(found, expected, "{machines} machines");
            }
        }
    }

    #[test]
    fn a_sample_stands_for_all_edges_of_a_share() {
        let (parts, each) = (64, 1 << 16);
        let mut list = EdgeList::new(Some(9), false);
        (0..parts).for_each(|_| list.push(vec![[1, 2]; each], Vec::new()));
        let stream: Arc<dyn EdgeStream> = Arc::new(list);
        let (mut sampled, mut stands_for) = (0, 0);
        for rank in 0..2 {
            let mut share = Share::new(stream.clone(), Reading::default(), (rank, 2));
            let mut found = 0;
            let count = &mut |edges: &[InputEdge]| {
                found += edges.len() as u64;
                true
            };
            stands_for += share.sample(1000, count).unwrap() * found;
            sampled += found;
        }
        let edges = (parts * each) as u64;
        assert!(sampled < edges / 2, "{sampled} of {edges}");
        assert!(stands_for.abs_diff(edges) < edges / 4, "{stands_for} for {edges}");
        let mut one = Share::new(stream, Reading::default(), (0, 2));
        let mut visits = 0;
        let stop = &mut |_: &[InputEdge]| {
            visits += 1;
            false
        };
        one.sample(1000, stop).unwrap();
        assert_eq!(visits, 1, "a visitor that has enough is shown no more");
    }

    #[test]
    fn shares_do_not_depend_on_how_a_stream_is_cut() {
        let pairs: Vec<[u32; 2]> = (0..50).map(|edge| [edge, edge % 5]).collect();
        for machines in 1..8 {
            let shares = [1, 3, 8, 50].map(|size| {
                let mut list = EdgeList::new(Some(50), false);
                pairs.chunks(size).for_each(|pairs| list.push(pairs.to_vec(), Vec::new()));
                let stream: Arc<dyn EdgeStream> = Arc::new(list);
                let share = |rank| Share::new(stream.clone(), Reading::default(), (rank, machines));
                let shares: Vec<_> = (0..machines).map(|rank| all(&mut share(rank), 7)).collect();
                for (rank, share) in shares.iter().enumerate() {
                    let own = own_edges(&*stream, (rank, machines)).unwrap();
                    assert_eq!(own.pairs().collect::<Vec<_>>(), *share);
                    let own = OwnEdges::new(stream.clone(), (rank, machines)).unwrap();
                    assert_eq!((pairs_of(&own), own.edges()), (share.clone(), share.len() as u64));
                }
                shares
            });
            assert_eq!(shares[0].concat(), pairs);
            assert!(shares.iter().all(|share| *share == shares[0]), "{machines} machines");
        }
    }
}
