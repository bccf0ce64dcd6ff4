//! Edges of a chunk that was pulled: folded, scattered, or shown what their ends say.

use std::ops::Range;

use welter_model::stream::Edge;
use welter_store::chunk::{Chunk, Tile};
use welter_store::{ChunkError, checksum};

use super::{Cell, ExtendedKernel, FoldKernel, KernelShape};
use crate::EngineError;
use crate::kernels::kernel::{Coding, DecodeBuffers, Sources};
use crate::kernels::keys::{ColumnLengths, Reach};
use crate::kernels::records::Records;
use crate::kernels::seam::{EndpointColumns, SourceSignals, TileFold};
use crate::kernels::sink::{Room, Sink};

/// A chunk of a cell, whole, whose keys may still be anything.
#[derive(Clone, Copy, Debug)]
pub struct Pulled<'c, 'b> {
    pub(super) cell: &'c Cell,
    pub(super) chunk: Chunk<'b>,
}

impl<'b> Pulled<'_, 'b> {
    /// Number of edges that it has.
    pub fn edges(&self) -> u64 {
        self.chunk.edges()
    }

    /// Number of bytes that it has; behind these may be [`states`].
    pub fn bytes(&self) -> usize {
        self.chunk.bytes()
    }

    /// Folds all edges into the accumulators of the stripe. `sources`: what those of the cell say.
    ///
    /// # Errors
    /// When an edge leads outside these columns. Some edges were folded then.
    pub fn fold(
        &self,
        kernel: &FoldKernel,
        sources: Sources<'_, u8>,
        accums: &mut [u8],
        scratch: &mut DecodeBuffers,
    ) -> Result<(), EngineError> {
        let shape = kernel.shape();
        let coding = Coding::weighted(self.chunk.label(), shape.capabilities.weighted);
        let known = known(shape, &sources);
        self.tiles(known, |tile, place| {
            let (sources, edges) = (part(shape, &sources, place..known), 0..tile.edges);
            let run = TileFold { tile, edges, coding, is_short: true, sources };
            kernel.0.fold(run, accums, scratch)
        })
    }

    /// Makes a record of the update of each edge, and hands them to `put`, some at a time:
    /// destinations, relative to the stripe, and as many records, which are updates, or, in a
    /// program that combines, accumulators that have met one.
    ///
    /// # Errors
    /// When an edge leads outside the sources or the stripe. Some were scattered then.
    pub fn scatter(
        &self,
        kernel: &FoldKernel,
        sources: Sources<'_, u8>,
        scratch: &mut DecodeBuffers,
        put: impl FnMut(&[u32], &[u8]),
    ) -> Result<(), EngineError> {
        let mut sink = Outlet::new(kernel.shape().record(), put);
        self.scatter_to(kernel, sources, scratch, &mut sink)?;
        sink.hand_out();
        Ok(())
    }

    /// Puts a record of the update of each edge into a sink.
    pub(super) fn scatter_to(
        &self,
        kernel: &FoldKernel,
        sources: Sources<'_, u8>,
        scratch: &mut DecodeBuffers,
        sink: &mut dyn Sink,
    ) -> Result<(), EngineError> {
        let shape = kernel.shape();
        let coding = Coding::weighted(self.chunk.label(), shape.capabilities.weighted);
        let targets = (self.cell.targets.end - self.cell.targets.start) as usize;
        let mut done = Ok(());
        let known = known(shape, &sources);
        self.tiles(known, |tile, place| {
            let columns = ColumnLengths::new([known - place, targets]);
            if done.is_ok() {
                let edges = (tile, coding, Some(&columns));
                let sources = part(shape, &sources, place..known);
                done = kernel.0.scatter(edges, sources, scratch, sink);
            }
            columns.outside()
        })?;
        done
    }

    /// Shows both ends of all edges, some at a time: the place of the source among those of the
    /// cell, and that of the destination in the stripe.
    ///
    /// # Errors
    /// When an edge leads outside. Some were shown then.
    pub fn pairs(
        &self,
        scratch: &mut DecodeBuffers,
        mut show: impl FnMut(u32, u32),
    ) -> Result<(), EngineError> {
        let coding = Coding::weighted(self.chunk.label(), false);
        let Cell { sources, targets, .. } = self.cell;
        let lengths = [sources, targets].map(|range| (range.end - range.start) as usize);
        self.tiles(lengths[0], |tile, place| {
            let columns = ColumnLengths::new([lengths[0] - place, lengths[1]]);
            coding.keys(tile, 0..tile.edges, scratch, |keys, _| {
                let keys = columns.hold(keys, coding.target_bits);
                for key in keys.keys() {
                    show(place as u32 + (key >> coding.target_bits), key & keys.mask());
                }
            });
            columns.outside()
        })
    }

    /// Hands all edges to `show`, with their weights where these are looked at.
    ///
    /// # Errors
    /// When one leads outside its cell, or to a number of more than 32 bits. Some were shown then.
    pub fn show(
        &self,
        weighted: bool,
        scratch: &mut DecodeBuffers,
        mut show: impl FnMut(Edge),
    ) -> Result<(), EngineError> {
        self.is_narrow()?;
        let coding = Coding::weighted(self.chunk.label(), weighted);
        let lengths = [&self.cell.sources, &self.cell.targets]
            .map(|range| (range.end - range.start) as usize);
        let first_target = self.cell.targets.start as u32;
        self.tiles(lengths[0], |tile, place| {
            let columns = ColumnLengths::new([lengths[0] - place, lengths[1]]);
            let base = tile.source as u32;
            coding.keys(tile, 0..tile.edges, scratch, |keys, weights| {
                let keys = columns.hold(keys, coding.target_bits);
                for (edge, key) in keys.keys().iter().enumerate() {
                    let source = base + (key >> coding.target_bits);
                    let target = first_target + (key & keys.mask());
                    let weight = weights.map_or(1.0, |weights| weights[edge]);
                    show(Edge { source, target, weight });
                }
            });
            columns.outside()
        })
    }

    /// Shows all edges what their ends say, with their states, and hands their updates to `put`,
    /// some at a time: destinations, relative to the stripe, and as many updates. `ends`: what the
    /// sources and the destinations of the cell say.
    ///
    /// # Errors
    /// When an edge leads outside these columns, or to a number of more than 32 bits, or there are
    /// not as many states as edges. Some were shown then.
    pub fn extend(
        &self,
        kernel: &ExtendedKernel,
        [sources, targets]: [&[u8]; 2],
        states: &mut [u8],
        scratch: &mut DecodeBuffers,
        mut put: impl FnMut(&[u32], &[u8]),
    ) -> Result<(), EngineError> {
        let shape = kernel.shape();
        self.is_narrow()?;
        self.has_states(shape.state, states)?;
        let coding = Coding::weighted(self.chunk.label(), shape.capabilities.weighted);
        let lengths = [sources, targets].map(|signals| signals.len() / shape.signal);
        let mut rest = states;
        self.tiles(lengths[0], |tile, place| {
            let columns = ColumnLengths::new([lengths[0] - place, lengths[1]]);
            let base = [tile.source, self.cell.targets.start].map(|first| first as usize);
            let source_signals = SourceSignals::Sources(&sources[place * shape.signal..]);
            let ends = EndpointColumns { base, source_signals, targets };
            let mut records = Records::new(shape.update, tile.edges, 0);
            coding.keys(tile, 0..tile.edges, scratch, |keys, weights| {
                let own = keys.len() * shape.state;
                let (states, left) = std::mem::take(&mut rest).split_at_mut(own);
                rest = left;
                let keys = columns.hold(keys, coding.target_bits);
                let emitted = kernel.0.scatter_edges(
                    (keys, weights),
                    ends,
                    states,
                    records.room(keys.keys().len()),
                );
                records.keep(emitted);
            });
            let (targets, updates) = records.part(0, records.len());
            put(targets, updates);
            columns.outside()
        })
    }

    /// Whether ends of edges have numbers of 32 bits, as [`Edge`] has.
    fn is_narrow(&self) -> Result<(), EngineError> {
        let end = self.cell.sources.end.max(self.cell.targets.end);
        if end <= 1 << u32::BITS {
            return Ok(());
        }
        let what = format!("edges with ends of 32 bits are shown, and vertices go on to {end}");
        Err(EngineError::Unsupported(what))
    }

    /// Hands each tile to `each`, with the place of its first source in a column of `sources`
    /// sources of the cell. That says which key leads outside of columns, if one does.
    fn tiles(
        &self,
        sources: usize,
        mut each: impl FnMut(&Tile<'b>, usize) -> Option<u32>,
    ) -> Result<(), EngineError> {
        for tile in self.chunk.tiles() {
            // No tile begins before the base of its chunk, which is that of the cell.
            let place = tile.source - self.cell.sources.start;
            if place > sources as u64 {
                return Err(self.outside(place));
            }
            if let Some(key) = each(&tile, place as usize) {
                return Err(self.outside(key.into()));
            }
        }
        Ok(())
    }

    fn outside(&self, value: u64) -> EngineError {
        self.cell.failed(ChunkError::Field { what: "key of an edge", offset: 0, value })
    }

    /// Whether there are as many states as edges.
    fn has_states(&self, width: usize, states: &[u8]) -> Result<(), EngineError> {
        let count = states.len() as u64 / width as u64;
        if states.len().is_multiple_of(width) && count == self.edges() {
            return Ok(());
        }
        let (what, offset) = ("number of states of edges", self.bytes() as u64);
        Err(self.cell.failed(ChunkError::Field { what, offset, value: count }))
    }
}

/// Number of sources that something is known of.
fn known(shape: &KernelShape, sources: &Sources<'_, u8>) -> usize {
    let flags = sources.active.map_or(usize::MAX, <[u8]>::len);
    flags.min(sources.signals.len() / shape.signal)
}

/// A range of the sources.
fn part<'a>(
    shape: &KernelShape,
    sources: &Sources<'a, u8>,
    places: Range<usize>,
) -> Sources<'a, u8> {
    let signals = &sources.signals[places.start * shape.signal..places.end * shape.signal];
    Sources { signals, active: sources.active.map(|active| &active[places]) }
}

/// Records that an outlet holds before it hands them out.
const OUTLET_RECORDS: usize = 1024;

/// A sink that hands records out, run by run.
struct Outlet<F> {
    records: Records,
    put: F,
}

impl<F: FnMut(&[u32], &[u8])> Outlet<F> {
    fn new(width: usize, put: F) -> Self {
        Self { records: Records::new(width, OUTLET_RECORDS, 0), put }
    }

    fn hand_out(&mut self) {
        let (targets, records) = self.records.part(0, self.records.len());
        (self.put)(targets, records);
        self.records.clear();
    }
}

impl<F: FnMut(&[u32], &[u8])> Sink for Outlet<F> {
    fn room(&mut self, most: usize) -> Result<Room<'_>, EngineError> {
        if self.records.is_full() {
            self.hand_out();
        }
        Ok(Room::Run(self.records.room(most)))
    }

    fn keep(&mut self, count: usize) -> Result<(), EngineError> {
        self.records.keep(count);
        Ok(())
    }
}

/// Bytes between a chunk and the states of its edges: their checksum, and zeros.
const STATES_HEAD_BYTES: usize = 8;

/// A chunk with the states of its edges behind it, in the order in which they are shown.
pub fn with_states(chunk: &[u8], states: &[u8]) -> Vec<u8> {
    let checksum = u64::from(checksum::of(states)).to_le_bytes();
    [chunk, &checksum, states].concat()
}

/// The chunk at the front of some bytes, and the states behind it, of `width` bytes each.
///
/// # Errors
/// As [`Cell::open`], and when the states are not what was written.
pub fn states<'c, 'b>(
    width: usize,
    cell: &'c Cell,
    bytes: &'b [u8],
) -> Result<(Pulled<'c, 'b>, &'b [u8]), EngineError> {
    let pulled = cell.open(bytes)?;
    let offset = pulled.bytes();
    let behind = bytes[offset..].split_at_checked(STATES_HEAD_BYTES);
    let states = behind
        .filter(|(checksum, states)| *checksum == u64::from(checksum::of(states)).to_le_bytes());
    let Some((_, states)) = states else {
        let error = ChunkError::Checksum { what: "states of edges", offset: offset as u64 };
        return Err(cell.failed(error));
    };
    pulled.has_states(width, states)?;
    Ok((pulled, states))
}
