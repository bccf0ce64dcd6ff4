//! The ten algorithms of the paper's Table 1 as the scale model sees them.
//!
//! Updates and active sources by iteration, and times of kernels, are those of welter's own
//! programs on an R-MAT graph (Graph500's parameters, 16 edges a vertex, seed 1), from a file of
//! the repository ([`super::profiles`]). Bytes of values and updates are those of the programs. All
//! edges are streamed in each iteration, as X-Stream and Chaos do.
//!
//! The paper's own programs differ: how large their values are it does not say, and its graphs,
//! 32 to 16,000 times as large, may take an iteration or two more. `MCST` is Boruvka's algorithm by
//! labels that spread from neighbour to neighbour, which takes many more iterations; accumulators
//! of it are handed over here as of all others, where welter's own stealers hand over its updates.

use welter_protocol::config::Route;

use super::profiles::{AlgorithmProfile, recorded};
use crate::sized_job::{Iteration, KernelTimes};

/// An algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Name of the algorithm in the paper.
    pub name: &'static str,
    /// Whether edges have weights.
    pub weighted: bool,
    /// Whether edges lie on storage in both directions.
    pub both: bool,
    /// Bytes of a value.
    pub vertex_bytes: u64,
    /// Bytes of an update, without the id of its target.
    pub update_bytes: u64,
    /// Whether first values look at degrees.
    pub degrees: bool,
    /// Iterations, where each edge makes an update in all of them, in place of those that were
    /// recorded.
    pub full: Option<usize>,
}

impl Algorithm {
    /// Records of its runs, if it is one of the ten.
    fn profile(&self) -> Option<&'static AlgorithmProfile> {
        recorded().of(self.name)
    }

    /// Its iterations.
    pub fn iterations(&self) -> Vec<Iteration> {
        match self.full {
            Some(count) => vec![Iteration::FULL; count],
            None => self.profile().map(AlgorithmProfile::iterations).unwrap_or_default(),
        }
    }

    /// Nanoseconds of a record on a route.
    pub fn times(&self, route: Route) -> KernelTimes {
        self.profile().map(|profile| profile.times(route)).unwrap_or_default()
    }
}

/// All algorithms, in the order of Table 1.
pub const ALL: [&Algorithm; 10] = [&BFS, &WCC, &MCST, &MIS, &SSSP, &PR, &SCC, &COND, &SPMV, &BP];

/// Breadth-first search.
pub const BFS: Algorithm = Algorithm {
    name: "BFS",
    weighted: false,
    both: false,
    vertex_bytes: 4,
    update_bytes: 1,
    degrees: false,
    full: None,
};

/// Weakly connected components by labels.
pub const WCC: Algorithm = Algorithm {
    name: "WCC",
    weighted: false,
    both: true,
    vertex_bytes: 4,
    update_bytes: 4,
    degrees: false,
    full: None,
};

/// Minimum-cost spanning trees by labels: the first 20 of a hundred iterations.
pub const MCST: Algorithm = Algorithm {
    name: "MCST",
    weighted: true,
    both: true,
    vertex_bytes: 48,
    update_bytes: 24,
    degrees: false,
    full: None,
};

/// Maximal independent sets.
pub const MIS: Algorithm = Algorithm {
    name: "MIS",
    weighted: false,
    both: true,
    vertex_bytes: 8,
    update_bytes: 8,
    degrees: false,
    full: None,
};

/// Shortest paths from one source.
pub const SSSP: Algorithm = Algorithm {
    name: "SSSP",
    weighted: true,
    both: false,
    vertex_bytes: 4,
    update_bytes: 4,
    degrees: false,
    full: None,
};

/// PageRank, five iterations.
pub const PR: Algorithm = Algorithm {
    name: "PR",
    weighted: false,
    both: false,
    vertex_bytes: 8,
    update_bytes: 4,
    degrees: true,
    full: None,
};

/// Strongly connected components by colours.
pub const SCC: Algorithm = Algorithm {
    name: "SCC",
    weighted: false,
    both: true,
    vertex_bytes: 20,
    update_bytes: 4,
    degrees: false,
    full: None,
};

/// Conductance.
pub const COND: Algorithm = Algorithm {
    name: "Cond",
    weighted: false,
    both: false,
    vertex_bytes: 8,
    update_bytes: 8,
    degrees: false,
    full: None,
};

/// Product of the matrix with a vector.
pub const SPMV: Algorithm = Algorithm {
    name: "SpMV",
    weighted: true,
    both: false,
    vertex_bytes: 4,
    update_bytes: 4,
    degrees: false,
    full: None,
};

/// Belief propagation, five iterations.
pub const BP: Algorithm = Algorithm {
    name: "BP",
    weighted: false,
    both: false,
    vertex_bytes: 32,
    update_bytes: 16,
    degrees: false,
    full: None,
};
