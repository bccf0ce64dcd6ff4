//! The columns of a run, wherever they are: what a checkpoint is made of, and what it is read into.

use crate::EngineError;
use crate::columns::edge_states::EdgeStates;
use crate::columns::state::State;
use crate::columns::values::{ColumnIo, Fill, StoredColumn, Visit};
use crate::edges::graph::{Graph, Stripe};
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

/// Columns that a checkpoint is made of. Without a frontier nobody asks who is active.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a> {
    pub(crate) values: Column<'a>,
    pub(crate) active: Column<'a>,
    /// The bytes of what edges have, in the order in which they are shown.
    pub(crate) states: Column<'a>,
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

/// The columns of a run whose signals are in memory. Signals follow from values.
pub(crate) struct Resident<'a> {
    kernel: &'a dyn Kernel,
    stripes: &'a [Stripe],
    values: &'a mut [u8],
    stored: Option<ColumnIo<'a, u8>>,
    signals: &'a mut [u8],
    active: &'a mut [u8],
    states: Option<&'a mut EdgeStates>,
}

impl<'a> Resident<'a> {
    pub(crate) fn new(
        graph: &'a Graph,
        kernel: &'a dyn Kernel,
        state: &'a mut State,
        states: Option<&'a mut EdgeStates>,
    ) -> Result<Self, EngineError> {
        let State { values, stored, signals: [signals, _], active: [active, _], .. } = state;
        let stored = stored.as_ref().map(ColumnIo::new).transpose()?;
        Ok(Self { kernel, stripes: &graph.stripes, values, stored, signals, active, states })
    }

    /// The bytes of the vertices of a stripe in a column of this width.
    fn place(&self, stripe: usize, width: usize) -> std::ops::Range<usize> {
        let vertices = &self.stripes[stripe].vertices;
        vertices.start as usize * width..vertices.end as usize * width
    }
}

impl Settable for Resident<'_> {
    fn values(&mut self, stripe: usize, fill: &mut Fill<'_>) -> Result<(), EngineError> {
        let shape = self.kernel.shape();
        let (place, said) = (self.place(stripe, shape.value), self.place(stripe, shape.signal));
        let mut away = self.stored.as_mut().map(ColumnIo::blank).transpose()?;
        let values = match &mut away {
            Some(column) => &mut column[..place.len()],
            None => &mut self.values[place],
        };
        fill(values)?;
        self.kernel.signal(values, &mut self.signals[said]);
        match (&mut self.stored, away) {
            (Some(desk), Some(column)) => desk.put(stripe, column),
            _ => Ok(()),
        }
    }

    fn active(&mut self, stripe: usize, fill: &mut Fill<'_>) -> Result<(), EngineError> {
        let place = self.place(stripe, 1);
        Ok(fill(&mut self.active[place])?)
    }

    fn states(&mut self, fill: &mut Fill<'_>) -> Result<(), EngineError> {
        self.states.as_mut().map_or(Ok(()), |states| states.fill(fill))
    }

    fn finish(&mut self) -> Result<(), EngineError> {
        self.stored.as_mut().map_or(Ok(()), ColumnIo::finish)
    }
}

/// The columns of a run whose signals are not. What follows from them the run makes itself.
pub(crate) struct Stored<'a> {
    stripes: &'a [Stripe],
    values: ColumnIo<'a, u8>,
    /// Bytes of the value of a vertex.
    width: usize,
    active: Option<ColumnIo<'a, u8>>,
    states: Option<&'a mut EdgeStates>,
}

impl<'a> Stored<'a> {
    pub(crate) fn new(
        graph: &'a Graph,
        values: &'a StoredColumn,
        active: Option<&'a StoredColumn>,
        states: Option<&'a mut EdgeStates>,
    ) -> Result<Self, EngineError> {
        let active = active.map(ColumnIo::new).transpose()?;
        let (width, values) = (values.elements::<u8>(), ColumnIo::new(values)?);
        Ok(Self { stripes: &graph.stripes, values, width, active, states })
    }
}

impl Settable for Stored<'_> {
    fn values(&mut self, stripe: usize, fill: &mut Fill<'_>) -> Result<(), EngineError> {
        let mut column = self.values.blank()?;
        fill(&mut column[..self.stripes[stripe].width() * self.width])?;
        self.values.put(stripe, column)
    }

    fn active(&mut self, stripe: usize, fill: &mut Fill<'_>) -> Result<(), EngineError> {
        let Some(desk) = &mut self.active else {
            let what = "a run with a frontier does not keep who is active";
            return Err(EngineError::internal(what));
        };
        let mut column = desk.blank()?;
        fill(&mut column[..self.stripes[stripe].width()])?;
        desk.put(stripe, column)
    }

    fn states(&mut self, fill: &mut Fill<'_>) -> Result<(), EngineError> {
        self.states.as_mut().map_or(Ok(()), |states| states.fill(fill))
    }

    fn finish(&mut self) -> Result<(), EngineError> {
        self.values.finish()?;
        self.active.as_mut().map_or(Ok(()), ColumnIo::finish)
    }
}

impl State {
    /// Columns that a checkpoint is made of.
    pub(crate) fn columns<'a>(
        &'a self,
        graph: &Graph,
        states: Option<&'a EdgeStates>,
    ) -> Columns<'a> {
        let values = match &self.stored {
            Some(stored) => Column::Storage(stored),
            None => Column::Memory(&self.values[..]),
        };
        let has_flags = self.shape.capabilities.frontier;
        let flags = if has_flags { graph.vertices() as usize } else { 0 };
        let active = Column::Memory(&self.active[0][..flags]);
        Columns { values, active, states: states.map_or(Column::Memory(&[]), Column::States) }
    }
}
