//! The plan of a run on a graph that is kept: nothing is ingested, and widths are what they are.
//!
//! What the state of the program leaves of the budget holds chunks. Where all of them fit, programs
//! with a frontier also get rows, if there is room for these too.

use welter_store::header::{Encoding, KEY_BITS};

use super::memory::{self, Memory};
use super::{
    IndexMode, Layout, Plan, Room, Settings, Shape, StorageMode, StoragePlan, Streamed,
    refusal::refusal, with_threads,
};
use crate::EngineError;
use crate::arena::SLAB_BYTES;
use crate::machine::Machine;
use crate::read_ahead;
use crate::values;
use crate::vertices::SEGMENT_BITS;

/// Bytes that tell where a chunk lies, and what is in it.
const PLACE_BYTES: u64 = 160;
/// The same of what is read at once.
const EXTENT_BYTES: u64 = 64;

/// What a plan must know of a graph that is kept. All of it is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptShape {
    /// Slots, those that are no vertices included.
    pub slots: u64,
    /// Vertices.
    pub vertices: u64,
    /// Edges as they are stored.
    pub edges: u64,
    /// Whether weights are stored.
    pub weighted: bool,
    /// Number of chunks.
    pub chunks: u64,
    /// Number of pieces of the files that are read at once, each of which holds some chunks.
    pub extents: u64,
    /// Bytes of these.
    pub chunk_bytes: u64,
    /// Log2 of the largest width of a stripe.
    pub stripe_bits: u32,
    /// Log2 of the largest width of a block of sources.
    pub block_bits: u32,
    /// How edges are held.
    pub encoding: Encoding,
}

impl Plan {
    /// Plans a run on a graph that is kept, or refuses it when it cannot fit.
    ///
    /// # Errors
    /// [`EngineError::Budget`] when its state does not fit, [`EngineError::Configuration`] for a
    /// setting out of range.
    pub fn of_kept(
        kept: &KeptShape,
        layout: Layout,
        settings: &Settings,
        machine: &Machine,
    ) -> Result<Self, EngineError> {
        settings.check()?;
        with_threads(settings, machine, kept.edges, |threads| {
            Self::of_kept_with(threads, kept, layout, settings, machine)
        })
    }

    fn of_kept_with(
        threads: usize,
        kept: &KeptShape,
        layout: Layout,
        settings: &Settings,
        machine: &Machine,
    ) -> Result<Self, EngineError> {
        let shape = Shape {
            slots: kept.vertices,
            edges: kept.edges,
            weighted: kept.weighted,
            estimated: false,
            input_bytes: 0,
        };
        let plan = Self {
            threads,
            stripe_bits: kept.stripe_bits,
            block_bits: kept.block_bits,
            encoding: kept.encoding,
            chunk_bytes: super::CHUNK_BYTES_MAX,
            frontier: layout.active > 0,
            frontier_mode: settings.frontier.stored(),
            index: settings.index,
            rows: false,
            pulls: false,
            storage: None,
            shape,
            vertices: kept.vertices,
            layout,
            settings: *settings,
            budget_bytes: settings.memory_bytes.unwrap_or(machine.memory_bytes / 16 * 15),
            pace: None,
            memory: Memory::default(),
        };
        let all = kept.extents * SLAB_BYTES as u64;
        let rows_wanted =
            layout.sparse > 0 && settings.index != IndexMode::Bands && kept.edges < 1 << 32;
        let cached = |rows: bool| {
            let mut plan = plan.clone();
            if rows {
                plan.rows = true;
                plan.pulls = layout.pulled && settings.index == IndexMode::Rows;
                plan.frontier_mode = settings.frontier.resident();
            }
            plan.memory = memory_of(&plan, kept, all, false);
            plan
        };
        let fits = |plan: &Self| plan.memory.peak() <= plan.budget_bytes;
        let cached = rows_wanted.then(|| cached(true)).into_iter().chain([cached(false)]);
        let cache_most = match settings.storage {
            StorageMode::Always { cache_bytes, .. } => cache_bytes,
            StorageMode::Never | StorageMode::Auto | StorageMode::Kept => u64::MAX,
        };
        let must = Streamed::is_forced(&plan);
        if let Some(plan) = cached.into_iter().find(fits).filter(|_| cache_most >= all && !must) {
            return Ok(plan);
        }
        let mut plan = plan;
        let forced = matches!(settings.storage, StorageMode::Always { values: true, .. });
        let mut values_stored = forced && layout.value > 0;
        plan.memory = memory_of(&plan, kept, 0, values_stored);
        if !fits(&plan) && layout.value > 0 && !values_stored {
            let away = memory_of(&plan, kept, 0, true);
            if away.peak() < plan.memory.peak() {
                (plan.memory, values_stored) = (away, true);
            }
        }
        let mut streamed = None;
        if must || !fits(&plan) {
            let away = memory_of(&plan, kept, 0, true);
            let vertices = away.vertices - kept.vertices * 4;
            let fixed = Memory { vertices, state: 0, frontier: 0, ..away };
            let spare = plan.budget_bytes.saturating_sub(fixed.peak());
            let way = Streamed::new(&plan, spare, kept.chunk_bytes);
            let state = way.map_or(u64::MAX / 2, |way| way.bytes(&plan));
            let memory = Memory { state, ..fixed };
            if must || memory.peak() < plan.memory.peak() {
                (plan.memory, values_stored, streamed) = (memory, true, way);
            }
        }
        if !fits(&plan) {
            let budget = plan.budget_bytes;
            return Err(refusal(&[plan], budget));
        }
        let cache_bytes = (plan.budget_bytes - plan.memory.peak()).min(cache_most).min(all);
        plan.memory.chunks = cache_bytes;
        let storage =
            StoragePlan { cache_bytes, values_stored, streamed, ..StoragePlan::default() };
        plan.storage = Some(storage);
        plan.storage = Some(StoragePlan { room: Room::of_state(&plan), ..storage });
        Ok(plan)
    }
}

/// The memory of a run with so many bytes of chunks in memory, and values where it is said.
fn memory_of(plan: &Plan, kept: &KeptShape, chunks: u64, values_stored: bool) -> Memory {
    let Plan { layout, settings, stripe_bits, .. } = *plan;
    let threads = plan.threads as u64;
    let padding = 1 << (KEY_BITS - stripe_bits);
    let count = kept.vertices;
    let has_holes = u64::from(kept.vertices < kept.slots);
    let marks = kept.slots.div_ceil(1 << SEGMENT_BITS).max(1) * ((1 << SEGMENT_BITS) / 64 * 12);
    let reading = read_ahead::SLABS as u64 * SLAB_BYTES as u64;
    // The cells of a stream program reach as far as a damaged key does.
    let reach = padding.max(1 << stripe_bits);
    let signals = (2 * count + padding + reach) * layout.signal;
    let flags = (count + padding) * 2 * layout.active;
    let values = count * layout.value;
    let state = if values_stored {
        // Values are read whole when all else is done.
        let columns = threads * values::COLUMNS as u64 * (layout.value << stripe_bits);
        values.max(signals + columns)
    } else {
        values + signals
    };
    // What is looked up needs accumulators of its own.
    let looked_up = if plan.rows { count * layout.sparse } else { 0 };
    Memory {
        held: settings.held_bytes,
        chunks,
        vertices: count * 4
            + has_holes * marks
            + kept.chunks * PLACE_BYTES
            + kept.extents * EXTENT_BYTES,
        state,
        frontier: looked_up + flags,
        rows: memory::rows_bytes(plan),
        workers: threads * ((layout.accum << stripe_bits) + reading + memory::WORKER_BYTES),
        chunks_stored: kept.chunk_bytes,
        ..Memory::default()
    }
}
