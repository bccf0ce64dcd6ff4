//! Checkpoints between the passes of a stream program.
//!
//! A checkpoint is that of other programs ([`crate::checkpoint`]): values are what is kept of
//! cells and notes, and the totals, of which there is one to begin with and one of each pass, are
//! what the program does next. That is all there is to know:
//!
//! - What is news is told by cells, so a run that goes on reads the graph, and not what was left of
//!   it (`left`): there are more edges to look at, and none that are news.
//! - Which chunks hold no news (`stale`) is forgotten: all of them are looked at once more.
//!
//! Invariant: nothing is written while a few edges were shown and the others are still to come,
//! since the others are shown without those.

use std::path::Path;

use bytemuck::{Zeroable, bytes_of, cast_slice, cast_slice_mut};

use welter_model::lasting::{Checkpointable, KeptNext, decode, encode};
use welter_progress::{Progress, Unit};

use super::Passed;
use super::learnt::Learnt;
use super::run::Run;
use crate::EngineError;
use crate::checkpoint::{
    Checkpoints, Column, Columns, Reached, Settable, Shape, restore_columns, write_columns,
};
use crate::columns::values::{Fill, Visit};
use crate::edges::graph::{Graph, Stripe};
use crate::machine::workers::Workers;

/// Vertices that are kept or restored at a time.
const PIECE: usize = 1 << 10;

/// Runs a stream program from its last checkpoint, if there is one, and writes more.
///
/// # Errors
/// As [`super::pass`]; also when a checkpoint cannot be written or read, or belongs to another
/// graph or program.
pub fn pass_resumable<S: Checkpointable>(
    graph: &Graph,
    program: &S,
    workers: &Workers,
    progress: &Progress,
    checkpoints: Option<&Checkpoints>,
) -> Result<Passed<S::Value>, EngineError> {
    let Some(checkpoints) = checkpoints else {
        return super::pass(graph, program, workers, progress);
    };
    // They may be where bins were.
    workers.settle();
    let edges = S::PASSES.map(|passes| passes * graph.edges());
    let phase = progress.phase("pass", Unit::Edges, edges);
    let mut run = Run::new(graph, program, workers, (progress, &phase))?;
    let directory = checkpoints.directory();
    let shape = Shape::of_columns::<S::Kept, KeptNext>(graph, false);
    checkpoints.check_space_of(&shape)?;
    let reached = restore_columns(checkpoints, graph, shape, Cells { run: &mut run, directory })?;
    let first = encode::<S>(program.first());
    let mut reached = reached.unwrap_or_else(|| Reached::begun(bytes_of(&first)));
    run.passes = reached.iterations;
    let next = decode::<S>(reached.total()).ok_or_else(|| odd(directory))?;
    let bytes = graph.vertices() * size_of::<S::Kept>() as u64;
    run.go(next, |run, next| {
        reached.note(bytes_of(&encode::<S>(next)));
        if run.begun || !checkpoints.is_due_of(run.passes, bytes) {
            return Ok(());
        }
        let columns = Columns {
            values: Column::Made(&|visit| run.each_kept(visit)),
            active: Column::Memory(&[]),
            states: Column::Memory(&[]),
        };
        write_columns(checkpoints, shape, columns, &reached)
    })
}

impl<S: Checkpointable> Run<'_, S> {
    /// Shows what is to be kept of all vertices, in their order.
    fn each_kept(&self, visit: &mut Visit<'_>) -> Result<(), EngineError> {
        let vertices = self.graph.vertices() as usize;
        let mut piece = Vec::with_capacity(PIECE);
        for first in (0..vertices).step_by(PIECE) {
            let part = first..vertices.min(first + PIECE);
            let Learnt { cells, notes } = &self.learnt;
            let known = cells[part.clone()].iter().zip(&notes[part]);
            piece.clear();
            piece.extend(known.map(|(cell, note)| self.program.kept(cell, note)));
            visit(cast_slice(&piece))?;
        }
        Ok(())
    }
}

/// The cells and notes of a run, as they are restored.
struct Cells<'r, 'a, S: Checkpointable> {
    run: &'r mut Run<'a, S>,
    directory: &'r Path,
}

/// Whole files that hold what no run of this program has.
fn odd(directory: &Path) -> EngineError {
    let what = "what was kept is of another version of this program";
    EngineError::Changed(format!("{}: {what}", directory.display()))
}

impl<S: Checkpointable> Settable for Cells<'_, '_, S> {
    fn values(&mut self, stripe: usize, fill: &mut Fill<'_>) -> Result<(), EngineError> {
        let run = &mut *self.run;
        let Stripe { vertices, .. } = &run.graph.stripes[stripe];
        let mut piece = [S::Kept::zeroed(); PIECE];
        let mut first = vertices.start as usize;
        while first < vertices.end as usize {
            let last = (vertices.end as usize).min(first + PIECE);
            let kept = &mut piece[..last - first];
            fill(cast_slice_mut(kept))?;
            let Learnt { cells, notes } = &mut run.learnt;
            let places = cells[first..last].iter_mut().zip(&mut notes[first..last]);
            for (place, kept) in places.zip(kept) {
                let restored = run.program.restored(*kept, run.graph.vertices());
                (*place.0, *place.1) = restored.ok_or_else(|| odd(self.directory))?;
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
