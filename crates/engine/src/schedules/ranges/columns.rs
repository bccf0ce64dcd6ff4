//! The columns of a run by ranges, all of them on storage.

use crate::EngineError;
use crate::checkpoint::CheckpointColumns;
use crate::columns::edge_states::EdgeStates;
use crate::columns::windows::Side;
use crate::edges::graph::Graph;
use crate::edges::values::{ColumnIo, StoredColumn};
use crate::kernels::shape::KernelShape;
use crate::machine::storage::Storage;

/// The columns of a run.
pub(super) struct RangesColumns {
    pub(super) values: StoredColumn,
    /// Two of each, which take turns: what scatter reads, and what the next iteration will read.
    pub(super) signals: [StoredColumn; 2],
    pub(super) active: Option<[StoredColumn; 2]>,
}

impl RangesColumns {
    /// `keeps_active`: whether who is active will be part of a checkpoint.
    pub(super) fn new(
        graph: &Graph,
        shape: &KernelShape,
        storage: &Storage,
        keeps_active: bool,
    ) -> Result<Self, EngineError> {
        let signals = || graph.column(storage, shape.signal);
        let active = || graph.column(storage, 1);
        let flags = shape.capabilities.frontier && (asks(shape) || keeps_active);
        Ok(Self {
            values: graph.column(storage, shape.value)?,
            signals: [signals()?, signals()?],
            active: flags.then(|| Ok::<_, EngineError>([active()?, active()?])).transpose()?,
        })
    }

    pub(super) fn side(&self, turn: usize) -> Side<'_> {
        let active = self.active.as_ref().map(|active| &active[turn % 2]);
        Side { signals: &self.signals[turn % 2], active }
    }

    /// The side of a turn, with flags only where edges ask for them.
    pub(super) fn asked(&self, shape: &KernelShape, turn: usize) -> Side<'_> {
        let Side { signals, active } = self.side(turn);
        Side { signals, active: active.filter(|_| asks(shape)) }
    }

    /// Columns that a checkpoint is made of.
    pub(super) fn kept<'a>(
        &'a self,
        turn: usize,
        states: Option<&'a EdgeStates>,
    ) -> CheckpointColumns<'a> {
        CheckpointColumns::stored(&self.values, self.side(turn).active, states)
    }
}

/// Whether it is asked at edges who is active: an update of an inactive vertex does no harm in a
/// monotone program.
fn asks(shape: &KernelShape) -> bool {
    !shape.capabilities.monotone
}

/// Columns of one worker.
pub(super) struct WorkerColumns<'s> {
    pub(super) values: ColumnIo<'s, u8>,
    pub(super) signals: ColumnIo<'s, u8>,
    pub(super) active: Option<ColumnIo<'s, u8>>,
}

impl<'s> WorkerColumns<'s> {
    pub(super) fn new(columns: &'s RangesColumns) -> Result<Self, EngineError> {
        let Side { signals, active } = columns.side(0);
        let active = active.map(ColumnIo::new).transpose()?;
        let (values, signals) = (ColumnIo::new(&columns.values)?, ColumnIo::new(signals)?);
        Ok(Self { values, signals, active })
    }

    /// Writes to a side from now on.
    pub(super) fn turn(&mut self, side: Side<'s>) -> Result<(), EngineError> {
        self.signals.turn(side.signals)?;
        match (&mut self.active, side.active) {
            (Some(io), Some(active)) => io.turn(active),
            _ => Ok(()),
        }
    }

    pub(super) fn finish(&mut self) -> Result<(), EngineError> {
        self.values.finish()?;
        self.signals.finish()?;
        self.active.as_mut().map_or(Ok(()), ColumnIo::finish)
    }
}
