//! Look-ups of the edges of single vertices by the run of a monotone program, and their conditions.

use welter_progress::Progress;

use crate::EngineError;
use crate::columns::levels::IterationStats;
use crate::edges::graph::Graph;
use crate::edges::row_layout::out_rows;
use crate::edges::rows::Rows;
use crate::footprints::schedules::PUSH_BELOW;
use crate::machine::workers::Workers;
use crate::plan::FrontierMode;
use crate::schedules::frontier::Selected;

/// Index by which a run looks up the edges of single vertices.
pub(crate) struct AccessPath<'g> {
    graph: &'g Graph,
    pub(crate) out_rows: Option<&'g Rows>,
    /// Where vertices may look for one that is active.
    pub(crate) in_rows: Option<&'g Rows>,
    /// Vertices that were looked up in the index of granules.
    banded: u64,
    /// Edges that were met in passing while few vertices were active.
    passed: u64,
}

impl<'g> AccessPath<'g> {
    /// `one_is_enough`: whether one update is as good for a vertex as all.
    pub(crate) fn new(graph: &'g Graph, one_is_enough: bool) -> Self {
        let out_rows = graph.out_rows.get();
        let may_pull = one_is_enough && graph.plan.frontier_mode() != FrontierMode::Dense;
        let in_rows = if graph.symmetric { out_rows } else { graph.in_rows.as_ref() };
        let in_rows = in_rows.filter(|_| may_pull);
        Self { graph, out_rows, in_rows, banded: 0, passed: 0 }
    }

    /// With more edges than this, active vertices are not looked up.
    pub(crate) fn edges_most(&self) -> u64 {
        self.graph.edges()
            / match (self.out_rows, self.in_rows) {
                (None, _) => BANDS_BELOW,
                (Some(_), None) => PUSH_BELOW,
                (Some(_), Some(_)) => PULL_ABOVE,
            }
    }

    /// Look-ups so far, in granules and in passing, for a checkpoint.
    pub(crate) fn counts(&self) -> [u64; 2] {
        [self.banded, self.passed]
    }

    /// Continues from a checkpoint: rows that would be there by now are made.
    pub(crate) fn resume(
        &mut self,
        [banded, passed]: [u64; 2],
        workers: &Workers,
        progress: &Progress,
    ) -> Result<(), EngineError> {
        (self.banded, self.passed) = (banded, passed);
        let pay = self.granules_pay() || self.passes_pay();
        self.make_rows(pay, workers, progress)
    }

    /// Makes rows, where there are none, the plan has them, and they `pay` by now.
    fn make_rows(
        &mut self,
        pay: bool,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<(), EngineError> {
        let graph = self.graph;
        if pay && graph.plan.index().has_rows() && self.out_rows.is_none() {
            self.out_rows = Some(out_rows(graph, workers, progress)?);
        }
        Ok(())
    }

    /// Whether rows would have paid, by what was looked up in granules.
    fn granules_pay(&self) -> bool {
        self.banded > self.graph.edges() / ROWS_PAY_AT
    }

    /// Whether rows would have paid, by what was met in passing.
    fn passes_pay(&self) -> bool {
        self.passed > self.graph.edges().saturating_mul(ROWS_PAY_PASSES)
    }

    /// Counts vertices that are looked up in the index of granules, and makes rows when by now they
    /// would have paid: whatever comes, that costs at most about twice what the best choice would
    /// have cost.
    pub(crate) fn count(
        &mut self,
        selected: &Selected,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<(), EngineError> {
        self.banded += selected.vertices.len() as u64;
        self.make_rows(self.granules_pay(), workers, progress)
    }

    /// Counts edges that were met in passing where there is nothing to look vertices up in, as in a
    /// graph that was kept, and makes rows when by now they would have paid.
    pub(crate) fn pass(
        &mut self,
        level: IterationStats,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<(), EngineError> {
        let graph = self.graph;
        let may = graph.plan.index().has_rows() && graph.index.is_none();
        if !may || self.out_rows.is_some() || level.active > graph.vertices() / FEW_ACTIVE {
            return Ok(());
        }
        self.passed += level.edges;
        self.make_rows(self.passes_pay(), workers, progress)
    }
}

/// An iteration looks vertices up in the index of granules when they have fewer than one in
/// `BANDS_BELOW` of all edges: finding the edges of one costs as much as folding some tens of them
/// in passing.
const BANDS_BELOW: u64 = 24;
/// Divisor of all edges below which an iteration looks vertices up, where rows both ways let
/// vertices look for an active one too.
const PULL_ABOVE: u64 = 20;
/// To look up a vertex in the index of granules costs about as much as to lay `ROWS_PAY_AT` edges
/// in rows.
const ROWS_PAY_AT: u64 = 32;
/// To lay all edges in rows costs about as much as to meet them so often in passing.
const ROWS_PAY_PASSES: u64 = 8;
/// Few vertices are active when fewer than one in `FEW_ACTIVE` are.
const FEW_ACTIVE: u64 = 16;
