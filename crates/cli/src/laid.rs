//! Order of the edges of a run that keeps a state for each of them: checkpoints have these states
//! in the order of the edges, so the run continues where they lie alike, whatever its budget is
//! then.
//!
//! Only what decides on that order is kept. On route `ranges` it also follows from the memory that
//! a window of sources takes, and the engine refuses to continue where that is another one.

use serde::{Deserialize, Serialize};
use welter_engine::plan::{EdgeLayout, Plan, Premises};
use welter_store::header::Encoding;

use crate::args::{ResourceArgs, RouteArg};

/// Words from which the order of edges follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Laid {
    /// As in the header of chunks.
    encoding: u8,
    stripe_bits: u32,
    block_bits: u32,
    route: RouteKind,
    /// Workers share ranges.
    threads: usize,
}

/// Place where updates wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RouteKind {
    Fold,
    Ranges,
    Spill,
}

impl Laid {
    /// The words of a plan in which edges have states.
    pub(crate) fn of(plan: &Plan) -> Option<Self> {
        let route = match plan.route() {
            "fold" => RouteKind::Fold,
            "ranges" => RouteKind::Ranges,
            "spill" => RouteKind::Spill,
            _ => return None,
        };
        let Premises { edges, program, threads, .. } = plan.premises;
        let EdgeLayout { encoding, stripe_bits, block_bits, .. } = edges;
        let encoding = encoding as u8;
        (program.edge() > 0).then_some(Self { encoding, stripe_bits, block_bits, route, threads })
    }

    /// Lets edges lie so again.
    pub(crate) fn put(self, resources: &mut ResourceArgs) {
        resources.encoding = Encoding::from_byte(self.encoding).map(Into::into);
        resources.stripe_bits = Some(self.stripe_bits);
        resources.block_bits = Some(self.block_bits);
        resources.route = Some(match self.route {
            RouteKind::Fold => RouteArg::Fold,
            RouteKind::Ranges => RouteArg::Ranges,
            RouteKind::Spill => RouteArg::Spill,
        });
        if self.route == RouteKind::Ranges {
            resources.threads = Some(self.threads);
        }
    }
}
