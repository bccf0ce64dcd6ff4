//! What is told when a plan does not fit: the smallest budget that would do.

use super::memory::Memory;
use super::{Plan, Shape, human_bytes, storage};
use crate::EngineError;
use crate::vertices::SEGMENT_BITS;

/// The error of plans none of which fits.
pub(super) fn refusal(plans: &[Plan], budget: u64) -> EngineError {
    let need = plans.iter().map(least_budget).min().unwrap_or(0);
    let advice = format!(
        "give it --memory {} or more on a machine that has it, or a smaller graph",
        human_bytes(need).replace(' ', "")
    );
    EngineError::Budget { need, budget, advice }
}

/// The smallest budget that a refused plan fits. With edges on storage, more memory is used for
/// more bins, so what a plan takes that is too large says little of what a larger budget takes.
fn least_budget(plan: &Plan) -> u64 {
    let plan = &looked_at(plan);
    let peak = plan.memory.peak();
    if plan.storage.is_none() {
        return peak;
    }
    let fits = |budget_bytes| {
        let plan = storage::plan(Plan { budget_bytes, ..plan.clone() });
        plan.memory.peak() <= budget_bytes
    };
    let (mut refused, mut accepted) = (plan.budget_bytes, peak.max(1));
    while !fits(accepted) && accepted < 1 << 60 {
        (refused, accepted) = (accepted, 2 * accepted);
    }
    while accepted - refused > 1 {
        let middle = refused.midpoint(accepted);
        if fits(middle) { accepted = middle } else { refused = middle }
    }
    accepted
}

/// The plan once more of the input was looked at. Until then a few ids tell how many slots there
/// are at least, and whoever would run with the budget that is told meets more: as many as may lie
/// beyond the largest of a sample, in whole segments.
fn looked_at(plan: &Plan) -> Plan {
    let Shape { slots, edges, estimated, .. } = plan.shape;
    if !estimated || plan.straight {
        return plan.clone();
    }
    let beyond = (16 * slots / edges.isqrt().max(1)).min(slots);
    let slots = (slots + beyond).next_multiple_of(1 << SEGMENT_BITS) + (1 << SEGMENT_BITS);
    let shape = Shape { slots, ..plan.shape };
    let mut plan = Plan { shape, vertices: slots, ..plan.clone() };
    plan.memory = Memory::of(&plan);
    plan
}
