//! The state of all vertices of a stream program, a run of them a task, whatever its edges come
//! from.

use welter_model::stream::StepStats;
use welter_progress::Progress;

use crate::EngineError;
use crate::kernels::stream::StreamKernel;
use crate::machine::workers::Workers;

/// Vertices whose state is made or finalized in one task.
pub(crate) const CELLS: usize = 1 << 16;

/// Sets the state of all vertices to that before the first step. Vertices without a degree have no
/// edges.
pub(crate) fn init(
    kernel: &mut dyn StreamKernel,
    degrees: &[u32],
    (workers, progress): (&Workers, &Progress),
) -> Result<(), EngineError> {
    let mut idle = workers.per_worker(|| Ok(()))?;
    workers.for_each(kernel.parts(CELLS), progress, &mut idle, |(), (first, mut part)| {
        part.init(degrees.get(first..).unwrap_or_default());
        Ok(())
    })
}

/// Lets `vertices` vertices be finalized.
pub(super) fn finalize(
    kernel: &dyn StreamKernel,
    vertices: usize,
    (workers, progress): (&Workers, &Progress),
) -> Result<(), EngineError> {
    let tasks = vertices.div_ceil(CELLS);
    let mut idle = workers.per_worker(|| Ok(()))?;
    workers.for_each(0..tasks, progress, &mut idle, |(), task| {
        kernel.finalize(task * CELLS..vertices.min((task + 1) * CELLS));
        Ok(())
    })
}

/// Sets a column of the width of the kernel's values to those of all vertices.
pub(crate) fn values(
    kernel: &dyn StreamKernel,
    column: &mut [u8],
    (workers, progress): (&Workers, &Progress),
) -> Result<(), EngineError> {
    let parts = column.chunks_mut(CELLS * kernel.shape().value).enumerate();
    let mut idle = workers.per_worker(|| Ok(()))?;
    workers.for_each(parts, progress, &mut idle, |(), (task, part)| {
        kernel.values(task * CELLS, part);
        Ok(())
    })
}

/// Counts of all workers since they were asked last, with room for `room` edges.
pub(crate) fn add_up<'a>(
    stats: impl Iterator<Item = &'a mut StepStats<()>>,
    room: u64,
) -> StepStats<()> {
    let mut sum = StepStats { room, ..StepStats::default() };
    for stats in stats {
        let StepStats { looked, candidates, changes, .. } = std::mem::take(stats);
        sum.looked += looked;
        sum.candidates += candidates;
        sum.changes += changes;
    }
    sum
}
