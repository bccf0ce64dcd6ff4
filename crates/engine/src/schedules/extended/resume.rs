//! Runs of extended programs that are resumed.
//!
//! Beside values a checkpoint has the states of all edges, in the order in which they lie: by
//! stripe on routes `fold` and `spill`, by range and worker on `ranges`, and within these as chunks
//! have the edges. So such a run goes on only where the plan lays them out alike.

use bytemuck::{Pod, cast_slice_mut};
use welter_model::extended::Extended;

use crate::EngineError;
use crate::checkpoint::{
    Checkpoints, Column, Columns, Reached, Settable, Shape, Stored, restore_columns, write_columns,
};
use crate::columns::edge_states::EdgeStates;
use crate::columns::values::Fill;
use crate::columns::values::StoredValues;
use crate::edges::graph::{Graph, Stripe};
use crate::edges::layout::EdgeLayout;

/// How edges lie that come by stripe by stripe.
pub(super) const BY_STRIPE: [u64; 3] = [0; 3];

/// How edges lie that come by to so many workers, range by range, in windows of so many sources.
pub(super) fn by_range(workers: usize, window_sources: u64) -> [u64; 3] {
    [1, workers as u64, window_sources]
}

/// Checkpoints of a run, if it keeps any.
pub(super) struct Resume<'c> {
    kept: Option<(&'c Checkpoints, Shape)>,
}

impl<'c> Resume<'c> {
    /// Checkpoints of a run whose edges lie in these lanes, in this way.
    pub(super) fn new<E: Extended>(
        checkpoints: Option<&'c Checkpoints>,
        graph: &Graph,
        lanes: &[u64],
        way: [u64; 3],
    ) -> Result<Self, EngineError> {
        let Some(checkpoints) = checkpoints else { return Ok(Self { kept: None }) };
        let EdgeLayout { encoding, stripe_bits, block_bits, wide_tiles, .. } = graph.layout;
        let encoding = [encoding as u64, stripe_bits.into(), block_bits.into(), wide_tiles.into()];
        let order = [&encoding[..], &way, lanes].concat();
        let shape = Shape::of_columns::<E::Value, E::Total>(graph, false);
        let shape = shape.with_states(size_of::<E::State>(), &order);
        checkpoints.check_space_of(&shape)?;
        Ok(Self { kept: Some((checkpoints, shape)) })
    }

    /// Sets columns to those of the last checkpoint, and says how far that was; `None` where there
    /// is none.
    pub(super) fn restore(
        &self,
        graph: &Graph,
        columns: impl Settable,
    ) -> Result<Option<Reached>, EngineError> {
        let Some((checkpoints, shape)) = self.kept else { return Ok(None) };
        restore_columns(checkpoints, graph, shape, columns)
    }

    /// Writes a checkpoint, if one is due.
    pub(super) fn write<S: Pod + Send>(
        &self,
        graph: &Graph,
        values: Column<'_>,
        states: &EdgeStates<S>,
        reached: &Reached,
    ) -> Result<(), EngineError> {
        let Some((checkpoints, shape)) = self.kept else { return Ok(()) };
        if !checkpoints.is_due_of(reached.iterations, shape.column_bytes()) {
            return Ok(());
        }
        let active = Column::Memory(&[]);
        let columns = Columns { values, active, states: Column::Made(&|visit| states.each(visit)) };
        write_columns(checkpoints, graph, shape, columns, reached)
    }
}

/// The columns of a run that has them in memory. Signals follow from values.
pub(super) struct InMemory<'a, E: Extended> {
    pub(super) program: &'a E,
    pub(super) stripes: &'a [Stripe],
    pub(super) values: &'a mut [E::Value],
    pub(super) signals: &'a mut [E::Signal],
    pub(super) states: &'a mut EdgeStates<E::State>,
}

impl<E: Extended> Settable for InMemory<'_, E> {
    fn values(&mut self, stripe: usize, fill: &mut Fill<'_>) -> Result<(), EngineError> {
        let vertices = &self.stripes[stripe].vertices;
        let place = vertices.start as usize..vertices.end as usize;
        fill(cast_slice_mut(&mut self.values[place.clone()]))?;
        for (signal, value) in self.signals[place.clone()].iter_mut().zip(&self.values[place]) {
            *signal = self.program.signal(value);
        }
        Ok(())
    }

    fn active(&mut self, _: usize, _: &mut Fill<'_>) -> Result<(), EngineError> {
        Err(nobody_asks())
    }

    fn states(&mut self, fill: &mut Fill<'_>) -> Result<(), EngineError> {
        self.states.fill(fill)
    }

    fn finish(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
}

/// The columns of a run that has them on storage. What follows from values the run makes itself.
pub(super) struct OnStorage<'a, S> {
    values: Stored<'a>,
    states: &'a mut EdgeStates<S>,
}

impl<'a, S: Pod + Send> OnStorage<'a, S> {
    pub(super) fn new(
        graph: &'a Graph,
        values: &'a StoredValues,
        states: &'a mut EdgeStates<S>,
    ) -> Result<Self, EngineError> {
        Ok(Self { values: Stored::new(graph, values, None)?, states })
    }
}

impl<S: Pod + Send> Settable for OnStorage<'_, S> {
    fn values(&mut self, stripe: usize, fill: &mut Fill<'_>) -> Result<(), EngineError> {
        self.values.values(stripe, fill)
    }

    fn active(&mut self, _: usize, _: &mut Fill<'_>) -> Result<(), EngineError> {
        Err(nobody_asks())
    }

    fn states(&mut self, fill: &mut Fill<'_>) -> Result<(), EngineError> {
        self.states.fill(fill)
    }

    fn finish(&mut self) -> Result<(), EngineError> {
        self.values.finish()
    }
}

fn nobody_asks() -> EngineError {
    EngineError::internal("no vertex of an extended program is inactive")
}
