//! The plan of a run on a graph that is kept: nothing is ingested, and widths are what they are.
//!
//! What the state of the program leaves of the budget holds chunks. Where all of them fit, programs
//! with a frontier also get rows, if there is room for these too. What is in flight follows the
//! device where that was measured: fewer requests than usual leave room for chunks, and more are
//! had with a share of what would hold chunks, so that no run needs more memory for them.

use welter_store::header::{Encoding, KEY_BITS};

use super::memory::{self, Memory};
use super::{
    IndexMode, Layout, Plan, Room, Settings, Shape, StorageMode, StoragePlan, Streamed,
    refusal::refusal, relaxing, with_threads,
};
use crate::EngineError;
use crate::columns::footprint::COLUMNS;
use crate::kernels::vertices::SEGMENT_BITS;
use crate::machine::arena::SLAB_BYTES;
use crate::machine::figures::Machine;
use crate::machine::storage::DEPTH;

/// Bytes that tell where a chunk lies, and what is in it.
const PLACE_BYTES: u64 = 160;
/// Bytes that tell where an extent lies, which is read at once.
const EXTENT_BYTES: u64 = 64;

/// Slabs in flight that each worker has at least: while one is read, another may wait for the
/// worker to come.
const WINDOW_LEAST: usize = 2;
/// And at most, whatever would be best for the device.
const WINDOW_MOST: usize = 32;
/// More than as ever only as far as they take one part in so many of what is left for chunks.
const WINDOW_SHARE: u64 = 4;

/// The shape of a graph that is kept. All of it is exact.
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
    /// Bytes of requests in flight with which its device reads best, where that was measured.
    pub in_flight: Option<u64>,
}

impl KeptShape {
    /// Slabs that each of so many workers is best to have in flight.
    fn window(&self, threads: u64) -> usize {
        let Some(bytes) = self.in_flight else { return DEPTH };
        let slabs = bytes.div_ceil(threads * SLAB_BYTES as u64);
        slabs.clamp(WINDOW_LEAST as u64, WINDOW_MOST as u64) as usize
    }
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
        layout.check(settings)?;
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
            straight: false,
            instead: None,
            threads,
            stripe_bits: kept.stripe_bits,
            block_bits: kept.block_bits,
            encoding: kept.encoding,
            chunk_bytes: super::CHUNK_BYTES_MAX,
            frontier: layout.active > 0,
            frontier_mode: settings.frontier.stored(),
            wide_tiles: true,
            index: settings.index,
            rows: false,
            pulls: false,
            storage: None,
            shape,
            vertices: kept.vertices,
            layout,
            settings: *settings,
            budget_bytes: settings.budget(machine),
            pace: None,
            memory: Memory::default(),
        };
        let all = kept.extents * SLAB_BYTES as u64;
        let rows_wanted =
            layout.looks_up() && settings.index != IndexMode::Bands && kept.edges < 1 << 32;
        let cached = |rows: bool| {
            let mut plan = plan.clone();
            if rows {
                plan.rows = true;
                plan.pulls = layout.pulled && settings.index == IndexMode::Rows;
                plan.frontier_mode = settings.frontier.resident();
            }
            plan.memory = memory_of(&plan, kept, all, false);
            plan.memory.edges = plan.edge_states();
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
        let may_be_stored = layout.may_store_values();
        let mut values_stored = forced && may_be_stored;
        plan.memory = memory_of(&plan, kept, 0, values_stored);
        if !fits(&plan) && may_be_stored && !values_stored {
            let away = memory_of(&plan, kept, 0, true);
            if away.peak() < plan.memory.peak() {
                (plan.memory, values_stored) = (away, true);
            }
        }
        let away = memory_of(&plan, kept, 0, true);
        // Of programs over triangles neither degrees nor rows are among what is away then.
        let (degrees, rows) =
            if layout.intersects() { (0, 0) } else { (kept.vertices * 4, away.rows) };
        let vertices = away.vertices - degrees;
        let fixed = Memory { vertices, state: 0, frontier: 0, rows, ..away };
        let spare = plan.budget_bytes.saturating_sub(fixed.peak());
        let fold = plan.memory.peak().saturating_sub(fixed.peak());
        let streamed = Streamed::taken(&plan, spare, kept.chunk_bytes, fold);
        if let Some(way) = streamed {
            (plan.memory, values_stored) = (Memory { state: way.bytes(&plan), ..fixed }, true);
        }
        if !fits(&plan) {
            let budget = plan.budget_bytes;
            return Err(refusal(&[plan], budget));
        }
        let window = plan.widen(kept);
        let spare = plan.budget_bytes - plan.memory.peak();
        let edge_states_bytes = plan.edge_states_of(spare);
        // As in a plan for storage.
        let cache_bytes = spare - edge_states_bytes;
        let cache_bytes = cache_bytes - layout.rewriting(plan.threads as u64, cache_bytes);
        let (relaxes, cache_bytes) = relaxing::apart(&plan, (values_stored, streamed), cache_bytes);
        let cache_bytes = cache_bytes.min(cache_most).min(all);
        (plan.memory.edges, plan.memory.chunks) = (edge_states_bytes, cache_bytes);
        let storage = StoragePlan {
            cache_bytes,
            edge_states_bytes,
            values_stored,
            streamed,
            window,
            relaxes,
            ..StoragePlan::default()
        };
        plan.storage = Some(storage);
        plan.storage = Some(StoragePlan { room: Room::of_state(&plan), ..storage });
        Ok(plan)
    }

    /// Takes the memory for more slabs in flight than as ever, if they are better; says how many
    /// there are then, where that was measured.
    fn widen(&mut self, kept: &KeptShape) -> Option<usize> {
        let slab = (self.threads * SLAB_BYTES) as u64;
        let best = kept.window(self.threads as u64);
        let spare = self.budget_bytes.saturating_sub(self.memory.peak()) / WINDOW_SHARE;
        let more = (best.saturating_sub(DEPTH)).min((spare / slab) as usize);
        self.memory.workers += more as u64 * slab;
        kept.in_flight.map(|_| best.min(DEPTH) + more)
    }

    /// Slabs that each worker has in flight.
    pub(crate) fn window(&self) -> usize {
        self.storage.and_then(|storage| storage.window).unwrap_or(DEPTH)
    }

    /// Bytes of requests in flight, by all threads, where it was measured how many are best.
    pub fn in_flight(&self) -> Option<u64> {
        let window = self.storage?.window?;
        Some((self.threads * window * SLAB_BYTES) as u64)
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
    // Those in flight, and the one that is looked at.
    let reading = (kept.window(threads).min(DEPTH) + 1) as u64 * SLAB_BYTES as u64;
    let signals = layout.columns(count, stripe_bits);
    let flags = (count + padding) * 2 * layout.active;
    let values = count * layout.value;
    let beside = count * layout.beside;
    let state = if values_stored {
        // Values are read whole when all else is done.
        let columns = threads * COLUMNS as u64 * (layout.value << stripe_bits);
        values.max(signals + columns + beside)
    } else {
        values + signals + beside
    };
    // What is looked up needs accumulators of its own.
    let looked_up = if plan.rows { count * layout.sparse } else { 0 };
    Memory {
        held: settings.taken_bytes() + count * layout.own,
        chunks,
        vertices: if values_stored && layout.intersects() { 0 } else { count * 4 }
            + has_holes * marks
            + kept.chunks * PLACE_BYTES
            + kept.extents * EXTENT_BYTES,
        state,
        frontier: looked_up + flags,
        rows: memory::rows_bytes(plan),
        workers: threads
            * ((layout.accum << stripe_bits)
                + plan.group_bytes()
                + plan.edge_buffers()
                + reading
                + memory::WORKER_BYTES),
        chunks_stored: kept.chunk_bytes,
        ..Memory::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn shape(in_flight: Option<u64>) -> KeptShape {
        KeptShape {
            slots: 1 << 20,
            vertices: 1 << 20,
            edges: 1 << 26,
            weighted: false,
            chunks: 400,
            extents: 400,
            chunk_bytes: 200 * MIB,
            stripe_bits: 16,
            block_bits: 12,
            encoding: Encoding::Packed,
            in_flight,
        }
    }

    fn plan(in_flight: Option<u64>, threads: usize, budget: u64) -> Result<Plan, EngineError> {
        let layout = Layout { value: 0, signal: 4, accum: 4, folds: true, ..Layout::kept() };
        let (threads, memory_bytes) = (Some(threads), Some(budget));
        let (storage, route) = (StorageMode::Auto, Some(super::super::Route::Fold));
        let settings = Settings { threads, memory_bytes, storage, route, ..Settings::default() };
        let machine = Machine { memory_bytes: 1 << 40, ..Machine::detect() };
        Plan::of_kept(&shape(in_flight), layout, &settings, &machine)
    }

    /// The smallest budget that is enough.
    fn least(in_flight: Option<u64>) -> u64 {
        let (mut refused, mut accepted) = (0, 1 << 30);
        while accepted - refused > 1 {
            let middle = u64::midpoint(refused, accepted);
            let fits = plan(in_flight, 2, middle).is_ok();
            if fits { accepted = middle } else { refused = middle }
        }
        accepted
    }

    #[test]
    fn what_is_in_flight_follows_the_device() {
        let window = |in_flight, threads, budget| {
            let plan = plan(in_flight, threads, budget).unwrap();
            assert!(plan.memory.peak() <= plan.budget_bytes);
            (plan.window(), plan.in_flight())
        };
        let enough = 150 * MIB;
        assert_eq!(window(None, 2, enough), (DEPTH, None));
        assert_eq!(window(Some(16 * MIB), 2, enough), (16, Some(16 * MIB)));
        assert_eq!(window(Some(16 * MIB), 4, enough), (8, Some(16 * MIB)));
        assert_eq!(window(Some(MIB + 1), 1, enough), (3, Some(3 * MIB / 2)));
        assert_eq!(window(Some(1 << 16), 2, enough), (WINDOW_LEAST, Some(2 * MIB)));
        assert_eq!(window(Some(1 << 40), 1, enough), (WINDOW_MOST, Some(16 * MIB)));
    }

    #[test]
    fn no_run_needs_more_memory_for_what_is_in_flight() {
        let [as_ever, deep, shallow] = [None, Some(64 * MIB), Some(MIB)].map(least);
        assert_eq!(deep, as_ever);
        let saved = ((DEPTH - WINDOW_LEAST) * 2 * SLAB_BYTES) as u64;
        assert_eq!(shallow, as_ever - saved);
        let mut last = DEPTH;
        for budget in (0..40).map(|step| as_ever + step * MIB) {
            let plan = plan(Some(64 * MIB), 2, budget).unwrap();
            let more = (plan.window() - DEPTH) as u64 * 2 * SLAB_BYTES as u64;
            assert!(plan.window() >= last && more <= (budget - as_ever) / WINDOW_SHARE);
            assert!(plan.memory.peak() <= budget);
            last = plan.window();
        }
        assert!(last > DEPTH);
    }
}
