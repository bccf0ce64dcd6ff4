//! Programs as a cluster runs them: workers of machines, and columns of what these have made.
//!
//! Each machine makes the program from its own words and the same input, tables of vertices
//! included, so nothing of it travels. What an algorithm must know of all edges beforehand (sums of
//! weights, which ends are sources) each machine reads for itself ([`ClusterGraph`]).

use std::sync::Arc;

use bytemuck::{Pod, pod_read_unaligned};
use serde_json::Value as Json;
use welter_cluster::send::MessageKernel;
use welter_cluster::{Share, Widths};
use welter_engine::WeightSum;
use welter_engine::chunks::Kernel;
use welter_engine::plan::EdgeWork;
use welter_model::edges::{Duplicates, EdgeStream, Reading};
use welter_model::ids::IdMap;
use welter_model::program::{Total, Value};
use welter_model::table::{Column, Columns};
use welter_programs::{CompiledContraction, CompiledExtended, CompiledFold, CompiledTriangles};
use welter_protocol::config::Edges;
use welter_protocol::ids::Bytes;
use welter_store::header::Encoding;
use welter_worker::{Input, KernelWorker, Partitioning, TriangleWorker, Worker};

use super::tables::KnownVertices;
use crate::endpoints::EdgeEndpoints;
use crate::failure::Failure;
use crate::listed::Listed;
use crate::preview::Top;
use crate::session::Session;

/// Bytes of rows of neighbours that a machine has in memory: a partition with more of them is cut
/// into ranges, at most 16, which takes more iterations.
const ROWS_BYTES: u64 = 512 << 20;

/// Edges that are looked at in one go.
const PIECE_EDGES: usize = 1 << 16;

/// Refuses an option, by its words and the reason why machines do not have it.
pub(crate) fn refused(option: &str, why: &str) -> Failure {
    Failure::usage(format!("{option}: {why}"))
        .hint("leave it out, or leave --cluster out to run in this process")
}

/// Facts of a graph that a program is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beforehand {
    /// Number of vertices.
    Sizes,
    /// Ids of all vertices too, in which some are looked up.
    Ids,
    /// All edges too.
    Edges,
}

/// A graph that the machines of a cluster are about to read.
pub(crate) struct ClusterGraph<'a> {
    /// Ids by slot: all slots are vertices.
    pub(crate) ids: &'a IdMap,
    /// Number of vertices.
    pub(crate) vertices: u64,
    /// Whether this machine has all ids and all edges, or what the algorithm wants beforehand.
    pub(crate) has: Beforehand,
    /// Edges as they were listed.
    pub(crate) listed: &'a Arc<dyn EdgeStream>,
    /// Edges, without those that are dropped as duplicates.
    pub(crate) edges: &'a Arc<dyn EdgeStream>,
    /// Whether they have weights, and these are looked at.
    pub(crate) weighted: bool,
    /// Reading of the edges for the algorithm.
    pub(crate) reading: Reading,
    /// Means of the command.
    pub(crate) session: &'a Session,
}

impl ClusterGraph<'_> {
    /// Vertices of the graph, by their names.
    pub(super) fn known(&self) -> KnownVertices<'_> {
        assert!(self.has != Beforehand::Sizes, "an algorithm that looks up ids says so");
        KnownVertices::all((self.ids, self.vertices), self.session)
    }

    /// Checks that all edges can be read here.
    fn check_edges(&self) -> Result<(), Failure> {
        let has = self.has == Beforehand::Edges;
        has.then_some(()).ok_or_else(|| Failure::bug("a machine that reads all edges has them"))
    }

    /// Vertices that edges leave and come to, as they were listed: one reading of all edges.
    pub(super) fn ends(&self) -> Result<EdgeEndpoints, Failure> {
        self.check_edges()?;
        EdgeEndpoints::all(&**self.listed, self.reading.drop_self_loops).map_err(Failure::read)
    }

    /// The sum of the weights of the edges that leave each vertex, times `scale`: one reading of
    /// all edges.
    pub(super) fn out_weights(&self, scale: f64) -> Result<Vec<f64>, Failure> {
        self.check_edges()?;
        let reading = Reading { duplicates: Duplicates::Keep, ..self.reading };
        let mut all = Share::new(self.edges.clone(), reading, (0, 1));
        let mut sums = vec![WeightSum::default(); self.vertices as usize];
        all.begin();
        loop {
            let (edges, is_last) = all.piece(PIECE_EDGES)?;
            for edge in edges {
                if let Some(sum) = sums.get_mut(edge.source as usize) {
                    sum.add(edge.weight * scale);
                }
            }
            if is_last {
                return Ok(sums.into_iter().map(WeightSum::sum).collect());
            }
        }
    }
}

/// Reading of edges for a program, over the algorithm's on one machine. Parallel ones stay: on a
/// cluster they are where chance has put them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EdgeReading {
    /// Edges as the algorithm reads them.
    Alike,
    /// Each edge once, in either direction.
    OneWay,
    /// Edges in both directions.
    BothWays,
    /// Edges in both directions, with a loop at each vertex and no other.
    Members,
    /// Edges in both directions, with weights that say which ways they lead, and no loops.
    Directions,
}

/// Outcome of a run, with its totals.
pub(super) struct Ended<'a, T> {
    /// Results of all vertices, or a list.
    pub(super) columns: &'a dyn Columns,
    /// Rows of the results.
    pub(super) rows: usize,
    /// Number of vertices.
    pub(super) vertices: u64,
    /// Iterations that were done.
    pub(super) iterations: u64,
    /// Totals of the beginning, and after each iteration.
    pub(super) totals: Vec<T>,
}

impl<T: Total> Ended<'_, T> {
    /// Totals of the last iteration.
    pub(super) fn total(&self) -> T {
        self.totals.last().copied().unwrap_or_default()
    }

    /// A finding after the iterations of this answer.
    pub(super) fn found(&self, note: Option<String>, found: Option<Json>) -> Finding {
        Finding { iterations: self.iterations, note, found }
    }
}

/// Words about a result.
pub(crate) struct Finding {
    /// Iterations, as the algorithm counts them.
    pub(crate) iterations: u64,
    /// Note for a person.
    pub(crate) note: Option<String>,
    /// Findings about the graph as a whole, for the report.
    pub(crate) found: Option<Json>,
}

/// Outcome of machines: columns, vertices, and each decision after an iteration.
pub(crate) struct MachinesOutcome<'a> {
    pub(crate) columns: &'a dyn Columns,
    pub(crate) vertices: u64,
    pub(crate) decided: &'a [Bytes],
}

/// Makes the worker of a machine, for a graph of this number, that reads this share of it.
type MakeWorker = Box<
    dyn Fn(Partitioning, u64, Box<dyn Input>) -> Result<Box<dyn Worker>, Failure> + Send + Sync,
>;

/// Makes what is said of a result.
type MakeFinding = Box<dyn Fn(&MachinesOutcome<'_>) -> Result<Finding, Failure> + Send + Sync>;

/// Makes columns of vertices, each of that many bytes, with the value at that offset.
type MakeColumns = fn(&[u8], (usize, usize)) -> Box<dyn Columns>;

/// Maker of columns of vertices, as machines stored them.
#[derive(Clone, Copy)]
pub(crate) struct Decoder {
    columns: MakeColumns,
    /// Bytes of a vertex, and the place of its value.
    sizes: (usize, usize),
}

impl Decoder {
    /// The columns of some vertices, or a list.
    pub(crate) fn columns(&self, vertices: &[u8]) -> Box<dyn Columns> {
        (self.columns)(vertices, self.sizes)
    }
}

/// Program for a cluster, without its types.
pub(crate) struct ClusterProgram {
    /// Bytes of a vertex as machines store it.
    pub(crate) vertex_bytes: u64,
    /// Treatment of edges while they stream.
    pub(crate) edges: Edges,
    /// Whether updates are made while others are gathered, for which they must wait on storage.
    pub(crate) carries: bool,
    /// Makes workers.
    pub(crate) worker: MakeWorker,
    /// Widths of what machines have of it, where their memory is bounded.
    pub(crate) widths: Option<Widths>,
    /// Work on an edge that is packed, where that is foreseen.
    pub(crate) work: Option<EdgeWork>,
    /// The kernel, of a program that sends, with widths; of others, why their updates cannot be
    /// messages.
    pub(crate) sent: Result<(MessageKernel, Widths), &'static str>,
    /// Part of the table that is shown.
    pub(crate) top: Top,
    /// Makes the words about the result.
    pub(crate) finding: MakeFinding,
    wanted: EdgeReading,
    /// Place of a value among the bytes of a vertex.
    value_at: usize,
    columns: MakeColumns,
}

impl ClusterProgram {
    fn new<V: Value, T: Total>(
        (vertex_bytes, edges): (u64, Edges),
        worker: MakeWorker,
        top: Top,
        finding: impl Fn(&Ended<'_, T>) -> Result<Finding, Failure> + Send + Sync + 'static,
    ) -> Self {
        Self {
            vertex_bytes,
            edges,
            carries: false,
            worker,
            widths: None,
            work: None,
            sent: Err("its updates are no messages to a vertex"),
            top,
            finding: Box::new(move |made| finding(&ended(made)?)),
            wanted: EdgeReading::Alike,
            value_at: 0,
            columns: columns::<V>,
        }
    }

    /// A program by itself, which finds nothing.
    #[cfg(test)]
    pub(crate) fn of_labels() -> Self {
        let program = welter_algorithms::LabelPropagation;
        Self::fold(program, Top::Groups, |_| Err(Failure::bug("no run has ended")))
    }

    /// A fold program, or one that groups.
    pub(super) fn fold<P: CompiledFold>(
        program: P,
        top: Top,
        finding: impl Fn(&Ended<'_, P::Total>) -> Result<Finding, Failure> + Send + Sync + 'static,
    ) -> Self {
        let folded = P::kernel(Arc::new(program));
        let kernel = Kernel::Fold(folded.clone());
        let sizes = (KernelWorker::vertex_bytes(&kernel), Edges::Fixed);
        let (widths, work) = (widths(&kernel), Some(work(&kernel)));
        let made = Self::new::<P::Value, P::Total>(sizes, of_kernel(kernel), top, finding);
        Self { widths: Some(widths), work, sent: Ok((folded.into(), widths)), ..made }
    }

    /// An extended program.
    pub(super) fn extended<E: CompiledExtended>(
        program: E,
        top: Top,
        finding: impl Fn(&Ended<'_, E::Total>) -> Result<Finding, Failure> + Send + Sync + 'static,
    ) -> Self {
        let extended = E::kernel(Arc::new(program));
        let kernel = Kernel::Extended(extended.clone());
        let sizes = (KernelWorker::vertex_bytes(&kernel), Edges::Rewritten);
        let (widths, work) = (widths(&kernel), Some(work(&kernel)));
        let made = Self::new::<E::Value, E::Total>(sizes, of_kernel(kernel), top, finding);
        Self { widths: Some(widths), work, sent: Ok((extended.into(), widths)), ..made }
    }

    /// A program that contracts.
    pub(super) fn contracting<C: CompiledContraction>(
        program: C,
        top: Top,
        finding: impl Fn(&Ended<'_, C::Total>) -> Result<Finding, Failure> + Send + Sync + 'static,
    ) -> Self {
        let program = Arc::new(program);
        let sizes = (size_of::<C::Value>() as u64, Edges::Contracted);
        let worker: MakeWorker =
            Box::new(move |cut, graph, input| Ok(C::worker(program.clone(), cut, graph, input)?));
        let made = Self::new::<C::Value, C::Total>(sizes, worker, top, finding);
        let bytes = |size: usize| size as u64;
        let widths = Widths {
            vertex: bytes(size_of::<C::Value>()),
            signal: 0,
            accum: bytes(size_of::<Option<C::Update>>()),
            record: bytes(size_of::<C::Update>()),
            edge: 8 + bytes(size_of::<C::EdgeData>()),
            combines: true,
            degrees: C::DEGREES,
        };
        let sent = Err("its edges become edges between other vertices, which move to other \
                        machines in each iteration");
        Self { wanted: EdgeReading::BothWays, widths: Some(widths), sent, ..made }
    }

    /// A program over triangles.
    pub(super) fn triangles<I: CompiledTriangles>(
        program: I,
        top: Top,
        finding: impl Fn(&Ended<'_, ()>) -> Result<Finding, Failure> + Send + Sync + 'static,
    ) -> Self {
        let kernel = I::kernel(Arc::new(program));
        let vertex_bytes = TriangleWorker::vertex_bytes(&kernel);
        let value_at = vertex_bytes as usize - kernel.value_bytes();
        let is_directed = kernel.is_directed();
        let wanted = if is_directed { EdgeReading::Alike } else { EdgeReading::OneWay };
        let [edge, weight] = EDGE_BYTES;
        let widths = Widths {
            vertex: vertex_bytes,
            signal: 0,
            accum: 0,
            record: 8,
            edge: edge + if is_directed { weight } else { 0 },
            combines: false,
            degrees: true,
        };
        let sent = Ok((kernel.clone().into(), widths));
        let worker: MakeWorker = Box::new(move |cut, graph, input| {
            let of = (graph, ROWS_BYTES);
            Ok(Box::new(TriangleWorker::new(kernel.clone(), cut, of, input)?))
        });
        let made = Self::new::<I::Value, ()>((vertex_bytes, Edges::Fixed), worker, top, finding);
        Self { carries: true, wanted, value_at, sent, ..made }
    }

    /// The program on a graph that has a loop at each vertex, which says whose it is.
    pub(super) fn with_members(self) -> Self {
        Self { wanted: EdgeReading::Members, ..self }
    }

    /// The program on edges whose weights say which ways they lead.
    pub(super) fn with_directions(self) -> Self {
        Self { wanted: EdgeReading::Directions, ..self }
    }

    /// Whether each vertex has a loop.
    pub(crate) fn has_members(&self) -> bool {
        self.wanted == EdgeReading::Members
    }

    /// Reading of edges for the program, over this one for the algorithm.
    pub(crate) fn reading(&self, reading: Reading) -> Reading {
        let all = Reading { duplicates: Duplicates::Keep, ..reading };
        match self.wanted {
            EdgeReading::Alike => all,
            EdgeReading::OneWay => Reading { undirected: false, ..all },
            EdgeReading::BothWays => Reading { undirected: true, ..all },
            EdgeReading::Members => Reading { undirected: true, drop_self_loops: true, ..all },
            EdgeReading::Directions => {
                Reading { duplicates: Duplicates::Directions, drop_self_loops: true, ..all }
            }
        }
    }

    /// As [`Self::reading`], for machines that send: rows of triangles are made at both ends of an
    /// edge.
    pub(crate) fn sent_reading(&self, reading: Reading) -> Reading {
        let Ok((MessageKernel::Intersect(kernel), _)) = &self.sent else {
            return self.reading(reading);
        };
        let all = Reading { drop_self_loops: true, ..reading };
        if kernel.is_directed() {
            return Reading { duplicates: Duplicates::Directions, ..all };
        }
        Reading { undirected: true, duplicates: Duplicates::Keep, ..all }
    }

    /// Maker of columns of vertices, as machines stored them.
    pub(crate) fn decoder(&self) -> Decoder {
        let sizes = (self.vertex_bytes as usize, self.value_at);
        Decoder { columns: self.columns, sizes }
    }
}

/// Bytes of a packed edge with its part of the tables of a chunk, and of a weight.
const EDGE_BYTES: [u64; 2] = [6, 8];

fn widths(kernel: &Kernel) -> Widths {
    let shape = kernel.shape();
    let [edge, weight] = EDGE_BYTES;
    let bytes = |size: usize| size as u64;
    Widths {
        vertex: KernelWorker::vertex_bytes(kernel),
        signal: bytes(shape.signal),
        accum: bytes(shape.accum),
        record: bytes(shape.record()),
        edge: edge + if shape.capabilities.weighted { weight } else { 0 } + bytes(shape.state),
        combines: shape.capabilities.combines,
        degrees: shape.capabilities.degrees,
    }
}

/// Work on a packed edge, as on one machine.
fn work(kernel: &Kernel) -> EdgeWork {
    let shape = kernel.shape();
    EdgeWork {
        encoding: Encoding::Packed,
        accum: shape.accum as u64,
        weighted: shape.capabilities.weighted,
        state: shape.state as u64,
        groups: shape.capabilities.groups,
        passes: 1,
    }
}

fn of_kernel(kernel: Kernel) -> MakeWorker {
    Box::new(move |cut, graph, input| {
        Ok(Box::new(KernelWorker::new(kernel.clone(), cut, graph, input)?))
    })
}

/// The outcome of a run, with its totals read.
fn ended<'a, T: Total>(made: &MachinesOutcome<'a>) -> Result<Ended<'a, T>, Failure> {
    let MachinesOutcome { columns, vertices, decided } = *made;
    let total = |bytes: &Bytes| total(bytes).ok_or_else(|| Failure::bug("totals are whole"));
    let totals = decided.iter().map(total).collect::<Result<Vec<T>, _>>()?;
    Ok(Ended {
        columns,
        rows: columns.listed().unwrap_or(vertices as usize),
        vertices,
        iterations: totals.len().saturating_sub(1) as u64,
        totals,
    })
}

/// The totals at the beginning of a decision; behind them may be a number of active vertices.
fn total<T: Pod>(decision: &[u8]) -> Option<T> {
    Some(pod_read_unaligned(decision.get(..size_of::<T>())?))
}

/// Columns of vertices of `vertex_bytes` bytes, with the value at `value_at`.
fn columns<V: Value>(
    vertices: &[u8],
    (vertex_bytes, value_at): (usize, usize),
) -> Box<dyn Columns> {
    let values = vertices.chunks_exact(vertex_bytes);
    let values = values.map(|vertex| pod_read_unaligned(&vertex[value_at..][..size_of::<V>()]));
    let values: Vec<V> = values.filter(V::is_listed).collect();
    let columns = V::columns(&values).into_iter();
    let columns: Vec<Column> =
        columns.map(|(name, data)| Column { name: name.to_owned(), data }).collect();
    if V::LISTED { Box::new(Listed::new(columns, values.len())) } else { Box::new(columns) }
}
