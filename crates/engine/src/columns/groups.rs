//! Room for groups of updates, by the plan and the highest degree.

use crate::EngineError;
use crate::edges::graph::Graph;
use crate::kernels::groups::Groups;

/// Room for the groups of a program with updates of `width` bytes; for nothing where the program
/// is none that groups.
///
/// # Errors
/// When the graph was not read as undirected, or the updates of its highest degree do not fit the
/// plan.
pub(crate) fn groups(graph: &Graph, width: usize, does_group: bool) -> Result<Groups, EngineError> {
    if !does_group {
        return Groups::holding(width, 0, 0);
    }
    Groups::holding(width, room(graph)?, 1 << graph.layout.stripe_bits)
}

/// Updates that are in memory at a time.
fn room(graph: &Graph) -> Result<usize, EngineError> {
    if !graph.symmetric {
        let what = "the program groups what comes from all neighbours, and the graph was not read \
                    as undirected";
        return Err(EngineError::Unsupported(what.to_owned()));
    }
    let plan = &graph.plan;
    let (room, most) = (plan.premises.group_room(), u64::from(graph.degree_max));
    if most <= room {
        return Ok(room as usize);
    }
    let need = plan.premises.group_budget(most);
    let advice =
        format!("what {most} neighbours say to one vertex must be in memory at the same time");
    Err(EngineError::Budget { need, budget: plan.premises.budget_bytes, advice })
}
