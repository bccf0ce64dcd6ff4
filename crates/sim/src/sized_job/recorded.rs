//! A profile, taken from a run with contents by looking over the shoulders of its workers.
//!
//! Active vertices are those of fold programs, whose totals end with their number.

#![expect(
    clippy::disallowed_types,
    reason = "workers write to the profile of their job, which schedules share between threads"
)]

use std::sync::{Arc, Mutex, PoisonError};

use welter_engine::EngineError;
use welter_protocol::ids::{Bytes, Phase, Step};
use welter_protocol::planted::Bug;
use welter_protocol::weights::Weights;
use welter_protocol::{Outcome, Time, Work};

use super::{Iteration, Profile, Size, touched};
use crate::job::{Job, Partitioning, Worker};

/// A job that writes down what its workers do.
pub struct Recorded {
    inner: Arc<dyn Job>,
    sums: Arc<Mutex<Sums>>,
}

/// Chunks of one kind, summed up to fit a line through their sizes.
#[derive(Clone, Copy, Debug, Default)]
struct Chunks {
    count: f64,
    records: f64,
    bytes: f64,
    /// Squares of records, and their products with bytes.
    squares: f64,
    products: f64,
}

impl Chunks {
    fn add(&mut self, bytes: usize, records: u64) {
        let (bytes, records) = (bytes as f64, records as f64);
        self.count += 1.0;
        self.records += records;
        self.bytes += bytes;
        self.squares += records * records;
        self.products += records * bytes;
    }

    /// The line with the least squares of errors, which rises and does not begin below 0; through
    /// the origin where all chunks have as many records, and level where they have none.
    fn size(&self) -> Size {
        const RECORDS: u64 = 1 << 20;
        let Self { count, records, bytes, squares, products } = *self;
        let spread = count * squares - records * records;
        let mean = if records > 0.0 { bytes / records } else { 0.0 };
        let slope = if spread > 0.0 {
            ((count * products - records * bytes) / spread).clamp(0.0, mean)
        } else {
            mean
        };
        let head = (bytes - slope * records) / count.max(1.0);
        let of_records = (slope * RECORDS as f64).round() as u64;
        Size { head: head.round() as u64, bytes: of_records, records: RECORDS }
    }
}

/// Sums of what workers do.
#[derive(Clone, Debug, Default)]
struct Sums {
    edges: Chunks,
    updates: Chunks,
    accumulators: Chunks,
    /// Bytes of degrees that were sent, and vertices of which.
    degrees: u64,
    counted: u64,
    /// Edges and vertices of all runs.
    edges_read: u64,
    vertices: u64,
    /// Iterations that began, with updates that were stored and vertices that were active in each.
    iterations: usize,
    made: Vec<u64>,
    active: Vec<u64>,
}

impl Sums {
    /// Counts the active vertices of a partition before an iteration, by its total.
    fn count_active(&mut self, iteration: u32, total: &Bytes) {
        let count = total.last_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        add(&mut self.active, iteration, count);
    }

    /// Iterations, of all that was read.
    fn iterations(&self) -> Vec<Iteration> {
        let of = |counts: &[u64], at: usize| counts.get(at).copied().unwrap_or(0);
        let one = |at| Iteration {
            edges: self.edges_read,
            updates: of(&self.made, at),
            vertices: self.vertices,
            sources: of(&self.active, at),
        };
        (0..self.iterations).map(one).collect()
    }
}

/// Adds to the count of an iteration.
fn add(counts: &mut Vec<u64>, iteration: u32, count: u64) {
    let iteration = iteration as usize;
    counts.resize(counts.len().max(iteration + 1), 0);
    counts[iteration] += count;
}

impl Recorded {
    /// A recorder of a job.
    pub fn new(inner: Arc<dyn Job>) -> Self {
        Self { inner, sums: Arc::default() }
    }

    /// Sizes of the runs so far.
    pub fn profile(&self) -> Profile {
        let sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        let [edges, updates, accumulators] =
            [sums.edges, sums.updates, sums.accumulators].map(|chunks| chunks.size());
        let degree_bytes = sums.degrees / sums.counted.max(1);
        let (merges, iterations) = (self.merges(), sums.iterations());
        Profile { edges, updates, accumulators, merges, degree_bytes, iterations }
    }

    /// Whether its accumulators are handed over, and not all of its updates.
    fn merges(&self) -> bool {
        self.inner.accumulator_bytes().is_some()
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

    fn weights(&self, machines: usize, by_cells: bool) -> Weights {
        self.inner.weights(machines, by_cells)
    }

    fn worker(&self, cut: Partitioning, rank: usize, bug: Option<Bug>) -> Box<dyn Worker> {
        let (inner, sums) = (self.inner.worker(cut.clone(), rank, bug), self.sums.clone());
        let (merges, step) = (self.merges(), Step { iteration: 0, phase: Phase::Ingest });
        Box::new(Recorder { inner, sums, merges, step, gathered: 0, cut, partition: 0 })
    }

    fn work_nanos(&self, work: &Work, records: u64) -> Option<Time> {
        self.inner.work_nanos(work, records)
    }

    fn check_answer(&self, vertices: &[u8], iterations: u32) -> Result<(), String> {
        self.inner.check_answer(vertices, iterations)
    }
}

struct Recorder {
    inner: Box<dyn Worker>,
    sums: Arc<Mutex<Sums>>,
    merges: bool,
    step: Step,
    /// Updates for the open partition.
    gathered: u64,
    cut: Partitioning,
    partition: u32,
}

impl Worker for Recorder {
    fn work(&mut self, work: &Work) -> Result<Outcome, EngineError> {
        let outcome = self.inner.work(work)?;
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        if let Work::Open { step, partition, .. } = work {
            (self.step, self.gathered, self.partition) = (*step, 0, *partition);
        }
        match (&outcome, work) {
            (Outcome::Ingested { read, filled, degrees }, _) => {
                sums.edges_read += read;
                if let Some(degrees) = degrees {
                    sums.degrees += degrees.iter().map(|one| one.len() as u64).sum::<u64>();
                    sums.counted += self.cut.partitions.vertices();
                }
                for one in filled {
                    sums.edges.add(one.payload.len(), one.records.into());
                }
            }
            (Outcome::Made { total, .. }, Work::Init { partition, .. }) => {
                let range = self.cut.partitions.range(*partition);
                sums.vertices += range.end - range.start;
                sums.count_active(0, total);
            }
            (Outcome::Made { total, .. }, _) => sums.count_active(self.step.iteration + 1, total),
            (Outcome::Decided { goes_on: true, .. }, Work::Decide { iterations, .. }) => {
                sums.iterations = sums.iterations.max(*iterations as usize + 1);
            }
            (Outcome::Streamed { made, gathered, filled, .. }, _) => {
                self.gathered += gathered;
                for one in filled {
                    sums.updates.add(one.payload.len(), one.records.into());
                }
                if self.step.phase == Phase::Scatter {
                    add(&mut sums.made, self.step.iteration, *made);
                }
            }
            (Outcome::Flushed { filled, .. }, _) => {
                for one in filled {
                    sums.updates.add(one.payload.len(), one.records.into());
                }
            }
            (Outcome::HandedOver(payload), _) => {
                let records = if self.merges {
                    touched(&self.cut, self.partition, self.gathered)
                } else {
                    self.gathered
                };
                sums.accumulators.add(payload.len(), records);
            }
            _ => {}
        }
        Ok(outcome)
    }

    fn looked_at(&self) -> u64 {
        self.inner.looked_at()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_fitted_to_sizes() {
        let size = |chunks: &[(usize, u64)]| {
            let mut sums = Chunks::default();
            for &(bytes, records) in chunks {
                sums.add(bytes, records);
            }
            let size = sums.size();
            [size.head, (100 * size.bytes).div_ceil(size.records)]
        };
        assert_eq!(size(&[]), [0, 0]);
        assert_eq!(size(&[(90, 30), (90, 30)]), [0, 300], "all as many records");
        assert_eq!(size(&[(64 + 10, 5), (64 + 40, 20)]), [64, 200]);
        assert_eq!(size(&[(5, 5), (100, 20)]), [0, 420], "no head below 0");
        assert_eq!(size(&[(100, 5), (100, 20)]), [100, 0]);
        assert_eq!(size(&[(100, 0), (50, 0)]), [75, 0], "no record was counted");
    }
}
