//! Entries of rows, from edges: the ranks of both ends meet.

use std::ops::Range;

use welter_store::chunk::Chunk;

use super::buckets::{RecordAudit, RowBuckets, Waiting};
use super::{TriangleRun, sum};
use crate::EngineError;
use crate::columns::updates::Writer;
use crate::columns::windows::PieceReader;
use crate::edges::read_ahead::{ReadAhead, UpcomingTasks};
use crate::edges::values::ColumnIo;
use crate::kernels::groups::AHEAD;
use crate::kernels::kernel::{Coding, DecodeBuffers, fetch};
use crate::kernels::update_chunk::UpdateKind;
use crate::machine::arena::Buffer;
use crate::schedules::spill::partitions::{cut, vertices};

/// A worker's tools.
struct WorkerState<'g> {
    scratch: DecodeBuffers,
    chunks: ReadAhead<'g>,
    /// Ranks of the targets.
    ranks: ColumnIo<'g, u32>,
    writer: Writer,
    entries: RowBuckets<u32>,
    /// Edges that were met.
    visited: u64,
}

impl TriangleRun<'_> {
    /// Makes an entry of each edge whose source ranks above its target.
    pub(super) fn orient(&self, waiting: &mut Waiting) -> Result<RecordAudit, EngineError> {
        let (graph, kind) = (self.graph, UpdateKind::Entries);
        let mut worker_states = self.workers.per_worker(|| {
            Ok(WorkerState {
                scratch: DecodeBuffers::new(),
                chunks: ReadAhead::new(graph)?,
                ranks: ColumnIo::new(self.ranks)?,
                writer: Writer::new(&self.pool, &graph.arena)?,
                entries: RowBuckets::new(kind, self.bins.len(), self.plan.bucket_bytes),
                visited: 0,
            })
        })?;
        let partitions = cut(graph, self.plan.sources);
        let widths = partitions.iter().map(|stripes| vertices(graph, stripes));
        let widest = widths.map(|own| own.end - own.start).max().unwrap_or(0);
        let mut window = Buffer::<u32>::zeroed(widest as usize)?;
        let mut reader = PieceReader::new(self.ranks)?;
        for stripes in &partitions {
            let own = vertices(graph, stripes);
            reader.read(self.ranks, &own, &mut window)?;
            let sources = &window[..(own.end - own.start) as usize];
            self.workers.for_each_ahead(
                0..graph.stripes.len(),
                self.progress,
                &mut worker_states,
                |worker, stripe, upcoming| {
                    let mut upcoming = |place| upcoming.get(place).copied();
                    worker.orient(self, (stripe, &mut upcoming), &own, sources)
                },
            )?;
        }
        for worker in &mut worker_states {
            let WorkerState { writer, entries, .. } = worker;
            entries.finish(writer)?;
            waiting.put(writer.finish()?);
        }
        let visited: u64 = worker_states.iter().map(|worker| worker.visited).sum();
        if visited != graph.edges {
            let what = format!("{visited} edges were met, and there are {}", graph.edges);
            return Err(EngineError::internal(what));
        }
        Ok(sum(&mut worker_states, |worker| {
            let mut audit = RecordAudit::default();
            audit.produce(kind, worker.entries.take_produced());
            audit
        }))
    }
}

impl WorkerState<'_> {
    /// Makes the entries of a stripe's edges from a partition, whose ranks are these. `upcoming`:
    /// the stripes that this worker takes then.
    fn orient(
        &mut self,
        run: &TriangleRun<'_>,
        (stripe, upcoming): (usize, &mut UpcomingTasks<'_>),
        own: &Range<u64>,
        sources: &[u32],
    ) -> Result<(), EngineError> {
        let TriangleRun { graph, directed, bins, phase, .. } = run;
        let Self { scratch, chunks, ranks, writer, entries, visited } = self;
        ranks.fetch(stripe)?;
        let column = ranks.take(stripe)?;
        let targets = &column[..graph.stripes[stripe].width()];
        let wants = |stripe: usize| {
            let chunks = &graph.stripes[stripe].chunks;
            let first = chunks.partition_point(|place| place.sources.end <= own.start);
            first..chunks.partition_point(|place| place.sources.start < own.end)
        };
        let mut written = Ok(());
        let mut entry = |source: usize, target: usize, weight: f64| {
            // The others are another partition's, or those of a damaged key.
            let Some(&rank) = sources.get(source) else { return };
            *visited += 1;
            let Some(&below) = targets.get(target).filter(|below| rank > **below) else { return };
            if written.is_ok() {
                let both = u32::from(*directed && weight > 2.5);
                let bin = bins.of(below);
                let target = below - bins.ranks(bin).start as u32;
                written = entries.put(bin, (target, rank << 1 | both), writer);
            }
        };
        chunks.stripe((stripe, upcoming), wants, |_, chunk: Chunk<'_>| {
            let coding = Coding::all(chunk.label());
            let mask = (1_u32 << coding.target_bits) - 1;
            for tile in chunk.tiles() {
                let first = tile.source.wrapping_sub(own.start) as usize;
                let source = |key: u32| first.wrapping_add((key >> coding.target_bits) as usize);
                coding.keys(&tile, 0..tile.edges, scratch, |keys, weights| {
                    for (at, &key) in keys.iter().enumerate() {
                        fetch(sources, source(*keys.get(at + AHEAD).unwrap_or(&key)));
                        let weight = weights.map_or(1.0, |weights| weights[at]);
                        entry(source(key), (key & mask) as usize, weight);
                    }
                });
            }
            phase.add(chunk.edges());
            Ok(())
        })?;
        written?;
        ranks.done(column);
        Ok(())
    }
}
