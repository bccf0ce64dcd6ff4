//! Scatter: the edges of a partition, whose signals are in memory, make updates that wait for
//! their stripes.

use std::ops::Range;

use welter_store::chunk::Chunk;

use super::SpillSchedule;
use super::partitions::vertices;
use super::signals::SignalWriter;
use super::worker::WorkerState;
use crate::EngineError;
use crate::columns::updates::Writer;
use crate::edges::graph::Graph;
use crate::kernels::kernel::Coding;
use crate::kernels::records::Records;
use crate::kernels::seam::{AnyKernel, FoldKernel, TileFold};
use crate::kernels::update_chunk::Cell;
use crate::schedules::context::Context;
use crate::schedules::frontier::Masks;

impl SpillSchedule<'_> {
    /// Scatters the edges of a partition, whose signals are in the window. `masks` get its active
    /// blocks.
    pub(super) fn scatter(
        &mut self,
        partition: usize,
        masks: &mut Masks,
    ) -> Result<(), EngineError> {
        match self.kernel {
            AnyKernel::Fold(kernel) => self.scatter_updates(kernel, partition, masks)?,
            AnyKernel::Extended(_) => self.scatter_signals(partition)?,
        }
        for state in &mut self.workers {
            for chunk in state.writer.finish()? {
                self.waiting[chunk.cell.stripe as usize].push(chunk);
            }
        }
        Ok(())
    }

    fn scatter_updates(
        &mut self,
        kernel: &dyn FoldKernel,
        partition: usize,
        masks: &mut Masks,
    ) -> Result<(), EngineError> {
        let Context { graph, workers, progress, .. } = *self.context;
        let shape = *kernel.shape();
        let own = vertices(graph, &self.partitions[partition]);
        let flags = self.window.flags((own.end - own.start) as usize);
        let [with_flags, without] = self.window.sources(own.start);
        masks.add(graph, own.start, flags);
        let masks = &*masks;
        let reach = if graph.layout.wide_tiles {
            graph.signal_padding()
        } else {
            1 << graph.layout.block_bits
        };
        let wants = |stripe: usize| {
            let chunks = &graph.stripes[stripe].chunks;
            chunks_from(graph, stripe, &own)
                .filter(move |&chunk| masks.any(graph.blocks(chunks[chunk].sources.clone())))
        };
        let all_active = flags.iter().all(|&flag| flag != 0);
        let combined = self.plan.combined && shape.capabilities.combines;
        let (tasks, turn) = (0..graph.stripes.len(), self.turn);
        workers.for_each_ahead(tasks, progress, &mut self.workers, |state, task, next| {
            let next = next.copied();
            let WorkerState { accums, scratch, chunks, writer, records, counts, .. } = state;
            let cell = Cell { turn, stripe: task as u32, window: partition as u32 };
            let mut folded = 0;
            chunks.stripe((task, next), wants, |_, chunk: Chunk<'_>| {
                let coding = Coding::weighted(chunk.label(), shape.capabilities.weighted);
                for tile in chunk.tiles() {
                    let ends = tile.source..tile.source + reach as u64;
                    let meets = ends.end > own.start && ends.start < own.end;
                    if !meets || !masks.any(graph.blocks(ends.clone())) {
                        continue;
                    }
                    let inside = ends.start >= own.start && ends.end <= own.end;
                    let window = if inside && all_active { without } else { with_flags };
                    let sources = window.sources(tile.source, graph.signal_padding());
                    if combined {
                        let (tile, edges) = (&tile, 0..tile.edges);
                        let run = TileFold { tile, edges, coding, is_short: false, sources };
                        kernel.fold(run, accums, scratch);
                        folded += tile.edges as u64;
                    } else {
                        kernel.scatter((&tile, coding), sources, scratch, records);
                        if records.is_full() {
                            counts.produced += writer.put_all(cell, records, None)?;
                        }
                    }
                    counts.edges += tile.edges as u64;
                }
                Ok(())
            })?;
            counts.produced += if combined {
                let accums = &mut accums[..graph.stripes[task].width() * shape.accum];
                combine(kernel, accums, cell, folded, records, writer)?
            } else {
                writer.put_all(cell, records, None)?
            };
            Ok(())
        })
    }

    /// Tells all stripes what the sources of a partition say.
    fn scatter_signals(&mut self, partition: usize) -> Result<(), EngineError> {
        let Context { graph, workers, progress, .. } = *self.context;
        let own = vertices(graph, &self.partitions[partition]);
        let signals = self.window.signals((own.end - own.start) as usize);
        let wants = |stripe: usize| chunks_from(graph, stripe, &own);
        let (tasks, turn, once) = (0..graph.stripes.len(), self.turn, self.plan.combined);
        workers.for_each_ahead(tasks, progress, &mut self.workers, |state, task, next| {
            let next = next.copied();
            let WorkerState { scratch, chunks, writer, records, counts, .. } = state;
            let cell = Cell { turn, stripe: task as u32, window: partition as u32 };
            let mut teller = SignalWriter::new(&own, signals, once);
            records.clear();
            chunks.stripe((task, next), wants, |_, chunk: Chunk<'_>| {
                let coding = Coding::weighted(chunk.label(), false);
                for tile in chunk.tiles() {
                    let end = tile.source + chunk.block_width();
                    if tile.source >= own.end || end <= own.start {
                        continue;
                    }
                    coding.keys(&tile, 0..tile.edges, scratch, |keys, _| {
                        teller.tell(keys, (tile.source, coding.target_bits), records);
                    });
                    if records.is_full() {
                        counts.produced += writer.put_all(cell, records, None)?;
                    }
                }
                Ok(())
            })?;
            counts.produced += writer.put_all(cell, records, None)?;
            Ok(())
        })
    }
}

/// Numbers of the chunks of a stripe that may have sources of a partition.
fn chunks_from(graph: &Graph, stripe: usize, own: &Range<u64>) -> Range<usize> {
    let chunks = &graph.stripes[stripe].chunks;
    let first = chunks.partition_point(|place| place.sources.end <= own.start);
    let end = chunks.partition_point(|place| place.sources.start < own.end);
    first..end.max(first)
}

/// Writes what was touched of a stripe's accumulators, in which `edges` were folded, and makes them
/// the identity again. How many updates that stands for.
fn combine(
    kernel: &dyn FoldKernel,
    accums: &mut [u8],
    cell: Cell,
    edges: u64,
    records: &mut Records,
    writer: &mut Writer,
) -> Result<u64, EngineError> {
    // All of the edges are said of what is written first.
    let (mut left, mut written) = (edges, 0);
    let mut place = (edges > 0).then_some(0);
    while let Some(from) = place {
        place = kernel.drain(accums, from, records);
        written += writer.put_all(cell, records, Some(left))?;
        left = 0;
    }
    Ok(written)
}
