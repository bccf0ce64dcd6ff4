//! The worker of programs over triangles: rows of neighbours travel to where those neighbours are.
//!
//! ```text
//! show      an edge u -> v tells v how many edges u has; v tells the lower of both who is above
//! rows      who is told keeps that once: its row, which goes to each partition of its entries
//! meet      a row that comes by meets the rows of its entries: triangles close (`meet`)
//! count     the other two corners are told, and add up
//! ```
//!
//! Nothing is asked of the input: loops are left out and parallel edges are one, and the order of
//! vertices is that of the edges at them, parallel ones included, which bounds rows as well
//! (`stage`). Who gathers tells others at once, and they gather it one iteration later, so a round
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
//! in `Rows::work`. **Invariant:** a stealer's accumulators are counts, which add up, or keys, which
//! are kept once.

mod meet;
mod rows;
mod stage;
mod told;

use std::ops::Range;

use bytemuck::{cast_slice, pod_read_unaligned};
use welter_engine::EngineError;
use welter_engine::chunks::{
    Column, IntersectKernel, Records, Scratch, UpdateCell, open_updates, write_updates,
};
use welter_protocol::config::Route;
use welter_protocol::names::{Bytes, Cell, Phase, Step};
use welter_protocol::partitions::Partitions;
use welter_protocol::work::Filled;
use welter_protocol::{Outcome, Payload, Work};

use self::meet::Met;
use self::rows::{KEY_BYTES, Keys, Rows, VERTICES_MOST};
use self::stage::{Needs, Ranges, Round, Stage, fewest, least, needs, row_most};
use self::told::{Record, Told, bytes_of, each_row};
use crate::cut::Cut;
use crate::ingest::{Ingest, Input};
use crate::{Worker, other};

/// Bytes of a vertex before its value.
const STATE_BYTES: usize = 16;

/// Columns of the vertices of a partition.
#[derive(Debug, Default)]
struct VertexSet {
    degrees: Vec<u32>,
    neighbours: Vec<u32>,
    closed: Vec<u64>,
    values: Column,
}

/// A program over triangles, and what it has in memory of the partition that it works on.
pub struct TriangleWorker {
    kernel: IntersectKernel,
    ingest: Ingest,
    /// Number of the graph.
    graph: u64,
    cut: Cut,
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
    telling: Option<(Rows, u64)>,
    told: Told,
    met: Met,
    scratch: Scratch,
    looked_at: u64,
}

impl TriangleWorker {
    /// The worker of a machine that reads this share of a graph of this number, and may have so
    /// many bytes of rows in memory.
    ///
    /// # Errors
    /// On route `fold`, where nothing waits that could travel, and when there are more vertices
    /// than entries of rows can name.
    pub fn new(
        kernel: IntersectKernel,
        cut: Cut,
        (graph, rows_bytes): (u64, u64),
        input: Box<dyn Input>,
    ) -> Result<Self, EngineError> {
        if cut.route == Route::Fold {
            let what = "rows of triangles travel as updates, which wait nowhere on route fold";
            return Err(EngineError::Unsupported(format!("{what}; take route spill")));
        }
        if cut.partitions.vertices() > VERTICES_MOST {
            let what = "triangles take a graph of at most 2^31 vertices";
            return Err(EngineError::Unsupported(what.to_owned()));
        }
        let count = 1;
        Ok(Self {
            kernel,
            ingest: Ingest::new(input, cut, (graph, false), None).of_partitions(),
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
            telling: None,
            told: Told::new(cut.partitions.count(), cut.chunk_records),
            met: Met::default(),
            scratch: Scratch::default(),
            looked_at: 0,
            cut,
        })
    }

    /// Bytes of rows that a machine must have in memory where no partition is cut into more than so
    /// many ranges (16 at most), if vertices have these degrees in a graph of so many edges. A run
    /// takes `1 + 4 R^2` iterations for `R` ranges, which are a power of two.
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
        self.telling = None;
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
        self.told.begin(kind, self.at(step.iteration + u32::from(gathers)));
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
        let (partition, width) = (self.cut.partitions.of(vertex.into()), self.ranges.width);
        (partition, (u64::from(vertex) % width) as u32)
    }

    /// Whether a row of a vertex at this place has a part in the round.
    fn has_part(&self, place: u32) -> bool {
        let Round { passing, held } = self.round;
        [passing, held].iter().any(|&range| self.ranges.of(range).contains(&place.into()))
    }

    /// Updates of an iteration for the open partition.
    fn at(&self, iteration: u32) -> (u64, UpdateCell) {
        let (turn, stripe) = (iteration.into(), self.partition);
        (self.graph, UpdateCell { turn, stripe, window: self.partition })
    }

    fn stream(&mut self, payload: &[u8]) -> Result<Outcome, EngineError> {
        let gathered = match self.step.phase {
            Phase::Scatter => self.scatter(payload).map(|()| 0)?,
            _ => self.gather(payload)?,
        };
        let (made, filled) = self.told.take();
        Ok(Outcome::Streamed { made, gathered, rewritten: None, filled })
    }

    /// Tells what edges say.
    fn scatter(&mut self, payload: &[u8]) -> Result<(), EngineError> {
        let cell = self.cut.chunk_cell(self.graph, Cell::all(self.partition));
        let pulled = cell.open(payload)?;
        let mut scratch = std::mem::take(&mut self.scratch);
        let first = cell.sources.start as u32;
        let one = 1_u64.to_ne_bytes();
        let done = pulled.pairs(&mut scratch, |place, target| {
            let source = first + place;
            if source == target {
                return;
            }
            let (partition, at) = self.place(target);
            if self.stage == Stage::Degrees {
                self.told.tell(partition, &[&[2 * at]], &one);
                self.told.tell(self.partition, &[&[2 * place]], &one);
            } else if self.has_part(place) || self.has_part(at) {
                let degree = self.own.degrees[place as usize];
                self.told.tell(partition, &[&[at]], bytes_of(&[source, degree]));
            }
        });
        self.scratch = scratch;
        self.looked_at = pulled.edges();
        done
    }

    /// Gathers a chunk of updates, and returns how many it stands for.
    fn gather(&mut self, payload: &[u8]) -> Result<u64, EngineError> {
        let at = self.at(self.step.iteration);
        let width = match self.stage {
            Stage::Degrees | Stage::Show | Stage::Count => 8,
            Stage::Rows => Record::Entries.width(),
            Stage::Meet => Record::Rows.width(),
        };
        let records = open_updates(width, at, payload)?;
        self.looked_at = records.targets.len() as u64;
        match self.stage {
            Stage::Degrees | Stage::Count => self.add(&records)?,
            Stage::Show => self.show(&records)?,
            Stage::Rows => self.keep(&records)?,
            Stage::Meet => self.meet(&records)?,
        }
        Ok(records.updates)
    }

    /// Adds counts up.
    fn add(&mut self, records: &Records<'_>) -> Result<(), EngineError> {
        let counts = records.accums.chunks_exact(8).map(pod_read_unaligned::<u64>);
        for (&place, count) in records.targets.iter().zip(counts) {
            let sum = self.counts.get_mut(place as usize);
            let sum = sum.ok_or_else(|| other(format!("a count for place {place}")))?;
            *sum = sum.saturating_add(count);
        }
        Ok(())
    }

    /// Tells the lower end of edges who is above it.
    fn show(&mut self, records: &Records<'_>) -> Result<(), EngineError> {
        let first = self.cut.partitions.range(self.partition).start as u32;
        let shown = records.accums.chunks_exact(8).map(pod_read_unaligned::<[u32; 2]>);
        for (&place, [source, of_source]) in records.targets.iter().zip(shown) {
            let degree = self.own.degrees.get(place as usize);
            let known = degree.filter(|_| u64::from(source) < self.cut.partitions.vertices());
            let Some(&degree) = known else {
                return Err(other(format!("an edge from {source} to place {place}")));
            };
            let (target, (partition, of)) = (first + place, self.place(source));
            if (of_source, source) < (degree, target) {
                if self.has_part(of) {
                    self.told.tell(partition, &[&[of]], bytes_of(&[target << 1]));
                }
            } else if self.has_part(place) {
                let down = u32::from(self.kernel.is_directed());
                self.told.tell(self.partition, &[&[place]], bytes_of(&[source << 1 | down]));
            }
        }
        Ok(())
    }

    /// Keeps entries of rows.
    fn keep(&mut self, records: &Records<'_>) -> Result<(), EngineError> {
        let vertices = self.cut.partitions.vertices();
        for (&place, &entry) in records.targets.iter().zip(cast_slice::<u8, u32>(records.accums)) {
            if place as usize >= self.own.degrees.len() || u64::from(entry >> 1) >= vertices {
                return Err(other(format!("entry {entry} of place {place}")));
            }
            self.keys.push(place, entry)?;
        }
        Ok(())
    }

    /// Lets rows that come by meet those that are held.
    fn meet(&mut self, records: &Records<'_>) -> Result<(), EngineError> {
        let partitions = self.cut.partitions;
        let (base, is_directed) =
            (partitions.range(self.partition).start, self.kernel.is_directed());
        let rows = (records.targets, records.updates);
        each_row(rows, partitions.vertices(), |vertex, row| {
            let Self { met, held, counts, .. } = &mut *self;
            let middles = met.meet(row, (held, base), is_directed, |place, closed| {
                counts[2 * place as usize] += closed;
                counts[2 * place as usize + 1] += 1;
            });
            if middles == 0 {
                return Err(other(format!("a row of {vertex} meets none of a range")));
            }
            let met = std::mem::take(&mut self.met);
            let corners = row.iter().map(|entry| entry >> 1).zip(&met.highest);
            for (corner, &closed) in corners.chain([(vertex, &met.lowest)]) {
                if closed > 0 {
                    let (partition, place) = self.place(corner);
                    self.told.tell(partition, &[&[2 * place]], &closed.to_ne_bytes());
                }
            }
            self.met = met;
            Ok(())
        })
    }

    /// What a stealer has gathered, as updates that its master gathers.
    fn hand_over(&mut self) -> Result<Payload, EngineError> {
        let at = self.at(self.step.iteration);
        if self.stage == Stage::Rows {
            self.keys.compact()?;
            let (targets, entries): (Vec<u32>, Vec<u32>) = self.keys.all().unzip();
            let count = targets.len() as u64;
            let bytes = write_updates(4, at, (&targets, cast_slice(&entries)), count);
            return Ok(bytes.into());
        }
        let touched = (0_u32..).zip(&self.counts).filter(|(_, count)| **count > 0);
        let (targets, counts): (Vec<u32>, Vec<u64>) = touched.unzip();
        let updates = targets.len() as u64;
        Ok(write_updates(8, at, (&targets, cast_slice(&counts)), updates).into())
    }

    fn merge(&mut self, payload: &[u8]) -> Result<Outcome, EngineError> {
        let (at, vertices) = (self.at(self.step.iteration), self.own.degrees.len() as u64);
        if self.stage == Stage::Rows {
            self.keep(&open_updates(4, at, payload)?)?;
        } else {
            self.add(&open_updates(8, at, payload)?)?;
        }
        self.looked_at = vertices;
        Ok(Outcome::Merged)
    }

    fn apply(&mut self) -> Result<Outcome, EngineError> {
        self.looked_at = self.own.degrees.len() as u64;
        match self.stage {
            Stage::Rows => return self.tell_rows(),
            Stage::Degrees => {
                let degrees = self.counts.chunks_exact(2);
                let degrees = degrees.map(|counts| u32::try_from(counts[0]).unwrap_or(u32::MAX));
                self.own.degrees = degrees.collect();
                let ways = 1 + u64::from(self.kernel.is_directed());
                let rows = self.own.degrees.iter().map(|&d| row_most(d, self.edges, ways));
                let total = needs(self.ranges.width, &rows.collect::<Vec<_>>());
                let total: Vec<u8> = total.iter().flat_map(|need| need.to_le_bytes()).collect();
                return Ok(self.made(&total, true));
            }
            Stage::Show => {}
            Stage::Meet | Stage::Count => {
                let VertexSet { neighbours, closed, .. } = &mut self.own;
                let vertices = neighbours.iter_mut().zip(closed);
                for ((neighbours, closed), counts) in vertices.zip(self.counts.chunks_exact(2)) {
                    *closed += counts[0];
                    *neighbours += counts[1] as u32;
                }
            }
        }
        let is_last = self.stage == Stage::Count;
        if is_last {
            let VertexSet { neighbours, closed, values, .. } = &mut self.own;
            self.kernel.values(neighbours, closed, values);
        }
        Ok(self.made(&[], is_last))
    }

    /// Tells rows to the partitions of their entries, until chunks of them are full; when all were
    /// told, hands out the vertex set, with the rows that are held.
    fn tell_rows(&mut self) -> Result<Outcome, EngineError> {
        let (mut rows, mut next) = match self.telling.take() {
            Some(telling) => telling,
            None => self.begin_rows()?,
        };
        let first = self.cut.partitions.range(self.partition).start;
        let end = rows.vertices().end;
        while next < end && !self.told.is_filled() {
            self.tell_row(((first + next) as u32, rows.of(next)));
            next += 1;
        }
        if next == end {
            self.told.flush();
            rows = Rows::default();
        }
        let (made, filled) = self.told.take();
        if !filled.is_empty() {
            // There are none left when it is asked for again.
            let next = if next == end { 0 } else { next };
            self.telling = Some((rows, next));
            return Ok(Outcome::Applied { made, filled });
        }
        Ok(self.made(&[], false))
    }

    /// Makes rows of the keys that were gathered: those that pass, from the first on.
    fn begin_rows(&mut self) -> Result<(Rows, u64), EngineError> {
        self.keys.compact()?;
        let Round { passing, held } = self.round;
        self.held = self.keys.rows(self.range(held));
        let rows = self.keys.rows(self.range(passing));
        if passing == held {
            for vertex in self.held.vertices() {
                self.own.neighbours[vertex as usize] += self.held.of(vertex).len() as u32;
            }
        }
        let first = rows.vertices().start;
        Ok((rows, first))
    }

    /// Tells a row to each partition in which rows of its entries are held.
    fn tell_row(&mut self, (vertex, row): (u32, &[u32])) {
        let held = self.ranges.of(self.round.held);
        let mut last = None;
        for entry in row {
            let (partition, place) = self.place(entry >> 1);
            if last != Some(partition) && held.contains(&place.into()) {
                last = Some(partition);
                self.told.tell(partition, &[&[vertex, row.len() as u32], row], &[]);
            }
        }
    }

    /// The vertex set in memory, with the rows that are held after they were made. All vertices are
    /// active, or none is.
    fn made(&self, total: &[u8], are_active: bool) -> Outcome {
        let Self { own, cut, stage, step, .. } = self;
        let has_rows = *stage == Stage::Rows && step.phase == Phase::Gather;
        let count = own.degrees.len() as u64;
        let chunks = count.div_ceil(cut.chunk_vertices).max(1);
        let chunk = |chunk: u64| {
            let first = chunk * cut.chunk_vertices;
            let vertices = first..(first + cut.chunk_vertices).min(count);
            let mut bytes = own.bytes(vertices.clone(), self.kernel.value_bytes());
            if has_rows {
                self.held.put(vertices, &mut bytes);
            }
            bytes.into()
        };
        let vertices = (0..chunks).map(chunk).collect();
        let active = if are_active && count > 0 { u64::MAX } else { 0 };
        Outcome::Made { vertices, total: total.into(), active }
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
        Ok(Outcome::Decided { goes_on, control: control.into() })
    }

    fn too_long(&self, least: u64) -> EngineError {
        let advice = format!("{least} entries of rows must be in memory at the same time");
        let (need, budget) = (least * KEY_BYTES, self.room * KEY_BYTES);
        EngineError::Budget { need, budget, advice }
    }

    fn flush(&mut self) -> Vec<Filled> {
        // Rows are told when all of them are known.
        self.told.flush();
        self.told.take().1
    }
}

impl VertexSet {
    /// Begins a set of so many vertices, without values.
    fn begin(&mut self, count: usize, value_bytes: usize) {
        let Self { degrees, neighbours, closed, values } = self;
        for column in [degrees, neighbours] {
            column.clear();
            column.resize(count, 0);
        }
        closed.clear();
        closed.resize(count, 0);
        values.clear();
        values.resize(count * value_bytes);
    }

    /// Reads the states of a chunk.
    fn read(&mut self, states: &[u8], value_bytes: usize) {
        for state in states.chunks_exact(STATE_BYTES + value_bytes) {
            self.degrees.push(pod_read_unaligned(&state[..4]));
            self.neighbours.push(pod_read_unaligned(&state[4..8]));
            self.closed.push(pod_read_unaligned(&state[8..STATE_BYTES]));
            self.values.extend(&state[STATE_BYTES..]);
        }
    }

    /// The states of some vertices.
    fn bytes(&self, vertices: Range<u64>, value_bytes: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for vertex in vertices.start as usize..vertices.end as usize {
            bytes.extend(self.degrees[vertex].to_le_bytes());
            bytes.extend(self.neighbours[vertex].to_le_bytes());
            bytes.extend(self.closed[vertex].to_le_bytes());
            bytes.extend_from_slice(&self.values[vertex * value_bytes..][..value_bytes]);
        }
        bytes
    }
}

/// Numbers of 64 bits, if the bytes are so many.
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
            Work::Flush => Ok(Outcome::Flushed(self.flush())),
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
