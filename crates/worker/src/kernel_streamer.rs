//! Chunks of a fold program as one of several streamers has them.
//!
//! ```text
//! scatter   edges of the open partition -> own bins, by partitions of their destinations
//! fold      edges of a cell, a chunk a stripe  -> accumulators, stripe by stripe
//! gather    updates in the order of stripes    -> accumulators, stripe by stripe
//! ```
//!
//! Updates that no streamer may merge, or of edges that have states, are the worker's alone
//! (`updates`).

use std::sync::Arc;

use welter_engine::EngineError;
use welter_engine::chunks::{DecodeBuffers, FoldKernel, Kernel, UpdateKey, open_updates_again};
use welter_protocol::Outcome;
use welter_protocol::ids::{Cell, Phase};
use welter_protocol::work::{Filled, Rewritten};

use crate::bins::{Bin, Combiner};
use crate::opened::{Opened, sources};
use crate::resources::Resources;
use crate::{Streamer, other};

/// A part of a kernel's worker, with buffers of its own.
pub(crate) struct KernelStreamer {
    /// Place among all streamers of the worker.
    pub(crate) number: usize,
    /// The partition that is streamed, while it is borrowed.
    pub(crate) opened: Option<Arc<Opened>>,
    pub(crate) resources: Arc<dyn Resources>,
    /// Updates that were scattered, by partition.
    pub(crate) bins: Vec<Bin>,
    pub(crate) combiner: Combiner,
    scratch: DecodeBuffers,
    /// Number of records that the last chunk had.
    pub(crate) looked_at: u64,
}

impl KernelStreamer {
    pub(crate) fn new(number: usize, opened: &Opened, resources: Arc<dyn Resources>) -> Self {
        let (partitions, width) = (opened.cut.partitions.count(), opened.kernel.shape().record());
        Self {
            number,
            opened: None,
            resources,
            bins: (0..partitions).map(|_| Bin::new(width)).collect(),
            combiner: Combiner::default(),
            scratch: DecodeBuffers::default(),
            looked_at: 0,
        }
    }

    /// Folds edges of the cell at work into accumulators.
    fn fold(
        &mut self,
        opened: &Opened,
        kernel: &FoldKernel,
        payload: &[u8],
    ) -> Result<Outcome, EngineError> {
        let (cut, graph, cell) = (&opened.cut, opened.graph, opened.cell());
        let chunks = cut.striped_chunks(graph, cell, payload)?;
        let stripes: Vec<usize> = chunks.iter().map(|(stripe, _)| *stripe).collect();
        let (mut edges, scratch) = (0, &mut self.scratch);
        opened.accums.visit(self.number, &stripes, |place, accums| {
            let (stripe, chunk) = chunks[place];
            let cell = cut.striped_cell(graph, cell, stripe as u64);
            let pulled = cell.open_again(chunk)?;
            edges += pulled.edges();
            pulled.fold(kernel, sources(kernel, &opened.sources), accums, scratch)
        })?;
        self.looked_at = edges;
        Ok(streamed(0, 0, Vec::new()))
    }

    /// Scatters edges of the open partition into bins.
    fn scatter(
        &mut self,
        opened: &Opened,
        kernel: &FoldKernel,
        payload: &[u8],
    ) -> Result<Outcome, EngineError> {
        let cut = &opened.cut;
        let cell = cut.pulled_cell(opened.graph, Cell::all(opened.partition), payload)?;
        let (graph, at) = opened.updates_for(0);
        let Self { bins, combiner, scratch, resources, .. } = self;
        let (partitions, most) = (&cut.partitions, cut.chunk_records);
        let width = kernel.shape().record();
        let combines = cut.combines && kernel.shape().capabilities.combines;
        let pulled = cell.open_again(payload)?;
        let (mut made, mut filled, mut outside) = (0, Vec::new(), None);
        let first_target = cell.targets.start;
        pulled.scatter(kernel, sources(kernel, &opened.own), scratch, |targets, records| {
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
                        bin.combine(kernel, combiner, (cut.stripe_bits, cut.vertices(stripe)));
                    }
                    if bin.is_full(most.div_ceil(2)) {
                        filled.extend(bin.take((graph, UpdateKey { stripe, ..at }), &**resources));
                    }
                }
            }
        })?;
        if let Some(number) = outside {
            return Err(other(format!("an edge to {number}, which is no vertex")));
        }
        self.looked_at = pulled.edges();
        Ok(streamed(made, 0, filled))
    }

    /// Lets accumulators of the open partition meet updates. Number of these.
    pub(crate) fn gather(
        &mut self,
        opened: &Opened,
        kernel: &FoldKernel,
        payload: &[u8],
    ) -> Result<u64, EngineError> {
        let width = kernel.shape().record();
        let records = open_updates_again(width, opened.updates_for(opened.partition), payload)?;
        self.looked_at = records.targets.len() as u64;
        let (cut, accums) = (&opened.cut, &opened.accums);
        let count = cut.vertices(opened.partition);
        let outside = || other(format!("an update for a vertex beyond {count}"));
        let mut met = (records.targets, records.accums);
        if !accums.are_in_order(met.0) {
            if met.0.iter().any(|target| *target as usize >= count) {
                return Err(outside());
            }
            met = self.combiner.order((width, cut.stripe_bits), met, count);
        }
        let are_inside = accums.merge(kernel, self.number, met);
        are_inside.then_some(records.updates).ok_or_else(outside)
    }
}

/// The outcome of a chunk of edges that made `made` updates, or of updates that were gathered, and
/// that filled these buffers.
fn streamed(made: u64, gathered: u64, filled: Vec<Filled>) -> Outcome {
    Outcome::Streamed { made, gathered, rewritten: Rewritten::Not, filled }
}

impl Streamer for KernelStreamer {
    fn stream(&mut self, chunk: &[u8]) -> Result<Outcome, EngineError> {
        let opened = self.opened.clone().ok_or_else(unborrowed)?;
        let opened = &*opened;
        let Kernel::Fold(kernel) = &opened.kernel else { return Err(unborrowed()) };
        match opened.step.phase {
            Phase::Gather => {
                let gathered = self.gather(opened, kernel, chunk)?;
                Ok(streamed(0, gathered, Vec::new()))
            }
            Phase::Fold => self.fold(opened, kernel, chunk),
            _ => self.scatter(opened, kernel, chunk),
        }
    }
}

fn unborrowed() -> EngineError {
    EngineError::internal("a streamer of edges without states is borrowed when it streams")
}
