//! The ten algorithms of the paper's Table 1 as the scale model sees them.
//!
//! Updates by iteration are those that welter's own programs make on an R-MAT graph of scale 22
//! (Graph500's parameters, 16 edges a vertex, seed 1; [`super::recorder`], `--record 22` of the
//! command, which takes five minutes). Bytes of values and updates are those of the programs. All
//! edges are streamed in each iteration, as X-Stream and Chaos do.
//!
//! The paper's own programs differ: how large their values are it does not say, and its graphs,
//! 32 to 16,000 times as large, may take an iteration or two more. `MCST` is Boruvka's algorithm by
//! labels that spread from neighbour to neighbour, which takes many more iterations.

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
    /// Updates of a million edges, by iteration.
    pub updates: &'static [u32],
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
    updates: &[2_379, 568_755, 415_475, 5_005, 30, 0],
};

/// Weakly connected components by labels.
pub const WCC: Algorithm = Algorithm {
    name: "WCC",
    weighted: false,
    both: true,
    vertex_bytes: 4,
    update_bytes: 4,
    degrees: false,
    updates: &[1_000_000, 995_231, 323_963, 1_664, 5, 0],
};

/// Minimum-cost spanning trees by labels: the first 20 of a hundred iterations.
pub const MCST: Algorithm = Algorithm {
    name: "MCST",
    weighted: true,
    both: true,
    vertex_bytes: 48,
    update_bytes: 24,
    degrees: false,
    updates: &[
        1_000_000, 1_000_000, 2_381, 1_000_000, 179_033, 353_885, 250_808, 132_826, 59_734, 24_618,
        9_930, 4_742, 3_106, 2_652, 2_453, 2_398, 2_384, 2_381, 2_381, 1_000_000,
    ],
};

/// Maximal independent sets.
pub const MIS: Algorithm = Algorithm {
    name: "MIS",
    weighted: false,
    both: true,
    vertex_bytes: 8,
    update_bytes: 8,
    degrees: false,
    updates: &[
        1_000_000, 1_000_000, 134_109, 134_109, 28_672, 28_672, 3_964, 3_964, 350, 350, 24, 24, 1,
        1, 0,
    ],
};

/// Shortest paths from one source.
pub const SSSP: Algorithm = Algorithm {
    name: "SSSP",
    weighted: true,
    both: false,
    vertex_bytes: 4,
    update_bytes: 4,
    degrees: false,
    updates: &[
        2_379, 568_755, 940_950, 837_461, 688_373, 535_554, 398_049, 283_862, 188_243, 117_591,
        69_664, 39_965, 22_523, 11_938, 5_946, 2_865, 1_259, 496, 176, 53, 7, 0,
    ],
};

/// PageRank, five iterations.
pub const PR: Algorithm = Algorithm {
    name: "PR",
    weighted: false,
    both: false,
    vertex_bytes: 8,
    update_bytes: 4,
    degrees: true,
    updates: &[1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000],
};

/// Strongly connected components by colours.
pub const SCC: Algorithm = Algorithm {
    name: "SCC",
    weighted: false,
    both: true,
    vertex_bytes: 20,
    update_bytes: 4,
    degrees: false,
    updates: &[
        508_484, 508_484, 508_484, 508_484, 508_484, 508_484, 508_484, 774, 285_506, 501_492,
        504_094, 504_111, 504_111, 504_111, 26, 26, 26, 26, 4_359, 4_359, 0, 0, 0, 14, 14, 0, 0, 0,
        0,
    ],
};

/// Conductance.
pub const COND: Algorithm = Algorithm {
    name: "Cond",
    weighted: false,
    both: false,
    vertex_bytes: 8,
    update_bytes: 8,
    degrees: false,
    updates: &[1_000_000],
};

/// Product of the matrix with a vector.
pub const SPMV: Algorithm = Algorithm {
    name: "SpMV",
    weighted: true,
    both: false,
    vertex_bytes: 4,
    update_bytes: 4,
    degrees: false,
    updates: &[1_000_000],
};

/// Belief propagation, five iterations.
pub const BP: Algorithm = Algorithm {
    name: "BP",
    weighted: false,
    both: false,
    vertex_bytes: 32,
    update_bytes: 16,
    degrees: false,
    updates: &[1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000],
};
