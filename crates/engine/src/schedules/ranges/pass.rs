//! An iteration by ranges: what its workers share, and what each of them owns.

use std::sync::Mutex;

use crate::columns::edge_states::Stored;
use crate::columns::windows::Side;
use crate::edges::graph::{Graph, Stripe};
use crate::machine::slices::Slices;
use crate::schedules::context::Context;
use crate::schedules::edge_fold::EdgeFold;
use crate::schedules::frontier::Masks;

/// A stripe of a worker, and where its totals go.
pub(super) struct StripeSlice<'a> {
    pub(super) number: usize,
    /// By segment.
    pub(super) totals: &'a mut [u8],
}

/// The parts of all stripes, in their order.
pub(super) fn parts<'a>(graph: &Graph, width: usize, totals: &'a mut [u8]) -> Vec<StripeSlice<'a>> {
    let mut totals = Slices(totals);
    let part = |(number, stripe): (usize, &Stripe)| StripeSlice {
        number,
        totals: totals.take(stripe.segments.len() * width),
    };
    graph.stripes.iter().enumerate().map(part).collect()
}

/// Stripes that a worker has in a range, and the states of their edges.
pub(super) struct RangePart<'a> {
    pub(super) stripes: Vec<StripeSlice<'a>>,
    /// Bytes of states that are in memory.
    pub(super) states: &'a mut [u8],
}

/// Arguments of the folds of an iteration.
pub(super) struct Pass<'p, 'a> {
    pub(super) context: &'p Context<'a>,
    pub(super) edges: EdgeFold<'p>,
    pub(super) windows: &'p [usize],
    pub(super) last: &'p [u8],
    /// The side that is read, and the one that is written.
    pub(super) now: Side<'a>,
    pub(super) next: Side<'a>,
    pub(super) stored: Option<&'p Stored>,
    pub(super) is_fresh: bool,
    /// Blocks of sources that will have an active one.
    pub(super) active: Mutex<Masks>,
}
