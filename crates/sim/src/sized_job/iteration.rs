//! Iterations of a job: parts of all edges and vertices, which other numbers of these have too.

/// Edges and vertices of a whole that is stated as parts of a million.
const MILLION: u64 = 1_000_000;

/// An iteration: of how many edges and vertices how many make an update, or are active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Iteration {
    /// Edges.
    pub edges: u64,
    /// Updates that these make, where all of them are looked at.
    pub updates: u64,
    /// Vertices.
    pub vertices: u64,
    /// Vertices that are active before it.
    pub sources: u64,
}

impl Iteration {
    /// One in which each edge makes an update, and each vertex is active.
    pub const FULL: Self = Self::per_million([MILLION; 2]);

    /// One of these updates of a million edges, and active vertices of a million.
    pub const fn per_million([updates, sources]: [u64; 2]) -> Self {
        Self { edges: MILLION, updates, vertices: MILLION, sources }
    }

    /// Updates of a million edges, and active vertices of a million, rounded down.
    pub fn parts_of_million(&self) -> [u32; 2] {
        let part = |of: u64, whole: u64| (MILLION * of / whole.max(1)) as u32;
        [part(self.updates, self.edges), part(self.sources, self.vertices)]
    }
}
