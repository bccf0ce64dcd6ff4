//! From ranks to vertices: what was counted becomes values.

use std::ops::Range;

use super::buckets::{RecordAudit, RowBuckets, Waiting};
use super::order::together;
use super::{TriangleRun, sum};
use crate::EngineError;
use crate::columns::updates::{Reader, Writer};
use crate::edges::values::{ColumnIo, StoredColumn};
use crate::footprints::schedules::TOLD_BYTES;
use crate::kernels::triangles::TriangleKernel;
use crate::kernels::update_chunk::UpdateKind;
use crate::machine::arena::Buffer;
use crate::machine::per_worker::PerWorker;

/// A worker's tools.
struct WorkerState<'g> {
    reader: Reader,
    ranks: ColumnIo<'g, u32>,
    writer: Writer,
    by_vertex: RowBuckets<u64>,
    /// Vertices that were met.
    visited: u64,
    gathered: u64,
}

impl WorkerState<'_> {
    /// Sends counts, which are of the ranks from `first` on, to the vertices of a stripe.
    fn send(
        &mut self,
        (stripe, width): (usize, usize),
        (first, counts): (usize, &[u64]),
    ) -> Result<(), EngineError> {
        let Self { ranks: io, writer, by_vertex, visited, .. } = self;
        io.fetch(stripe)?;
        let column = io.take(stripe)?;
        for (vertex, &rank) in (0..).zip(&column[..width]) {
            let place = (rank as usize).wrapping_sub(first);
            let Some(&count) = counts.get(place) else { continue };
            *visited += 1;
            if count > 0 {
                by_vertex.put(stripe, (vertex, count), writer)?;
            }
        }
        io.done(column);
        by_vertex.close(stripe, writer)
    }
}

impl TriangleRun<'_> {
    /// Sends the counts of their ranks to the vertices: for as many ranks as fit in memory at a
    /// time, all stripes look which of these they have.
    pub(super) fn counts_to_vertices(
        &self,
        waiting: &mut Waiting,
    ) -> Result<RecordAudit, EngineError> {
        let graph = self.graph;
        let bytes = |bin| TOLD_BYTES * self.bins.ranks(bin).len() as u64;
        let windows = together((0..self.bins.len()).map(bytes), self.plan.rows_bytes);
        let widths = windows.iter().map(|bins| self.bins.ranks_of(bins).len());
        let mut counts = Buffer::<u64>::zeroed(widths.max().unwrap_or(0))?;
        let (stripes, bucket_bytes) = (graph.stripes.len(), self.plan.bucket_bytes);
        let mut worker_states = self.workers.per_worker(|| {
            Ok(WorkerState {
                reader: Reader::new(&self.pool, &graph.arena)?,
                ranks: ColumnIo::new(self.ranks)?,
                writer: Writer::new(&self.pool, &graph.arena)?,
                by_vertex: RowBuckets::new(UpdateKind::Values, stripes, bucket_bytes),
                visited: 0,
                gathered: 0,
            })
        })?;
        for (number, bins) in windows.iter().enumerate() {
            let ranks = self.bins.ranks_of(bins);
            let counts = &mut counts[..ranks.len()];
            self.gather(bins, counts, waiting, &mut worker_states)?;
            let counts = &*counts;
            self.workers.for_each(
                0..stripes,
                self.progress,
                &mut worker_states,
                |worker, stripe| {
                    worker.by_vertex.window = number as u32;
                    worker.send((stripe, graph.stripes[stripe].width()), (ranks.start, counts))
                },
            )?;
        }
        for worker in &mut worker_states {
            waiting.put(worker.writer.finish()?);
        }
        let visited: u64 = worker_states.iter().map(|worker| worker.visited).sum();
        if visited != graph.vertices() {
            let what = format!("{visited} vertices were met, and there are {}", graph.vertices());
            return Err(EngineError::internal(what));
        }
        Ok(sum(&mut worker_states, |worker| {
            let mut audit = RecordAudit::default();
            audit.gather(UpdateKind::Counts, worker.gathered);
            audit.produce(UpdateKind::Values, worker.by_vertex.take_produced());
            audit
        }))
    }

    /// Adds up what was counted of the ranks of some bins.
    fn gather(
        &self,
        bins: &Range<usize>,
        counts: &mut [u64],
        waiting: &mut Waiting,
        worker_states: &mut PerWorker<WorkerState<'_>>,
    ) -> Result<(), EngineError> {
        let (mut tasks, mut rest) = (Vec::with_capacity(bins.len()), counts);
        for bin in bins.clone() {
            let part;
            let ranks = self.bins.ranks(bin);
            (part, rest) = std::mem::take(&mut rest).split_at_mut(ranks.len());
            tasks.push((ranks.start, part, waiting.take(UpdateKind::Counts, bin)));
        }
        self.workers.for_each(tasks, self.progress, worker_states, |worker, task| {
            let (first, counts, chunks) = task;
            for (rank, count) in (first..).zip(counts.iter_mut()) {
                *count = if rank < self.line { 0 } else { self.top.of(rank - self.line) };
            }
            worker.gathered += worker.reader.read(&chunks, |targets, by_vertex: &[u32]| {
                targets.iter().zip(by_vertex).all(|(target, by_vertex)| {
                    let count = counts.get_mut(*target as usize);
                    count.map(|count| *count += u64::from(*by_vertex)).is_some()
                })
            })?;
            Ok(())
        })
    }

    /// Makes the values of all vertices, stripe by stripe.
    pub(super) fn values(
        &self,
        kernel: &dyn TriangleKernel,
        degrees: &StoredColumn,
        waiting: &mut Waiting,
    ) -> Result<(StoredColumn, RecordAudit), EngineError> {
        let graph = self.graph;
        let storage = self.workers.storage().ok_or_else(|| EngineError::no_storage("values"))?;
        let width = kernel.shape().value;
        let stored = graph.column(storage, width)?;
        let mut worker_states = self.workers.per_worker(|| {
            let (degrees, values) = (ColumnIo::<u32>::new(degrees)?, ColumnIo::<u8>::new(&stored)?);
            let by_vertex = Buffer::<u64>::zeroed(1 << graph.layout.stripe_bits)?;
            Ok((Reader::new(&self.pool, &graph.arena)?, degrees, values, by_vertex, 0))
        })?;
        let stripes = graph.stripes.iter().enumerate();
        let waiting: Vec<_> =
            stripes.map(|(stripe, _)| (stripe, waiting.take(UpdateKind::Values, stripe))).collect();
        self.workers.for_each(waiting, self.progress, &mut worker_states, |worker, waiting| {
            let (stripe, chunks) = waiting;
            let (reader, degrees, values, by_vertex, gathered) = worker;
            degrees.fetch(stripe)?;
            let by_vertex = &mut by_vertex[..graph.stripes[stripe].width()];
            by_vertex.fill(0);
            *gathered += reader.read(&chunks, |targets, counts: &[u64]| {
                targets.iter().zip(counts).all(|(target, count)| {
                    let by_vertex = by_vertex.get_mut(*target as usize);
                    by_vertex.map(|by_vertex| *by_vertex += count).is_some()
                })
            })?;
            let (column, mut made) = (degrees.take(stripe)?, values.blank()?);
            kernel.values(
                &column[..by_vertex.len()],
                by_vertex,
                &mut made[..by_vertex.len() * width],
            );
            degrees.done(column);
            values.put(stripe, made)
        })?;
        for worker in &mut worker_states {
            worker.2.finish()?;
        }
        let audit = sum(&mut worker_states, |worker| {
            let mut audit = RecordAudit::default();
            audit.gather(UpdateKind::Values, worker.4);
            audit
        });
        drop(worker_states);
        Ok((stored, audit))
    }
}
