//! The checkpoints of a run of a kernel: where it begins, and when it writes another one.
//!
//! Beside values a checkpoint has who is active, in programs with a frontier, and the states of
//! edges, in extended ones, in the order in which these lie: by stripe on routes `fold` and
//! `spill`, by range and worker on `ranges`, and within these as chunks have the edges. So a run
//! with states continues only where the plan lays them out alike.

use super::{
    CheckpointColumns, Checkpoints, RunColumns, RunProgress, Settable, Shape, refuse_relaxing,
    restore_columns, write_columns,
};
use crate::EngineError;
use crate::columns::edge_states::EdgeStates;
use crate::edges::graph::Graph;
use crate::edges::values::StoredColumn;
use crate::kernels::layout::EdgeLayout;
use crate::kernels::shape::KernelShape;

/// Order of edges that come by stripe by stripe.
pub(crate) const BY_STRIPE: [u64; 3] = [0; 3];

/// The order of edges that come by to `workers` workers, range by range, in windows of
/// `window_sources` sources.
pub(crate) fn by_range(workers: usize, window_sources: u64) -> [u64; 3] {
    [1, workers as u64, window_sources]
}

/// Checkpoints of a run, if it keeps any.
pub(crate) struct Resume<'c> {
    kept: Option<(&'c Checkpoints, Shape)>,
    must_relax: bool,
}

impl<'c> Resume<'c> {
    /// Checkpoints of a run of a kernel whose edges, where these have states, lie in these lanes,
    /// in this way. The directory must have room for them.
    pub(crate) fn new(
        checkpoints: Option<&'c Checkpoints>,
        graph: &Graph,
        kernel: &KernelShape,
        (lanes, way): (&[u64], [u64; 3]),
    ) -> Result<Self, EngineError> {
        let must_relax = kernel.capabilities.must_relax;
        let Some(checkpoints) = checkpoints else { return Ok(Self { kept: None, must_relax }) };
        let widths = [kernel.value, kernel.total];
        let mut shape = Shape::of_widths(graph, widths, kernel.capabilities.frontier);
        if kernel.state > 0 {
            let EdgeLayout { encoding, stripe_bits, block_bits, wide_tiles, .. } = graph.layout;
            let encoding =
                [encoding as u64, stripe_bits.into(), block_bits.into(), wide_tiles.into()];
            shape = shape.with_states(kernel.state, &[&encoding[..], &way, lanes].concat());
        }
        checkpoints.check_space_of(&shape)?;
        Ok(Self { kept: Some((checkpoints, shape)), must_relax })
    }

    /// Sets columns on storage to those of the last checkpoint, and says how far that was; `None`
    /// where there is none. What follows from them the run makes itself.
    pub(crate) fn restore(
        &self,
        graph: &Graph,
        (values, active): (&StoredColumn, Option<&StoredColumn>),
        states: Option<&mut EdgeStates>,
    ) -> Result<Option<RunProgress>, EngineError> {
        if self.kept.is_none() {
            return Ok(None);
        }
        let reached = self.restore_to(graph, RunColumns::stored(graph, values, active, states)?)?;
        if reached.as_ref().is_some_and(|reached| self.must_relax(reached)) {
            return Err(refuse_relaxing());
        }
        Ok(reached)
    }

    /// Whether relaxing edges is the only way on from what was reached.
    pub(crate) fn must_relax(&self, reached: &RunProgress) -> bool {
        self.must_relax && reached.is_asynchronous()
    }

    /// Sets columns wherever they are.
    pub(crate) fn restore_to(
        &self,
        graph: &Graph,
        columns: impl Settable,
    ) -> Result<Option<RunProgress>, EngineError> {
        let Some((checkpoints, shape)) = self.kept else { return Ok(None) };
        restore_columns(checkpoints, graph, shape, columns)
    }

    /// Writes a checkpoint, if one is due.
    pub(crate) fn write<'s>(
        &self,
        columns: impl FnOnce() -> CheckpointColumns<'s>,
        reached: &RunProgress,
    ) -> Result<(), EngineError> {
        let Some((checkpoints, shape)) = self.kept else { return Ok(()) };
        if !checkpoints.is_due_of(reached.iterations, shape.column_bytes()) {
            return Ok(());
        }
        write_columns(checkpoints, shape, columns(), reached)
    }
}
