//! Scatter: the edges of a partition, whose signals are in memory, make updates that wait for
//! their stripes.

use std::ops::Range;

use welter_store::chunk::{Chunk, Tile};

use super::SpillSchedule;
use super::partitions::vertices;
use super::signals::SignalWriter;
use super::worker::WorkerState;
use crate::EngineError;
use crate::columns::updates::ChunkSink;
use crate::edges::graph::Graph;
use crate::kernels::kernel::Coding;
use crate::kernels::seam::{AnyKernel, FoldKernel, TileFold};
use crate::kernels::update_chunk::UpdateKey;
use crate::schedules::context::Context;
use crate::schedules::frontier::Masks;

/// The sources that keys of a tile may name, if any are among these.
fn meeting(graph: &Graph, tile: &Tile<'_>, own: &Range<u64>) -> Option<Range<u64>> {
    let wide = graph.layout.wide_tiles;
    let reach = if wide { graph.signal_padding() } else { 1 << graph.layout.block_bits };
    let reached = tile.source..tile.source + reach as u64;
    (reached.end > own.start && reached.start < own.end).then_some(reached)
}

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
                self.waiting[chunk.key.stripe as usize].push(chunk);
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
        let all_active = flags.iter().all(|&flag| flag != 0);
        let wants = |stripe: usize| {
            let chunks = &graph.stripes[stripe].chunks;
            chunks_from(graph, stripe, &own)
                .filter(move |&chunk| masks.any(graph.blocks(chunks[chunk].sources.clone())))
        };
        // Where all are active and in the window, flags need not be looked at.
        let sources = |tile: &Tile<'_>| {
            let reached = meeting(graph, tile, &own)?;
            if !masks.any(graph.blocks(reached.clone())) {
                return None;
            }
            let inside = reached.start >= own.start && reached.end <= own.end;
            let window = if inside && all_active { without } else { with_flags };
            Some(window.sources(tile.source, graph.signal_padding()))
        };
        let combined = self.plan.combined && shape.capabilities.combines;
        let (tasks, iteration) = (0..graph.stripes.len(), self.iteration);
        workers.for_each_ahead(tasks, progress, &mut self.workers, |state, task, next| {
            let WorkerState { accums, scratch, chunks, writer, records, counts, .. } = state;
            let cell = UpdateKey::new(iteration, task as u32, partition as u32);
            let (mut folded, mut upcoming) = (0, |place| next.get(place).copied());
            let mut sink = ChunkSink::new((writer, records), cell);
            chunks.stripe((task, &mut upcoming), wants, |_, chunk: Chunk<'_>| {
                let coding = Coding::weighted(chunk.label(), shape.capabilities.weighted);
                for tile in chunk.tiles() {
                    let Some(sources) = sources(&tile) else { continue };
                    if combined {
                        let (tile, edges) = (&tile, 0..tile.edges);
                        let run = TileFold { tile, edges, coding, is_short: false, sources };
                        kernel.fold(run, accums, scratch);
                        folded += tile.edges as u64;
                    } else {
                        kernel.scatter((&tile, coding, None), sources, scratch, &mut sink)?;
                    }
                    counts.edges += tile.edges as u64;
                }
                Ok(())
            })?;
            if combined && folded > 0 {
                sink.stand_for(folded);
                let accums = &mut accums[..graph.stripes[task].width() * shape.accum];
                kernel.drain(accums, &mut sink)?;
            }
            counts.produced += sink.finish()?;
            Ok(())
        })
    }

    /// Sends the signals of the sources of a partition to all stripes.
    fn scatter_signals(&mut self, partition: usize) -> Result<(), EngineError> {
        let Context { graph, workers, progress, .. } = *self.context;
        let own = vertices(graph, &self.partitions[partition]);
        let width = self.kernel.kernel().shape().signal;
        let signals = self.window.signals((own.end - own.start) as usize);
        let wants = |stripe: usize| chunks_from(graph, stripe, &own);
        let iteration = self.iteration;
        let (tasks, once) = (0..graph.stripes.len(), self.plan.combined);
        workers.for_each_ahead(tasks, progress, &mut self.workers, |state, task, upcoming| {
            let mut upcoming = |place| upcoming.get(place).copied();
            let WorkerState { scratch, chunks, writer, records, counts, .. } = state;
            let cell = UpdateKey::new(iteration, task as u32, partition as u32);
            let mut signal_writer = SignalWriter::new(&own, (signals, width), once);
            let mut sink = ChunkSink::new((writer, records), cell);
            chunks.stripe((task, &mut upcoming), wants, |_, chunk: Chunk<'_>| {
                let coding = Coding::weighted(chunk.label(), false);
                for tile in chunk.tiles() {
                    let end = tile.source + chunk.block_width();
                    if tile.source >= own.end || end <= own.start {
                        continue;
                    }
                    let (first, mut done) = ((tile.source, coding.target_bits), Ok(()));
                    coding.keys(&tile, 0..tile.edges, scratch, |keys, _| {
                        if done.is_ok() {
                            done = signal_writer.send_own(keys, first, &mut sink);
                        }
                    });
                    done?;
                }
                Ok(())
            })?;
            counts.produced += sink.finish()?;
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
