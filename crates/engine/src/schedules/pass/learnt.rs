//! What a stream program learns of vertices, whatever its edges come from.

use std::sync::Mutex;

use welter_model::program::{Total, Vertex};
use welter_model::stream::{Known, Seen, Stream};
use welter_progress::Progress;

use crate::EngineError;
use crate::machine::arena::Buffer;
use crate::machine::sync::lock;
use crate::machine::workers::Workers;

/// Cells that are made or settled in one task.
pub(crate) const CELLS: usize = 1 << 16;

/// Cells and notes, which all workers share.
pub(crate) struct Learnt<S: Stream> {
    /// One a vertex, and what a damaged key may name behind them.
    pub(crate) cells: Buffer<S::Cell>,
    pub(crate) notes: Buffer<S::Note>,
}

impl<S: Stream> Learnt<S> {
    /// Cells and notes of so many places before the first step. `degree`: edges that leave the
    /// vertex of a place.
    pub(crate) fn new(
        program: &S,
        places: usize,
        degree: impl Fn(u32) -> u32 + Sync,
        (workers, progress): (&Workers, &Progress),
    ) -> Result<Self, EngineError> {
        let mut cells = Buffer::<S::Cell>::zeroed(places)?;
        let mut notes = Buffer::<S::Note>::zeroed(places)?;
        let vertex = |place: u32| Vertex { index: place.into(), out_degree: degree(place).into() };
        fill(&mut cells, workers, progress, |place| program.cell(vertex(place)).0)?;
        if size_of::<S::Note>() > 0 {
            fill(&mut notes, workers, progress, |place| program.cell(vertex(place)).1)?;
        }
        Ok(Self { cells, notes })
    }

    pub(crate) fn known(&self) -> Known<'_, S> {
        Known { cells: &self.cells, notes: &self.notes }
    }

    /// Lets so many vertices be settled.
    pub(crate) fn settle(
        &self,
        program: &S,
        step: S::Step,
        vertices: usize,
        (workers, progress): (&Workers, &Progress),
    ) -> Result<S::Total, EngineError> {
        let known = self.known();
        let totals = workers.states(|| Ok(S::Total::default()))?;
        workers.tasks(vertices.div_ceil(CELLS), progress, &totals, |total, task| {
            let part = task * CELLS..vertices.min((task + 1) * CELLS);
            let settled = part.map(|vertex| program.settle(step, known, vertex as u32));
            *total = settled.fold(*total, S::Total::merge);
            Ok(())
        })?;
        Ok(totals.iter().fold(S::Total::default(), |sum, total| sum.merge(*lock(total))))
    }
}

/// Refuses to go on where a step contradicts what the end of the program rests on.
pub(crate) fn check<S: Stream>(
    program: &S,
    step: S::Step,
    seen: &Seen<S::Total>,
) -> Result<(), EngineError> {
    program.broken(step, seen).map_or(Ok(()), |what| Err(EngineError::Invariant(what)))
}

/// Counts of all workers since they were asked last, with room for so many edges.
pub(crate) fn add_up<'a, T: Default>(
    seen: impl Iterator<Item = &'a mut Seen<()>>,
    room: u64,
) -> Seen<T> {
    let mut sum = Seen { room, ..Seen::default() };
    for seen in seen {
        let Seen { looked, news, changes, .. } = std::mem::take(seen);
        sum.looked += looked;
        sum.news += news;
        sum.changes += changes;
    }
    sum
}

/// Sets every element of a column.
pub(crate) fn fill<T: Send>(
    column: &mut [T],
    workers: &Workers,
    progress: &Progress,
    value: impl Fn(u32) -> T + Sync,
) -> Result<(), EngineError> {
    let parts: Vec<Mutex<&mut [T]>> = column.chunks_mut(CELLS).map(Mutex::new).collect();
    workers.tasks(parts.len(), progress, &workers.states(|| Ok(()))?, |(), task| {
        for (place, element) in lock(&parts[task]).iter_mut().enumerate() {
            *element = value((task * CELLS + place) as u32);
        }
        Ok(())
    })
}
