//! Work on one partition, and its stages.

use std::collections::{BTreeMap, VecDeque};

use crate::holders::Holders;
use crate::ids::{BlockName, Cell};
use crate::payload::Payload;
use crate::pulls::Pulls;
use crate::times::Spent;

/// Work on one partition.
pub(super) struct Task {
    pub(super) partition: u32,
    pub(super) stolen: bool,
    pub(super) stage: Stage,
    pub(super) loading: BTreeMap<BlockName, Option<Payload>>,
    /// Of these the ones that were not asked for, and how many of the others have not come.
    pub(super) unasked: VecDeque<BlockName>,
    pub(super) asked: usize,
    /// Source partitions whose cells are not begun (route `fold`).
    pub(super) cells: VecDeque<u32>,
    /// Source partition of the cell at work, and whether its signals are in memory.
    pub(super) source: Option<u32>,
    pub(super) turned: bool,
    /// Active ranges of sources of the cell at work.
    pub(super) active: u64,
    pub(super) pulls: Pulls,
    /// Engines that may have chunks of cells.
    pub(super) holders: Holders,
    /// Cells that come next, in their order.
    pub(super) ahead: VecDeque<Ahead>,
    /// Records of the chunks that have come.
    pub(super) taken: u64,
}

/// A cell of which chunks are asked for while the last chunks of those before come; signals too, of
/// the first of these cells.
pub(super) struct Ahead {
    pub(super) source: u32,
    /// Active ranges of its sources.
    pub(super) active: u64,
    pub(super) pulls: Pulls,
    /// Whether its signals were asked for.
    pub(super) loads: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The vertex set, for values.
    Loading,
    Opening,
    Streaming,
    /// The master merges what a stealer has sent, between chunks.
    Interrupted,
    /// A vertex set, for signals of the cell at work.
    Turning,
    Flushing,
    /// A stealer waits for the master.
    Waiting,
    HandingOver,
    /// A master waits for stealers, or merges.
    Collecting,
    Applying,
    /// First values are made, in the ingest.
    Making,
    Reading,
}

impl Task {
    pub(super) fn new(partition: u32, stolen: bool, stage: Stage) -> Self {
        Self {
            partition,
            stolen,
            stage,
            loading: BTreeMap::new(),
            unasked: VecDeque::new(),
            asked: 0,
            cells: VecDeque::new(),
            source: None,
            turned: false,
            active: 0,
            pulls: Pulls::default(),
            holders: Holders::default(),
            ahead: VecDeque::new(),
            taken: 0,
        }
    }

    /// Asks for no further chunk, and leaves those that are not handed out to others.
    pub(super) fn stop(&mut self) {
        self.cells.clear();
        self.pulls.stop();
        self.ahead.iter_mut().for_each(|ahead| ahead.pulls.stop());
    }

    /// The cell that is pulled.
    pub(super) fn cell(&self) -> Cell {
        Cell { partition: self.partition, source: self.source }
    }

    /// The pulls of a cell, if that is at work or comes soon.
    pub(super) fn pulls_of(&mut self, cell: Cell) -> Option<&mut Pulls> {
        if self.cell() == cell {
            return Some(&mut self.pulls);
        }
        let Cell { partition, source } = cell;
        let mut ahead = self.ahead.iter_mut().filter(|_| partition == self.partition);
        ahead.find(|ahead| Some(ahead.source) == source).map(|ahead| &mut ahead.pulls)
    }

    /// Pulls that are open for cells that come next, but for the first `cells` of them.
    pub(super) fn asked_after(&self, cells: usize) -> usize {
        self.ahead.iter().skip(cells).map(|ahead| ahead.pulls.under_way()).sum()
    }

    /// Whether all chunks of the vertex set that was asked for have come.
    pub(super) fn is_loaded(&self) -> bool {
        self.loading.values().all(Option::is_some)
    }

    /// Kind of time that its engine spends, which has the program at work, or waits.
    pub(super) fn spent(&self, works: bool) -> Spent {
        match self.stage {
            Stage::Waiting | Stage::Collecting if !works => Spent::Idle,
            Stage::Collecting | Stage::Interrupted => Spent::Merging,
            Stage::HandingOver => Spent::Copying,
            Stage::Loading | Stage::Opening | Stage::Turning if self.stolen => Spent::Copying,
            _ if self.stolen => Spent::Stolen,
            _ => Spent::Own,
        }
    }

    /// Whether the sources of the cell at work are not loaded.
    pub(super) fn needs_signals(&self) -> bool {
        self.source.is_some() && !self.turned
    }
}
