//! The columns of a run by spilled updates: on storage, and of one partition in memory.

use std::ops::Range;

use welter_model::program::Program;

use super::vertices;
use crate::EngineError;
use crate::checkpoint::{self, Column};
use crate::columns::values::StoredValues;
use crate::columns::windows::{PieceReader, Side};
use crate::edges::graph::Graph;
use crate::machine::arena::Buffer;
use crate::machine::storage::Storage;
use crate::plan::SpillPlan;

/// The columns of a run.
pub(super) struct Columns {
    pub(super) values: StoredValues,
    /// Signals between gather and scatter, where these are not fused.
    pub(super) signals: Option<StoredValues>,
    /// Flags of active vertices: between gather and scatter too, or for checkpoints.
    pub(super) active: Option<StoredValues>,
}

impl Columns {
    /// `keeps_active`: whether who is active will be part of a checkpoint.
    pub(super) fn new<P: Program>(
        graph: &Graph,
        storage: &Storage,
        plan: SpillPlan,
        keeps_active: bool,
    ) -> Result<Self, EngineError> {
        let signals = || StoredValues::new::<P::Signal>(graph, storage);
        let active = || StoredValues::new::<u8>(graph, storage);
        let flags = P::FRONTIER && (!plan.fused || keeps_active);
        Ok(Self {
            values: StoredValues::new::<P::Value>(graph, storage)?,
            signals: (!plan.fused).then(signals).transpose()?,
            active: flags.then(active).transpose()?,
        })
    }

    /// The side that scatter reads, where gather was not just there.
    fn side(&self) -> Option<Side<'_>> {
        self.signals.as_ref().map(|signals| Side { signals, active: self.active.as_ref() })
    }

    /// Columns that a checkpoint is made of.
    pub(super) fn kept(&self) -> checkpoint::Columns<'_> {
        let active = self.active.as_ref().map_or(Column::Memory(&[]), Column::Storage);
        let states = Column::Memory(&[]);
        checkpoint::Columns { values: Column::Storage(&self.values), active, states }
    }
}

/// Signals of the sources of a partition. A tile that begins before the partition, or reaches
/// beyond, finds room on both sides, where nobody is active.
pub(super) struct Window<'c, P: Program> {
    pub(super) signals: Buffer<P::Signal>,
    pub(super) active: Buffer<u8>,
    /// Room on either side.
    pub(super) margin: usize,
    stored: Option<Stored<'c, P::Signal>>,
}

/// Readers of signals and flags between gather and scatter, and where these are.
type Stored<'s, S> = (Side<'s>, PieceReader<S>, Option<PieceReader<u8>>);

impl<'c, P: Program> Window<'c, P> {
    pub(super) fn new(
        graph: &Graph,
        partitions: &[Range<usize>],
        columns: &'c Columns,
    ) -> Result<Self, EngineError> {
        let widths = partitions.iter().map(|stripes| vertices(graph, stripes));
        let widest = widths.map(|vertices| vertices.end - vertices.start).max().unwrap_or(0);
        let margin = graph.signal_padding();
        let room = widest as usize + 2 * margin;
        let stored = |side: Side<'c>| {
            let active = side.active.map(PieceReader::new).transpose()?;
            Ok::<_, EngineError>((side, PieceReader::new(side.signals)?, active))
        };
        let stored = columns.side().map(stored).transpose()?;
        Ok(Self { signals: Buffer::zeroed(room)?, active: Buffer::zeroed(room)?, margin, stored })
    }

    /// Makes room for a partition of which all are active.
    pub(super) fn open(&mut self, width: usize) {
        self.active[self.margin..][..width].fill(1);
        self.active[self.margin + width..].fill(0);
    }

    /// Reads what the sources of a partition said.
    pub(super) fn load(&mut self, graph: &Graph, vertices: &Range<u64>) -> Result<(), EngineError> {
        self.open((vertices.end - vertices.start) as usize);
        let Self { signals, active, margin, stored } = self;
        let Some((side, reader, flags)) = stored else { return Ok(()) };
        reader.read(graph, side.signals, vertices, &mut signals[*margin..])?;
        match (flags, side.active) {
            (Some(reader), Some(stored)) => {
                reader.read(graph, stored, vertices, &mut active[*margin..])
            }
            _ => Ok(()),
        }
    }
}
