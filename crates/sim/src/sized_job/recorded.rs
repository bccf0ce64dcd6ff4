//! A profile, taken from a run with contents by looking over the shoulders of its workers.

#![expect(
    clippy::disallowed_types,
    reason = "workers write to the profile of their job, which schedules share between threads"
)]

use std::sync::{Arc, Mutex, PoisonError};

use welter_engine::EngineError;
use welter_protocol::names::{Phase, Step};
use welter_protocol::planted::Bug;
use welter_protocol::{Outcome, Work};

use super::{Profile, touched};
use crate::job::{Job, Partitioning, Worker};

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

    fn worker(&self, cut: Partitioning, rank: usize, bug: Option<Bug>) -> Box<dyn Worker> {
        let (inner, profile) = (self.inner.worker(cut, rank, bug), self.profile.clone());
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
    cut: Partitioning,
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
                    profile.edges.add(one.payload.len(), one.records.into());
                }
            }
            (Outcome::Streamed { made, gathered, filled, .. }, Work::Stream { block, .. }) => {
                self.gathered += gathered;
                for one in filled {
                    profile.updates.add(one.payload.len(), one.records.into());
                }
                if let Some(Step { iteration, phase: Phase::Scatter }) = self.step {
                    let iteration = iteration as usize;
                    let iterations = profile.iterations.len().max(iteration + 1);
                    profile.iterations.resize(iterations, [0; 2]);
                    profile.iterations[iteration][0] += u64::from(block.records);
                    profile.iterations[iteration][1] += made;
                }
            }
            (Outcome::Flushed { filled, .. }, _) => {
                for one in filled {
                    profile.updates.add(one.payload.len(), one.records.into());
                }
            }
            (Outcome::HandedOver(payload), _) => {
                let touched = touched(&self.cut, self.partition, self.gathered);
                profile.accumulators.add(payload.len(), touched);
            }
            _ => {}
        }
        Ok(outcome)
    }

    fn looked_at(&self) -> u64 {
        self.inner.looked_at()
    }
}
