//! A worker with a planted bug: of combined updates it merges some twice.

use welter_engine::EngineError;
use welter_engine::chunks::{Column, FoldKernel, UpdateKey, open_updates, write_updates};
use welter_protocol::ids::Step;
use welter_protocol::work::Filled;
use welter_protocol::{Outcome, Work};
use welter_worker::{KernelWorker, Worker};

/// The worker of a fold program.
pub(crate) struct Tampered {
    inner: KernelWorker,
    kernel: FoldKernel,
    graph: u64,
    step: Option<Step>,
}

impl Tampered {
    /// The bug in a worker of this kernel, on a graph of this number.
    pub(crate) fn new(inner: KernelWorker, kernel: FoldKernel, graph: u64) -> Self {
        Self { inner, kernel, graph, step: None }
    }

    /// Merges the last record of some chunks with itself.
    fn spoil(&self, filled: &mut Filled) -> Result<(), EngineError> {
        let Some(step) = self.step.filter(|_| filled.combined > 0 && filled.records % 8 == 5)
        else {
            return Ok(());
        };
        let (turn, stripe) = (step.iteration.into(), filled.partition);
        let width = self.kernel.shape().accum;
        let at = (self.graph, UpdateKey { turn, stripe, source_partition: 0 });
        let records = open_updates(width, at, &filled.payload)?;
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
}

impl Worker for Tampered {
    fn work(&mut self, work: &Work) -> Result<Outcome, EngineError> {
        if let Work::Open { step, .. } = work {
            self.step = Some(*step);
        }
        let mut outcome = self.inner.work(work)?;
        if let Outcome::Streamed { filled, .. } | Outcome::Flushed { filled, .. } = &mut outcome {
            filled.iter_mut().try_for_each(|filled| self.spoil(filled))?;
        }
        Ok(outcome)
    }

    fn looked_at(&self) -> u64 {
        self.inner.looked_at()
    }
}
