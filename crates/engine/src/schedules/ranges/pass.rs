//! What the workers of an iteration by ranges are given, and what they leave.

use std::sync::Mutex;

use crate::columns::edge_states::Stored;
use crate::columns::windows::{Cuts, Side};
use crate::edges::graph::Graph;
use crate::kernels::seam::AnyKernel;
use crate::machine::slices::Slices;
use crate::schedules::context::Context;
use crate::schedules::frontier::Masks;

/// Totals and masks that workers leave of each stripe.
pub(super) struct StripeOutputs<'a> {
    pub(super) totals: Vec<Mutex<&'a mut [u8]>>,
    pub(super) masks: Mutex<Masks>,
}

impl<'a> StripeOutputs<'a> {
    pub(super) fn new(graph: &Graph, width: usize, totals: &'a mut [u8]) -> Self {
        let mut totals = Slices(totals);
        let stripes = graph.stripes.iter();
        let totals = stripes.map(|stripe| Mutex::new(totals.take(stripe.segments.len() * width)));
        Self { totals: totals.collect(), masks: Mutex::new(Masks::none(graph)) }
    }

    pub(super) fn into_masks(self) -> Masks {
        self.masks.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Arguments of the folds of an iteration.
pub(super) struct Pass<'p, 'a> {
    pub(super) context: &'p Context<'a>,
    pub(super) kernel: AnyKernel<'a>,
    pub(super) cuts: &'p Cuts,
    pub(super) windows: &'p [usize],
    pub(super) masks: Option<&'p Masks>,
    pub(super) last: &'p [u8],
    /// The side that is read, and the one that is written.
    pub(super) now: Side<'a>,
    pub(super) next: Side<'a>,
    /// Bytes of states of edges that are in memory, by lane.
    pub(super) resident: Vec<Mutex<&'p mut [u8]>>,
    pub(super) stored: Option<&'p Stored>,
    pub(super) is_fresh: bool,
    pub(super) outputs: StripeOutputs<'p>,
}
