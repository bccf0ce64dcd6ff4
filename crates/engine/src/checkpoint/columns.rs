//! The columns of a run, wherever they are: what a checkpoint is made of, and what it is read into.

use crate::EngineError;
use crate::columns::edge_states::EdgeStates;
use crate::columns::state::State;
use crate::columns::striped::{ColumnWriter, StripedColumn};
use crate::edges::graph::{Graph, Stripe};
use crate::edges::values::{Fill, StoredColumn, Visit};
use crate::kernels::seam::Kernel;

/// A column that is written, as bytes.
#[derive(Clone, Copy)]
pub(crate) enum Column<'a> {
    Memory(&'a [u8]),
    Storage(&'a StoredColumn),
    /// States of edges, in the order in which they are shown.
    States(&'a EdgeStates),
    /// A function that shows the column, made as it goes.
    Made(&'a dyn Fn(&mut Visit<'_>) -> Result<(), EngineError>),
}

impl Column<'_> {
    /// Shows what it has of all vertices, in their order, in pieces.
    pub(super) fn each(
        self,
        mut visit: impl FnMut(&[u8]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        match self {
            Self::Memory(column) => visit(column),
            Self::Storage(stored) => stored.each(visit),
            Self::States(states) => states.each(&mut visit),
            Self::Made(show) => show(&mut visit),
        }
    }
}

/// Columns that a checkpoint is made of. Without a frontier it is not asked which vertices are
/// active.
#[derive(Clone, Copy)]
pub(crate) struct CheckpointColumns<'a> {
    pub(crate) values: Column<'a>,
    pub(crate) active: Column<'a>,
    /// The bytes of what edges have, in the order in which they are shown.
    pub(crate) states: Column<'a>,
}

impl<'a> CheckpointColumns<'a> {
    /// Columns on storage, and states of edges, as far as the program has them.
    pub(crate) fn stored(
        values: &'a StoredColumn,
        active: Option<&'a StoredColumn>,
        states: Option<&'a EdgeStates>,
    ) -> Self {
        let none = Column::Memory(&[]);
        Self {
            values: Column::Storage(values),
            active: active.map_or(none, Column::Storage),
            states: states.map_or(none, Column::States),
        }
    }
}

/// Columns that are set to those of a checkpoint, stripe by stripe: first all values, then, in
/// programs with a frontier, who is active. What was set before is set again where a checkpoint
/// turns out to be damaged.
pub(crate) trait Settable {
    fn values(&mut self, stripe: usize, fill: &mut Fill<'_>) -> Result<(), EngineError>;
    fn active(&mut self, stripe: usize, fill: &mut Fill<'_>) -> Result<(), EngineError>;
    /// Sets the states of all edges, where these have some.
    fn states(&mut self, _fill: &mut Fill<'_>) -> Result<(), EngineError> {
        Ok(())
    }
    /// Waits until all is where it belongs.
    fn finish(&mut self) -> Result<(), EngineError>;
}

/// The columns of a run. What follows from values is set beside them where it is in memory; else
/// the run makes it itself.
pub(crate) struct RunColumns<'a> {
    stripes: &'a [Stripe],
    values: ColumnWriter<'a>,
    /// Signals, and the kernel that makes them of values.
    signals: Option<(&'a dyn Kernel, &'a mut [u8])>,
    active: Option<ColumnWriter<'a>>,
    states: Option<&'a mut EdgeStates>,
}

impl<'a> RunColumns<'a> {
    /// Columns of which signals are in memory.
    pub(crate) fn resident(
        graph: &'a Graph,
        kernel: &'a dyn Kernel,
        state: &'a mut State,
        states: Option<&'a mut EdgeStates>,
    ) -> Result<Self, EngineError> {
        let State { values, signals: [signals, _], active: [active, _], .. } = state;
        Ok(Self {
            stripes: &graph.stripes,
            values: values.writer()?,
            signals: Some((kernel, signals)),
            active: Some(ColumnWriter::Memory(active, 1)),
            states,
        })
    }

    /// Columns on storage.
    pub(crate) fn stored(
        graph: &'a Graph,
        values: &'a StoredColumn,
        active: Option<&'a StoredColumn>,
        states: Option<&'a mut EdgeStates>,
    ) -> Result<Self, EngineError> {
        let active = active.map(ColumnWriter::stored).transpose()?;
        let values = ColumnWriter::stored(values)?;
        Ok(Self { stripes: &graph.stripes, values, signals: None, active, states })
    }
}

impl Settable for RunColumns<'_> {
    fn values(&mut self, stripe: usize, fill: &mut Fill<'_>) -> Result<(), EngineError> {
        let Self { stripes, values, signals, .. } = self;
        let vertices = &stripes[stripe].vertices;
        values.set((stripe, vertices), |values| {
            fill(values)?;
            if let Some((kernel, signals)) = signals {
                let width = kernel.shape().signal;
                let own = vertices.start as usize * width..vertices.end as usize * width;
                kernel.signal(values, &mut signals[own]);
            }
            Ok(())
        })
    }

    fn active(&mut self, stripe: usize, fill: &mut Fill<'_>) -> Result<(), EngineError> {
        let Some(active) = &mut self.active else {
            let what = "a run with a frontier does not keep who is active";
            return Err(EngineError::internal(what));
        };
        active.set((stripe, &self.stripes[stripe].vertices), |flags| Ok(fill(flags)?))
    }

    fn states(&mut self, fill: &mut Fill<'_>) -> Result<(), EngineError> {
        self.states.as_mut().map_or(Ok(()), |states| states.fill(fill))
    }

    fn finish(&mut self) -> Result<(), EngineError> {
        self.values.finish()?;
        self.active.as_mut().map_or(Ok(()), ColumnWriter::finish)
    }
}

impl<'a> From<&'a StripedColumn> for Column<'a> {
    fn from(column: &'a StripedColumn) -> Self {
        match column {
            StripedColumn::Memory { bytes, .. } => Self::Memory(bytes),
            StripedColumn::Storage(stored) => Self::Storage(stored),
        }
    }
}

impl State {
    /// Columns that a checkpoint is made of.
    pub(crate) fn columns<'a>(
        &'a self,
        graph: &Graph,
        states: Option<&'a EdgeStates>,
    ) -> CheckpointColumns<'a> {
        let values = Column::from(&self.values);
        let has_flags = self.shape.capabilities.frontier;
        let flags = if has_flags { graph.vertices() as usize } else { 0 };
        let active = Column::Memory(&self.active[0][..flags]);
        CheckpointColumns {
            values,
            active,
            states: states.map_or(Column::Memory(&[]), Column::States),
        }
    }
}
