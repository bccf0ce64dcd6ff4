//! The scale model: jobs that have sizes and times but no contents, so that the protocol runs at
//! sizes whose graphs fit nowhere.
//!
//! A [`Profile`] is recorded from a run with contents: how large chunks of edges, updates and
//! accumulators are, how large vertices, and how many updates edges make, and vertices are active,
//! in each iteration. A [`SizedJob`] makes chunks of these sizes, of zeros, for as many vertices
//! and edges as is wanted:
//!
//! ```text
//! edges of a partition     = edges * share of its range of sources     updates for one likewise
//! bytes of a chunk         = head + records of it * bytes of a record    a line, as recorded
//! touched accumulators     = w (1 - (1 - 1 / w)^updates)               w vertices of a partition
//! looked_at(work)          = what kernels look at: edges, updates, vertices
//! ```
//!
//! Where [`Spread`] is not even, shares are those of R-MAT graphs, whose ends fall into the lower
//! half of each range of ids more often than into the upper one; vertices without edges count, or
//! are left out, as ids without holes do.
//!
//! **Invariant:** no constant of a model is fitted to the time of a run: times follow from sizes,
//! from the speeds of the schedule, as they do with contents, and from times of kernels that were
//! recorded ([`KernelTimes`]), where a job has these. Tested by
//! `sizes_alone_take_as_long_as_contents`.
//!
//! On route `fold` edges lie by cells, of as many edges as the shares of both their partitions say,
//! and their updates are folded at once: its updates wait nowhere. Active vertices are drawn
//! from all, chunks without an active source are left out, and the others make all updates
//! (`sources`). So it is on route `spill` where a job says so; else all edges are streamed there in
//! each iteration, as in Chaos.
//!
//! Updates are combined in the buffers of chunks where that is asked for ([`Combining`]). Targets
//! of edges are as if they did not depend on the sources.

mod combining;
mod dealer;
mod iteration;
mod recorded;
mod sources;
mod times;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use welter_engine::EngineError;
use welter_protocol::config::Route;
use welter_protocol::ids::{Bytes, Phase, Step};
use welter_protocol::partitions::Partitions;
use welter_protocol::planted::Bug;
use welter_protocol::random::Random;
use welter_protocol::weights::Weights;
use welter_protocol::work::{Filled, Rewritten};
use welter_protocol::{Outcome, Payload, Time, Work};

pub use self::combining::Combining;
use self::dealer::{Dealer, products, shares};
pub use self::dealer::{RMat, Spread, weights};
pub use self::iteration::Iteration;
pub use self::recorded::Recorded;
use self::sources::{active_ranges, ranges_of_edges, rounded_up, share_read};
pub use self::times::{KernelTimes, WorkKind};
use crate::job::{Job, Partitioning, Worker};

/// Bytes of chunks of one kind, by their records: `head + bytes * r / records` for `r` of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Bytes of a chunk beside its records.
    pub head: u64,
    /// Bytes of `records` records.
    pub bytes: u64,
    /// Records that have `bytes` bytes.
    pub records: u64,
}

impl Size {
    /// Chunks that have nothing but records, `records` in `bytes` bytes.
    pub fn of_records(bytes: u64, records: u64) -> Self {
        Self { head: 0, bytes, records }
    }

    /// A chunk of `records` records.
    fn chunk(&self, records: u64) -> Payload {
        let bytes = (self.bytes * records).div_ceil(self.records.max(1));
        zeros(self.head + bytes)
    }
}

/// `bytes` zeros, which all chunks of a thread share: machines are a thousand, and have chunks of
/// few sizes.
fn zeros(bytes: u64) -> Payload {
    thread_local! {
        static ZEROS: RefCell<BTreeMap<u64, Payload>> = const { RefCell::new(BTreeMap::new()) };
    }
    let made = || Payload::from(vec![0; bytes as usize]);
    ZEROS.with_borrow_mut(|zeros| zeros.entry(bytes).or_insert_with(made).clone())
}

/// Sizes that a run had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Chunks of edges.
    pub edges: Size,
    /// Chunks of updates.
    pub updates: Size,
    /// Accumulators that were handed over; records are those that were touched, or, where updates
    /// are not merged, updates.
    pub accumulators: Size,
    /// Whether updates are merged: else all of them are handed over.
    pub merges: bool,
    /// Bytes that a machine sends of the degree of each vertex; 0 where the program looks at none.
    pub degree_bytes: u64,
    /// Updates and active vertices of each iteration.
    pub iterations: Vec<Iteration>,
}

/// Accumulators that `updates` updates touch, if they go to random vertices.
fn touched(cut: &Partitioning, partition: u32, updates: u64) -> u64 {
    let range = cut.partitions.range(partition);
    let width = (range.end - range.start).max(1) as f64;
    (width * (1.0 - (1.0 - 1.0 / width).powf(updates as f64))).round() as u64
}

/// A job of sizes alone.
pub struct SizedJob {
    /// Number of vertices.
    pub vertices: u64,
    /// Number of edges.
    pub edges: u64,
    /// Bytes of a vertex on storage.
    pub vertex_bytes: u64,
    /// Sizes of everything else.
    pub profile: Arc<Profile>,
    /// Records in a chunk of updates.
    pub update_records: u32,
    /// Combining of updates in the buffers of chunks, if there is any.
    pub combining: Option<Combining>,
    /// Distribution of the ends of edges over ids.
    pub spread: Spread,
    /// Edges, updates or vertices that a record stands for.
    pub grain: u64,
    /// Whether chunks without an active source are left out on route `spill` too, as machines do.
    pub spares: bool,
    /// Nanoseconds of a record, where they are known; else they are those of the schedule.
    pub times: Option<KernelTimes>,
    /// Cores of a machine, which share the work on the input and on vertex sets.
    pub cores: u64,
    /// Shares of the partitions, when they are known.
    pub shares: OnceLock<Vec<u64>>,
    /// Ranges of each partition that have an active vertex, by iteration, when they are known.
    pub active: OnceLock<Arc<[Vec<u64>]>>,
}

impl SizedJob {
    /// Ranges of each partition that have an active vertex, by iteration.
    fn draw_active(&self, partitions: &Partitions) -> Arc<[Vec<u64>]> {
        let grain = self.grain.max(1);
        let all = partitions.vertices() * grain;
        let of = |(iteration, one): (usize, &Iteration)| {
            // There is no iteration without an active vertex.
            let sources = rounded_up(all, one.sources, one.vertices).max(1);
            active_ranges(partitions, grain, sources, &mut Random::new(iteration as u64))
        };
        self.profile.iterations.iter().enumerate().map(of).collect()
    }
}

impl Job for SizedJob {
    fn name(&self) -> &'static str {
        "sizes"
    }

    fn vertices(&self) -> u64 {
        self.vertices
    }

    fn vertex_bytes(&self) -> u64 {
        self.vertex_bytes
    }

    fn weights(&self, _: usize, by_cells: bool) -> Weights {
        let ends = self.edges * if by_cells { 1 } else { 2 };
        weights(self.vertices, ends, self.spread)
    }

    fn worker(&self, cut: Partitioning, rank: usize, _: Option<Bug>) -> Box<dyn Worker> {
        let machines = cut.partitions.machines() as u64;
        let share = |rank: u64| self.edges * rank / machines;
        let rank = rank as u64;
        let shares = self.shares.get_or_init(|| shares(&cut.partitions, self.spread));
        let splits = cut.partitions.cells() > cut.bins_open_max;
        let cells = match cut.route {
            Route::Fold if !splits => Dealer::new(products(shares)),
            _ => Dealer::new(shares.clone()),
        };
        let dealer = Dealer::new(shares.clone());
        let spares = self.spares || cut.route == Route::Fold;
        let active = if spares {
            self.active.get_or_init(|| self.draw_active(&cut.partitions)).clone()
        } else {
            Arc::default()
        };
        Box::new(SizedWorker {
            cut,
            vertex_bytes: self.vertex_bytes as usize,
            profile: self.profile.clone(),
            // Updates that a chunk stands for: as many, where none are combined.
            chunk_updates: self.combining.map_or(self.update_records.into(), |combining| {
                combining.of_chunk(self.update_records.into())
            }),
            combining: self.combining,
            cores: self.cores.max(1),
            share: share(rank + 1) - share(rank),
            left: 0,
            step: Step { iteration: 0, phase: Phase::Ingest },
            partition: 0,
            gathered: 0,
            fraction: 0,
            begun: None,
            streamed: 1,
            grain: self.grain.max(1),
            spares,
            active,
            random: Random::new(rank),
            dealer,
            cells,
            splits,
            looked_at: 0,
        })
    }

    fn work_nanos(&self, work: &Work, records: u64) -> Option<Time> {
        self.times.map(|times| times.nanos(work, records))
    }

    fn check_answer(&self, vertices: &[u8], iterations: u32) -> Result<(), String> {
        let right = vertices.len() as u64 == self.vertices * self.vertex_bytes
            && iterations as usize == self.profile.iterations.len();
        if right {
            Ok(())
        } else {
            Err(format!("{iterations} iterations, {} bytes", vertices.len()))
        }
    }
}

struct SizedWorker {
    cut: Partitioning,
    vertex_bytes: usize,
    profile: Arc<Profile>,
    chunk_updates: u64,
    combining: Option<Combining>,
    cores: u64,
    /// Edges of this machine's share of the input, and how many of them are not read.
    share: u64,
    left: u64,
    step: Step,
    partition: u32,
    gathered: u64,
    /// Remainder of the last count of updates, in parts of those that are streamed.
    fraction: u64,
    /// The last iteration whose edges were streamed, and how many of its edges are.
    begun: Option<u32>,
    streamed: u64,
    grain: u64,
    /// Whether chunks without an active source are left out.
    spares: bool,
    /// Ranges of each partition that have an active vertex, by iteration; none where no chunk is
    /// left out.
    active: Arc<[Vec<u64>]>,
    /// Sources of chunks.
    random: Random,
    /// Updates on their way to partitions, or edges of one partition on their way to its cells.
    dealer: Dealer,
    /// Edges on their way to cells, or to partitions of one of their ends.
    cells: Dealer,
    /// Whether edges get to partitions of their targets first, and are split then.
    splits: bool,
    looked_at: u64,
}

impl SizedWorker {
    /// Chunks of updates that were dealt out.
    fn updates(&self, chunks: Vec<(u32, u64)>) -> Vec<Filled> {
        let size = self.profile.updates;
        let filled = |(partition, updates): (u32, u64)| {
            let records = self.combining.map_or(updates, |combining| combining.records(updates));
            assert!(records <= updates, "a record stands for one update at least");
            let combined = (updates - records) as u32;
            let payload = size.chunk(records);
            Filled { combined, payload, ..filled(partition, None, updates, size) }
        };
        chunks.into_iter().map(filled).collect()
    }

    /// Chunks of edges that were dealt out.
    fn edges(&mut self, chunks: Vec<(u32, u64)>) -> Vec<Filled> {
        let (size, count) = (self.profile.edges, self.cut.partitions.count());
        let chunk = |(place, records): (u32, u64)| match self.cut.route {
            Route::Fold if self.splits => filled(place, None, records, size),
            Route::Fold => self.chunk(place / count, Some(place % count), records),
            Route::Spill => self.chunk(place, None, records),
        };
        chunks.into_iter().map(chunk).collect()
    }

    /// Chunks of edges of the partition at work that were dealt out to its cells.
    fn split(&mut self, chunks: Vec<(u32, u64)>) -> Vec<Filled> {
        let partition = self.partition;
        let chunk = |(source, records)| self.chunk(partition, Some(source), records);
        chunks.into_iter().map(chunk).collect()
    }

    /// A chunk of edges, with the ranges in which it has sources.
    fn chunk(&mut self, partition: u32, source: Option<u32>, records: u64) -> Filled {
        let width = self.width(source.unwrap_or(partition)) * self.grain;
        let sources = ranges_of_edges(width, records * self.grain, &mut self.random);
        Filled { sources, ..filled(partition, source, records, self.profile.edges) }
    }

    fn width(&self, partition: u32) -> u64 {
        let range = self.cut.partitions.range(partition);
        range.end - range.start
    }

    /// Vertices of a set that each core works on.
    fn share_of(&self, partition: u32) -> u64 {
        self.width(partition).div_ceil(self.cores)
    }

    fn ingest(&mut self, first: bool) -> Outcome {
        if first {
            self.left = self.share;
            self.cells.clear();
        }
        let read = self.left.min(self.cut.piece_edges as u64);
        self.left -= read;
        self.looked_at = read.div_ceil(self.cores);
        let full = self.cells.deal(read, self.cut.chunk_records.into());
        let mut filled = self.edges(full);
        let degrees = (self.left == 0).then(|| {
            let rest = self.cells.rest();
            filled.extend(self.edges(rest));
            let bytes = self.profile.degree_bytes;
            let counts = |partition| zeros((bytes * self.width(partition)).max(1));
            (0..self.cut.partitions.count()).map(counts).collect()
        });
        Outcome::Ingested { read, filled, degrees }
    }

    /// The values of a partition that are there before an iteration.
    fn made(&self, partition: u32, iteration: u32) -> Outcome {
        let width = self.width(partition);
        let chunk = self.cut.chunk_vertices.max(1);
        let bytes = |first| chunk.min(width - first) * self.vertex_bytes as u64;
        let vertices = (0..width.max(1)).step_by(chunk as usize).map(|first| zeros(bytes(first)));
        let vertices = vertices.collect();
        let active = match width {
            _ if self.spares => self.active(partition, iteration),
            0 => 0,
            _ => u64::MAX,
        };
        Outcome::Made { vertices, total: Bytes::from([]), active }
    }

    /// Ranges of a partition that have an active vertex before an iteration.
    fn active(&self, partition: u32, iteration: u32) -> u64 {
        self.active.get(iteration as usize).map_or(0, |ranges| ranges[partition as usize])
    }

    /// An iteration; nothing, after the last one.
    fn iteration(&self, iteration: u32) -> Iteration {
        self.profile.iterations.get(iteration as usize).copied().unwrap_or_default()
    }

    /// Begins a step of an iteration: edges of it are counted that lie in chunks with an active
    /// source, since they make all of its updates.
    fn begin(&mut self, Step { iteration, phase }: Step) {
        let streams = matches!(phase, Phase::Scatter | Phase::Fold);
        if !streams || self.begun == Some(iteration) {
            return;
        }
        self.begun = Some(iteration);
        let streamed = self.edges_of(iteration);
        if streamed != self.streamed {
            (self.streamed, self.fraction) = (streamed, 0);
        }
    }

    /// Edges of an iteration that lie in chunks with an active source, as expected.
    fn edges_of(&self, iteration: u32) -> u64 {
        let one = self.iteration(iteration);
        if !self.spares || one.sources >= one.vertices {
            return one.edges.max(1);
        }
        let edges = u64::from(self.cut.chunk_records) * self.grain;
        let part = |partition: u32| {
            let width = self.width(partition) * self.grain;
            let read = share_read(width, self.active(partition, iteration), edges);
            self.dealer.share(partition) * read
        };
        let share: f64 = (0..self.cut.partitions.count()).map(part).sum();
        ((one.edges as f64 * share).round() as u64).max(1)
    }

    fn stream(&mut self, records: u64) -> Outcome {
        self.looked_at = records;
        let (rewritten, filled) = (Rewritten::Not, Vec::new());
        if self.step.phase == Phase::Split {
            let chunks = self.dealer.deal(records, self.cut.chunk_records.into());
            let filled = self.split(chunks);
            return Outcome::Streamed { made: records, gathered: 0, rewritten, filled };
        }
        if self.step.phase == Phase::Gather {
            self.gathered += records;
            self.looked_at = self.combining.map_or(records, |combining| combining.records(records));
            return Outcome::Streamed { made: 0, gathered: records, rewritten, filled };
        }
        let parts = records * self.iteration(self.step.iteration).updates + self.fraction;
        self.fraction = parts % self.streamed;
        let made = parts / self.streamed;
        if self.step.phase == Phase::Fold {
            self.gathered += made;
            return Outcome::Streamed { made: 0, gathered: 0, rewritten, filled };
        }
        let chunks = self.dealer.deal(made, self.chunk_updates);
        Outcome::Streamed { made, gathered: 0, rewritten, filled: self.updates(chunks) }
    }
}

/// A chunk of zeros.
fn filled(partition: u32, source: Option<u32>, records: u64, size: Size) -> Filled {
    Filled {
        partition,
        source,
        records: records as u32,
        combined: 0,
        sources: u64::MAX,
        payload: size.chunk(records),
    }
}

impl Worker for SizedWorker {
    fn work(&mut self, work: &Work) -> Result<Outcome, EngineError> {
        self.looked_at = 0;
        Ok(match work {
            Work::Ingest { first } => self.ingest(*first),
            Work::Init { partition, .. } => self.made(*partition, 0),
            Work::Open { step, partition, .. } => {
                (self.step, self.partition, self.gathered) = (*step, *partition, 0);
                self.dealer.clear();
                self.begin(*step);
                self.looked_at = self.share_of(*partition);
                Outcome::Opened
            }
            Work::Turn { source, .. } => {
                self.looked_at = self.share_of(*source);
                Outcome::Turned
            }
            Work::Stream { block, .. } => self.stream(block.records.into()),
            Work::Flush => {
                let rest = self.dealer.rest();
                let splits = self.step.phase == Phase::Split;
                let filled = if splits { self.split(rest) } else { self.updates(rest) };
                Outcome::Flushed { filled, rewritten: Vec::new() }
            }
            Work::HandOver => {
                let records = if self.profile.merges {
                    touched(&self.cut, self.partition, self.gathered)
                } else {
                    self.gathered
                };
                Outcome::HandedOver(self.profile.accumulators.chunk(records))
            }
            Work::Merge(_) => {
                self.looked_at = self.share_of(self.partition);
                Outcome::Merged
            }
            Work::Apply => {
                self.looked_at = self.share_of(self.partition);
                self.made(self.partition, self.step.iteration + 1)
            }
            Work::Decide { iterations, .. } => {
                let goes_on = (*iterations as usize) < self.profile.iterations.len();
                Outcome::Decided { goes_on, control: Bytes::from([]), rewrites: false }
            }
        })
    }

    fn looked_at(&self) -> u64 {
        self.looked_at
    }
}
