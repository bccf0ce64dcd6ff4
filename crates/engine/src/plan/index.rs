//! The index by which iterations look up the edges of single vertices.

use super::premises::Premises;
use super::settings::IndexMode;

/// Index by which the edges of single vertices are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// No index: edges are met in passing.
    None,
    /// The place of each granule of sources in each tile.
    Granules,
    /// Rows, which there is room for once looking vertices up otherwise has cost as much.
    RowsOncePaid {
        /// Whether vertices are looked up in granules until then.
        granules: bool,
    },
    /// Rows of targets, made at once.
    Rows {
        /// Whether rows of sources are made too, so that vertices can look for an active one.
        both_directions: bool,
    },
}

impl Index {
    /// The index of edges in memory. `rows`: whether there is room for these.
    pub(super) fn new(premises: &Premises, rows: bool) -> Self {
        let Premises { program, settings, .. } = premises;
        match (rows, settings.index) {
            (true, IndexMode::Rows) => Self::Rows { both_directions: program.pulls() },
            (true, _) => Self::RowsOncePaid { granules: program.has_frontier() },
            (false, _) if program.has_frontier() => Self::Granules,
            (false, _) => Self::None,
        }
    }

    /// The index of a graph that is kept, which has no granules.
    pub(super) fn of_kept(premises: &Premises, rows: bool) -> Self {
        match Self::new(premises, rows) {
            Self::Granules => Self::None,
            Self::RowsOncePaid { .. } => Self::RowsOncePaid { granules: false },
            other => other,
        }
    }

    /// Whether there is room for rows.
    pub fn has_rows(self) -> bool {
        matches!(self, Self::RowsOncePaid { .. } | Self::Rows { .. })
    }

    /// Whether rows of sources are made beside those of targets.
    pub fn has_both_directions(self) -> bool {
        matches!(self, Self::Rows { both_directions: true })
    }
}

impl Premises {
    /// Whether rows serve the program, unless there is no room for them.
    pub(super) fn wants_rows(&self) -> bool {
        self.settings.index != IndexMode::Granules
            && self.program.uses_index()
            && self.shape.edges < 1 << 32
    }
}
