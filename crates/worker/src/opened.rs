//! The open partition of a kernel's worker: what all who stream its chunks look at, and the
//! accumulators that these meet.

use std::sync::Arc;

use welter_engine::EngineError;
use welter_engine::chunks::{
    FoldKernel, Kernel, Sources, Stripes, UpdateKey, VertexTotals, Vertices,
};
use welter_protocol::ids::{Cell, Phase, Step};

use crate::partitioning::Partitioning;
use crate::resources::{Resources, WorkPart};
use crate::vertices::{VertexSet, front};

/// Bits of a stripe that has all vertices.
const WHOLE: u32 = 63;

/// A partition that is open, and its vertices.
pub(crate) struct Opened {
    pub(crate) kernel: Kernel,
    /// Number of the graph.
    pub(crate) graph: u64,
    pub(crate) cut: Partitioning,
    pub(crate) step: Step,
    pub(crate) partition: u32,
    pub(crate) own: VertexSet,
    /// The source partition of the cell at work, and its vertices.
    pub(crate) source: u32,
    pub(crate) sources: VertexSet,
    pub(crate) accums: Stripes,
}

impl Opened {
    /// No partition yet. Accumulators that are merged have stripes, and all others one.
    pub(crate) fn new(kernel: Kernel, cut: Partitioning, graph: u64) -> Self {
        let accums = Stripes::new(if is_striped(&kernel) { cut.stripe_bits } else { WHOLE });
        Self {
            kernel,
            graph,
            cut,
            step: Step { iteration: 0, phase: Phase::Ingest },
            partition: 0,
            own: VertexSet::default(),
            source: 0,
            sources: VertexSet::default(),
            accums,
        }
    }

    /// The worker's own, while no streamer looks at it.
    ///
    /// # Errors
    /// When one does, which is a bug of the host.
    pub(crate) fn alone(this: &mut Arc<Self>) -> Result<&mut Self, EngineError> {
        Arc::get_mut(this)
            .ok_or_else(|| EngineError::internal("a partition is changed while it is streamed"))
    }

    /// The name of updates for a partition in this iteration.
    pub(crate) fn updates_for(&self, stripe: u32) -> (u64, UpdateKey) {
        (self.graph, UpdateKey::new(self.step.iteration.into(), stripe, self.partition))
    }

    /// The cell at work, where edges lie by cells.
    pub(crate) fn cell(&self) -> Cell {
        Cell { partition: self.partition, source: Some(self.source) }
    }

    /// Sets what an iteration makes of values and accumulators, stripe by stripe.
    pub(crate) fn apply(&mut self, last: &[u8], resources: &dyn Resources) -> VertexTotals {
        let Self { kernel, own, accums, .. } = self;
        let kernel = &*kernel;
        let shape = *kernel.shape();
        let Vertices { mut values, mut signals, mut active } = own.columns(kernel);
        let flags = usize::from(shape.capabilities.frontier);
        let mut made: Vec<Option<VertexTotals>> = vec![None; accums.stripes()];
        let mut parts: Vec<WorkPart<'_>> = Vec::new();
        for ((places, accums), made) in accums.parts_mut().zip(&mut made) {
            let count = places.len();
            let values = front(&mut values, count * shape.value);
            let signals = front(&mut signals, count * shape.signal);
            let active = front(&mut active, count * flags);
            parts.push(Box::new(move || {
                let vertices = Vertices { values, signals, active };
                *made = Some(welter_engine::chunks::apply(kernel, last, accums, vertices));
            }));
        }
        resources.run(parts);
        let (mut totals, mut active) = (Vec::new(), 0);
        for made in made.iter().flatten() {
            totals.extend_from_slice(&made.total);
            active += made.active;
        }
        VertexTotals { total: kernel.total(&totals), active }
    }
}

/// Whether accumulators of a program are met by stripes: those are that merge updates.
pub(crate) fn is_striped(kernel: &Kernel) -> bool {
    matches!(kernel, Kernel::Fold(kernel) if kernel.shape().capabilities.combines)
}

/// Signals of a fold program's sources.
pub(crate) fn sources<'a>(kernel: &FoldKernel, set: &'a VertexSet) -> Sources<'a, u8> {
    let active = kernel.shape().capabilities.frontier.then_some(&set.active[..]);
    Sources { signals: &set.signals, active }
}
