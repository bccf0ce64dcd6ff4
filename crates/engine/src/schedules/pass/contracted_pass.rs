//! Passes over edges that were contracted.

use welter_model::stream::ContractedEdge;

use super::contract::{Contraction, Contractor, Reads};
use super::contracted::Contracted;
use super::run::StreamRun;
use crate::EngineError;
use crate::machine::per_worker::PerWorker;
use crate::machine::sync::lock;
use crate::schedules::context::Context;

/// Slabs of a task.
const TASK: usize = 16;

impl StreamRun<'_, '_> {
    /// Shows what was contracted, and contracts it again if that pays.
    pub(super) fn pass_contracted(
        &self,
        contracted: &Contracted,
    ) -> Result<Option<Contracted>, EngineError> {
        let (kernel, Context { graph, workers, progress, phase, .. }) =
            (self.kernel.kernel(), self.context);
        // Slabs of an older generation are free now.
        contracted.arena.trim();
        let reads = Reads {
            edges: contracted.edges,
            bytes: contracted.edges * size_of::<ContractedEdge>() as u64,
            storage: contracted.stored.as_ref().and(workers.storage()),
            arena: &contracted.arena,
            free: graph.free_bytes(),
        };
        let contraction = Contraction::begin(workers, reads)?;
        let tools = std::mem::take(&mut *lock(&self.tools));
        let worker_states = tools.into_iter().map(|tools| {
            let contractor = contraction.as_ref().map(Contractor::new).transpose()?;
            Ok((tools, contractor, Vec::new()))
        });
        let mut worker_states = worker_states.collect::<Result<PerWorker<_>, EngineError>>()?;
        let tasks = contracted.pieces.chunks(TASK);
        workers.for_each(tasks, progress, &mut worker_states, |worker, pieces| {
            let (tools, contractor, found) = worker;
            contracted.each(pieces, |edges| {
                let shown = kernel.show_contracted(edges, found);
                let looked = edges.len() as u64;
                tools.stats.looked += looked;
                tools.stats.candidates += shown.candidates;
                tools.stats.changes += shown.changes;
                phase.add(looked);
                if let Some(contractor) = contractor {
                    contractor.take(looked, found)?;
                }
                found.clear();
                Ok(())
            })
        })?;
        let mut contractors = Vec::new();
        for (tools, contractor, _) in worker_states {
            lock(&self.tools).push(tools);
            contractors.extend(contractor);
        }
        contraction.as_ref().map_or(Ok(None), |contraction| contraction.end(contractors))
    }
}
