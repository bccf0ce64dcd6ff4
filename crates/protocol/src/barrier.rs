//! The barrier between two steps: who has arrived, what was closed, and whether the sums agree.
//!
//! ```text
//! Arrive from all machines  ->  (Decide)  ->  Close  ->  Closed from all  ->  audit  ->  (commit)
//!                           ->  Begin of the next step
//! ```
//!
//! **Invariant:** no machine begins step `s + 1` before all have arrived at the end of `s`, and all
//! begin it with the same decision. Asserted in `Barrier::arrive`, `Barrier::close` and
//! `Coordinator::closed`; checked by the simulator in `Barriers::work`.

use std::collections::BTreeMap;

use crate::audit::{Finding, Served, Sum, Worked, audit, audit_ingest, audit_rewritten};
use crate::checkpoint::CheckpointShard;
use crate::ids::{Phase, Rank, Step};
use crate::messages::PartitionOutcome;

/// A barrier as the coordinator sees it.
pub(crate) struct Barrier {
    pub(crate) step: Step,
    /// Whether the step makes a new generation of edges.
    pub(crate) rewrites: bool,
    arrived: BTreeMap<Rank, Worked>,
    closed: BTreeMap<Rank, (Served, [Sum; 2])>,
    made: Vec<PartitionOutcome>,
    parts: Vec<CheckpointShard>,
}

impl Barrier {
    pub(crate) fn of(step: Step, rewrites: bool) -> Self {
        let (arrived, closed) = (BTreeMap::new(), BTreeMap::new());
        Self { step, rewrites, arrived, closed, made: Vec::new(), parts: Vec::new() }
    }

    /// A machine has arrived; returns how many have.
    pub(crate) fn arrive(
        &mut self,
        from: Rank,
        worked: Worked,
        made: Vec<PartitionOutcome>,
    ) -> usize {
        assert!(self.arrived.insert(from, worked).is_none(), "a machine arrives once");
        self.made.extend(made);
        self.arrived.len()
    }

    /// Outcomes of all partitions, `count` of them, in their order, so that sums of floats come out
    /// equal.
    pub(crate) fn partitions(&mut self, count: u32) -> Vec<PartitionOutcome> {
        let mut made = std::mem::take(&mut self.made);
        made.sort_by_key(|one| one.partition);
        let partitions = made.iter().map(|one| one.partition);
        assert!(partitions.eq(0..count), "each partition is made once");
        made
    }

    /// A machine has closed the step, with its counts of edges and updates; returns how many have.
    pub(crate) fn close(
        &mut self,
        from: Rank,
        served: Served,
        stored: [Sum; 2],
        parts: Vec<CheckpointShard>,
    ) -> usize {
        let before = self.closed.insert(from, (served, stored));
        assert!(before.is_none(), "a machine closes a step once");
        self.parts.extend(parts);
        self.closed.len()
    }

    /// Whether all that have closed the step had arrived at its end.
    pub(crate) fn is_whole(&self) -> bool {
        self.arrived.keys().eq(self.closed.keys())
    }

    /// Checks the sums of the step against each other. `made`: updates of the scatter before.
    pub(crate) fn audit(&self, made: u64) -> Result<u64, Finding> {
        let worked: Vec<Worked> = self.arrived.values().copied().collect();
        if self.step.phase == Phase::Ingest {
            return audit_ingest(&worked, &self.edges()).map(|()| 0);
        }
        let served: Vec<Served> = self.closed.values().map(|closed| closed.0).collect();
        if self.step.phase == Phase::Split {
            audit(&worked, &served, None)?;
            return audit_ingest(&worked, &self.edges()).map(|()| 0);
        }
        if self.rewrites {
            audit_rewritten(&worked, &self.edges())?;
        }
        audit(&worked, &served, (self.step.phase == Phase::Gather).then_some(made))
    }

    /// Updates that were made, or edges that were read.
    pub(crate) fn made(&self) -> u64 {
        self.arrived.values().map(|worked| worked.made).sum()
    }

    /// Edges of each machine.
    pub(crate) fn edges(&self) -> Vec<Sum> {
        self.closed.values().map(|closed| closed.1[0]).collect()
    }

    /// Updates of each machine.
    pub(crate) fn updates(&self) -> Vec<Sum> {
        self.closed.values().map(|closed| closed.1[1]).collect()
    }

    /// Parts of the checkpoint, in order.
    pub(crate) fn parts(&mut self) -> Vec<CheckpointShard> {
        let mut parts = std::mem::take(&mut self.parts);
        parts.sort_unstable();
        parts
    }
}
