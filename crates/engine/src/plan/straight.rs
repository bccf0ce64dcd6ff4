//! Plans for graphs that stay in their input.

use welter_model::straight::Straight;
use welter_model::stream::BySlot;

use super::memory::WORKER_BYTES;
use super::refusal::refusal;
use super::{Memory, Plan, Shape, storage};
use crate::EngineError;
use crate::kernels::vertices::SEGMENT_BITS;

/// Memory that a straight program takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Straightness {
    /// Whether it pays where edges would fit in memory, too.
    pub always: bool,
    /// Bytes of a slot: what it was told, and what the program itself has for it.
    pub slot: u64,
    /// Bytes of an update that waits, its target included.
    pub update: u64,
}

impl Straightness {
    /// The memory of a program with so many bytes of its own for a slot.
    pub fn of<P: Straight>(own: u64) -> Self {
        let [accum, update] = [size_of::<P::Accum>(), size_of::<P::Update>()];
        Self { always: true, slot: accum as u64 + own, update: update as u64 + 4 }
    }

    /// The memory of a stream program.
    pub fn of_stream<S: BySlot>() -> Self {
        // Two bits are less than a byte.
        let slot = (size_of::<S::Cell>() + size_of::<S::Note>()) as u64 + u64::from(S::BITS);
        Self { always: S::PASSES == Some(1), slot, update: 0 }
    }
}

/// Passes over an input after which a search that does not spread ends, where there is no room for
/// the graph that would be made instead: those of a grid or a road are as many as it is wide. A
/// program that foresees more ends then.
const PASSES_MAX: u64 = 64;

/// Bytes of pairs that a part of an input has at most, as streams are asked to have it.
pub(crate) const PART_BYTES: usize = 16 << 20;

impl Plan {
    /// The plan that leaves the graph in its input.
    pub(super) fn straight(plan: Self, takes: Straightness) -> Self {
        let memory = Memory::straight(&plan, takes);
        Self { straight: true, memory, ..plan }
    }

    /// Whether that fits, and is better than the plan by which a graph would be made.
    pub(super) fn pays(&self, takes: Straightness, made: Option<&Self>) -> bool {
        let is_stored = made.is_none_or(|plan| plan.storage.is_some());
        (takes.always || is_stored) && self.memory.peak() <= self.budget_bytes
    }

    /// The passes over the input that are made at most, where those are bounded that the program
    /// would rather not make.
    pub(crate) fn passes_max(&self) -> Option<u64> {
        self.instead.is_none().then_some(PASSES_MAX)
    }

    /// Why passes over the input end, with what it takes to make a graph of it instead, which has
    /// so many slots.
    pub(crate) fn too_many_passes(&self, slots: u64) -> EngineError {
        let slots = slots.max(self.shape.slots);
        let shape = Shape { slots, ..self.shape };
        let mut made = Self { straight: false, shape, vertices: slots, ..self.clone() };
        made.settings.held_bytes += self.memory.vertices;
        match refusal(&[storage::plan(made)], self.budget_bytes) {
            EngineError::Budget { need, budget, advice } => {
                let what = format!("for a graph instead of more than {PASSES_MAX} passes");
                EngineError::Budget { need, budget, advice: format!("{what}; {advice}") }
            }
            other => other,
        }
    }

    /// Bytes of the budget that nothing is planned for.
    pub(crate) fn free_bytes(&self) -> u64 {
        self.budget_bytes.saturating_sub(self.memory.peak())
    }

    /// The plan of a graph that is made after all, beside what is known of its vertices by then; if
    /// that fits, and is a way out of a search of many levels.
    pub(super) fn after(mut self, straight: &Self) -> Option<Self> {
        self.settings.held_bytes += straight.memory.vertices;
        let plan = if self.storage.is_some() {
            storage::plan(self)
        } else {
            self.memory = Memory::of(&self);
            self
        };
        (plan.memory.peak() <= plan.budget_bytes && plan.ends_searches()).then_some(plan)
    }

    /// Whether a search of however many levels is not made level by level to its end, with edges
    /// read again and again.
    pub(super) fn ends_searches(&self) -> bool {
        !self.layout.relaxes || self.storage.is_none_or(|storage| storage.relaxes)
    }
}

impl Memory {
    /// Memory of a run on a graph that stays in its input.
    fn straight(plan: &Plan, takes: Straightness) -> Self {
        let Straightness { slot, update, .. } = takes;
        let Shape { slots, edges, input_bytes, .. } = plan.shape;
        let threads = plan.threads as u64;
        // A sample of the edges may not have seen the largest id.
        let slots = slots + u64::from(plan.shape.estimated) * (slots / 16 + (1 << SEGMENT_BITS));
        let vertices = plan.vertices.max(slots);
        let words = slots.div_ceil(1 << SEGMENT_BITS).max(1) * (1 << SEGMENT_BITS) / 64;
        // What was seen of a sample, which a forecast does not know: marks and three rounds of
        // counts, in lists that grow.
        let look = 16 * words + 64 * slots.div_ceil(1 << SEGMENT_BITS);
        Self {
            held: plan.settings.taken_bytes(),
            input: input_bytes.max(look),
            marks: (threads + 1) * words * 8,
            vertices: words * 12,
            // An edge may tell both its ends.
            workers: threads * WORKER_BYTES
                + edges.min(2 * threads * PART_BYTES as u64 / 8) * update,
            counts: slot * slots + vertices * plan.layout.value,
            ..Self::default()
        }
    }
}
