//! Passes over edges that were contracted.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use welter_model::stream::{Link, Stream};

use super::contract::{Contraction, Contractor, Reads};
use super::contracted::Contracted;
use super::run::Run;
use crate::EngineError;
use crate::machine::sync::lock;

/// Slabs of a task.
const TASK: usize = 16;

impl<S: Stream> Run<'_, S> {
    /// Shows what was contracted, and contracts it again if that pays.
    pub(super) fn pass_contracted(
        &self,
        step: S::Step,
        contracted: &Contracted,
    ) -> Result<Option<Contracted>, EngineError> {
        let (program, known) = (self.program, self.known());
        // Slabs of an older generation are free now.
        contracted.arena.trim();
        let reads = Reads {
            edges: contracted.links,
            bytes: contracted.links * size_of::<Link>() as u64,
            storage: contracted.stored.as_ref().and(self.workers.storage()),
            arena: &contracted.arena,
            free: self.graph.free_bytes(),
        };
        let contraction = Contraction::begin(self.workers, reads)?;
        let hands = std::mem::take(&mut *lock(&self.hands));
        let worker_states = hands.into_iter().map(|hand| {
            let contractor = contraction.as_ref().map(Contractor::new).transpose()?;
            Ok(Mutex::new((hand, contractor, Vec::new())))
        });
        let worker_states = worker_states.collect::<Result<Vec<_>, EngineError>>()?;
        let tasks: Vec<_> = contracted.pieces.chunks(TASK).collect();
        self.workers.tasks(tasks.len(), self.progress, &worker_states, |worker, task| {
            let (hand, contractor, found) = worker;
            contracted.each(tasks[task], |links| {
                let changes = Cell::new(0);
                for link in links {
                    let component = |end: u32| program.component(&known.cells[end as usize]);
                    let [one, other] = link.between.map(component);
                    if one != other {
                        let link = Link::new(one, other, link.rank);
                        found.push(link);
                        changes.set(changes.get() + u64::from(program.link(step, known, link)));
                    }
                }
                let looked = links.len() as u64;
                hand.seen.looked += looked;
                hand.seen.news += found.len() as u64;
                hand.seen.changes += changes.get();
                self.phase.add(looked);
                if let Some(contractor) = contractor {
                    contractor.take(looked, found.iter().copied())?;
                }
                found.clear();
                Ok(())
            })
        })?;
        let mut contractors = Vec::new();
        for worker in worker_states {
            let (hand, contractor, _) = worker.into_inner().unwrap_or_else(PoisonError::into_inner);
            lock(&self.hands).push(hand);
            contractors.extend(contractor);
        }
        contraction.as_ref().map_or(Ok(None), |contraction| contraction.end(contractors))
    }
}
