//! The columns of a run by spilled updates: on storage, and of one partition in memory.

use std::ops::Range;

use super::vertices;
use crate::EngineError;
use crate::checkpoint::CheckpointColumns;
use crate::columns::edge_states::EdgeStates;
use crate::columns::windows::{Side, SideReader, SourceWindow};
use crate::edges::graph::Graph;
use crate::edges::values::StoredColumn;
use crate::kernels::shape::KernelShape;
use crate::machine::arena::Buffer;
use crate::machine::storage::Storage;
use crate::plan::SpillPlan;

/// The columns of a run.
pub(super) struct SpillColumns {
    pub(super) values: StoredColumn,
    /// Signals between gather and scatter, where these are not fused.
    pub(super) signals: Option<StoredColumn>,
    /// Flags of active vertices: between gather and scatter too, or for checkpoints.
    pub(super) active: Option<StoredColumn>,
}

impl SpillColumns {
    /// `keeps_active`: whether who is active will be part of a checkpoint.
    pub(super) fn new(
        graph: &Graph,
        shape: &KernelShape,
        storage: &Storage,
        (plan, keeps_active): (SpillPlan, bool),
    ) -> Result<Self, EngineError> {
        let in_memory = plan.resident.then(|| storage.in_memory());
        let storage = in_memory.as_ref().unwrap_or(storage);
        let signals = || graph.column(storage, shape.signal);
        let active = || graph.column(storage, 1);
        let flags = shape.capabilities.frontier && (!plan.fused || keeps_active);
        Ok(Self {
            values: graph.column(storage, shape.value)?,
            signals: (!plan.fused).then(signals).transpose()?,
            active: flags.then(active).transpose()?,
        })
    }

    /// The side that scatter reads, where gather was not just there.
    fn side(&self) -> Option<Side<'_>> {
        self.signals.as_ref().map(|signals| Side { signals, active: self.active.as_ref() })
    }

    /// Columns that a checkpoint is made of.
    pub(super) fn kept<'a>(&'a self, states: Option<&'a EdgeStates>) -> CheckpointColumns<'a> {
        CheckpointColumns::stored(&self.values, self.active.as_ref(), states)
    }
}

/// Signals of the sources of a partition. A tile that begins before the partition, or reaches
/// beyond, finds room on both sides, where no vertex is active; in extended programs, whose edges
/// are looked through one by one, there are no such rooms, and no flags.
pub(super) struct PartitionWindow<'c> {
    signals: Buffer<u8>,
    active: Buffer<u8>,
    /// Room on either side, for this number of sources.
    margin: usize,
    /// Bytes of a signal.
    width: usize,
    /// Signals and flags between gather and scatter, where they are stored, and their reader.
    stored: Option<(Side<'c>, SideReader)>,
}

impl<'c> PartitionWindow<'c> {
    pub(super) fn new(
        graph: &Graph,
        shape: &KernelShape,
        partitions: &[Range<usize>],
        columns: &'c SpillColumns,
    ) -> Result<Self, EngineError> {
        let widths = partitions.iter().map(|stripes| vertices(graph, stripes));
        let widest = widths.map(|vertices| vertices.end - vertices.start).max().unwrap_or(0);
        let has_flags = shape.state == 0;
        let margin = if has_flags { graph.signal_padding() } else { 0 };
        let room = widest as usize + 2 * margin;
        let stored = |side: Side<'c>| Ok::<_, EngineError>((side, SideReader::new(side)?));
        let stored = columns.side().map(stored).transpose()?;
        let signals = Buffer::zeroed(room * shape.signal)?;
        let active = Buffer::zeroed(if has_flags { room } else { 0 })?;
        Ok(Self { signals, active, margin, width: shape.signal, stored })
    }

    /// The columns, whose own sources begin with `first`, with the rooms on both sides; with flags
    /// where some source is not active, and without.
    pub(super) fn sources(&self, first: u64) -> [SourceWindow<'_>; 2] {
        let first = first.wrapping_sub(self.margin as u64);
        let signals = (&self.signals[..], self.width);
        [Some(&self.active[..]), None].map(|active| SourceWindow::new(first, signals, active))
    }

    /// Flags of `count` sources of the partition.
    pub(super) fn flags(&self, count: usize) -> &[u8] {
        &self.active[self.margin..][..count]
    }

    /// Signals of `count` sources of the partition.
    pub(super) fn signals(&self, count: usize) -> &[u8] {
        &self.signals[self.margin * self.width..][..count * self.width]
    }

    /// Signals and flags of the partition's own sources.
    pub(super) fn own_mut(&mut self) -> (&mut [u8], &mut [u8]) {
        (&mut self.signals[self.margin * self.width..], &mut self.active[self.margin..])
    }

    /// Makes room for a partition of which all are active.
    pub(super) fn open(&mut self, width: usize) {
        if !self.active.is_empty() {
            self.active[self.margin..][..width].fill(1);
            self.active[self.margin + width..].fill(0);
        }
    }

    /// Reads what the sources of a partition said.
    pub(super) fn load(&mut self, vertices: &Range<u64>) -> Result<(), EngineError> {
        self.open((vertices.end - vertices.start) as usize);
        let Self { signals, active, margin, width, stored } = self;
        let Some((side, reader)) = stored else { return Ok(()) };
        let own = (&mut signals[*margin * *width..], &mut active[*margin..]);
        reader.read(*side, vertices, own)
    }
}
