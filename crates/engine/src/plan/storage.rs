//! The plan of a graph that does not fit in memory.
//!
//! First what ingest and iterations need whatever stays in memory; then what is left of the budget
//! holds bins while edges are sorted, and chunks while there are iterations.

use super::bin_groups::BinGroupsPlan;
use super::disk_usage::DiskUsage;
use super::index::Index;
use super::memory::{self, Memory};
use super::out_of_core::OutOfCore;
use super::premises::{CELL_EDGES, MOST_BINS, Premises, SORT_EDGES_LEAST};
use super::settings::StorageMode;
use super::stored::{BinsPlan, StoragePlan};
use super::{Access, Forecast, Plan, relaxing};
use crate::footprints::columns as footprint;
use crate::footprints::edges::{listed_pages, read_ahead, sorted_pages};
use crate::footprints::ingest::{WORKER_BYTES, in_pages, open_bins, pages, stored_bins};
use crate::machine::throughput::Throughput;

use welter_store::header::Encoding;

/// Iterations that are assumed where a choice depends on their number.
pub(super) const ITERATIONS: f64 = 10.0;

/// Wider edges are only taken where they are foreseen to save a tenth. They ask more of storage,
/// which was slower beside busy cores than foreseen in all runs of R-MAT scrambled 24 with
/// 256 MiB (1.06 and 1.39 s an iteration for 1.12 and 1.78; compressed 0.92 and 1.28 for 0.98 and
/// 1.06).
const MARGIN: f64 = 0.9;

/// The encoding that lets a run end first at some throughput, with `free_bytes` bytes free: tiles
/// of four or three bytes an edge are made and folded faster, compressed ones are read faster and
/// more of them stay in memory.
pub(super) fn faster(premises: &Premises, throughput: &Throughput, free_bytes: u64) -> Plan {
    let with = |encoding| self::plan(&premises.with_encoding(encoding));
    let seconds = |plan: &Plan| {
        let Forecast { ingest, iteration } = plan.forecast(throughput);
        ingest.seconds() + ITERATIONS * iteration.seconds()
    };
    let fits = |plan: &Plan| plan.fits() && plan.disk_bytes() <= free_bytes;
    let wider = [Encoding::Short, Encoding::Packed].map(with).into_iter().filter(fits);
    wider.fold(with(Encoding::Compressed), |narrower, wider| {
        if seconds(&wider) < MARGIN * seconds(&narrower) { wider } else { narrower }
    })
}

/// Slabs of bins that are open while edges are put into them.
struct Open {
    bins: u64,
    /// Bins that are wanted at most.
    bins_most: u64,
    /// Bytes of lines and pages that are filled, and of what is on the list beside pages.
    bytes: u64,
    /// Bytes of the places of pages, until they are sorted.
    listed: u64,
}

impl Open {
    /// Each bin of each worker has a page in memory, so there are fewer bins in a small budget.
    /// Their bytes follow the budget without steps, or less of one could do where more does not.
    fn new(premises: &Premises, waiting: u64, stripes: u64, cells: u64) -> Self {
        let wanted = (2 * (premises.shape.edges / CELL_EDGES) + 3 * stripes).min(cells);
        let of_bins = |bins| premises.account().each_worker(open_bins(bins)).bytes();
        let most = of_bins(MOST_BINS.max(stripes));
        let affordable = (premises.budget_bytes / 16).clamp(of_bins(stripes), most);
        let bins_most = affordable / of_bins(1);
        let bins = wanted.min(bins_most);
        let filled = of_bins(wanted).min(affordable);
        let pages = pages(waiting, filled);
        let bytes = filled + listed_pages(pages, premises.threads as u64);
        Self { bins, bins_most, bytes, listed: sorted_pages(pages) }
    }
}

/// Bytes of all workers, who sort edges first and iterate over them then.
fn workers_bytes(premises: &Premises) -> u64 {
    let sort = SORT_EDGES_LEAST.min(premises.shape.edges) + (1 << 14);
    let ingest = premises.sort_bytes(sort);
    let accums = footprint::accumulators(premises.program.accum(), premises.edges.stripe_bits);
    let gathered = accums + premises.group_bytes();
    let iterate = gathered + read_ahead(&premises.settings.requests) + premises.edge_buffers();
    premises
        .account()
        .each_worker(WORKER_BYTES + premises.request_threads_bytes())
        .each_worker(ingest.max(iterate) + premises.frame_bytes())
        .bytes()
}

/// Bins of edges in memory and on storage, and slabs while they are sorted.
struct Binning {
    plan: BinsPlan,
    /// Bytes in memory while edges are put into bins.
    bytes: u64,
    /// Bytes of chunks, beside bins that are not free yet.
    overlap: u64,
    /// Bytes on storage.
    stored: u64,
}

impl Binning {
    /// Bins in what `taken` bytes leave of the budget.
    fn new(premises: &Premises, taken: u64) -> Self {
        let Premises { settings, budget_bytes: budget, .. } = premises;
        let stripes = premises.stripes_most();
        let written = premises.waiting_bytes();
        let waiting = in_pages(written);
        let Open { bins, bins_most, bytes: open, listed } =
            Open::new(premises, waiting, stripes, premises.segments() * stripes);
        let listed = listed + memory::marks_bytes(premises);

        let slabs = budget.saturating_sub(taken + open + listed);
        let bin_groups = BinGroupsPlan::new(premises, bins, waiting, slabs, open);
        let (need, requests) = (bin_groups.need(open), bin_groups.requests);
        let BinGroupsPlan { count: bin_groups, partition, sorting, .. } = bin_groups;
        let always = matches!(settings.storage, StorageMode::Always { .. });
        let kept = if always { 0 } else { slabs.saturating_sub(need).min(waiting) };
        // Of bins that all stay nothing is read back.
        let read_back = if kept < waiting { sorting } else { requests };
        let sort_slabs = if always { need } else { slabs.max(need) } + open;

        let all_bins = stored_bins(written, premises.threads as u64, bins, bin_groups);
        // Bins on their way to storage are none that stay.
        let stay = kept.saturating_sub(requests);
        Self {
            plan: BinsPlan {
                used_most: if kept > 0 { partition - requests + kept } else { 0 },
                used_at_end: if kept < waiting { kept } else { u64::MAX },
                sort_bytes: sort_slabs.saturating_sub(read_back),
                most: bins_most,
                bin_groups,
            },
            bytes: open + listed + partition + kept,
            overlap: listed + sorting + kept,
            stored: if kept < waiting { all_bins.saturating_sub(stay) } else { 0 },
        }
    }
}

/// Bytes of chunks that stay in memory, of `spare` that could hold them.
fn cache_bytes(premises: &Premises, spare: u64) -> u64 {
    match premises.settings.storage {
        StorageMode::Always { cache_bytes, .. } => cache_bytes.min(spare),
        StorageMode::Auto | StorageMode::Never => spare,
        StorageMode::Kept => 0,
    }
}

/// The plan of a run whose edges go to storage.
pub(super) fn plan(premises: &Premises) -> Plan {
    let premises = Premises { even_stripes: true, ..*premises };
    let Premises { program, settings, vertices, budget_bytes: budget, .. } = premises;
    let (threads, stripe_bits) = (premises.threads as u64, premises.edges.stripe_bits);
    let held = memory::held_bytes(&premises);
    let known = memory::vertex_bytes(&premises);
    let input = premises.shape.input_bytes;
    let workers = workers_bytes(&premises);
    let fixed = held + known + workers;
    let bins = Binning::new(&premises, fixed + input);

    let flags = footprint::flags(vertices + premises.edges.key_sources(), program.active());
    let signals = program.columns(vertices, stripe_bits);
    let chunks = premises.chunk_bytes(premises.stripes_most());
    let values = vertices * program.value;
    let columns = threads * footprint::column_io(program.value, stripe_bits);
    let state = signals + flags + vertices * program.beside();
    let (away, resident) = (state + columns, state + values);
    let forced = matches!(settings.storage, StorageMode::Always { values: true, .. });
    let rows = memory::rows_bytes(&premises, Index::None);
    let too_large = fixed + resident + rows > budget && away < resident;
    let values_stored = program.may_store_values() && (forced || too_large);
    let (run, degrees) = (if values_stored { away } else { resident }, vertices * 4);
    let room = budget.saturating_sub(fixed - degrees);
    let streamed = OutOfCore::chosen(&premises, room, chunks, run + rows + degrees);
    let (run, flags, degrees, rows) = match streamed {
        Some(way) => (way.bytes(&premises), 0, degrees, 0),
        None => (run, flags, degrees * u64::from(values_stored && program.intersects()), rows),
    };
    let spare = budget.saturating_sub(fixed - degrees + run + rows);
    let edge_states_bytes = premises.edge_states_of(spare);
    let spare = spare - edge_states_bytes;
    let spare = spare - program.rewriting((threads, &settings.requests), spare);
    let (state, spare) = relaxing::set_aside(&premises, (values_stored, streamed), spare);
    let cache_bytes = cache_bytes(&premises, spare);
    // Of a graph that is kept only bins go to temporary files, and mostly none do.
    let is_kept = settings.storage == StorageMode::Kept;
    let chunks_stored = if is_kept { 0 } else { chunks };
    let room = DiskUsage::of_state(&premises, state, edge_states_bytes);
    let room = room.with_edges(&premises, bins.stored, chunks_stored);
    let storage = StoragePlan::of_ingest(bins.plan, state, [cache_bytes, edge_states_bytes], room);
    let memory = Memory {
        held,
        input,
        marks: memory::marks_bytes(&premises),
        bins: bins.bytes,
        overlap: bins.overlap,
        chunks: cache_bytes.min(chunks),
        vertices: known - degrees,
        degrees,
        state: run - flags,
        edges: edge_states_bytes,
        frontier: flags,
        rows,
        workers,
        chunks_stored: chunks,
        counts: 0,
    };
    Plan { premises, access: Access::Storage(storage), throughput: None, memory }
}
