//! The job of a simulated cluster, without its types: the seam between schedules and programs.
//!
//! A schedule is compiled once, not once a program, so workers see bytes. They run on the spot, on
//! real graphs, and are those that real machines have ([`welter_worker`]). Oracles and planted bugs
//! are on this side.

use welter_protocol::config::Edges;
use welter_protocol::planted::Bug;
use welter_protocol::weights::Weights;
use welter_protocol::{Time, Work};
pub use welter_worker::{BufferedUpdates, Partitioning, Worker};

/// A program on a graph, and what its result must be.
pub trait Job: Send + Sync {
    /// Name of the job, for traces.
    fn name(&self) -> &'static str;

    /// Vertices of the graph.
    fn vertices(&self) -> u64;

    /// Bytes of a vertex on storage.
    fn vertex_bytes(&self) -> u64;

    /// Treatment of edges while they stream.
    fn edges(&self) -> Edges {
        Edges::Fixed
    }

    /// Whether it makes updates while it gathers.
    fn carries(&self) -> bool {
        false
    }

    /// Bytes of rows of neighbours that a machine may have in memory, if it has any.
    fn rows_bytes(&self, _cut: &Partitioning) -> Option<u64> {
        None
    }

    /// Bytes of an accumulator, of which who helps hands over one a vertex at most; none where all
    /// that was gathered is kept, or nothing is known of it.
    fn accumulator_bytes(&self) -> Option<u64> {
        None
    }

    /// Updates that one vertex gets in an iteration at most, of a program that does not merge them:
    /// as many must have room in memory. None where updates are merged.
    fn updates_of_one_max(&self) -> Option<u64> {
        None
    }

    /// Whether first values look at degrees, which machines count for them.
    fn looks_at_degrees(&self) -> bool {
        true
    }

    /// Nanoseconds of a core for a piece of work that looked at `records` records, where they are
    /// known of the job; else each record takes the time that the schedule says.
    fn work_nanos(&self, _work: &Work, _records: u64) -> Option<Time> {
        None
    }

    /// Weights of its vertices, as machines count them that read a share of the input each.
    fn weights(&self, machines: usize, by_cells: bool) -> Weights;

    /// The part of a computation engine that is the program's own, with a planted bug if that is
    /// one of workers.
    fn worker(&self, cut: Partitioning, rank: usize, bug: Option<Bug>) -> Box<dyn Worker>;

    /// Compares the vertex sets of all partitions, after `iterations` iterations, with the
    /// reference.
    ///
    /// # Errors
    /// Difference from the reference, as text.
    fn check_answer(&self, vertices: &[u8], iterations: u32) -> Result<(), String>;
}
