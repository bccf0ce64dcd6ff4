//! A machine's share of the input: some edges of a stream, by their places in its order.
//!
//! ```text
//! share(r) = edges [e r / m, e (r + 1) / m)    of e edges, among m machines
//!          = parts [p r / m, p (r + 1) / m)    of p parts, where a part does not know its edges
//! ```
//!
//! The number of edges of a part may depend on the memory of a machine, and their order does not;
//! parts that do not know their edges are cut alike everywhere (raw records, generators, kept
//! graphs). Edges are read one part at a time, so a part is in memory, as the stream has it: edges
//! of the input, which take three times the bytes, are made of some of it at a time, few enough to
//! stay in a cache. Both ways of an edge, where the graph is read so, are one machine's.
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
use welter_model::pair::Pair;
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
    /// The part at hand.
    part: PartEdges,
    /// Edges that were made of it, and how many of them were handed out.
    edges: Vec<InputEdge>,
    at: usize,
}

/// Edges of a part, as the stream has them.
#[derive(Default)]
struct PartEdges {
    pairs: Vec<[u32; 2]>,
    /// One for each, or none where all are 1.
    weights: Vec<f64>,
    /// Number of those of which edges of the input were made.
    made: usize,
}

impl PartEdges {
    fn clear(&mut self) {
        self.pairs.clear();
        self.weights.clear();
        self.made = 0;
    }

    /// Appends edges of a batch, with their weights where these are wanted.
    fn push(&mut self, batch: Batch<'_>, within: Range<usize>, weighted: bool) {
        if let Some(weights) = batch.weights.filter(|_| weighted) {
            self.weights.resize(self.pairs.len(), 1.0);
            self.weights.extend_from_slice(&weights[within.clone()]);
        }
        self.pairs.extend_from_slice(&batch.pairs[within]);
        if !self.weights.is_empty() {
            self.weights.resize(self.pairs.len(), 1.0);
        }
    }

    /// Whether edges were made of all of them.
    fn is_made(&self) -> bool {
        self.made == self.pairs.len()
    }

    /// The next edges, at most `edges_max`, as a batch of all and their places in it.
    fn next(&mut self, edges_max: usize) -> (Batch<'_>, Range<usize>) {
        let Self { pairs, weights, made } = self;
        let first = *made;
        *made = pairs.len().min(first + edges_max);
        let weights = Some(&weights[..]).filter(|weights| !weights.is_empty());
        (Batch { pairs: &pairs[..], weights }, first..*made)
    }
}

/// Edges of a stream of which those of a piece of `edges_max` edges are made at a time: each may
/// stand for two, and they stay in a cache.
fn made_at_a_time(edges_max: usize) -> usize {
    (edges_max / 2).clamp(1, PIECE_EDGES)
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
            part: PartEdges::default(),
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

    /// Reads a part.
    fn read(&mut self, part: usize) -> Result<(), EngineError> {
        let Self { stream, part: at_hand, weighted, own, passed, .. } = self;
        at_hand.clear();
        stream.read(part, &mut |batch| {
            let within = own_of(own, passed, batch.pairs.len());
            at_hand.push(batch, within, *weighted);
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
        let (piece_max, mut count) = (made_at_a_time(edges_max), 0);
        let goes_on = Cell::new(true);
        let mut on_batch = |batch: Batch<'_>| {
            // Some streams call again.
            if !goes_on.get() {
                return false;
            }
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
            if !self.part.is_made() {
                let Self { part, reading, edges, .. } = self;
                append(part.next(made_at_a_time(edges_max)), (reading, true), edges);
                continue;
            }
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
        if self.own.end < u64::MAX {
            return self.own.end - self.own.start;
        }
        let (held, parts) = (self.stream.held_edges(), self.stream.parts().max(1));
        (u128::from(held) * self.parts.len() as u128 / parts as u128) as u64
    }

    /// Whether nothing more is to come than what is at hand.
    fn is_read(&self) -> bool {
        self.part.is_made() && self.left.0.is_empty() && self.left.1.is_empty()
    }
}

impl Input for Share {
    fn begin(&mut self) {
        self.left = (self.parts.clone(), self.members.clone());
        self.passed = 0;
        self.part.clear();
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
        // To the nearest.
        Ok((self.expected_edges().saturating_add(found / 2) / found).max(1))
    }
}

/// Appends all that some edges of a batch stand for.
fn append(
    (batch, within): (Batch<'_>, Range<usize>),
    (reading, weighted): (&Reading, bool),
    edges: &mut Vec<InputEdge>,
) {
    let weights = batch.weights.filter(|_| weighted);
    let is_one = !reading.both_ways() && !reading.drop_self_loops;
    if is_one && !reading.reversed && weights.is_none() {
        let edge = |&[source, target]: &Pair| InputEdge {
            source: source.into(),
            target: target.into(),
            weight: 1.0,
        };
        edges.extend(batch.pairs[within].iter().map(edge));
        return;
    }
    for edge in within {
        let [source, target] = batch.pairs[edge];
        let weight = weights.map_or(1.0, |weights| weights[edge]);
        let (source, target) = (u64::from(source), u64::from(target));
        let (source, target) = if reading.reversed { (target, source) } else { (source, target) };
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
mod tests;
