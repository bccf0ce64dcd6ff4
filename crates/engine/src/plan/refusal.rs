//! What is told when a plan does not fit: the smallest budget that would do.

use super::{Plan, human_bytes, storage};
use crate::EngineError;

/// The error of plans none of which fits.
pub(super) fn refusal(plans: &[Plan], budget: u64) -> EngineError {
    let need = plans.iter().map(least_budget).min().unwrap_or(0);
    // With a larger budget more of the input is looked at: 20 KiB of 41 MiB were missing for that.
    let enough = need + need / 256;
    let advice = format!(
        "give it --memory {} or more on a machine that has it, or a smaller graph",
        human_bytes(enough).replace(' ', "")
    );
    EngineError::Budget { need, budget, advice }
}

/// The smallest budget that a refused plan fits. With edges on storage, more memory is used for
/// more bins, so what a plan takes that is too large says little of what a larger budget takes.
fn least_budget(plan: &Plan) -> u64 {
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
