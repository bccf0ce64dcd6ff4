//! The scale model: jobs that have sizes and times but no contents, so that the protocol runs at
//! sizes whose graphs fit nowhere.
//!
//! A [`Profile`] is recorded from a run with contents: how large chunks of edges, updates and
//! accumulators are, how large vertices, and how many updates edges make in each iteration. A
//! [`SizedJob`] makes chunks of these sizes, of zeros, for as many vertices and edges as is wanted:
//!
//! ```text
//! edges of a partition     = edges / partitions                 updates for one likewise
//! bytes of a chunk         = records of it * bytes of a record, as recorded
//! touched accumulators     = w (1 - (1 - 1 / w)^updates)        w vertices of a partition
//! looked_at(work)          = what kernels look at: edges, updates, vertices
//! ```
//!
//! **Invariant:** no constant of a model is fitted to the time of a run: times follow from sizes
//! and from the speeds of the schedule, as they do with contents.
//!
//! Modelled are programs whose vertices are all active until the end, on route `spill`, on graphs
//! whose edges are spread evenly.

#![expect(
    clippy::disallowed_types,
    reason = "workers write to the profile of their job, which schedules share between threads"
)]

use std::sync::{Arc, Mutex, PoisonError};

use welter_engine::EngineError;
use welter_protocol::names::{Phase, Step};
use welter_protocol::work::Filled;
use welter_protocol::{Outcome, Payload, Work};

use crate::job::{Cut, Job, Worker};

/// Bytes and records of chunks of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Bytes of all.
    pub bytes: u64,
    /// Records of all.
    pub records: u64,
}

impl Size {
    fn add(&mut self, bytes: usize, records: u64) {
        self.bytes += bytes as u64;
        self.records += records;
    }

    /// A chunk of so many records.
    fn chunk(&self, records: u64) -> Vec<u8> {
        vec![0; (self.bytes * records).div_ceil(self.records.max(1)) as usize]
    }
}

/// Sizes that a run had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Chunks of edges.
    pub edges: Size,
    /// Chunks of updates.
    pub updates: Size,
    /// Accumulators that were handed over; records are those that were touched.
    pub accumulators: Size,
    /// Edges that were streamed in each iteration, and updates that they made.
    pub iterations: Vec<[u64; 2]>,
}

/// A job that writes down what its workers do.
pub struct Recorded {
    inner: Arc<dyn Job>,
    profile: Arc<Mutex<Profile>>,
}

impl Recorded {
    /// This one.
    pub fn new(inner: Arc<dyn Job>) -> Self {
        Self { inner, profile: Arc::default() }
    }

    /// Sizes of the runs so far.
    pub fn profile(&self) -> Profile {
        self.profile.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Job for Recorded {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn vertices(&self) -> u64 {
        self.inner.vertices()
    }

    fn vertex_bytes(&self) -> u64 {
        self.inner.vertex_bytes()
    }

    fn worker(&self, cut: Cut, rank: usize) -> Box<dyn Worker> {
        let (inner, profile) = (self.inner.worker(cut, rank), self.profile.clone());
        Box::new(Recorder { inner, profile, step: None, gathered: 0, cut, partition: 0 })
    }

    fn judge(&self, vertices: &[u8], iterations: u32) -> Result<(), String> {
        self.inner.judge(vertices, iterations)
    }
}

struct Recorder {
    inner: Box<dyn Worker>,
    profile: Arc<Mutex<Profile>>,
    step: Option<Step>,
    /// Updates for the open partition.
    gathered: u64,
    cut: Cut,
    partition: u32,
}

impl Worker for Recorder {
    fn work(&mut self, work: &Work) -> Result<Outcome, EngineError> {
        let outcome = self.inner.work(work)?;
        let mut profile = self.profile.lock().unwrap_or_else(PoisonError::into_inner);
        if let Work::Open { step, partition, .. } = work {
            (self.step, self.gathered, self.partition) = (Some(*step), 0, *partition);
        }
        match (&outcome, work) {
            (Outcome::Ingested { filled, .. }, _) => {
                for one in filled {
                    profile.edges.add(one.sealed.payload.len(), one.records.into());
                }
            }
            (Outcome::Streamed { made, gathered, filled, .. }, Work::Stream { block, .. }) => {
                self.gathered += gathered;
                for one in filled {
                    profile.updates.add(one.sealed.payload.len(), one.records.into());
                }
                if let Some(Step { iteration, phase: Phase::Scatter }) = self.step {
                    let iteration = iteration as usize;
                    let iterations = profile.iterations.len().max(iteration + 1);
                    profile.iterations.resize(iterations, [0; 2]);
                    profile.iterations[iteration][0] += u64::from(block.records);
                    profile.iterations[iteration][1] += made;
                }
            }
            (Outcome::Flushed(filled), _) => {
                for one in filled {
                    profile.updates.add(one.sealed.payload.len(), one.records.into());
                }
            }
            (Outcome::HandedOver(sealed), _) => {
                let touched = touched(&self.cut, self.partition, self.gathered);
                profile.accumulators.add(sealed.payload.len(), touched);
            }
            _ => {}
        }
        Ok(outcome)
    }

    fn looked_at(&self) -> u64 {
        self.inner.looked_at()
    }
}

/// Accumulators that so many updates touch, if they go to random vertices.
fn touched(cut: &Cut, partition: u32, updates: u64) -> u64 {
    let range = cut.partitions.range(partition);
    let width = (range.end - range.start).max(1) as f64;
    (width * (1.0 - (1.0 - 1.0 / width).powf(updates as f64))).round() as u64
}

/// A job of sizes alone.
pub struct SizedJob {
    /// Its vertices.
    pub vertices: u64,
    /// Its edges.
    pub edges: u64,
    /// Bytes of a vertex on storage.
    pub vertex_bytes: u64,
    /// Sizes of everything else.
    pub profile: Arc<Profile>,
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

    fn worker(&self, cut: Cut, rank: usize) -> Box<dyn Worker> {
        let machines = cut.partitions.machines() as u64;
        let share = |rank: u64| self.edges * rank / machines;
        let rank = rank as u64;
        Box::new(SizedWorker {
            cut,
            vertex_bytes: self.vertex_bytes as usize,
            profile: self.profile.clone(),
            share: share(rank + 1) - share(rank),
            left: 0,
            step: Step { iteration: 0, phase: Phase::Ingest },
            partition: 0,
            gathered: 0,
            bins: vec![0; cut.partitions.count() as usize],
            next: 0,
            looked_at: 0,
        })
    }

    fn judge(&self, vertices: &[u8], iterations: u32) -> Result<(), String> {
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
    cut: Cut,
    vertex_bytes: usize,
    profile: Arc<Profile>,
    /// Edges of this machine's share of the input, and how many of them are not read.
    share: u64,
    left: u64,
    step: Step,
    partition: u32,
    gathered: u64,
    /// Records that wait, by partition, and the partition of the next one.
    bins: Vec<u32>,
    next: usize,
    looked_at: u64,
}

impl SizedWorker {
    /// Deals records out to partitions, one after the other, and hands out full chunks.
    fn deal(&mut self, records: u64, size: Size) -> Vec<Filled> {
        let mut filled = Vec::new();
        for _ in 0..records {
            let place = self.next;
            self.next = (place + 1) % self.bins.len();
            self.bins[place] += 1;
            if self.bins[place] == self.cut.chunk_records {
                filled.extend(self.take(place, size));
            }
        }
        filled
    }

    fn take(&mut self, place: usize, size: Size) -> Option<Filled> {
        let records = std::mem::take(&mut self.bins[place]);
        (records > 0).then(|| Filled {
            partition: place as u32,
            source: None,
            records,
            combined: 0,
            sources: u64::MAX,
            sealed: size.chunk(records.into()).into(),
        })
    }

    fn take_all(&mut self, size: Size) -> Vec<Filled> {
        (0..self.bins.len()).filter_map(|place| self.take(place, size)).collect()
    }

    fn width(&self, partition: u32) -> u64 {
        let range = self.cut.partitions.range(partition);
        range.end - range.start
    }

    fn ingest(&mut self, first: bool) -> Outcome {
        if first {
            self.left = self.share;
            self.bins.fill(0);
        }
        let read = self.left.min(self.cut.piece_edges as u64);
        self.left -= read;
        self.looked_at = read;
        let size = self.profile.edges;
        let mut filled = self.deal(read, size);
        let degrees = (self.left == 0).then(|| {
            filled.extend(self.take_all(size));
            let counts = |partition| Payload::from(vec![0; 4 * self.width(partition) as usize]);
            (0..self.cut.partitions.count()).map(counts).collect()
        });
        Outcome::Ingested { read, filled, degrees }
    }

    fn made(&self, partition: u32) -> Outcome {
        let width = self.width(partition);
        let set = vec![0; width as usize * self.vertex_bytes];
        let vertices = self.cut.vertex_chunks(&set, self.vertex_bytes);
        let active = if width == 0 { 0 } else { u64::MAX };
        Outcome::Made { vertices, total: Payload::from([]), active }
    }

    fn stream(&mut self, records: u64) -> Outcome {
        self.looked_at = records;
        let (rewritten, filled) = (None, Vec::new());
        if self.step.phase == Phase::Gather {
            self.gathered += records;
            return Outcome::Streamed { made: 0, gathered: records, rewritten, filled };
        }
        let iteration = self.profile.iterations.get(self.step.iteration as usize);
        let [edges, updates] = iteration.copied().unwrap_or_default();
        let made = records * updates / edges.max(1);
        let filled = self.deal(made, self.profile.updates);
        Outcome::Streamed { made, gathered: 0, rewritten, filled }
    }
}

impl Worker for SizedWorker {
    fn work(&mut self, work: &Work) -> Result<Outcome, EngineError> {
        self.looked_at = 0;
        Ok(match work {
            Work::Ingest { first } => self.ingest(*first),
            Work::Init { partition, .. } => self.made(*partition),
            Work::Open { step, partition, .. } => {
                (self.step, self.partition, self.gathered) = (*step, *partition, 0);
                self.bins.fill(0);
                self.looked_at = self.width(*partition);
                Outcome::Opened
            }
            Work::Turn { source, .. } => {
                self.looked_at = self.width(*source);
                Outcome::Turned
            }
            Work::Stream { block, .. } => self.stream(block.records.into()),
            Work::Flush => Outcome::Flushed(self.take_all(self.profile.updates)),
            Work::HandOver => {
                let touched = touched(&self.cut, self.partition, self.gathered);
                Outcome::HandedOver(self.profile.accumulators.chunk(touched).into())
            }
            Work::Merge(_) => {
                self.looked_at = self.width(self.partition);
                Outcome::Merged
            }
            Work::Apply => {
                self.looked_at = self.width(self.partition);
                self.made(self.partition)
            }
            Work::Decide { iterations, .. } => {
                let goes_on = (*iterations as usize) < self.profile.iterations.len();
                Outcome::Decided { goes_on, control: Payload::from([]) }
            }
        })
    }

    fn looked_at(&self) -> u64 {
        self.looked_at
    }
}
