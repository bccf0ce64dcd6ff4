//! What stripes are gathered from.

use std::sync::Mutex;

use crate::EngineError;
use crate::columns::edge_states::Rewriter;
use crate::columns::updates::UpdateChunk;

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
    pub(super) waiting: Vec<Mutex<Vec<UpdateChunk>>>,
    /// Bytes of states of edges that are in memory, by stripe.
    pub(super) resident: Vec<Mutex<&'p mut [u8]>>,
    /// Ways along the others, one a worker.
    pub(super) rewriters: Vec<Mutex<Option<Rewriter<'p>>>>,
}

pub(super) fn no_states() -> EngineError {
    EngineError::internal("edges of an extended program have states")
}
