//! Programs on graphs that stay in their input.
//!
//! The first reading of the input has told the vertices ([`crate::ingest::input`]). Programs read
//! the edges once more: [input scans](mod@count), in which each edge makes its updates at once, and
//! [stream programs](mod@pass) that need few passes.

mod count;
mod pass;

use welter_progress::Progress;

use crate::EngineError;
use crate::edges::graph::Graph;
use crate::kernels::scan::SlotResults;
use crate::kernels::vertices::SEGMENT_BITS;
use crate::machine::arena::Buffer;
use crate::machine::slices::Slices;
use crate::machine::workers::Workers;

pub use self::count::count;
pub use self::pass::pass_over;

/// Segments of slots whose results are made at once.
const RUN: usize = 16;

/// Makes the results of all vertices, of these widths, a run of slots at a time: values, and the
/// totals of all runs.
fn results(
    graph: &Graph,
    [value, total]: [usize; 2],
    (workers, progress): (&Workers, &Progress),
    make: impl Fn(SlotResults<'_>) + Sync,
) -> Result<(Buffer<u8>, Vec<u8>), EngineError> {
    let vertices = &graph.vertices;
    let runs = vertices.segments().div_ceil(RUN);
    let mut values = Buffer::<u8>::zeroed(vertices.count() as usize * value)?;
    let mut totals = vec![0; runs * total];
    let (mut column, mut sums) = (Slices(&mut values[..]), Slices(&mut totals[..]));
    let start = |run: usize| vertices.segment_start((run * RUN).min(vertices.segments()));
    let parts: Vec<_> = (0..runs)
        .map(|run| {
            let width = (start(run + 1) - start(run)) as usize * value;
            (run, column.take(width), sums.take(total))
        })
        .collect();
    let mut slots = workers.per_worker(|| Ok(Vec::new()))?;
    workers.for_each(parts, progress, &mut slots, |slots, (run, values, total)| {
        let width = (RUN as u64) << SEGMENT_BITS;
        let all = run as u64 * width..vertices.slots().min((run as u64 + 1) * width);
        slots.clear();
        let present = all.filter(|slot| vertices.number(*slot).is_some());
        slots.extend(present.map(|slot| slot as u32));
        let multiplicity = graph.implicit_multiplicity(&(start(run)..start(run + 1)));
        make(SlotResults { slots, values, total, multiplicity });
        Ok(())
    })?;
    Ok((values, totals))
}
