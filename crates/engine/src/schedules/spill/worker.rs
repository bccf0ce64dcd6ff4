//! State that a worker has all along, and how it gathers a stripe.

use std::sync::Arc;

use super::columns::SpillColumns;
use super::gather::GatheredStripe;
use super::signals::SignalReader;
use crate::EngineError;
use crate::columns::edge_states::Rewriter;
use crate::columns::groups::groups;
use crate::columns::stripe_columns::StripeColumns;
use crate::columns::updates::{Pool, Reader, UpdateChunk, Writer};
use crate::edges::graph::Graph;
use crate::edges::read_ahead::{ReadAhead, UpcomingTasks};
use crate::edges::values::{ColumnIo, StoredColumn};
use crate::footprints::edges::TILE_EDGES_MAX;
use crate::kernels::groups::Groups;
use crate::kernels::kernel::{BUFFER, Coding, DecodeBuffers};
use crate::kernels::keys::{Reach, Width};
use crate::kernels::records::Records;
use crate::kernels::seam::{
    AnyKernel, EndpointColumns, ExtendedKernel, FoldKernel, Kernel, SourceSignals,
};
use crate::machine::arena::Buffer;
use crate::schedules::lane::Lane;

/// Accumulators, buffers, columns and counts of a worker.
pub(super) struct WorkerState<'g> {
    /// Accumulators of a stripe; the identity, all of them, while nothing is done.
    pub(super) accums: Buffer<u8>,
    /// Signals of the vertices of a stripe, where edges look at their targets.
    targets: Buffer<u8>,
    /// Signals of the sources of some edges.
    source_signals: Vec<u8>,
    pub(super) scratch: DecodeBuffers,
    pub(super) chunks: ReadAhead<'g>,
    values: ColumnIo<'g, u8>,
    degrees: ColumnIo<'g, u32>,
    signals: Option<ColumnIo<'g, u8>>,
    active: Option<ColumnIo<'g, u8>>,
    pub(super) writer: Writer,
    reader: Reader,
    /// Accumulators, updates or signals of sources that are about to be written.
    pub(super) records: Records,
    groups: Groups,
    pub(super) counts: Counts,
}

/// Counts of a worker's work in an iteration.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) edges: u64,
    pub(super) produced: u64,
    pub(super) gathered: u64,
    pub(super) active: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: Self) {
        self.edges += other.edges;
        self.produced += other.produced;
        self.gathered += other.gathered;
        self.active += other.active;
    }
}

impl<'g> WorkerState<'g> {
    pub(super) fn new(
        (graph, kernel): (&'g Graph, AnyKernel<'_>),
        columns: &'g SpillColumns,
        degrees: &'g StoredColumn,
        pool: &Arc<Pool>,
    ) -> Result<Self, EngineError> {
        let shape = *kernel.kernel().shape();
        let width = 1 << graph.layout.stripe_bits;
        let mut accums = Buffer::zeroed(width * shape.accum)?;
        kernel.kernel().clear(&mut accums);
        let (targets, source_signals, record) = match kernel {
            AnyKernel::Extended(_) => {
                (width * shape.signal, Vec::with_capacity(BUFFER * shape.signal), shape.signal)
            }
            AnyKernel::Fold(_) if shape.capabilities.combines => (0, Vec::new(), shape.accum),
            AnyKernel::Fold(_) => (0, Vec::new(), shape.update),
        };
        Ok(Self {
            accums,
            targets: Buffer::zeroed(targets)?,
            source_signals,
            scratch: DecodeBuffers::new(),
            chunks: ReadAhead::new(graph)?,
            values: ColumnIo::new(&columns.values)?,
            degrees: ColumnIo::new(degrees)?,
            signals: columns.signals.as_ref().map(ColumnIo::new).transpose()?,
            active: columns.active.as_ref().map(ColumnIo::new).transpose()?,
            writer: Writer::new(pool, &graph.arena)?,
            reader: Reader::new(pool, &graph.arena)?,
            records: Records::new(record, Writer::records_max(record), TILE_EDGES_MAX),
            groups: groups(graph, shape.update, shape.capabilities.groups)?,
            counts: Counts::default(),
        })
    }

    pub(super) fn init<'p>(
        &mut self,
        (graph, kernel): (&Graph, &dyn Kernel),
        GatheredStripe { number, mut columns, .. }: GatheredStripe<'p>,
    ) -> Result<StripeColumns<'p>, EngineError> {
        self.degrees.fetch(number)?;
        let mut values = self.values.blank()?;
        let degrees = self.degrees.take(number)?;
        columns.init((graph, kernel), &degrees, &mut values);
        self.degrees.done(degrees);
        self.values.put(number, values)?;
        Ok(columns)
    }

    /// Takes values and flags as they are.
    pub(super) fn take_up<'p>(
        &mut self,
        kernel: &dyn Kernel,
        GatheredStripe { number, mut columns, .. }: GatheredStripe<'p>,
    ) -> Result<StripeColumns<'p>, EngineError> {
        self.values.fetch(number)?;
        if let Some(active) = &mut self.active {
            active.fetch(number)?;
            let column = active.take(number)?;
            columns.active.copy_from_slice(&column[..columns.active.len()]);
            active.done(column);
        }
        let values = self.values.take(number)?;
        columns.resume(kernel, &values);
        self.values.done(values);
        Ok(columns)
    }

    /// Gathers the updates of a stripe, which are given up, and applies them.
    pub(super) fn apply<'p>(
        &mut self,
        (graph, kernel): (&Graph, &dyn FoldKernel),
        GatheredStripe { number, mut columns, mut waiting, .. }: GatheredStripe<'p>,
        last: &[u8],
    ) -> Result<StripeColumns<'p>, EngineError> {
        let (shape, width) = (*kernel.shape(), columns.stripe.width());
        self.values.fetch(number)?;
        // One worker wrote what a partition has for a stripe, in order.
        waiting.sort_by_key(|chunk| chunk.key.source_partition);
        let accums = &mut self.accums[..width * shape.accum];
        let (reader, record) = (&mut self.reader, self.records.width());
        let mut values;
        self.counts.gathered += if shape.capabilities.groups {
            self.degrees.fetch(number)?;
            values = self.values.take(number)?;
            let degrees = self.degrees.take(number)?;
            let own = (&degrees[..width], &values[..width * shape.value]);
            let gathered =
                group(kernel, (reader, record), &waiting, own, &mut self.groups, accums)?;
            self.degrees.done(degrees);
            gathered
        } else if shape.capabilities.knows_target {
            values = self.values.take(number)?;
            kernel.begin(&values, accums);
            reader.read_of(record, &waiting, |targets, updates| {
                kernel.gather((targets, updates), accums)
            })?
        } else {
            let gathered = reader.read_of(record, &waiting, |targets, others| {
                kernel.merge((targets, others), accums)
            })?;
            values = self.values.take(number)?;
            gathered
        };
        drop(waiting);
        columns.apply((graph, kernel), (accums, last), &mut values);
        kernel.clear(accums);
        self.values.put(number, values)?;
        Ok(columns)
    }

    /// Shows the edges of a stripe what both of their ends say, and applies their updates.
    /// `upcoming`: the stripes that the worker will take then. `once`: whether a source spoke once
    /// to the stripe.
    pub(super) fn extend<'p>(
        &mut self,
        (graph, kernel): (&Graph, &dyn ExtendedKernel),
        (part, upcoming): (GatheredStripe<'p>, &mut UpcomingTasks<'_>),
        (rewriter, once): (&mut Rewriter<'_>, bool),
        last: &[u8],
    ) -> Result<StripeColumns<'p>, EngineError> {
        let GatheredStripe { number, mut columns, mut waiting, states } = part;
        let (shape, width) = (*kernel.shape(), columns.stripe.width());
        self.values.fetch(number)?;
        kernel.clear(&mut self.accums);
        waiting.sort_by_key(|chunk| chunk.key.source_partition);
        let mut values = self.values.take(number)?;
        let Self { accums, targets, source_signals, scratch, chunks, reader, records, .. } = self;
        kernel.signal(&values[..width * shape.value], &mut targets[..width * shape.signal]);
        let mut lane = Lane::begin((number, upcoming(0)), states, rewriter)?;
        let mut listener = SignalReader::new(reader.follow(&waiting), records, once);
        let all = |stripe: usize| 0..graph.stripes[stripe].chunks.len();
        chunks.stripe((number, upcoming), all, |stripe, chunk| {
            let coding = Coding::weighted(chunk.label(), shape.capabilities.weighted);
            for tile in chunk.tiles() {
                let base = [tile.source, stripe.vertices.start].map(|first| first as usize);
                let mut done = Ok(());
                coding.keys(&tile, 0..tile.edges, scratch, |keys, weights| {
                    let mut rest = weights;
                    for keys in keys.chunks(BUFFER) {
                        let (weights, others) =
                            rest.map(|weights| weights.split_at(keys.len())).unzip();
                        rest = others;
                        if done.is_ok() {
                            let first = (tile.source, coding.target_bits);
                            done = listener.listen(keys, first, source_signals).and_then(|()| {
                                let ends = EndpointColumns {
                                    base,
                                    source_signals: SourceSignals::Edges(source_signals),
                                    targets,
                                };
                                let keys = Width.hold(keys, coding.target_bits);
                                lane.extend(kernel, (keys, weights), ends, accums)
                            });
                        }
                    }
                });
                done?;
            }
            Ok(())
        })?;
        self.counts.gathered += listener.end()?;
        lane.end()?;
        columns.apply((graph, kernel), (&self.accums, last), &mut values);
        self.values.put(number, values)?;
        Ok(columns)
    }

    /// Stores what the vertices of a stripe say, where scatter or a checkpoint comes later.
    pub(super) fn store(
        &mut self,
        number: usize,
        columns: &StripeColumns<'_>,
    ) -> Result<(), EngineError> {
        if let Some(signals) = &mut self.signals {
            let mut column = signals.blank()?;
            column[..columns.signals.len()].copy_from_slice(columns.signals);
            signals.put(number, column)?;
        }
        let Some(active) = &mut self.active else { return Ok(()) };
        let mut column = active.blank()?;
        column[..columns.active.len()].copy_from_slice(columns.active);
        active.put(number, column)
    }

    /// Waits until all columns are written.
    pub(super) fn finish(&mut self) -> Result<(), EngineError> {
        self.values.finish()?;
        self.signals.as_mut().map_or(Ok(()), ColumnIo::finish)?;
        self.active.as_mut().map_or(Ok(()), ColumnIo::finish)
    }
}

/// Gathers updates of a program that groups them, by the degrees and values of the stripe's
/// vertices. What waits is read once for each piece of the stripe. How many updates that were.
fn group(
    kernel: &dyn FoldKernel,
    (reader, record): (&mut Reader, usize),
    waiting: &[UpdateChunk],
    (degrees, values): (&[u32], &[u8]),
    groups: &mut Groups,
    accums: &mut [u8],
) -> Result<u64, EngineError> {
    let mut gathered = 0;
    for piece in groups.pieces(degrees) {
        groups.open(degrees, &piece);
        gathered = reader.read_of(record, waiting, |targets, updates| {
            kernel.put((targets, updates), groups);
            true
        })?;
        kernel.group(groups, degrees, values, accums)?;
    }
    Ok(gathered)
}
