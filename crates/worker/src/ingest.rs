//! Reading of a machine's share of the input (Chaos, section 3): edges into chunks of their cells,
//! degrees for who makes first values.
//!
//! ```text
//! chunk     of the store's format; then zeros for the states of edges, where the program keeps any
//! striped   chunks of a cell's edges to each stripe, one behind the other, where accumulators have
//!           stripes
//! rough     edges of a partition of destinations: source u32, its place in a zone, target u32,
//!           the low bits of its number, and a weight f64 where there are any; before them the
//!           number of the zone u32, where there are several
//! ```
//!
//! **Invariant:** no end of an edge is cut short: numbers of 64 bits become places that the
//! partition or zone has. Checked in `Binning::ends`. Tested by
//! `ends_beyond_32_bits_come_back_from_chunks`.
//!
//! **Invariant:** bins are open for the cells of one partition, or for one cell a partition, where
//! there are more cells than bins may be open. Where more may, cells have several, by the part of
//! their partition that sources are in. Checked in `Bins::work`.

mod binning;

use welter_engine::EngineError;
use welter_protocol::ids::Phase;
use welter_protocol::work::Rewritten;
use welter_protocol::{Outcome, Work};

use self::binning::Binning;
pub(crate) use self::binning::no_vertex;
use crate::degrees::Counts;
use crate::input::Input;
use crate::other;
use crate::partitioning::Partitioning;

/// Edges that are asked of the input at a time: as many as stay in a cache until they are binned.
const RUN_EDGES: usize = 1 << 12;

/// Progress of a machine in its share.
pub(crate) struct Ingest {
    input: Box<dyn Input>,
    counts: Counts,
    binning: Binning,
    /// Partition whose rough chunks are being split.
    split: Option<u32>,
}

impl Ingest {
    /// Of a graph of this number, whose chunks hold weights where it is `weighted`. `state_bytes`:
    /// those of the state of an edge, where the program rewrites them in place; `rewrites`: whether
    /// it rewrites edges, here or elsewhere.
    pub(crate) fn new(
        input: Box<dyn Input>,
        cut: Partitioning,
        (graph, weighted): (u64, bool),
        (rewrites, state_bytes): (bool, Option<usize>),
    ) -> Self {
        let binning = Binning::new(cut, (graph, weighted), (rewrites, state_bytes));
        Self { input, counts: Counts::of_vertices(), binning, split: None }
    }

    /// An ingest for a program that looks at degrees, or at none: then the edges are counted that
    /// leave partitions, not vertices.
    pub(crate) fn looking_at(self, degrees: bool) -> Self {
        let counts = if degrees { Counts::of_vertices() } else { Counts::of_partitions() };
        Self { counts, ..self }
    }

    /// An ingest whose chunks of cells are cut by the stripes of their destinations, or not.
    pub(crate) fn striped(mut self, is_striped: bool) -> Self {
        self.binning.is_striped = is_striped;
        self
    }

    /// Whether edges of an open partition are split.
    pub(crate) fn is_splitting(&self) -> bool {
        self.split.is_some()
    }

    /// Does what is asked, if edges are to be split.
    ///
    /// # Errors
    /// When a chunk has other edges than those that were binned into it.
    pub(crate) fn splits(
        &mut self,
        work: &Work,
        looked_at: &mut u64,
    ) -> Result<Option<Outcome>, EngineError> {
        let outcome = match (work, self.split) {
            (Work::Open { step, partition, .. }, _) => {
                self.split = (step.phase == Phase::Split).then_some(*partition);
                if self.split.is_none() {
                    return Ok(None);
                }
                self.binning.begin_split();
                Outcome::Opened
            }
            (Work::Stream { payload, .. }, Some(partition)) => {
                self.split(partition, payload, looked_at)?
            }
            (Work::Flush, Some(_)) => {
                Outcome::Flushed { filled: self.binning.rest(None)?, rewritten: Vec::new() }
            }
            _ => return Ok(None),
        };
        Ok(Some(outcome))
    }

    /// Bins the edges of a rough chunk by their sources too.
    fn split(
        &mut self,
        partition: u32,
        payload: &[u8],
        looked_at: &mut u64,
    ) -> Result<Outcome, EngineError> {
        let mut filled = Vec::new();
        let edges = self.binning.smooth(partition, payload);
        *looked_at = edges.len() as u64;
        for edge in &edges {
            let ends = self.binning.ends(edge)?;
            if ends[1].0 != partition {
                let what =
                    format!("an edge to {} in a chunk of partition {partition}", edge.target);
                return Err(other(what));
            }
            self.binning.put(edge, ends, None, &mut filled)?;
        }
        Ok(Outcome::Streamed { made: *looked_at, gathered: 0, rewritten: Rewritten::Not, filled })
    }

    /// Reads the next piece, or the first one, and counts the edges in it.
    ///
    /// # Errors
    /// When the input cannot be read, or has an edge of a vertex that there is not.
    pub(crate) fn piece(
        &mut self,
        first: bool,
        looked_at: &mut u64,
    ) -> Result<Outcome, EngineError> {
        let Self { input, counts, binning, .. } = self;
        if first {
            input.begin();
            counts.begin(&binning.cut.partitions)?;
            binning.begin();
        }
        let is_rough = binning.is_rough();
        let (mut left, mut filled) = (binning.cut.piece_edges, Vec::new());
        let is_last = loop {
            let (edges, is_last) = input.piece(left.min(RUN_EDGES))?;
            for edge in edges {
                let ends = binning.ends(edge)?;
                if is_rough {
                    counts.add(&binning.cut.partitions, ends[0], 1);
                }
                binning.put(edge, ends, (!is_rough).then_some(&mut *counts), &mut filled)?;
            }
            left = left.saturating_sub(edges.len());
            if is_last || left == 0 || edges.is_empty() {
                break is_last;
            }
        };
        let read = (binning.cut.piece_edges - left) as u64;
        *looked_at = read;
        let mut degrees = None;
        if is_last {
            filled.extend(binning.rest((!is_rough).then_some(&mut *counts))?);
            degrees = Some(counts.payloads());
        }
        Ok(Outcome::Ingested { read, filled, degrees })
    }
}

#[cfg(test)]
mod tests;
