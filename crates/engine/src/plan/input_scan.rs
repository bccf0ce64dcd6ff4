//! Plans for graphs that stay in their input.

use super::budget_error::budget_error;
use super::memory::Memory;
use super::premises::Premises;
use super::program::InputScanCost;
use super::shape::Shape;
use super::{Access, Plan, storage};
use crate::EngineError;
use crate::footprints::ingest::WORKER_BYTES;
use crate::kernels::vertices::SEGMENT_BITS;

/// Passes over an input after which a search that does not spread ends, where there is no room for
/// the graph that would be made instead: those of a grid or a road are as many as it is wide. A
/// program that foresees more ends then.
const PASSES_MAX: u64 = 64;

/// Bytes of pairs that a part of an input has at most, as streams are asked to have it.
pub(crate) const PART_BYTES: usize = 16 << 20;

/// Passes over an input of which each reads the edges anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputPasses {
    /// Passes at least.
    pub least: u64,
    /// Whether there are no more.
    pub exact: bool,
}

impl InputPasses {
    /// One pass, and no more.
    pub const ONE: Self = Self { least: 1, exact: true };
}

/// The plan that leaves the graph in its input, and makes it after all as `instead` says.
pub(super) fn plan(premises: &Premises, takes: InputScanCost, instead: Option<Plan>) -> Plan {
    let access = Access::Input { instead: instead.map(Box::new) };
    let memory = memory_of(premises, takes);
    Plan { premises: *premises, access, throughput: None, memory }
}

/// The plan of a graph that is made after all, beside what is known of its vertices by then; if
/// that fits, and is a way out of a search of many levels.
pub(super) fn after(made: Plan, input_scan: &Plan) -> Option<Plan> {
    let mut premises = made.premises;
    premises.settings.held_bytes += input_scan.memory.vertices;
    let plan = match made.access {
        Access::Storage(_) => storage::plan(&premises),
        Access::Memory { .. } | Access::Input { .. } => {
            let memory = Memory::of(&premises, made.index());
            Plan { premises, memory, ..made }
        }
    };
    (plan.fits() && plan.ends_searches()).then_some(plan)
}

impl Plan {
    /// Passes over an input that stays as it lies. A scan tells in the first one which slots are
    /// vertices, and meets each edge in another; a search notes in the first one where it begins,
    /// and may have seen all then. A graph is made in one.
    pub fn input_passes(&self) -> InputPasses {
        match (self.scans_input(), self.may_give_up()) {
            (true, false) => InputPasses { least: 2, exact: true },
            (true, true) => InputPasses { least: 1, exact: false },
            (false, _) => InputPasses::ONE,
        }
    }

    /// The passes over the input that are made at most, where those are bounded that the program
    /// would rather not make.
    pub(crate) fn passes_max(&self) -> Option<u64> {
        self.instead().is_none().then_some(PASSES_MAX)
    }

    /// Reason why passes over the input end, with what it takes to make a graph of it instead,
    /// which has at least `slots` slots.
    pub(crate) fn too_many_passes(&self, slots: u64) -> EngineError {
        let slots = slots.max(self.premises.shape.slots);
        let shape = Shape { slots, ..self.premises.shape };
        let mut premises = Premises { shape, vertices: slots, ..self.premises };
        premises.settings.held_bytes += self.memory.vertices;
        match budget_error(&[storage::plan(&premises)], premises.budget_bytes) {
            EngineError::Budget { need, budget, advice } => {
                let what = format!("for a graph instead of more than {PASSES_MAX} passes");
                EngineError::Budget { need, budget, advice: format!("{what}; {advice}") }
            }
            other => other,
        }
    }

    /// Whether a search of however many levels is not made level by level to its end, with edges
    /// read again and again.
    pub(super) fn ends_searches(&self) -> bool {
        !self.premises.program.relaxes()
            || self.storage().is_none_or(|storage| storage.state.relaxes())
    }
}

/// Memory of a run on a graph that stays in its input.
fn memory_of(premises: &Premises, takes: InputScanCost) -> Memory {
    let InputScanCost { slot, update, .. } = takes;
    let Shape { slots, edges, input_bytes, estimated, .. } = premises.shape;
    let threads = premises.threads as u64;
    // A sample of the edges may not have seen the largest id.
    let slots = slots + u64::from(estimated) * (slots / 16 + (1 << SEGMENT_BITS));
    let vertices = premises.vertices.max(slots);
    let words = slots.div_ceil(1 << SEGMENT_BITS).max(1) * (1 << SEGMENT_BITS) / 64;
    // Findings of a sample, which a forecast does not know: marks and three rounds of
    // counts, in lists that grow.
    let look = 16 * words + 64 * slots.div_ceil(1 << SEGMENT_BITS);
    Memory {
        held: premises.settings.taken_bytes(),
        input: input_bytes.max(look),
        marks: (threads + 1) * words * 8,
        vertices: words * 12,
        // An edge may update both its ends.
        workers: premises
            .account()
            .each_worker(WORKER_BYTES)
            .shared(edges.min(2 * threads * PART_BYTES as u64 / 8) * update)
            .bytes(),
        counts: slot * slots + vertices * premises.program.value,
        ..Memory::default()
    }
}
