//! Running programs of all kinds on what is ready.

use std::time::Instant;

use welter_algorithms::kcore::Core;
use welter_engine::{Generation, Outcome, StreamOutcome, Values, Workers};
use welter_programs::{
    CompiledExtended, CompiledFold, CompiledOverInput, CompiledPasses, CompiledScan,
    CompiledStream, CompiledTriangles, peel,
};
use welter_store::io::VolumeStats;

use super::{LoadedGraph, Session};
use crate::failure::Failure;
use crate::long_run;

impl Session {
    /// Runs a program, from its last checkpoint where there is one.
    pub(crate) fn iterate<P: CompiledFold>(
        &self,
        ready: &LoadedGraph,
        program: &P,
    ) -> Result<Outcome<P::Value, P::Total>, Failure> {
        let LoadedGraph { graph, workers, .. } = ready;
        let graph = graph.used();
        let checkpoints = self.checkpoints.as_ref();
        let plan = graph.plan();
        if program.limit().stated().is_none() && plan.storage().is_some() && self.speaks() {
            long_run::note_when_long(&self.progress, graph.chunk_bytes(), plan.in_memory_bytes());
        }
        self.measured(workers, || Ok(program.run(graph, workers, &self.progress, checkpoints)?))
    }

    /// Runs an input scan, on a graph that stays in its input.
    pub(crate) fn count<P: CompiledScan>(
        &self,
        ready: &LoadedGraph,
        program: &P,
    ) -> Result<Outcome<P::Value, P::Total>, Failure> {
        let LoadedGraph { graph, workers, .. } = ready;
        self.measured(workers, || Ok(program.scan(graph, workers, &self.progress)?))
    }

    /// Runs a stream program.
    pub(crate) fn pass<S: CompiledStream>(
        &self,
        ready: &LoadedGraph,
        program: &S,
    ) -> Result<StreamOutcome<S::Value>, Failure> {
        let LoadedGraph { graph, workers, .. } = ready;
        self.measured(workers, || Ok(program.pass(graph.used(), workers, &self.progress)?))
    }

    /// Runs a stream program, from its last checkpoint where there is one.
    pub(crate) fn pass_resumable<S: CompiledPasses>(
        &self,
        ready: &LoadedGraph,
        program: &S,
    ) -> Result<StreamOutcome<S::Value>, Failure> {
        let LoadedGraph { graph, workers, .. } = ready;
        let graph = graph.used();
        let checkpoints = self.checkpoints.as_ref();
        let passed = self.measured(workers, || {
            program.pass_resumable(graph, workers, &self.progress, checkpoints)
        })?;
        self.left.replace(passed.left.clone());
        Ok(passed)
    }

    /// Runs a stream program on a graph that stays in its input. If it gives up there, the graph is
    /// made.
    pub(crate) fn pass_over<S: CompiledOverInput>(
        &self,
        ready: &LoadedGraph,
        program: &S,
    ) -> Result<Option<StreamOutcome<S::Value>>, Failure> {
        let LoadedGraph { graph, workers, loaded, .. } = ready;
        let passed =
            self.measured(workers, || program.pass_over(graph, workers, &self.progress))?;
        if passed.is_none() {
            graph.make(&loaded.ids, workers, &self.progress)?;
        }
        Ok(passed)
    }

    /// Peels the graph, where the plan has rows and nothing is to be resumed from.
    pub(crate) fn peel(&self, ready: &LoadedGraph) -> Result<Option<Values<Core>>, Failure> {
        let LoadedGraph { graph, workers, .. } = ready;
        if self.checkpoints.is_some() {
            return Ok(None);
        }
        self.measured(workers, || Ok(peel(graph, workers, &self.progress)?))
    }

    /// Runs an extended program, from its last checkpoint where there is one.
    pub(crate) fn extend<E: CompiledExtended>(
        &self,
        ready: &LoadedGraph,
        program: &E,
    ) -> Result<Outcome<E::Value, E::Total>, Failure> {
        let LoadedGraph { graph, workers, .. } = ready;
        let checkpoints = self.checkpoints.as_ref();
        self.measured(workers, || Ok(program.run(graph, workers, &self.progress, checkpoints)?))
    }

    /// Walks over all triangles.
    pub(crate) fn intersect<I: CompiledTriangles>(
        &self,
        ready: &LoadedGraph,
        program: &I,
    ) -> Result<Values<I::Value>, Failure> {
        let LoadedGraph { graph, workers, .. } = ready;
        self.measured(workers, || Ok(program.intersect(graph, workers, &self.progress)?))
    }

    /// Bytes and requests that iterations moved to and from storage.
    pub(crate) fn moved(&self) -> VolumeStats {
        self.moved.get().unwrap_or_default()
    }

    /// Edges of each newer generation that passes wrote of those that were left.
    pub(crate) fn left(&self) -> Vec<Generation> {
        self.left.borrow().clone()
    }

    /// When the last run of a program ended: what follows looks through its results.
    pub(crate) fn ended(&self) -> Instant {
        self.ended.get()
    }

    /// Notes what goes to and from storage meanwhile, and when it has ended.
    fn measured<T>(&self, workers: &Workers, run: impl FnOnce() -> T) -> T {
        let stats = || workers.storage().map(|storage| storage.io.totals.stats());
        let before = stats();
        let done = run();
        self.ended.set(Instant::now());
        self.moved.set(stats().zip(before).map(|(after, before)| after.since(before)));
        done
    }
}
