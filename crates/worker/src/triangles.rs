//! The worker of programs over triangles: rows of neighbours travel to where those neighbours are.
//!
//! ```text
//! show      over an edge u -> v, v learns how many edges u has; the lower end gets the upper one
//! rows      each vertex keeps its upper ends once: its row, which goes to their partitions
//! meet      a row that comes by meets the rows of its entries: triangles close (`corners`)
//! count     counts of the other two corners come, and add up
//! ```
//!
//! Nothing is asked of the input: loops are left out and parallel edges are one, and the order of
//! vertices is that of the edges at them, parallel ones included, which bounds rows as well
//! (`stage`). A gather makes updates at once, which are gathered one iteration later, so a round
//! reads the edges once ([`welter_protocol::Config::carries`]). Of rows, those of two ranges of a
//! partition are in memory at a time; where all rows have room there is one round.
//!
//! ```text
//! vertex    degree u32, neighbours u32, closed u64, value        then, until they are met, rows
//! total     of first values the edges that leave, u64; of degrees the keys of ranges, u64 each
//! control   edges u64, ranges u64
//! ```
//!
//! **Invariant:** no column here is longer than a partition, and rows take no more than the bytes
//! that were allowed, or the run is refused. Checked in `Keys::compact`; checked by the simulator
//! in `Rows::work`.
//! **Invariant:** accumulators of a stealer are counts, which add up, or keys, which are kept once.
//! Tested by `triangles_are_those_of_a_plain_loop`.

mod applying;
mod corners;
mod records;
mod rows;
mod stage;
mod update_bins;
mod vertices;

use std::ops::Range;

use bytemuck::pod_read_unaligned;
use welter_engine::EngineError;
use welter_engine::chunks::{DecodeBuffers, IntersectKernel, UpdateKey};
use welter_protocol::config::Route;
use welter_protocol::ids::{Bytes, Phase, Step};
use welter_protocol::partitions::Partitions;
use welter_protocol::{Outcome, Payload, Work};

use self::corners::CornerCounts;
use self::rows::VERTICES_MOST;
pub use self::rows::{KEY_BYTES, Keys, Rows};
use self::stage::{Needs, Ranges, Round, Stage, fewest, least, needs, row_most};
pub use self::update_bins::each_row;
use self::update_bins::{Record, UpdateBins};
use self::vertices::{STATE_BYTES, VertexSet};
use crate::ingest::Ingest;
use crate::input::Input;
use crate::partitioning::Partitioning;
use crate::{Worker, other};

/// A program over triangles, and what it has in memory of the partition that it works on.
pub struct TriangleWorker {
    kernel: IntersectKernel,
    ingest: Ingest,
    /// Number of the graph.
    graph: u64,
    cut: Partitioning,
    /// Keys of rows that there is room for.
    room: u64,
    /// Edges of the graph, and ranges of partitions.
    edges: u64,
    ranges: Ranges,
    step: Step,
    stage: Stage,
    round: Round,
    partition: u32,
    own: VertexSet,
    /// Counts of the open partition: edges that are closed, or at a vertex, and then neighbours.
    counts: Vec<u64>,
    keys: Keys,
    held: Rows,
    /// Rows that go to others, and the next one that does.
    sending: Option<(Rows, u64)>,
    bins: UpdateBins,
    corners: CornerCounts,
    scratch: DecodeBuffers,
    looked_at: u64,
}

impl TriangleWorker {
    /// The worker of a machine that reads this share of a graph of this number, and may have
    /// `rows_bytes` bytes of rows in memory.
    ///
    /// # Errors
    /// On route `fold`, where nothing waits that could travel, and when there are more vertices
    /// than entries of rows can name.
    pub fn new(
        kernel: IntersectKernel,
        cut: Partitioning,
        (graph, rows_bytes): (u64, u64),
        input: Box<dyn Input>,
    ) -> Result<Self, EngineError> {
        if cut.route == Route::Fold {
            let what = "rows of triangles travel as updates, which wait nowhere on route fold";
            return Err(EngineError::Unsupported(format!("{what}; take route spill")));
        }
        if cut.partitions.end() > VERTICES_MOST {
            let what = "triangles take a graph of at most 2^31 vertices";
            return Err(EngineError::Unsupported(what.to_owned()));
        }
        let count = 1;
        Ok(Self {
            kernel,
            ingest: Ingest::new(input, cut.clone(), (graph, false), (false, None))
                .looking_at(false),
            graph,
            room: rows_bytes / KEY_BYTES,
            edges: 0,
            ranges: Ranges { count, width: cut.partitions.width() },
            step: Step { iteration: 0, phase: Phase::Ingest },
            stage: Stage::Degrees,
            round: Round { passing: 0, held: 0 },
            partition: 0,
            own: VertexSet::default(),
            counts: Vec::new(),
            keys: Keys::default(),
            held: Rows::default(),
            sending: None,
            bins: UpdateBins::new(cut.partitions.count(), cut.chunk_records),
            corners: CornerCounts::default(),
            scratch: DecodeBuffers::default(),
            looked_at: 0,
            cut,
        })
    }

    /// Bytes of rows that a machine must have in memory where no partition is cut into more than a
    /// number of ranges (16 at most), if vertices have these degrees in a graph of `edges` edges. A
    /// run takes `1 + 4 R^2` iterations for `R` ranges: 5 where all rows of a partition have room.
    pub fn rows_bytes(
        partitions: &Partitions,
        (degrees, edges): (&[u32], u64),
        is_directed: bool,
        ranges_most: u32,
    ) -> u64 {
        let ways = 1 + u64::from(is_directed);
        let mut most = Needs::default();
        for partition in 0..partitions.count() {
            let Range { start, end } = partitions.range(partition);
            let degrees = degrees.get(start as usize..end as usize).unwrap_or_default();
            let rows = degrees.iter().map(|&degree| row_most(degree, edges, ways));
            let needs = needs(partitions.width(), &rows.collect::<Vec<_>>());
            most = std::array::from_fn(|level| most[level].max(needs[level]));
        }
        least(&most, ranges_most) * KEY_BYTES
    }

    /// Bytes of a vertex on storage, without its row.
    pub fn vertex_bytes(kernel: &IntersectKernel) -> u64 {
        (STATE_BYTES + kernel.value_bytes()) as u64
    }

    fn init(&mut self, partition: u32, counts: &[Payload]) -> Result<Outcome, EngineError> {
        let mut edges = 0_u64;
        for count in counts {
            let count: [u8; 8] = count[..].try_into().map_err(|_| other("a count of edges"))?;
            edges += u64::from_le_bytes(count);
        }
        (self.stage, self.partition) = (Stage::Degrees, partition);
        self.own.begin(self.cut.vertices(partition), self.kernel.value_bytes());
        Ok(self.made(&edges.to_le_bytes(), true))
    }

    fn open(
        &mut self,
        step: Step,
        partition: u32,
        vertices: &[Payload],
        control: &[u8],
    ) -> Result<Outcome, EngineError> {
        let [edges, ranges] = numbers(control)?;
        let width = self.cut.partitions.width();
        let count = u32::try_from(ranges).map_err(|_| other(format!("{ranges} ranges")))?;
        (self.edges, self.ranges) = (edges, Ranges { count: count.max(1), width });
        (self.step, self.partition) = (step, partition);
        (self.stage, self.round) = self.ranges.at(step.iteration);
        self.sending = None;
        self.load(vertices)?;
        let gathers = step.phase == Phase::Gather;
        self.counts.clear();
        self.counts.resize(if gathers { 2 * self.own.degrees.len() } else { 0 }, 0);
        self.keys.begin(if self.stage == Stage::Rows { self.room } else { 0 });
        let kind = match (self.stage, step.phase) {
            (Stage::Show, Phase::Scatter) => Record::Shown,
            (Stage::Show, _) => Record::Entries,
            (Stage::Rows, _) => Record::Rows,
            _ => Record::Counts { are_combined: self.cut.combines },
        };
        self.bins.begin(kind, self.at(step.iteration + u32::from(gathers)));
        self.looked_at = self.own.degrees.len() as u64;
        Ok(Outcome::Opened)
    }

    /// Reads the chunks of the vertex set of the open partition.
    fn load(&mut self, chunks: &[Payload]) -> Result<(), EngineError> {
        let (count, width) = (self.cut.vertices(self.partition) as u64, self.kernel.value_bytes());
        let range = self.held_range();
        self.held = Rows::reading(range.clone());
        self.own.begin(0, width);
        for (chunk, bytes) in (0..).zip(chunks) {
            let first = (chunk * self.cut.chunk_vertices).min(count);
            let vertices = first..(first + self.cut.chunk_vertices).min(count);
            let states = (vertices.end - first) as usize * (STATE_BYTES + width);
            let wrong = || other(format!("{} bytes of {vertices:?}", bytes.len()));
            let (states, rows) = bytes.split_at_checked(states).ok_or_else(wrong)?;
            self.own.read(states, width);
            if self.stage == Stage::Meet && self.step.phase == Phase::Gather {
                self.held.read(&range, vertices, rows)?;
            } else if !rows.is_empty() && self.stage != Stage::Meet {
                return Err(wrong());
            }
        }
        if self.own.degrees.len() as u64 == count {
            return Ok(());
        }
        Err(other(format!("{} vertices of {count}", self.own.degrees.len())))
    }

    /// Vertices of a range of the open partition.
    fn range(&self, range: u32) -> Range<u64> {
        let count = self.cut.vertices(self.partition) as u64;
        let Range { start, end } = self.ranges.of(range);
        start.min(count)..end.min(count)
    }

    fn held_range(&self) -> Range<u64> {
        self.range(self.round.held)
    }

    /// The partition of a vertex, and its place there.
    fn place(&self, vertex: u32) -> (u32, u32) {
        let (partition, place) = self.cut.partitions.place(vertex.into());
        (partition, place as u32)
    }

    /// Whether a row of a vertex at this place has a part in the round.
    fn has_part(&self, place: u32) -> bool {
        let Round { passing, held } = self.round;
        [passing, held].iter().any(|&range| self.ranges.of(range).contains(&place.into()))
    }

    /// Updates of an iteration for the open partition.
    fn at(&self, iteration: u32) -> (u64, UpdateKey) {
        (self.graph, UpdateKey::new(iteration.into(), self.partition, self.partition))
    }

    fn decide(
        &self,
        iterations: u32,
        control: &[u8],
        totals: &[(u32, Bytes)],
    ) -> Result<Outcome, EngineError> {
        let width = self.ranges.width;
        let (edges, count) = match iterations {
            0 => {
                let mut edges = 0;
                for (_, total) in totals {
                    let [count] = numbers(total)?;
                    edges += count;
                }
                (edges, 1)
            }
            1 => {
                let [edges, _] = numbers(control)?;
                let mut most = Needs::default();
                for (_, total) in totals {
                    let needs: Needs = numbers(total)?;
                    most = std::array::from_fn(|level| most[level].max(needs[level]));
                }
                (edges, fewest(&most, self.room).map_err(|least| self.too_long(least))?)
            }
            _ => {
                let [edges, count] = numbers(control)?;
                (edges, count as u32)
            }
        };
        let goes_on = iterations < Ranges { count, width }.iterations();
        let control = [edges, count.into()].map(u64::to_le_bytes).concat();
        Ok(Outcome::Decided { goes_on, control: control.into(), rewrites: false })
    }

    fn too_long(&self, least: u64) -> EngineError {
        let advice = format!("{least} entries of rows must be in memory at the same time");
        let (need, budget) = (least * KEY_BYTES, self.room * KEY_BYTES);
        EngineError::Budget { need, budget, advice }
    }
}

/// Numbers of 64 bits, if the bytes are those of `N`.
fn numbers<const N: usize>(bytes: &[u8]) -> Result<[u64; N], EngineError> {
    if bytes.len() != 8 * N {
        return Err(other(format!("{} bytes of {N} numbers", bytes.len())));
    }
    Ok(std::array::from_fn(|place| pod_read_unaligned(&bytes[8 * place..][..8])))
}

impl Worker for TriangleWorker {
    fn work(&mut self, work: &Work) -> Result<Outcome, EngineError> {
        self.looked_at = 0;
        match work {
            Work::Ingest { first } => self.ingest.piece(*first, &mut self.looked_at),
            Work::Init { partition, degrees } => self.init(*partition, degrees),
            Work::Open { step, partition, vertices, control } => {
                self.open(*step, *partition, vertices, control)
            }
            Work::Turn { .. } => Err(other("programs over triangles have no cells")),
            Work::Stream { payload, .. } => self.stream(payload),
            Work::Flush => Ok(Outcome::Flushed { filled: self.flush(), rewritten: Vec::new() }),
            Work::HandOver => Ok(Outcome::HandedOver(self.hand_over()?)),
            Work::Merge(payload) => self.merge(payload),
            Work::Apply => self.apply(),
            Work::Decide { iterations, control, totals } => {
                self.decide(*iterations, control, totals)
            }
        }
    }

    fn looked_at(&self) -> u64 {
        self.looked_at
    }
}
