//! Chunks that a kernel's worker streams, and updates that come of them or are met.

use welter_engine::EngineError;
use welter_engine::chunks::{
    ExtendedKernel, FoldKernel, Kernel, Records, Sources, UpdateKey, gather, open_updates, states,
    touched, with_states,
};
use welter_protocol::ids::{Cell, Phase};
use welter_protocol::work::{Filled, Rewritten};
use welter_protocol::{Outcome, Payload};

use crate::bins::Bin;
use crate::kernel_worker::KernelWorker;
use crate::other;
use crate::vertices::VertexSet;

/// The outcome of a chunk that made `made` updates, and filled these buffers.
fn streamed(made: u64, filled: Vec<Filled>) -> Outcome {
    Outcome::Streamed { made, gathered: 0, rewritten: Rewritten::Not, filled }
}

/// Signals of a fold program's sources.
fn sources<'a>(kernel: &FoldKernel, set: &'a VertexSet) -> Sources<'a, u8> {
    let active = kernel.shape().capabilities.frontier.then_some(&set.active[..]);
    Sources { signals: &set.signals, active }
}

impl KernelWorker {
    pub(crate) fn stream(&mut self, payload: &[u8]) -> Result<Outcome, EngineError> {
        match (self.kernel.clone(), self.step.phase) {
            (_, Phase::Gather) => self.gather(payload),
            (Kernel::Fold(kernel), Phase::Fold) => self.fold(&kernel, payload),
            (Kernel::Fold(kernel), _) => self.scatter(&kernel, payload),
            (Kernel::Extended(kernel), _) => self.rewrite(&kernel, payload),
        }
    }

    /// Folds edges of the cell at work into accumulators.
    fn fold(&mut self, kernel: &FoldKernel, payload: &[u8]) -> Result<Outcome, EngineError> {
        let cell = Cell { partition: self.partition, source: Some(self.source) };
        let (cell, at) =
            (self.cut.chunk_cell(self.graph, cell, 0), self.updates_for(self.partition));
        let Self { sources: set, accums, kept_updates, scratch, .. } = self;
        let pulled = cell.open(payload)?;
        if kernel.shape().capabilities.combines {
            pulled.fold(kernel, sources(kernel, set), accums, scratch)?;
        } else {
            let mut kept = Ok(());
            let put = |targets: &[u32], updates: &[u8]| {
                if kept.is_ok() {
                    kept = kept_updates.extend(at, targets, updates);
                }
            };
            pulled.scatter(kernel, sources(kernel, set), scratch, put)?;
            kept?;
        }
        self.looked_at = pulled.edges();
        Ok(streamed(0, Vec::new()))
    }

    /// Scatters edges of the open partition into bins.
    fn scatter(&mut self, kernel: &FoldKernel, payload: &[u8]) -> Result<Outcome, EngineError> {
        let cell = self.cut.pulled_cell(self.graph, Cell::all(self.partition), payload)?;
        let (graph, at) = self.updates_for(0);
        let Self { cut, own, bins, combiner, scratch, .. } = self;
        let (partitions, most) = (&cut.partitions, cut.chunk_records);
        let width = kernel.shape().record();
        let combines = cut.combines && kernel.shape().capabilities.combines;
        let pulled = cell.open(payload)?;
        let (mut made, mut filled, mut outside) = (0, Vec::new(), None);
        let first_target = cell.targets.start;
        pulled.scatter(kernel, sources(kernel, own), scratch, |targets, records| {
            made += targets.len() as u64;
            for (&target, record) in targets.iter().zip(records.chunks_exact(width)) {
                let number = first_target + u64::from(target);
                let Some((stripe, place)) = partitions.find_place(number) else {
                    outside = Some(number);
                    continue;
                };
                let bin = &mut bins[stripe as usize];
                bin.put(place as u32, record);
                if bin.is_full(most) {
                    if combines {
                        bin.combine(kernel, combiner, cut.vertices(stripe));
                    }
                    if bin.is_full(most.div_ceil(2)) {
                        filled.extend(bin.take((graph, UpdateKey { stripe, ..at })));
                    }
                }
            }
        })?;
        if let Some(number) = outside {
            return Err(other(format!("an edge to {number}, which is no vertex")));
        }
        self.looked_at = pulled.edges();
        Ok(streamed(made, filled))
    }

    /// Shows the edges of a chunk what their ends say, and keeps the updates of these.
    fn rewrite(&mut self, kernel: &ExtendedKernel, payload: &[u8]) -> Result<Outcome, EngineError> {
        let cell = Cell { partition: self.partition, source: Some(self.source) };
        let cell = self.cut.chunk_cell(self.graph, cell, 0);
        let (pulled, held) = states(kernel.shape().state, &cell, payload)?;
        self.states.clear();
        self.states.extend(held);
        let (at, is_fold) = (self.updates_for(self.partition), self.step.phase == Phase::Fold);
        let Self { sources, own, states, kept_updates, scratch, .. } = self;
        let ends = [&sources.signals[..], &own.signals[..]];
        let mut kept = Ok(());
        let put = |targets: &[u32], updates: &[u8]| {
            if !is_fold {
                kept_updates.list().extend(targets, updates);
            } else if kept.is_ok() {
                kept = kept_updates.extend(at, targets, updates);
            }
        };
        pulled.extend(kernel, ends, states, scratch, put)?;
        kept?;
        let made = pulled.edges();
        self.looked_at = made;
        let rewritten = with_states(&payload[..pulled.bytes()], &self.states).into();
        let rewritten = Rewritten::InPlace(rewritten);
        let (mut filled, gathered) = (Vec::new(), 0);
        if self.step.phase == Phase::Fold {
            return Ok(Outcome::Streamed { made: 0, gathered, rewritten, filled });
        }
        if self.kept_updates.list().is_full(self.cut.chunk_records) {
            filled = self.flush();
        }
        Ok(Outcome::Streamed { made, gathered, rewritten, filled })
    }

    /// The name of updates for a partition in this iteration.
    pub(crate) fn updates_for(&self, stripe: u32) -> (u64, UpdateKey) {
        (self.graph, UpdateKey::new(self.step.iteration.into(), stripe, self.partition))
    }

    /// Chunks of all that is left in buffers.
    pub(crate) fn flush(&mut self) -> Vec<Filled> {
        let (graph, at) = self.updates_for(self.partition);
        match &self.kernel {
            Kernel::Extended(_) => self.kept_updates.list().take((graph, at)).into_iter().collect(),
            Kernel::Fold(kernel) => {
                let Self { cut, bins, combiner, .. } = self;
                let combines = cut.combines && kernel.shape().capabilities.combines;
                let take = |(stripe, bin): (u32, &mut Bin)| {
                    if combines {
                        bin.combine(kernel, combiner, cut.vertices(stripe));
                    }
                    bin.take((graph, UpdateKey { stripe, ..at }))
                };
                (0..).zip(bins).filter_map(take).collect()
            }
        }
    }

    /// Meets updates for the open partition.
    fn take_updates<'b>(&mut self, payload: &'b [u8]) -> Result<Records<'b>, EngineError> {
        let at = self.updates_for(self.partition);
        let shape = self.kernel.shape();
        let records = open_updates(shape.record(), at, payload)?;
        match &self.kernel {
            Kernel::Fold(kernel) if shape.capabilities.combines => {
                gather(kernel, &records, &mut self.accums)?;
            }
            _ => self.kept_updates.extend(at, records.targets, records.accums)?,
        }
        Ok(records)
    }

    fn gather(&mut self, payload: &[u8]) -> Result<Outcome, EngineError> {
        let records = self.take_updates(payload)?;
        self.looked_at = records.targets.len() as u64;
        let (gathered, rewritten, filled) = (records.updates, Rewritten::Not, Vec::new());
        Ok(Outcome::Streamed { made: 0, gathered, rewritten, filled })
    }

    pub(crate) fn merge(&mut self, payload: &[u8]) -> Result<Outcome, EngineError> {
        self.take_updates(payload)?;
        if let Kernel::Fold(_) = self.kernel {
            self.looked_at = self.cut.vertices(self.partition) as u64;
        }
        Ok(Outcome::Merged)
    }

    /// Updates that a stealer has gathered, as a chunk.
    pub(crate) fn hand_over(&mut self) -> Result<Payload, EngineError> {
        let at = self.updates_for(self.partition);
        match &self.kernel {
            Kernel::Fold(kernel) if kernel.shape().capabilities.combines => {
                Ok(touched(kernel, at, &mut self.accums)?.into())
            }
            _ => {
                let payload = self.kept_updates.chunk(at)?.into();
                self.kept_updates.clear()?;
                Ok(payload)
            }
        }
    }
}
