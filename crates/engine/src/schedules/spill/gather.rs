//! Sources of updates that stripes are gathered from.

use std::vec::IntoIter;

use crate::EngineError;
use crate::columns::edge_states::Rewriter;
use crate::columns::stripe_columns::StripeColumns;
use crate::columns::updates::UpdateChunk;
use crate::machine::per_worker::PerWorker;

/// Input that the values of an iteration are made from.
#[derive(Clone, Copy)]
pub(super) enum StepInput<'t> {
    Nothing,
    /// Values are there, from a checkpoint; what follows from them is not.
    Values,
    /// Updates that wait. With the totals of the iteration before.
    Updates(&'t [u8]),
}

/// Arguments by which the stripes of an iteration are gathered.
pub(super) struct Gather<'p> {
    pub(super) basis: StepInput<'p>,
    pub(super) combined: bool,
    /// Updates of the stripes that are still to be gathered, in their order.
    pub(super) waiting: IntoIter<Vec<UpdateChunk>>,
    /// Bytes of states of their edges that are in memory.
    pub(super) resident: IntoIter<&'p mut [u8]>,
    /// Ways along the others, one a worker.
    pub(super) rewriters: PerWorker<Option<Rewriter<'p>>>,
}

/// A stripe that is gathered.
pub(super) struct GatheredStripe<'p> {
    pub(super) number: usize,
    pub(super) columns: StripeColumns<'p>,
    pub(super) waiting: Vec<UpdateChunk>,
    /// Bytes of states of its edges that are in memory.
    pub(super) states: &'p mut [u8],
}

pub(super) fn no_states() -> EngineError {
    EngineError::internal("edges of an extended program have states")
}
