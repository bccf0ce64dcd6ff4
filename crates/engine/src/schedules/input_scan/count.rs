//! Input scans on a graph that stays in its input.
//!
//! The input is read some parts at a time. The worker that reads a part puts the updates of its
//! edges into buckets, one for each range of slots; then the ranges are shared, and its worker
//! empties its buckets in the order of the parts. So each vertex is updated in the order of the
//! input, whatever the number of workers, there is one column and no atomic operation, and a range
//! stays in the second-level cache while it is updated.
//!
//! Invariant: a range's slots belong to one worker at a time, and so do the buckets of a part.
//! Tested by `a_part_belongs_to_the_worker_that_takes_it`.

use std::ops::Range;

use bytemuck::pod_read_unaligned;
use welter_model::edges::{Batch, EdgeStream};
use welter_model::input_scan::InputScan;
use welter_progress::{Progress, Unit};

use super::results;
use crate::EngineError;
use crate::columns::outcome::Outcome;
use crate::columns::results::Values;
use crate::edges::graph::{Graph, Input};
use crate::ingest::input::read;
use crate::kernels::buckets::{SlotRanges, UpdateBuckets};
use crate::kernels::scan::{ScanKernel, Scanning};
use crate::machine::arena::Buffer;
use crate::machine::workers::Workers;
use crate::plan::PART_BYTES;

impl Input {
    /// Parts whose edges go into buckets together: as many as workers may have at a time, by what
    /// was planned for each, and one at least.
    fn wave(&self, first: usize, threads: usize) -> Range<usize> {
        let room = (threads * PART_BYTES / size_of::<[u32; 2]>()) as u64;
        let (mut end, mut taken) = (first, 0);
        while let Some(edges) = self.edges.get(end) {
            if end > first && taken + edges > room {
                break;
            }
            (end, taken) = (end + 1, taken + edges);
        }
        first..end
    }
}

/// Runs an input scan on a graph that stays in its input.
///
/// # Errors
/// When the graph was made of its input ([`scans_input`](crate::plan::Plan::scans_input) says so),
/// the input cannot be read, or the run is cancelled.
pub fn count<P: InputScan>(
    graph: &Graph,
    program: &P,
    workers: &Workers,
    progress: &Progress,
) -> Result<Outcome<P::Value, P::Total>, EngineError> {
    let Some(input) = &graph.input else {
        let what = "an input scan wants a graph that stays in its input";
        return Err(EngineError::internal(what));
    };
    let kernel = Scanning::new(program);
    let (values, total) =
        input.with(|stream| scan((graph, input, stream), &kernel, (workers, progress)))?;
    let values = Values::resident(values.typed());
    let total = pod_read_unaligned(&total);
    let totals = vec![P::Total::default(), total];
    Ok(Outcome { values, iterations: 1, total, totals, levels: Vec::new() })
}

/// Values of all vertices, and the totals.
fn scan(
    (graph, input, stream): (&Graph, &Input, &dyn EdgeStream),
    kernel: &dyn ScanKernel,
    (workers, progress): (&Workers, &Progress),
) -> Result<(Buffer<u8>, Vec<u8>), EngineError> {
    let (slots, shape) = (graph.slots(), kernel.shape());
    let cut = SlotRanges::of(slots);
    let mut accums = Buffer::<u8>::zeroed(slots as usize * shape.accum)?;
    let mut idle = workers.per_worker(|| Ok(()))?;
    let phase = progress.phase("count", Unit::Edges, Some(stream.edges()));
    let mut totals = Vec::new();
    let mut buckets: Vec<Box<dyn UpdateBuckets + '_>> = Vec::new();
    let weighted = graph.plan().premises.shape.weighted;
    let ways = if input.reading.undirected { 2 } else { 1 };
    let mut parts = 0..0;
    while parts.end < stream.parts() {
        parts = input.wave(parts.end, workers.threads());
        buckets.resize_with(buckets.len().max(parts.len()), || kernel.buckets(cut));
        let own = &mut buckets[..parts.len()];
        for (buckets, edges) in own.iter_mut().zip(&input.edges[parts.clone()]) {
            buckets.reserve(*edges as usize * ways);
        }
        let (of, tools) = ((stream, slots), (workers, progress, &phase));
        read(of, parts.clone().zip(&mut *own), &mut idle, tools, |(), buckets, batch| {
            // A generator makes weights whether or not they are wanted.
            let weights = batch.weights.filter(|_| weighted);
            buckets.put(input.reading, &Batch { weights, ..*batch });
        })?;
        let full = &*own;
        let ranges = accums.chunks_mut(cut.width() * shape.accum).enumerate();
        workers.for_each(ranges, progress, &mut idle, |(), (range, accums)| {
            for buckets in full {
                buckets.deliver(range, accums);
            }
            Ok(())
        })?;
        for buckets in own {
            buckets.empty(&mut totals);
        }
    }
    drop((buckets, phase));
    let widths = [shape.value, shape.total];
    let (values, of_vertices) = results(graph, widths, (workers, progress), |vertices| {
        kernel.results(vertices, &accums);
    })?;
    let both = [kernel.total(&totals), kernel.total(&of_vertices)].concat();
    Ok((values, kernel.total(&both)))
}
