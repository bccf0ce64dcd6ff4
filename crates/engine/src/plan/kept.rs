//! The plan of a run on a graph that is kept: nothing is ingested, and widths are what they are.
//!
//! Budget that the state of the program leaves holds chunks. Where all of them fit, programs with a
//! frontier also get rows, if there is room for these too. What is in flight follows the device
//! where that was measured: fewer requests than usual leave room for chunks, and more are had with
//! a share of what would hold chunks, so that no run needs more memory for them.

use welter_store::frame::Compression;
use welter_store::header::Encoding;
use welter_store::io::Requests;

use super::budget_error::refused;
use super::device::Measured;
use super::disk_usage::DiskUsage;
use super::index::Index;
use super::make::with_threads;
use super::memory::{self, Memory};
use super::out_of_core::OutOfCore;
use super::premises::Premises;
use super::program::Layout;
use super::settings::{Settings, StorageMode};
use super::shape::Shape;
use super::stored::StoragePlan;
use super::{Access, Plan, relaxing};
use crate::EngineError;
use crate::footprints::columns as footprint;
use crate::footprints::edges::{CHUNK_BYTES_MAX, places, slabs_in_flight};
use crate::footprints::ingest::{WORKER_BYTES, vertex_slots};
use crate::kernels::layout::EdgeLayout;
use crate::kernels::vertices::SEGMENT_BITS;
use crate::machine::arena::SLAB_BYTES;
use crate::machine::figures::Machine;
use crate::machine::storage::{DEPTH, says_slabs, slabs_read};

/// Slabs in flight that each worker has at least: while one is read, another may wait for the
/// worker to come.
const WINDOW_LEAST: usize = 2;
/// Slabs in flight at most, whatever would be best for the device;
const WINDOW_MOST: usize = 32;
/// of what lies elsewhere, where a slab is a small part of a request, and an answer is a long way
/// off.
const WINDOW_MOST_ELSEWHERE: usize = 128;
/// Slabs beyond the usual number are so few that they take one part in `WINDOW_SHARE` of what is
/// left for chunks.
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
    /// Bytes of all chunks.
    pub chunk_bytes: u64,
    /// Log2 of the largest width of a stripe.
    pub stripe_bits: u32,
    /// Log2 of the largest width of a block of sources.
    pub block_bits: u32,
    /// Encoding of edges.
    pub encoding: Encoding,
    /// Compression of chunks.
    pub compression: Compression,
    /// Bytes of requests in flight with which its device reads best, where that is known.
    pub in_flight: Option<u64>,
    /// Measurement by which `in_flight` was found, where the user leaves it open.
    pub measured: Option<Measured>,
    /// Whether the graph lies elsewhere, such as in a bucket.
    pub elsewhere: bool,
}

impl KeptShape {
    /// Slabs that each of `threads` workers is best to have in flight.
    fn window(&self, threads: u64) -> usize {
        let Some(bytes) = self.in_flight else { return DEPTH };
        let slabs = bytes.div_ceil(threads * SLAB_BYTES as u64);
        let most = if self.elsewhere { WINDOW_MOST_ELSEWHERE } else { WINDOW_MOST };
        slabs.clamp(WINDOW_LEAST as u64, most as u64) as usize
    }
}

impl Plan {
    /// Plans a run on a graph that is kept, or refuses it when it cannot fit.
    ///
    /// # Errors
    /// [`EngineError::Budget`] when its state does not fit, [`EngineError::Setting`] for a
    /// setting out of range.
    pub fn of_kept(
        kept: &KeptShape,
        layout: Layout,
        settings: &Settings,
        machine: &Machine,
    ) -> Result<Self, EngineError> {
        let plan = Self::with_updates(kept, layout, &settings.without_codecs(), machine)?;
        if plan.storage().is_none() {
            return Ok(plan);
        }
        let Premises { threads, budget_bytes, .. } = plan.premises;
        let codecs = settings.with_codecs(threads, budget_bytes);
        let other = codecs.map(|settings| Self::with_updates(kept, layout, &settings, machine));
        let other = other.and_then(Result::ok).filter(|other| other.is_like(&plan));
        Ok(other.unwrap_or(plan))
    }

    /// The plan whose updates are compressed as the settings say.
    fn with_updates(
        kept: &KeptShape,
        layout: Layout,
        settings: &Settings,
        machine: &Machine,
    ) -> Result<Self, EngineError> {
        settings.check()?;
        layout.check(settings)?;
        with_threads(settings, machine, kept.edges, |threads| {
            let edges = EdgeLayout {
                stripe_bits: kept.stripe_bits,
                block_bits: kept.block_bits,
                encoding: kept.encoding,
                compression: kept.compression,
                chunk_bytes: CHUNK_BYTES_MAX,
                wide_tiles: true,
            };
            let shape = Shape {
                slots: kept.vertices,
                edges: kept.edges,
                weighted: kept.weighted,
                estimated: false,
                input_bytes: 0,
            };
            let premises = Premises {
                threads,
                edges,
                shape,
                vertices: kept.vertices,
                program: layout,
                // Its edges are on a device of their own.
                settings: Settings { device: None, ..*settings },
                budget_bytes: settings.budget(machine),
                even_stripes: false,
            };
            let in_memory = in_memory(kept, &premises).filter(Self::fits);
            in_memory.map_or_else(|| on_storage(kept, &premises), Ok)
        })
    }
}

/// Bytes of chunks that may be in memory, as the user says.
fn cache_most(premises: &Premises) -> u64 {
    match premises.settings.storage {
        StorageMode::Always { cache_bytes, .. } => cache_bytes,
        StorageMode::Never | StorageMode::Auto | StorageMode::Kept => u64::MAX,
    }
}

/// The plan of a run whose chunks are all in memory, with rows if they fit; unless the user says
/// otherwise.
fn in_memory(kept: &KeptShape, premises: &Premises) -> Option<Plan> {
    let all = kept.extents * SLAB_BYTES as u64;
    if cache_most(premises) < all || OutOfCore::is_forced(premises) {
        return None;
    }
    let cached = |rows: bool| {
        let premises = *premises;
        let index = Index::of_kept(&premises, rows);
        let memory = memory_of(&premises, index, kept, all, false);
        let memory = Memory { edges: premises.edge_states(), ..memory };
        let access = Access::Memory { index };
        Plan { premises, access, throughput: None, memory }
    };
    let with_rows = premises.wants_rows().then(|| cached(true)).filter(Plan::fits);
    Some(with_rows.unwrap_or_else(|| cached(false)))
}

/// The plan of a run whose chunks are read in iterations, but for those that the state leaves room
/// for.
fn on_storage(kept: &KeptShape, premises: &Premises) -> Result<Plan, EngineError> {
    let Premises { threads, program, settings, budget_bytes: budget, .. } = *premises;
    let memory_of = |stored| memory_of(premises, Index::None, kept, 0, stored);
    let fits = |memory: &Memory| memory.peak() <= budget;
    let forced = matches!(settings.storage, StorageMode::Always { values: true, .. });
    let may_be_stored = program.may_store_values();
    let mut values_stored = forced && may_be_stored;
    let (mut memory, away) = (memory_of(values_stored), memory_of(true));
    if !fits(&memory) && may_be_stored && !values_stored && away.peak() < memory.peak() {
        (memory, values_stored) = (away, true);
    }
    // Of programs over triangles neither degrees nor rows are among what is away then.
    let (degrees, rows) =
        if program.intersects() { (0, 0) } else { (kept.vertices * 4, away.rows) };
    let vertices = away.vertices - degrees;
    let fixed = Memory { vertices, state: 0, frontier: 0, rows, ..away };
    let spare = budget.saturating_sub(fixed.peak());
    let fold = memory.peak().saturating_sub(fixed.peak());
    let streamed = OutOfCore::chosen(premises, spare, kept.chunk_bytes, fold);
    if let Some(way) = streamed {
        memory = Memory { state: way.bytes(premises), ..fixed };
    }
    if !fits(&memory) {
        let need = memory.peak();
        return Err(refused(need, budget));
    }
    let window = widen(&mut memory, kept, premises);
    let spare = budget - memory.peak();
    let edge_states_bytes = premises.edge_states_of(spare);
    // As in a plan for storage.
    let cache_bytes = spare - edge_states_bytes;
    let cache_bytes =
        cache_bytes - program.rewriting((threads as u64, &settings.requests), cache_bytes);
    let (state, cache_bytes) =
        relaxing::set_aside(premises, (values_stored, streamed), cache_bytes);
    let all = kept.extents * SLAB_BYTES as u64;
    let cache_bytes = cache_bytes.min(cache_most(premises)).min(all);
    (memory.edges, memory.chunks) = (edge_states_bytes, cache_bytes);
    let premises = Premises { even_stripes: true, ..*premises };
    let room = DiskUsage::of_state(&premises, state, edge_states_bytes);
    let (bins, measured, elsewhere) = (None, kept.measured, kept.elsewhere);
    let access = Access::Storage(StoragePlan {
        cache_bytes,
        edge_states_bytes,
        bins,
        state,
        window,
        measured,
        elsewhere,
        room,
    });
    Ok(Plan { premises, access, throughput: None, memory })
}

/// Slabs that each worker has in flight whatever the budget: as the user says, else the usual
/// number, or fewer where these are better.
fn in_flight_always(kept: &KeptShape, premises: &Premises) -> usize {
    let requests = &premises.settings.requests;
    let best = kept.window(premises.threads as u64).min(DEPTH);
    if says_slabs(requests, false) { slabs_read(requests) } else { best }
}

/// Takes the memory for more slabs in flight than usual, if they are better; says how many there
/// are then, where that was measured and the user does not say how many. Of what lies elsewhere
/// either the size or the number of requests may be stated: the window is what is best then, and
/// the other one follows.
fn widen(memory: &mut Memory, kept: &KeptShape, premises: &Premises) -> Option<usize> {
    let Requests { read_bytes, in_flight, .. } = premises.settings.requests;
    let says_both = read_bytes.is_some() && in_flight.is_some();
    if says_both || (says_slabs(&premises.settings.requests, false) && !kept.elsewhere) {
        return None;
    }
    let slab = premises.account().each_worker(slabs_in_flight(1)).bytes();
    let best = kept.window(premises.threads as u64);
    let always = in_flight_always(kept, premises);
    let spare = premises.budget_bytes.saturating_sub(memory.peak()) / WINDOW_SHARE;
    let more = best.saturating_sub(always).min((spare / slab) as usize);
    memory.workers += more as u64 * slab;
    kept.in_flight.map(|_| always + more)
}

/// The memory of a run with a number of bytes of chunks in memory, and values where it is said.
fn memory_of(
    premises: &Premises,
    index: Index,
    kept: &KeptShape,
    chunks: u64,
    values_stored: bool,
) -> Memory {
    let Premises { program, settings, .. } = premises;
    let (threads, stripe_bits) = (premises.threads as u64, premises.edges.stripe_bits);
    let padding = premises.edges.key_sources();
    let count = kept.vertices;
    let has_holes = u64::from(kept.vertices < kept.slots);
    let marks = vertex_slots(kept.slots.div_ceil(1 << SEGMENT_BITS).max(1));
    // With the one that is looked at.
    let reading = slabs_in_flight(in_flight_always(kept, premises) + 1);
    let signals = program.columns(count, stripe_bits);
    let flags = footprint::flags(count + padding, program.active());
    let values = count * program.value;
    let beside = count * program.beside();
    let state = if values_stored {
        // Values are read whole when all else is done.
        let columns = threads * footprint::column_io(program.value, stripe_bits);
        values.max(signals + columns + beside)
    } else {
        values + signals + beside
    };
    // Vertices that are looked up need accumulators of their own.
    let looked_up = if index.has_rows() { count * program.sparse() } else { 0 };
    Memory {
        held: settings.taken_bytes() + count * program.own,
        chunks,
        vertices: if values_stored && program.intersects() { 0 } else { count * 4 }
            + has_holes * marks
            + places(kept.chunks, kept.extents),
        state,
        frontier: looked_up + flags,
        rows: memory::rows_bytes(premises, index),
        workers: premises
            .account()
            .each_worker(footprint::accumulators(program.accum(), stripe_bits))
            .each_worker(premises.group_bytes())
            .each_worker(premises.edge_buffers())
            .each_worker(reading)
            .each_worker(premises.frame_bytes())
            .each_worker(premises.request_threads_bytes())
            .each_worker(WORKER_BYTES)
            .bytes(),
        chunks_stored: kept.chunk_bytes,
        ..Memory::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::throughput::Throughput;
    use crate::plan::{FoldLayout, ProgramKind};

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
            compression: Compression::None,
            in_flight,
            measured: in_flight.map(|_| Measured::Probe),
            elsewhere: false,
        }
    }

    fn plan(in_flight: Option<u64>, threads: usize, budget: u64) -> Result<Plan, EngineError> {
        let fold = FoldLayout { signal: 4, accum: 4, ..FoldLayout::default() };
        let layout = Layout { kind: ProgramKind::Fold(fold), ..Layout::kept() };
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
            assert!(plan.memory.peak() <= plan.premises.budget_bytes);
            (plan.io_depth(), plan.in_flight())
        };
        let enough = 150 * MIB;
        assert_eq!(window(None, 2, enough), (DEPTH, None));
        assert_eq!(window(Some(16 * MIB), 2, enough), (16, Some(16 * MIB)));
        assert_eq!(window(Some(16 * MIB), 4, enough), (8, Some(16 * MIB)));
        assert_eq!(window(Some(MIB + 1), 1, enough), (3, Some(3 * MIB / 2)));
        assert_eq!(window(Some(1 << 16), 2, enough), (WINDOW_LEAST, Some(2 * MIB)));
        assert_eq!(window(Some(1 << 40), 1, enough), (WINDOW_MOST, Some(16 * MIB)));
        // Where answers are far off, each of two threads has eight requests of 8 MiB on their way.
        let far = |in_flight| KeptShape { elsewhere: true, ..shape(Some(in_flight)) };
        let windows = [32, 128, 256, 1 << 20].map(|mib| far(mib * MIB).window(2));
        assert_eq!(windows, [32, 128, WINDOW_MOST_ELSEWHERE, WINDOW_MOST_ELSEWHERE]);
    }

    #[test]
    fn forecasts_have_the_bytes_that_lie_there() {
        let fold = FoldLayout { signal: 4, accum: 4, ..FoldLayout::default() };
        let layout = Layout { kind: ProgramKind::Fold(fold), ..Layout::kept() };
        let storage = StorageMode::Always { cache_bytes: 0, values: false };
        let (threads, route) = (Some(2), Some(super::super::Route::Fold));
        let settings = Settings { threads, storage, route, ..Settings::default() };
        let machine = Machine { memory_bytes: 1 << 40, ..Machine::detect() };
        let rate = 100_000_000;
        let throughput = Throughput { read: rate, write: rate, ..Throughput::of_core() };
        // Of edges in this encoding 260 MiB are usual.
        for chunk_bytes in [400 * MIB, 20 * MIB] {
            for compression in [Compression::None, Compression::Zstd] {
                let kept = KeptShape { chunk_bytes, compression, ..shape(None) };
                let plan = Plan::of_kept(&kept, layout, &settings, &machine).unwrap();
                let expected = plan.expected(&throughput);
                assert_eq!(expected.traffic.read, chunk_bytes);
                assert_eq!(plan.stored_bytes_expected(expected.codec.as_ref()), chunk_bytes);
                let edge_bytes = expected.codec.and_then(|codec| codec.edge_bytes);
                let counted = chunk_bytes as f64 / kept.edges as f64;
                let is_framed = compression != Compression::None;
                assert_eq!(edge_bytes, is_framed.then_some(counted));
            }
        }
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
            let more = (plan.io_depth() - DEPTH) as u64 * 2 * SLAB_BYTES as u64;
            assert!(plan.io_depth() >= last && more <= (budget - as_ever) / WINDOW_SHARE);
            assert!(plan.memory.peak() <= budget);
            last = plan.io_depth();
        }
        assert!(last > DEPTH);
    }
}
