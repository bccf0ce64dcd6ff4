//! The columns of a run by ranges, all of them on storage.

use welter_model::program::Program;

use crate::EngineError;
use crate::checkpoint::{self, Column};
use crate::columns::values::{Desk, StoredValues};
use crate::columns::windows::Side;
use crate::edges::graph::Graph;
use crate::machine::storage::Storage;

/// The columns of a run.
pub(super) struct Columns {
    pub(super) values: StoredValues,
    /// Two of each, which take turns: what scatter reads, and what the next iteration will read.
    pub(super) signals: [StoredValues; 2],
    pub(super) active: Option<[StoredValues; 2]>,
}

impl Columns {
    /// `keeps_active`: whether who is active will be part of a checkpoint.
    pub(super) fn new<P: Program>(
        graph: &Graph,
        storage: &Storage,
        keeps_active: bool,
    ) -> Result<Self, EngineError> {
        let signals = || StoredValues::new::<P::Signal>(graph, storage);
        let active = || StoredValues::new::<u8>(graph, storage);
        let flags = P::FRONTIER && (asks::<P>() || keeps_active);
        Ok(Self {
            values: StoredValues::new::<P::Value>(graph, storage)?,
            signals: [signals()?, signals()?],
            active: flags.then(|| Ok::<_, EngineError>([active()?, active()?])).transpose()?,
        })
    }

    pub(super) fn side(&self, turn: usize) -> Side<'_> {
        let active = self.active.as_ref().map(|active| &active[turn % 2]);
        Side { signals: &self.signals[turn % 2], active }
    }

    /// The side of a turn, with flags only where edges ask for them.
    pub(super) fn asked<P: Program>(&self, turn: usize) -> Side<'_> {
        let Side { signals, active } = self.side(turn);
        Side { signals, active: active.filter(|_| asks::<P>()) }
    }

    /// Columns that a checkpoint is made of.
    pub(super) fn kept(&self, turn: usize) -> checkpoint::Columns<'_> {
        let active = self.side(turn).active.map_or(Column::Memory(&[]), Column::Storage);
        let states = Column::Memory(&[]);
        checkpoint::Columns { values: Column::Storage(&self.values), active, states }
    }
}

/// Whether it is asked at edges who is active: an update of an inactive vertex does no harm in a
/// monotone program.
fn asks<P: Program>() -> bool {
    !P::MONOTONE
}

/// One worker's columns.
pub(super) struct Desks<'s, P: Program> {
    pub(super) values: Desk<'s, P::Value>,
    pub(super) signals: Desk<'s, P::Signal>,
    pub(super) active: Option<Desk<'s, u8>>,
}

impl<'s, P: Program> Desks<'s, P> {
    pub(super) fn new(graph: &Graph, columns: &'s Columns) -> Result<Self, EngineError> {
        let Side { signals, active } = columns.side(0);
        let active = active.map(|active| Desk::new(active, graph)).transpose()?;
        let (values, signals) = (Desk::new(&columns.values, graph)?, Desk::new(signals, graph)?);
        Ok(Self { values, signals, active })
    }

    /// Writes to a side from now on.
    pub(super) fn turn(&mut self, side: Side<'s>) -> Result<(), EngineError> {
        self.signals.turn(side.signals)?;
        match (&mut self.active, side.active) {
            (Some(desk), Some(active)) => desk.turn(active),
            _ => Ok(()),
        }
    }

    pub(super) fn finish(&mut self) -> Result<(), EngineError> {
        self.values.finish()?;
        self.signals.finish()?;
        self.active.as_mut().map_or(Ok(()), Desk::finish)
    }
}
