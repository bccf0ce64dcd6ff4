//! A worker of a fold program with a planted bug: of combined updates it merges some twice, it
//! sends each master the degrees of all vertices, or it hands updates over that it has met.
//!
//! The last two make no answer wrong: a machine or a message has more than its share.

use welter_engine::EngineError;
use welter_engine::chunks::{Column, FoldKernel, UpdateKey, open_updates, write_updates};
use welter_protocol::ids::{Phase, Step};
use welter_protocol::planted::Bug;
use welter_protocol::work::Filled;
use welter_protocol::{Outcome, Payload, Work};
use welter_worker::{BufferedUpdates, KernelWorker, ScratchSpace, Worker};

/// Whether a bug is one of these workers.
pub(crate) fn has(bug: Bug) -> bool {
    matches!(bug, Bug::CombinedTwice | Bug::DegreesOfAll | Bug::UpdatesHandedOver)
}

/// The worker of a fold program.
pub(crate) struct Tampered {
    inner: KernelWorker,
    kernel: FoldKernel,
    graph: u64,
    bug: Bug,
    step: Step,
    partition: u32,
    /// Updates that were met of the open partition: how many, their targets and values.
    met: (u64, Vec<u32>, Column),
}

impl Tampered {
    /// A bug in a worker of this kernel, on a graph of this number.
    pub(crate) fn new(inner: KernelWorker, kernel: FoldKernel, graph: u64, bug: Bug) -> Self {
        let step = Step { iteration: 0, phase: Phase::Ingest };
        let met = (0, Vec::new(), Column::default());
        Self { inner, kernel, graph, bug, step, partition: 0, met }
    }

    /// The name of updates for a partition in this iteration.
    fn at(&self, stripe: u32) -> (u64, UpdateKey) {
        (self.graph, UpdateKey::new(self.step.iteration.into(), stripe, 0))
    }

    /// Merges the last record of some chunks with itself.
    fn spoil(&self, filled: &mut Filled) -> Result<(), EngineError> {
        if filled.combined == 0 || filled.records % 8 != 5 {
            return Ok(());
        }
        let width = self.kernel.shape().accum;
        let records = open_updates(width, self.at(filled.partition), &filled.payload)?;
        let mut accums = Column::default();
        accums.extend(records.accums);
        let place = records.targets.len() - 1;
        let last = Column::clone(&accums);
        self.kernel.merge((&[place as u32], &last[place * width..]), &mut accums);
        let at = (self.graph, records.key);
        let bytes = write_updates(width, at, (records.targets, &accums), records.updates);
        filled.payload = bytes.into();
        Ok(())
    }

    /// Remembers updates that are met.
    fn gather(&mut self, payload: &Payload) -> Result<(), EngineError> {
        let width = self.kernel.shape().accum;
        let records = open_updates(width, self.at(self.partition), payload)?;
        let (count, targets, accums) = &mut self.met;
        *count += records.updates;
        targets.extend_from_slice(records.targets);
        accums.extend(records.accums);
        Ok(())
    }

    /// All updates that were met, instead of an accumulator for each vertex.
    fn all_met(&self) -> Payload {
        let (count, targets, accums) = &self.met;
        let width = self.kernel.shape().accum;
        write_updates(width, self.at(self.partition), (targets, accums), *count).into()
    }

    /// Its own part of the degrees of all partitions that a master receives, each behind its
    /// length.
    fn own(partition: u32, mut all: &[u8]) -> Payload {
        let mut part = &[][..];
        for _ in 0..=partition {
            let Some((length, rest)) = all.split_first_chunk::<4>() else { break };
            (part, all) = rest.split_at(u32::from_le_bytes(*length) as usize);
        }
        part.into()
    }
}

impl Worker for Tampered {
    fn work(&mut self, work: &Work) -> Result<Outcome, EngineError> {
        let keeps = self.bug == Bug::UpdatesHandedOver && self.step.phase == Phase::Gather;
        match work {
            Work::Open { step, partition, .. } => {
                (self.step, self.partition) = (*step, *partition);
                self.met = (0, Vec::new(), Column::default());
            }
            Work::Stream { payload, .. } if keeps && self.kernel.shape().capabilities.combines => {
                self.gather(payload)?;
            }
            Work::Init { partition, degrees } if self.bug == Bug::DegreesOfAll => {
                let degrees = degrees.iter().map(|all| Self::own(*partition, all)).collect();
                return self.inner.work(&Work::Init { partition: *partition, degrees });
            }
            _ => {}
        }
        let mut outcome = self.inner.work(work)?;
        match (self.bug, &mut outcome) {
            (
                Bug::CombinedTwice,
                Outcome::Streamed { filled, .. } | Outcome::Flushed { filled, .. },
            ) => filled.iter_mut().try_for_each(|filled| self.spoil(filled))?,
            (Bug::DegreesOfAll, Outcome::Ingested { degrees: Some(degrees), .. }) => {
                let with_length =
                    |one: &Payload| [&(one.len() as u32).to_le_bytes()[..], &one[..]].concat();
                let all: Vec<Vec<u8>> = degrees.iter().map(with_length).collect();
                degrees.fill(Payload::from(all.concat()));
            }
            (Bug::UpdatesHandedOver, Outcome::HandedOver(payload))
                if keeps && self.kernel.shape().capabilities.combines =>
            {
                *payload = self.all_met();
            }
            _ => {}
        }
        Ok(outcome)
    }

    fn keep_at_most(&mut self, updates_max: u64, scratch: Box<dyn ScratchSpace>) {
        self.inner.keep_at_most(updates_max, scratch);
    }

    fn looked_at(&self) -> u64 {
        self.inner.looked_at()
    }

    fn held(&self) -> BufferedUpdates {
        self.inner.held()
    }
}
