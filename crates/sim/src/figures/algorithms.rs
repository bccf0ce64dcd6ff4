//! The ten algorithms of the paper's Table 1 as the scale model sees them.
//!
//! Updates by iteration are those that welter's own programs make on an R-MAT graph of scale 16
//! (Graph500's parameters, 16 edges a vertex, seed 1; [`super::recorder`], `--record 16` of the
//! command). Bytes of values and updates are those of the programs. All edges are streamed in
//! each iteration, as X-Stream and Chaos do.
//!
//! The paper's own programs differ: how large their values are it does not say, and its graphs,
//! 2,000 to 60,000 times as large, take an iteration or two more. `MCST` is Boruvka's algorithm by
//! labels that spread from neighbour to neighbour, which takes many more iterations.

/// An algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Its name in the paper.
    pub name: &'static str,
    /// Whether edges have weights.
    pub weighted: bool,
    /// Whether edges lie on storage in both directions.
    pub both: bool,
    /// Bytes of a value.
    pub vertex_bytes: u64,
    /// Bytes of an update, without the id of its target.
    pub update_bytes: u64,
    /// Updates of a million edges, by iteration.
    pub updates: &'static [u32],
}

/// All of them, in the order of Table 1.
pub const ALL: [&Algorithm; 10] = [&BFS, &WCC, &MCST, &MIS, &SSSP, &PR, &SCC, &COND, &SPMV, &BP];

/// Breadth-first search.
pub const BFS: Algorithm = Algorithm {
    name: "BFS",
    weighted: false,
    both: false,
    vertex_bytes: 4,
    update_bytes: 1,
    updates: &[12_414, 698_294, 276_412, 3_667, 20],
};

/// Weakly connected components by labels.
pub const WCC: Algorithm = Algorithm {
    name: "WCC",
    weighted: false,
    both: true,
    vertex_bytes: 4,
    update_bytes: 4,
    updates: &[1_000_000, 985_660, 191_723, 872, 6, 0],
};

/// Minimum-cost spanning trees by labels: the first 20 of 89 iterations.
pub const MCST: Algorithm = Algorithm {
    name: "MCST",
    weighted: true,
    both: true,
    vertex_bytes: 48,
    update_bytes: 24,
    updates: &[
        1_000_000, 1_000_000, 12_307, 1_000_000, 264_907, 403_264, 234_078, 100_482, 39_019,
        18_692, 13_331, 12_374, 12_307, 1_000_000, 995_777, 674_339, 253_896, 56_707, 17_620,
        12_731,
    ],
};

/// Maximal independent sets.
pub const MIS: Algorithm = Algorithm {
    name: "MIS",
    weighted: false,
    both: true,
    vertex_bytes: 8,
    update_bytes: 8,
    updates: &[1_000_000, 1_000_000, 153_476, 153_476, 32_760, 32_760, 3_351, 3_351, 82, 82],
};

/// Shortest paths from one source.
pub const SSSP: Algorithm = Algorithm {
    name: "SSSP",
    weighted: true,
    both: false,
    vertex_bytes: 4,
    update_bytes: 4,
    updates: &[
        12_414, 698_294, 871_182, 724_743, 568_427, 409_716, 281_901, 201_767, 158_155, 129_226,
        114_543, 91_631, 55_842, 29_831, 14_739, 4_597, 997, 259, 33, 1,
    ],
};

/// PageRank, five iterations.
pub const PR: Algorithm = Algorithm {
    name: "PR",
    weighted: false,
    both: false,
    vertex_bytes: 8,
    update_bytes: 4,
    updates: &[1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000],
};

/// Strongly connected components by colours.
pub const SCC: Algorithm = Algorithm {
    name: "SCC",
    weighted: false,
    both: true,
    vertex_bytes: 20,
    update_bytes: 4,
    updates: &[
        525_110, 525_110, 525_110, 525_110, 525_110, 525_110, 3_478, 359_696, 517_756, 519_704,
        519_719, 519_719, 48, 48, 48, 5_373, 5_373, 0, 0, 17, 17,
    ],
};

/// Conductance.
pub const COND: Algorithm = Algorithm {
    name: "Cond",
    weighted: false,
    both: false,
    vertex_bytes: 8,
    update_bytes: 8,
    updates: &[1_000_000],
};

/// Product of the matrix with a vector.
pub const SPMV: Algorithm = Algorithm {
    name: "SpMV",
    weighted: true,
    both: false,
    vertex_bytes: 4,
    update_bytes: 4,
    updates: &[1_000_000],
};

/// Belief propagation, five iterations.
pub const BP: Algorithm = Algorithm {
    name: "BP",
    weighted: false,
    both: false,
    vertex_bytes: 32,
    update_bytes: 16,
    updates: &[1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000],
};
