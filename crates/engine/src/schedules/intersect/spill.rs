//! Triangles where neither rows nor columns of all vertices fit in memory, route `spill`: what
//! travels waits on storage by where it goes (X-Stream, section 3; Chaos, section 5).
//!
//! Ranks lie on storage ([`order`]) and are cut into bins, bins are put together to *ranges* whose
//! rows fit in memory.
//! 1. *Orient.* Edges come by for one partition of sources after the other, whose ranks are in
//!    memory, stripe by stripe, where the ranks of their targets are: the higher end is an entry
//!    for the bin of the lower one.
//! 2. *Sweep.* Range after range, from the lowest ranks on, makes rows of its entries, and closes
//!    these against each other. Rows of lower ranks come by and are closed too, and all travel on
//!    to the next range in which they have an entry, without those that lie behind: a triangle
//!    shows in the range of its middle, and its top is never lower. So each row waits in one place.
//! 3. *Deliver.* What was counted by rank goes to the stripes of the vertices, which make values.
//!
//! A range counts for its own ranks, a row that travels has its count with it, and the highest
//! ranks, which get most counts, are counted in memory all along. Counts for others wait like
//! entries do, added up before and once more where much waits.
//!
//! Invariant: what was written at each step is what was read, and each edge and vertex is met once.
//! Tested by `rows_travel_where_there_is_more_than_one_of_everything` and
//! `what_is_missing_is_an_error`.

mod block;
pub(crate) mod buckets;
pub(crate) mod counts_to_vertices;
pub(crate) mod order;
mod orient;
pub(crate) mod sweep;
mod worker;

use std::ops::Range;
use std::sync::Arc;

use welter_progress::{Phase, Progress};
use welter_store::io::ALIGN;

use self::buckets::{RecordAudit, Waiting};
use self::order::{Bins, Order, together};
use super::counts::Counts;
use crate::EngineError;
use crate::columns::updates::Pool;
use crate::edges::graph::Graph;
use crate::edges::values::StoredColumn;
use crate::footprints::schedules::{ENTRY_BYTES, RANK_BYTES, ROW_HEAD};
use crate::kernels::triangles::TriangleKernel;
use crate::kernels::update_chunk::{UpdateKind, chunk_bytes};
use crate::machine::arena::SLAB_BYTES;
use crate::machine::per_worker::PerWorker;
use crate::machine::workers::Workers;
use crate::plan::TrianglesPlan;

/// Parts that all steps have in common.
struct TriangleRun<'a> {
    graph: &'a Graph,
    /// Whether edges both ways count twice.
    directed: bool,
    plan: TrianglesPlan,
    workers: &'a Workers,
    progress: &'a Progress,
    phase: &'a Phase,
    pool: Arc<Pool>,
    ranks: &'a StoredColumn,
    bins: Bins,
    /// Counts of the ranks from `line` on.
    top: Counts,
    line: usize,
}

/// Walks over all triangles, and puts values on storage.
pub(super) fn run(
    graph: &Graph,
    kernel: &dyn TriangleKernel,
    plan: TrianglesPlan,
    (workers, progress, phase): (&Workers, &Progress, &Phase),
) -> Result<StoredColumn, EngineError> {
    let (Some(storage), Some(degrees)) = (workers.storage(), &graph.degrees_stored) else {
        let what = "the plan keeps state on storage, and graph or workers do not";
        return Err(EngineError::internal(what));
    };
    let (order, ranks) = Order::new(graph, storage, degrees)?;
    let longest = order.longest();
    let bins = order.bins(plan.bin_bytes(RANK_BYTES + ENTRY_BYTES * longest as u64));
    let pool = Pool::in_pieces(storage, graph, piece_bytes(plan, longest)?)?;
    let line = order.ranks().saturating_sub(plan.top as usize);
    let top = Counts::new(order.ranks() - line)?;
    let directed = kernel.shape().directed;
    let ranks = &ranks;
    let run = TriangleRun {
        graph,
        directed,
        plan,
        workers,
        progress,
        phase,
        pool,
        ranks,
        bins,
        top,
        line,
    };
    let mut waiting = Waiting::new(run.bins.len(), graph.stripes.len());
    let mut audit = run.orient(&mut waiting)?;
    let ranges = run.ranges(&waiting);
    audit.add(run.sweep(&ranges, &mut waiting)?);
    audit.check(UpdateKind::Entries)?;
    audit.check(UpdateKind::Rows)?;
    audit.add(run.counts_to_vertices(&mut waiting)?);
    audit.check(UpdateKind::Counts)?;
    let (values, read) = run.values(kernel, degrees, &mut waiting)?;
    audit.add(read);
    audit.check(UpdateKind::Values)?;
    Ok(values)
}

/// Bytes of the places that chunks lie in: a bucket fills one, or the longest row does.
fn piece_bytes(plan: TrianglesPlan, longest: usize) -> Result<usize, EngineError> {
    let room = plan.bucket_bytes;
    let widest = chunk_bytes(8, room / 12).max(chunk_bytes(4, room / 8));
    let piece = chunk_bytes(0, (room / 4).max(ROW_HEAD + longest)).max(widest);
    let piece = piece.next_multiple_of(ALIGN);
    if piece <= SLAB_BYTES {
        return Ok(piece);
    }
    let what = format!(
        "a vertex may have {longest} neighbours of higher degree, more than can travel together"
    );
    Err(EngineError::Unsupported(what))
}

impl TriangleRun<'_> {
    /// Puts bins together whose rows fit in memory, with what ranks take beside.
    fn ranges(&self, waiting: &Waiting) -> Vec<Range<usize>> {
        let bytes = |bin| {
            let ranks = self.bins.ranks(bin).len() as u64;
            RANK_BYTES * ranks + ENTRY_BYTES * waiting.updates(UpdateKind::Entries, bin)
        };
        together((0..self.bins.len()).map(bytes), self.plan.rows_bytes)
    }
}

/// Adds up what workers wrote and read.
fn sum<B>(worker_states: &mut PerWorker<B>, of: impl Fn(&mut B) -> RecordAudit) -> RecordAudit {
    let mut all = RecordAudit::default();
    for worker in worker_states {
        all.add(of(worker));
    }
    all
}
