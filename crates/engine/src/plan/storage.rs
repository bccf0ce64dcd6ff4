//! The plan of a graph that does not fit in memory.
//!
//! First what ingest and iterations need whatever stays in memory; then what is left of the budget
//! holds bins while edges are sorted, and chunks while there are iterations.

use super::lots::LotsPlan;
use super::memory::{self, Memory};
use super::{CELL_EDGES, Forecast, MOST_BINS, Plan, Room, StorageMode, Streamed, relaxing};
use crate::columns::footprint::COLUMNS;
use crate::edges::footprint::{READ_AHEAD_SLABS, SEGMENT_BYTES};
use crate::edges::segments::{LISTED_BYTES, PAGE_BYTES, SORTED_BYTES};
use crate::kernels::vertices::SEGMENT_BITS;
use crate::machine::arena::SLAB_BYTES;
use crate::machine::nontemporal::LINE_BYTES;
use crate::machine::pace::Pace;

use welter_store::header::{Encoding, KEY_BITS};
use welter_store::io::ALIGN;

pub(super) const SLAB: u64 = SLAB_BYTES as u64;

/// Bytes of a bin of one worker: its line, its segment, and what tells where they lie.
const OPEN_BIN_BYTES: u64 = memory::BIN_BYTES + SEGMENT_BYTES as u64;

/// Iterations that are assumed where a choice depends on their number.
const ITERATIONS: f64 = 10.0;

/// How a graph that does not fit in memory is read, and what of it stays. All in bytes but
/// numbers of bins and slabs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoragePlan {
    /// Chunks that stay in memory.
    pub cache_bytes: u64,
    /// States of edges that do, of extended programs.
    pub edge_states_bytes: u64,
    /// Slabs that may be in use while edges are put into bins; full ones beyond are written.
    pub bins_bytes: u64,
    /// Slabs of these that may be in use at the end, when all bins are closed.
    pub bins_kept: u64,
    /// Slabs that may be in use while bins are sorted, but for bins that were read back; chunks
    /// beyond are written.
    pub sort_bytes: u64,
    /// The most bins, because each has a segment in memory.
    pub bins_most: u64,
    /// Lots of bins; one of them is read back at a time.
    pub lots: u64,
    /// Whether values are on storage too.
    pub values_stored: bool,
    /// How the state is streamed, where not even signals fit in memory.
    pub streamed: Option<Streamed>,
    /// Slabs that each worker has in flight, where it was measured how many are best.
    pub window: Option<usize>,
    /// Whether there is room to relax the graph part by part, for programs that may.
    pub relaxes: bool,
    /// Room on storage.
    pub room: Room,
}

/// Wider edges are only taken where they are foreseen to save a tenth. They ask more of storage,
/// which was slower beside busy cores than foreseen in all runs of R-MAT scrambled 24 with
/// 256 MiB (1.06 and 1.39 s an iteration for 1.12 and 1.78; compressed 0.92 and 1.28 for 0.98 and
/// 1.06).
const MARGIN: f64 = 0.9;

/// The encoding that lets a run end first at some pace, with so many bytes free: tiles of four or
/// three bytes an edge are made and folded faster, compressed ones are read faster and more of them
/// stay in memory.
pub(super) fn faster(plan: &Plan, pace: &Pace, free_bytes: u64) -> Plan {
    let with = |encoding| self::plan(Plan { encoding, ..plan.clone() });
    let seconds = |plan: &Plan| {
        let Forecast { ingest, iteration } = plan.forecast(pace);
        ingest.seconds() + ITERATIONS * iteration.seconds()
    };
    let fits = |plan: &Plan| {
        let room = plan.storage.map_or(0, |storage| storage.room.peak());
        plan.memory.peak() <= plan.budget_bytes && room <= free_bytes
    };
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
    /// Bytes of lines and segments that are filled, and of what is on the list beside segments.
    bytes: u64,
    /// Bytes of what tells where segments lie, until they are sorted.
    listed: u64,
}

impl Open {
    /// Each bin of each worker has a segment in memory, so there are fewer bins in a small budget.
    /// Their bytes follow the budget without steps, or less of one could do where more does not.
    fn new(plan: &Plan, waiting: u64, stripes: u64, cells: u64) -> Self {
        let threads = plan.threads as u64;
        let wanted = (2 * (plan.shape.edges / CELL_EDGES) + 3 * stripes).min(cells);
        let of_bins = |bins: u64| threads * bins * OPEN_BIN_BYTES;
        let most = of_bins(MOST_BINS.max(stripes));
        let affordable = (plan.budget_bytes / 16).clamp(of_bins(stripes), most);
        let bins_most = affordable / of_bins(1);
        let bins = wanted.min(bins_most);
        let filled = of_bins(wanted).min(affordable);
        let segments = waiting / SEGMENT_BYTES as u64 + filled / OPEN_BIN_BYTES;
        let pages = segments * (LISTED_BYTES - SORTED_BYTES) + threads * PAGE_BYTES;
        Self { bins, bins_most, bytes: filled + pages, listed: segments * SORTED_BYTES }
    }
}

/// Makes a plan of one for memory, or of an older one for storage.
pub(super) fn plan(mut plan: Plan) -> Plan {
    let (layout, settings) = (plan.layout, plan.settings);
    let threads = plan.threads as u64;
    let budget = plan.budget_bytes;
    plan.frontier_mode = settings.frontier.stored();
    plan.rows = false;
    plan.pulls = false;
    plan.storage = Some(StoragePlan::default());
    let all = Memory::of(&plan);
    let segments = plan.shape.slots.div_ceil(1 << SEGMENT_BITS).max(1);
    let stripes = memory::stripes_most(&plan, segments);
    let written = plan.shape.edges * memory::waiting_bytes(plan.shape) / 3;
    let waiting = written + written / 64;
    let sort = (plan.sort_edges_max() as u64).min(plan.shape.edges) + (1 << 14);
    let ingest = sort * Memory::sort_bytes(&plan.shape);
    let gathered = (layout.accum << plan.stripe_bits) + plan.group_bytes();
    let iterate = gathered + READ_AHEAD_SLABS as u64 * SLAB + plan.edge_buffers();
    let workers = threads * (memory::WORKER_BYTES + ingest.max(iterate));
    let fixed = all.held + all.vertices + workers;

    let Open { bins, bins_most, bytes: open, listed } =
        Open::new(&plan, waiting, stripes, segments * stripes);
    let listed = listed + all.marks + all.input;

    let slabs = budget.saturating_sub(fixed + open + listed);
    let lots = LotsPlan::new(threads, bins, waiting, slabs, open);
    let (need, requests) = (lots.need(open), lots.requests);
    let LotsPlan { count: lots, partition, sorting, .. } = lots;
    let always = matches!(settings.storage, StorageMode::Always { .. });
    let kept = if always { 0 } else { slabs.saturating_sub(need).min(waiting) };
    // Of bins that all stay nothing is read back.
    let read_back = if kept < waiting { sorting } else { requests };
    let sort_slabs = if always { need } else { slabs.max(need) } + open;
    let sort_bytes = sort_slabs.saturating_sub(read_back);

    let padding = 1 << (KEY_BITS - plan.stripe_bits);
    let flags = (plan.vertices + padding) * 2 * layout.active;
    let signals = layout.columns(plan.vertices, plan.stripe_bits);
    let chunks = memory::chunk_bytes(&plan, stripes);
    let values = plan.vertices * layout.value;
    let columns = threads * COLUMNS as u64 * (layout.value << plan.stripe_bits);
    let state = signals + flags + plan.vertices * layout.beside;
    let (away, resident) = (state + columns, state + values);
    let forced = matches!(settings.storage, StorageMode::Always { values: true, .. });
    let rows = memory::rows_bytes(&plan);
    let too_large = fixed + resident + rows > budget && away < resident;
    let values_stored = layout.may_store_values() && (forced || too_large);
    let (run, degrees) = (if values_stored { away } else { resident }, plan.vertices * 4);
    let room = budget.saturating_sub(fixed - degrees);
    let streamed = Streamed::taken(&plan, room, chunks, run + rows + degrees);
    let (run, flags, degrees, rows) = match streamed {
        Some(way) => (way.bytes(&plan), 0, degrees, 0),
        None => (run, flags, degrees * u64::from(values_stored && layout.intersects()), rows),
    };
    let spare = budget.saturating_sub(fixed - degrees + run + rows);
    let edge_states_bytes = plan.edge_states_of(spare);
    let spare = spare - edge_states_bytes;
    let spare = spare - layout.rewriting(threads, spare);
    let (relaxes, spare) = relaxing::apart(&plan, (values_stored, streamed), spare);
    let cache_bytes = match settings.storage {
        StorageMode::Always { cache_bytes, .. } => cache_bytes.min(spare),
        StorageMode::Auto | StorageMode::Never => spare,
        StorageMode::Kept => 0,
    };
    // Of a graph that is kept only bins go to temporary files, and mostly none do.
    // A slab ends where the next segment does not fit; each bin has a line that is not full, each
    // lot a slab. What is on its way to storage is not what stays.
    let ends = threads * (bins * LINE_BYTES as u64 + lots * ALIGN as u64);
    let all_bins = written + written / 128 + ends;
    let bins_stored = if kept < waiting { all_bins - kept.saturating_sub(requests) } else { 0 };
    let is_kept = settings.storage == StorageMode::Kept;
    let chunks_stored = if is_kept { 0 } else { chunks };
    plan.storage = Some(StoragePlan {
        cache_bytes,
        edge_states_bytes,
        bins_bytes: if kept > 0 { partition - requests + kept } else { 0 },
        bins_kept: if kept < waiting { kept } else { u64::MAX },
        sort_bytes,
        bins_most,
        lots,
        values_stored: values_stored || streamed.is_some(),
        streamed,
        relaxes,
        ..StoragePlan::default()
    });
    plan.memory = Memory {
        bins: open + listed - all.input + partition + kept,
        overlap: listed - all.input + sorting + kept,
        chunks: cache_bytes.min(chunks),
        vertices: all.vertices - degrees,
        degrees,
        state: run - flags,
        edges: edge_states_bytes,
        frontier: flags,
        rows,
        workers,
        chunks_stored: chunks,
        ..all
    };
    let room = Room::with_edges(&plan, bins_stored, chunks_stored);
    plan.storage = plan.storage.map(|storage| StoragePlan { room, ..storage });
    plan
}
