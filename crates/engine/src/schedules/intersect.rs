//! Triangles by streamed set intersection (Hu, Tao and Chung, Massive Graph Triangulation, 2013).
//!
//! Vertices are ranked by degree, and a vertex keeps those of its neighbours that rank above it,
//! its *row*: of `E` edges no row has more than about `sqrt(2 E)` then. A triangle `v < a < w`
//! shows in the row of `v`, which has `a` and `w`, and in that of `a`, which has `w`. As many rows
//! as fit in memory make a *block*; while it is there all rows come by, are marked, and meet the
//! rows of those of their entries that are in the block. So the edges are read once for each block,
//! once more to fill it unless it holds all, and once to count how long rows are.
//!
//! Counts are integers, so the answer is the same for any blocks and threads.
//!
//! Invariant: ranks are a permutation, and a row has as many entries as were counted. Asserted in
//! `intersect::rank`. Tested by `pairs_of_neighbours_are_those_of_a_plain_loop`.

mod counts;
mod marks;
mod rows;
pub(crate) mod spill;

use std::ops::Range;

use bytemuck::TransparentWrapper;
use welter_model::intersect::Intersect;
use welter_progress::{Phase, Progress, Unit};
use welter_store::chunk::Chunk;

use self::counts::Counts;
use self::marks::Marks;
use self::rows::{Rows, Span};
use crate::EngineError;
use crate::columns::results::Values;
use crate::edges::graph::Graph;
use crate::edges::read_ahead::{ReadAhead, UpcomingTasks, repeated};
use crate::edges::values::{ColumnIo, StoredColumn};
use crate::kernels::groups::AHEAD;
use crate::kernels::kernel::{Coding, DecodeBuffers, fetch};
use crate::kernels::triangles::{TriangleKernel, Triangular};
use crate::machine::arena::Buffer;
use crate::machine::per_worker::PerWorker;
use crate::machine::workers::Workers;
use crate::plan::OutOfCore;
use crate::schedules::intersect::rows::too_long;

/// Vertices that can be ranked: an entry has a bit beside.
const RANKS_MOST: u64 = 1 << 31;

/// Vertices whose values are made together.
const VALUES: usize = 1 << 10;

/// Walks over all triangles, and returns the values of all vertices.
///
/// # Errors
/// When the graph was not read as undirected, memory runs out, a chunk is damaged, or the run is
/// cancelled.
pub fn intersect<I: Intersect>(
    graph: &Graph,
    program: &I,
    workers: &Workers,
    progress: &Progress,
) -> Result<Values<I::Value>, EngineError> {
    if !graph.symmetric || graph.vertices() > RANKS_MOST {
        let what = "triangles take a graph that was read as undirected, of at most 2^31 vertices";
        return Err(EngineError::Unsupported(what.to_owned()));
    }
    let kernel = Triangular::wrap_ref(program);
    graph.arena.drop_columns();
    let phase = progress.phase("intersect", Unit::Edges, None);
    let tools = (workers, progress, &phase);
    if let Some(OutOfCore::Triangles(plan)) = graph.plan.out_of_core() {
        return Ok(Values::stored(spill::run(graph, kernel, plan, tools)?, graph));
    }
    let (ranks, closed) = close(graph, kernel.shape().directed, tools)?;
    match &graph.degrees_stored {
        None => {
            let mut values = Buffer::zeroed(ranks.len() * kernel.shape().value)?;
            set_values(kernel, (&ranks, &closed), (0, &graph.degrees), &mut values);
            Ok(Values::resident(values.typed()))
        }
        Some(degrees) => {
            let stored = store(graph, workers, degrees, (kernel, &ranks, &closed))?;
            Ok(Values::stored(stored, graph))
        }
    }
}

/// Closes all triangles of a graph in memory. Rank of each vertex, and what was counted by rank.
fn close(
    graph: &Graph,
    directed: bool,
    (workers, progress, phase): (&Workers, &Progress, &Phase),
) -> Result<(Buffer<u32>, Counts), EngineError> {
    let room = graph.plan.premises.group_room() as usize / 2;
    let ranks = rank(graph)?;
    let run = TriangleRun { graph, directed, workers, progress, phase, ranks: &ranks, room };
    let mut worker_states = workers.per_worker(|| WorkerState::new(graph, directed, room))?;
    let mut rows = Rows::new(ranks.len(), room * workers.threads())?;
    run.count(&rows.spans, &mut worker_states)?;
    let closed = Counts::new(ranks.len())?;
    while rows.vertices.end < ranks.len() {
        run.fill(&mut rows, &mut worker_states)?;
        run.close(&rows, &closed, &mut worker_states)?;
    }
    drop((rows, worker_states));
    Ok((ranks, closed))
}

/// Sets values of some vertices, of which `first` is the number of the first one, by their degrees
/// and what was counted by rank.
fn set_values(
    kernel: &dyn TriangleKernel,
    (ranks, closed): (&[u32], &Counts),
    (first, degrees): (usize, &[u32]),
    values: &mut [u8],
) {
    let mut counts = [0; VALUES];
    let values = values.chunks_mut(VALUES * kernel.shape().value);
    let vertices = ranks[first..].chunks(VALUES).zip(degrees.chunks(VALUES));
    for ((ranks, degrees), values) in vertices.zip(values) {
        let counts = &mut counts[..ranks.len()];
        for (count, &rank) in counts.iter_mut().zip(ranks) {
            *count = closed.of(rank as usize);
        }
        kernel.values(degrees, counts, values);
    }
}

/// Writes values stripe by stripe.
fn store(
    graph: &Graph,
    workers: &Workers,
    degrees: &StoredColumn,
    (kernel, ranks, closed): (&dyn TriangleKernel, &[u32], &Counts),
) -> Result<StoredColumn, EngineError> {
    let storage = workers.storage().ok_or_else(|| EngineError::no_storage("values"))?;
    let width = kernel.shape().value;
    let stored = graph.column(storage, width)?;
    let (mut degrees, mut io) = (ColumnIo::<u32>::new(degrees)?, ColumnIo::<u8>::new(&stored)?);
    for (number, stripe) in graph.stripes.iter().enumerate() {
        degrees.fetch(number)?;
        let (column, mut values) = (degrees.take(number)?, io.blank()?);
        let (first, vertices) = (stripe.vertices.start as usize, stripe.width());
        let values_of = &mut values[..vertices * width];
        set_values(kernel, (ranks, closed), (first, &column[..vertices]), values_of);
        degrees.done(column);
        io.put(number, values)?;
    }
    io.finish()?;
    drop(io);
    Ok(stored)
}

/// Shows the degrees of all vertices, some at a time.
fn each_degree(
    graph: &Graph,
    mut visit: impl FnMut(&[u32]) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    match &graph.degrees_stored {
        None => visit(&graph.degrees),
        Some(stored) => stored.each::<u32>(visit),
    }
}

/// The rank of each vertex: by degree, then by number.
fn rank(graph: &Graph) -> Result<Buffer<u32>, EngineError> {
    let mut next = Buffer::<u32>::zeroed(graph.degree_max as usize + 2)?;
    each_degree(graph, |degrees| {
        for degree in degrees {
            next[*degree as usize + 1] += 1;
        }
        Ok(())
    })?;
    let mut before = 0;
    for count in &mut *next {
        before += *count;
        *count = before;
    }
    let mut ranks = Buffer::zeroed(graph.vertices() as usize)?;
    let mut rest = &mut ranks[..];
    each_degree(graph, |degrees| {
        let some;
        (some, rest) = std::mem::take(&mut rest).split_at_mut(degrees.len());
        for (rank, degree) in some.iter_mut().zip(degrees) {
            let place = &mut next[*degree as usize];
            *rank = *place;
            *place += 1;
        }
        Ok(())
    })?;
    assert_eq!(next[graph.degree_max as usize] as usize, ranks.len(), "each rank is one vertex's");
    Ok(ranks)
}

/// Tools that one worker has all along.
struct WorkerState<'g> {
    scratch: DecodeBuffers,
    chunks: ReadAhead<'g>,
    /// Where the next entry of each destination goes, or how many it has.
    cursors: Buffer<u32>,
    /// Rows that come by.
    passing: Buffer<u32>,
    marks: Marks,
    /// A row's words before they are put in its place.
    packing: Vec<u32>,
}

impl<'g> WorkerState<'g> {
    fn new(graph: &'g Graph, directed: bool, room: usize) -> Result<Self, EngineError> {
        Ok(Self {
            scratch: DecodeBuffers::new(),
            chunks: ReadAhead::new(graph)?,
            cursors: Buffer::zeroed(1 << graph.layout.stripe_bits)?,
            passing: Buffer::zeroed(room)?,
            marks: Marks::new(graph.vertices() as usize, directed)?,
            packing: Vec::new(),
        })
    }
}

struct TriangleRun<'a> {
    graph: &'a Graph,
    /// Whether edges both ways count twice.
    directed: bool,
    workers: &'a Workers,
    progress: &'a Progress,
    phase: &'a Phase,
    ranks: &'a [u32],
    /// Entries of rows that come by at a time.
    room: usize,
}

impl TriangleRun<'_> {
    /// Counts the entries of all rows.
    fn count(
        &self,
        spans: &[Span],
        worker_states: &mut PerWorker<WorkerState<'_>>,
    ) -> Result<(), EngineError> {
        let Self { graph, ranks, .. } = *self;
        let stripes = 0..graph.stripes.len();
        self.workers.for_each_ahead(
            stripes,
            self.progress,
            worker_states,
            |worker, stripe, upcoming| {
                let WorkerState { scratch, chunks, cursors, .. } = worker;
                let mut upcoming = |place| upcoming.get(place).copied();
                let own = self.own(stripe);
                cursors[..own.len()].fill(0);
                self.higher((stripe, &mut upcoming), (scratch, chunks), |target, _, _| {
                    cursors[target] += 1;
                })?;
                for (rank, count) in ranks[own].iter().zip(&**cursors) {
                    spans[*rank as usize].set_length(*count);
                }
                Ok(())
            },
        )
    }

    /// Fills the next block.
    fn fill(
        &self,
        rows: &mut Rows,
        worker_states: &mut PerWorker<WorkerState<'_>>,
    ) -> Result<(), EngineError> {
        rows.open(self.ranks, &self.graph.plan)?;
        let block = rows.vertices.clone();
        let Rows { spans, entries, filled, .. } = rows;
        let start = |vertex: usize| spans[self.ranks[vertex] as usize].start();
        let stripes: Vec<usize> = (0..self.graph.stripes.len())
            .filter(|&stripe| !common(&self.own(stripe), &block).is_empty())
            .collect();
        // From the last one on: a part ends where the next one begins.
        let mut rest = &mut entries[..*filled];
        let mut parts = Vec::with_capacity(stripes.len());
        for &stripe in stripes.iter().rev() {
            let own = common(&self.own(stripe), &block);
            let first = own.clone().find_map(start).unwrap_or(rest.len());
            let part;
            (rest, part) = std::mem::take(&mut rest).split_at_mut(first);
            parts.push((stripe, own, first, part));
        }
        parts.reverse();
        self.workers.for_each_ahead(parts, self.progress, worker_states, |worker, part, next| {
            let (stripe, own, first, part) = part;
            let mut upcoming = |place| next.get(place).map(|part| part.0);
            let WorkerState { scratch, chunks, cursors, packing, .. } = worker;
            let starts = || own.clone().map(|vertex| start(vertex).map(|start| start - first));
            for (cursor, start) in cursors.iter_mut().zip(starts()) {
                // Of one without entries nothing is shown.
                *cursor = start.map_or(0, |start| start as u32 + 1);
            }
            self.rows((stripe, &mut upcoming), &own, (&mut *part, cursors), (scratch, chunks))?;
            let mut rest = part;
            let starts: Vec<usize> = starts().flatten().collect();
            for start in starts.into_iter().rev() {
                let row;
                (rest, row) = std::mem::take(&mut rest).split_at_mut(start);
                rows::close(self.directed, row, packing);
            }
            Ok(())
        })
    }

    /// Lets all rows meet those of the block.
    fn close(
        &self,
        rows: &Rows,
        closed: &Counts,
        worker_states: &mut PerWorker<WorkerState<'_>>,
    ) -> Result<(), EngineError> {
        let stripes = self.graph.stripes.len();
        let whole = |stripe: usize| {
            let own = self.own(stripe);
            common(&own, &rows.vertices) == own
        };
        let mut order: Vec<usize> = (0..stripes).collect();
        order.sort_by_key(|&stripe| std::cmp::Reverse(self.graph.stripes[stripe].edges));
        self.workers.for_each_ahead(order, self.progress, worker_states, |worker, stripe, next| {
            let WorkerState { scratch, chunks, cursors, passing, marks, .. } = worker;
            if whole(stripe) {
                for &rank in &self.ranks[self.own(stripe)] {
                    marks.close_own(rank as usize, rows, closed);
                }
                return Ok(());
            }
            // Stripes whose rows are all in the block are not read.
            let mut upcoming = |place| {
                let stripes = (0..).map_while(|place| next.get(place).copied());
                stripes.filter(|&stripe| !whole(stripe)).nth(place)
            };
            let pieces = self.pieces(stripe, rows)?;
            for (count, piece) in pieces.iter().enumerate() {
                let mut upcoming = repeated((stripe, pieces.len() - 1 - count), &mut upcoming);
                let (part, chunks) =
                    ((&mut **passing, &mut **cursors), (&mut *scratch, &mut *chunks));
                let mut start = 0;
                for (cursor, &rank) in part.1.iter_mut().zip(&self.ranks[piece.clone()]) {
                    *cursor = start;
                    start += rows.length(rank as usize) as u32;
                }
                self.rows((stripe, &mut upcoming), piece, part, chunks)?;
                let mut start = 0;
                for &rank in &self.ranks[piece.clone()] {
                    let end = start + rows.length(rank as usize);
                    let row = &passing[start..end];
                    marks.close(rank as usize, (row, row.len()), rows, &mut &*closed);
                    start = end;
                }
            }
            Ok(())
        })
    }

    /// The vertices of a stripe.
    fn own(&self, stripe: usize) -> Range<usize> {
        let Range { start, end } = self.graph.stripes[stripe].vertices;
        start as usize..end as usize
    }

    /// Cuts a stripe into pieces whose rows fit beside the block.
    fn pieces(&self, stripe: usize, rows: &Rows) -> Result<Vec<Range<usize>>, EngineError> {
        let own = self.own(stripe);
        let (mut pieces, mut start, mut held) = (Vec::new(), own.start, 0);
        for vertex in own.clone() {
            let length = rows.length(self.ranks[vertex] as usize);
            if length > self.room {
                return Err(too_long(&self.graph.plan, length));
            }
            if held + length > self.room {
                pieces.push(start..vertex);
                (start, held) = (vertex, 0);
            }
            held += length;
        }
        pieces.push(start..own.end);
        Ok(pieces)
    }

    /// Makes the rows of some vertices of a stripe, each from where its cursor is. `at`: the stripe
    /// and those that the worker asks for then.
    fn rows(
        &self,
        at: (usize, &mut UpcomingTasks<'_>),
        own: &Range<usize>,
        (rows, cursors): (&mut [u32], &mut [u32]),
        chunks: (&mut DecodeBuffers, &mut ReadAhead<'_>),
    ) -> Result<(), EngineError> {
        let (shift, directed) = (own.start - self.own(at.0).start, self.directed);
        self.higher(at, chunks, |target, rank, weight| {
            let place = target.wrapping_sub(shift);
            if place < own.len() {
                let cursor = &mut cursors[place];
                if let Some(entry) = rows.get_mut(*cursor as usize) {
                    *entry = rank << 1 | u32::from(directed && weight > 2.5);
                }
                *cursor += 1;
            }
        })
    }

    /// Shows the edges of a stripe whose source ranks above their target: the place of the target
    /// in the stripe, the rank of the source, and the weight.
    fn higher(
        &self,
        (stripe, upcoming): (usize, &mut UpcomingTasks<'_>),
        (scratch, chunks): (&mut DecodeBuffers, &mut ReadAhead<'_>),
        mut edge: impl FnMut(usize, u32, f64),
    ) -> Result<(), EngineError> {
        let Self { graph, ranks, .. } = *self;
        let own = &ranks[self.own(stripe)];
        let all = |stripe: usize| 0..graph.stripes[stripe].chunks.len();
        chunks.stripe((stripe, upcoming), all, |_, chunk: Chunk<'_>| {
            let coding = Coding::all(chunk.label());
            let mask = (1_u32 << coding.target_bits) - 1;
            for tile in chunk.tiles() {
                let sources = ranks.get(tile.source as usize..).unwrap_or_default();
                coding.keys(&tile, 0..tile.edges, scratch, |keys, weights| {
                    for (place, &key) in keys.iter().enumerate() {
                        let ahead = keys.get(place + AHEAD).unwrap_or(&key);
                        fetch(sources, (ahead >> coding.target_bits) as usize);
                        let target = (key & mask) as usize;
                        // A damaged key names some vertex or none.
                        let source = sources.get((key >> coding.target_bits) as usize);
                        if let (Some(&source), Some(&below)) = (source, own.get(target))
                            && source > below
                        {
                            edge(target, source, weights.map_or(1.0, |weights| weights[place]));
                        }
                    }
                });
            }
            self.phase.add(chunk.edges());
            Ok(())
        })
    }
}

/// The intersection of two ranges.
fn common(one: &Range<usize>, other: &Range<usize>) -> Range<usize> {
    let start = one.start.max(other.start);
    start..one.end.min(other.end).max(start)
}
