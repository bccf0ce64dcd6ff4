//! The error of a plan that does not fit: the smallest budget that would do.

use super::index::Index;
use super::memory::Memory;
use super::premises::{Premises, SORT_EDGES_LEAST};
use super::shape::Shape;
use super::{Access, Plan, storage};
use crate::EngineError;
use crate::kernels::vertices::SEGMENT_BITS;
use crate::units::human_bytes;

/// The error of plans none of which fits.
pub(super) fn budget_error(plans: &[Plan], budget: u64) -> EngineError {
    refused(plans.iter().map(least_budget).min().unwrap_or(0), budget)
}

/// The refusal of a budget, which names one that is enough.
pub(super) fn refused(need: u64, budget: u64) -> EngineError {
    let advice = format!(
        "give it --memory {} or more on a machine that has it, or a smaller graph",
        human_bytes(need).replace(' ', "")
    );
    EngineError::Budget { need, budget, advice }
}

/// The result of `plan` with a budget. Where it refuses that, the error names a budget with which
/// it makes one, as it is rounded for people: what an input or a cache takes follows the budget
/// too, so the first one that is named need not be enough.
///
/// # Errors
/// Errors of `plan`.
pub fn within<T>(
    budget: u64,
    plan: impl Fn(u64) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let mut next = match plan(budget) {
        Err(EngineError::Budget { need, .. }) => need,
        planned => return planned,
    };
    for step in 0..STEPS_MAX {
        match plan(shown(next)) {
            Err(EngineError::Budget { need, .. }) => {
                // Where needs follow the budget closely it would take long to catch up.
                let ahead = if step < STEPS_EXACT { 1 } else { next / 16 };
                next = need.max(next + ahead);
            }
            _ => break,
        }
    }
    // A forecast from a part of an input is a little less than the whole input turns out to be.
    Err(refused(shown(next + next / MARGIN), budget))
}

/// A named budget has one byte in `MARGIN` more than the plan that it was found by.
pub(super) const MARGIN: u64 = 32;

/// Budgets that are tried, and those of them that are as small as they can be.
const STEPS_MAX: u32 = 200;
const STEPS_EXACT: u32 = 40;

/// The bytes that a person means who reads off a number of bytes.
fn shown(bytes: u64) -> u64 {
    let text = human_bytes(bytes);
    let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
    let power = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"].iter().position(|name| *name == unit);
    let number = number.parse::<f64>().unwrap_or(0.0);
    // As the option is read.
    (number * 1024_f64.powi(power.unwrap_or(0) as i32)) as u64
}

/// The smallest budget that a refused plan fits. With edges on storage, more memory is used for
/// more bins, so what a plan takes that is too large says little of what a larger budget takes.
fn least_budget(plan: &Plan) -> u64 {
    let premises = looked_at(&plan.premises);
    let peak = match plan.access {
        Access::Input { .. } => return plan.memory.peak(),
        Access::Memory { index } => return Memory::of(&premises, index).peak(),
        Access::Storage(_) if premises == plan.premises => plan.memory.peak(),
        // More than is needed, which the search below begins with.
        Access::Storage(_) => Memory::with_bin_groups(
            &premises,
            Index::None,
            plan.bin_groups() as u64,
            SORT_EDGES_LEAST,
        )
        .peak(),
    };
    // A search of many levels that goes over to a graph needs one that ends it.
    let searches = premises.program.input_scan.is_some_and(|takes| !takes.always);
    let searches = searches && !premises.settings.says_how();
    let fits = |budget_bytes| {
        let plan = storage::plan(&Premises { budget_bytes, ..premises });
        plan.fits() && (!searches || plan.ends_searches())
    };
    let (mut refused, mut accepted) = (premises.budget_bytes, peak.max(1));
    while !fits(accepted) && accepted < 1 << 60 {
        (refused, accepted) = (accepted, 2 * accepted);
    }
    while accepted - refused > 1 {
        let middle = refused.midpoint(accepted);
        if fits(middle) { accepted = middle } else { refused = middle }
    }
    accepted
}

/// The premises once more of the input was looked at. Until then a few ids tell how many slots
/// there are at least, and a run with the budget that is told meets more: as many as may lie beyond
/// the largest of a sample, in whole segments.
fn looked_at(premises: &Premises) -> Premises {
    let Shape { slots, edges, estimated, .. } = premises.shape;
    if !estimated {
        return *premises;
    }
    let beyond = (16 * slots / edges.isqrt().max(1)).min(slots);
    let slots = (slots + beyond).next_multiple_of(1 << SEGMENT_BITS) + (1 << SEGMENT_BITS);
    let shape = Shape { slots, ..premises.shape };
    Premises { shape, vertices: slots, ..*premises }
}
