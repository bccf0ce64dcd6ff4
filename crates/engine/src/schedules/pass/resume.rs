//! Checkpoints between the passes of a stream program.
//!
//! A checkpoint is that of other programs ([`crate::checkpoint`]): values are what is kept of
//! states and notes, and the totals, of which there is one to begin with and one of each pass, are
//! what the program does next. That is all there is to know:
//!
//! - Candidates are known by states, so a run that continues reads the graph, and not what was left
//!   of it (`compacted`): there are more edges to look at, and none that are candidates.
//! - Which chunks hold no candidates (`stale`) is forgotten: all of them are looked at once more.
//!
//! Invariant: nothing is written while a few edges were shown and the others are still to come,
//! since the others are shown without those. Tested by
//! `a_run_that_goes_on_ends_as_an_undisturbed_one`.

use std::path::Path;

use bytemuck::bytes_of;
use welter_model::checkpointable::EncodedStep;

use super::run::{KeptRun, StreamRun};
use crate::EngineError;
use crate::checkpoint::{
    CheckpointColumns, Column, RunProgress, Settable, Shape, restore_columns, write_columns,
};
use crate::edges::graph::{Graph, Stripe};
use crate::edges::values::{Fill, Visit};
use crate::kernels::stream::{AnyStream, ResumableKernel};

/// Vertices that are kept or restored at a time.
const PIECE: usize = 1 << 10;

impl StreamRun<'_, '_> {
    /// Sets the run to its last checkpoint, if there is one. Number of passes that were made then.
    pub(super) fn restore(&mut self) -> Result<u64, EngineError> {
        let (graph, checkpoints) = (self.context.graph, self.context.checkpoints);
        let (AnyStream::Resumable(kernel), Some(checkpoints)) = (&mut self.kernel, checkpoints)
        else {
            return Ok(0);
        };
        let (kernel, directory) = (&mut **kernel, checkpoints.directory());
        let widths = [kernel.snapshot_bytes(), size_of::<EncodedStep>()];
        let shape = Shape::of_widths(graph, widths, false);
        checkpoints.check_space_of(&shape)?;
        let first = kernel.encoded_step();
        let state = VertexState { graph, kernel: &mut *kernel, directory };
        let reached = restore_columns(checkpoints, graph, shape, state)?;
        let reached = reached.unwrap_or_else(|| RunProgress::begun(bytes_of(&first)));
        if !kernel.resume(reached.total()) {
            return Err(odd(directory));
        }
        let passes = reached.iterations;
        self.kept = Some(KeptRun { checkpoints, shape, reached });
        Ok(passes)
    }

    /// Notes the end of a pass, and writes a checkpoint if one is due.
    pub(super) fn keep(&mut self, passes: u64) -> Result<(), EngineError> {
        let (AnyStream::Resumable(kernel), Some(kept)) = (&self.kernel, &mut self.kept) else {
            return Ok(());
        };
        let (kernel, KeptRun { checkpoints, shape, reached }) = (&**kernel, kept);
        let vertices = self.context.graph.vertices();
        let bytes = vertices * kernel.snapshot_bytes() as u64;
        reached.note(bytes_of(&kernel.encoded_step()));
        if self.begun || !checkpoints.is_due_of(passes, bytes) {
            return Ok(());
        }
        let columns = CheckpointColumns {
            values: Column::Made(&|visit| each_kept(kernel, vertices as usize, visit)),
            active: Column::Memory(&[]),
            states: Column::Memory(&[]),
        };
        write_columns(checkpoints, *shape, columns, reached)
    }
}

/// Shows what is to be kept of all vertices, in their order.
fn each_kept(
    kernel: &dyn ResumableKernel,
    vertices: usize,
    visit: &mut Visit<'_>,
) -> Result<(), EngineError> {
    let width = kernel.snapshot_bytes();
    let mut piece = vec![0; PIECE * width];
    for first in (0..vertices).step_by(PIECE) {
        let kept = &mut piece[..PIECE.min(vertices - first) * width];
        kernel.snapshot(first, kept);
        visit(kept)?;
    }
    Ok(())
}

/// The state of the vertices of a run, as it is restored.
struct VertexState<'r> {
    graph: &'r Graph,
    kernel: &'r mut dyn ResumableKernel,
    directory: &'r Path,
}

/// Whole files that hold what no run of this program has.
fn odd(directory: &Path) -> EngineError {
    let what = "what was kept is of another version of this program";
    EngineError::Changed(format!("{}: {what}", directory.display()))
}

impl Settable for VertexState<'_> {
    fn values(&mut self, stripe: usize, fill: &mut Fill<'_>) -> Result<(), EngineError> {
        let Self { graph, kernel, directory } = self;
        let Stripe { vertices, .. } = &graph.stripes[stripe];
        let width = kernel.snapshot_bytes();
        let mut piece = vec![0; PIECE * width];
        let mut first = vertices.start as usize;
        while first < vertices.end as usize {
            let last = (vertices.end as usize).min(first + PIECE);
            let kept = &mut piece[..(last - first) * width];
            fill(kept)?;
            if !kernel.restore(first, kept, graph.vertices()) {
                return Err(odd(directory));
            }
            first = last;
        }
        Ok(())
    }

    fn active(&mut self, _: usize, _: &mut Fill<'_>) -> Result<(), EngineError> {
        let what = "a stream program does not keep who is active";
        Err(EngineError::internal(what))
    }

    fn finish(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
}
