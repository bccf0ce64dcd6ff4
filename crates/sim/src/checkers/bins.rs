//! No machine has a bin open for each cell: what one fills before it takes up something else is of
//! as many cells as there are partitions, at most, or as bins may be open.
//!
//! ```text
//! | cells of what x filled in an ingest, or in one partition that it took up |
//!     <=  max(bins_open_max, P)
//! ```
//!
//! Not checked: bins that were open and were never filled, and how large one is.

use std::collections::{BTreeMap, BTreeSet};

use welter_protocol::config::Config;
use welter_protocol::ids::Cell;
use welter_protocol::work::Filled;
use welter_protocol::{Outcome, Work};

use super::scene::Scene;

/// Cells that each process has filled bins of since it took something up.
pub struct Bins {
    most: u64,
    filled: BTreeMap<usize, BTreeSet<Cell>>,
}

impl Bins {
    /// The bins of machines that may have as many open as `config` says.
    pub fn new(config: &Config) -> Self {
        let most = config.bins_open_max.max(config.partitions.count().into());
        Self { most, filled: BTreeMap::new() }
    }

    /// A program has done something.
    ///
    /// # Errors
    /// When it must have had more bins open than it may.
    pub fn work(&mut self, scene: Scene, work: &Work, outcome: &Outcome) -> Result<(), String> {
        let cells = self.filled.entry(scene.process).or_default();
        if matches!(work, Work::Open { .. } | Work::Ingest { first: true }) {
            cells.clear();
        }
        let (Outcome::Ingested { filled, .. }
        | Outcome::Streamed { filled, .. }
        | Outcome::Applied { filled, .. }
        | Outcome::Flushed { filled, .. }) = outcome
        else {
            return Ok(());
        };
        let of = |&Filled { partition, source, .. }: &Filled| Cell { partition, source };
        cells.extend(filled.iter().map(of));
        if cells.len() as u64 <= self.most {
            return Ok(());
        }
        let (rank, found, most) = (scene.rank, cells.len(), self.most);
        Err(format!("{rank} has filled bins of {found} cells, and may have {most} open"))
    }
}
