//! The plan: widths, encoding, threads, and the memory that a run will take, before anything runs.
//!
//! Widths follow the caches. The accumulators of a stripe stay in a quarter of a core's
//! second-level cache, or in 512 KiB where that is at most half of it, else in its share of the
//! last level, but never more than 4 MiB of it; the signals of a block of sources stay in half of
//! the first level. Whole iterations on R-MAT 24, scrambled, in single runs, ns an edge and core:
//!
//! | `f32` in a stripe | 2^17 | 2^18 | 2^19 | 2^20 |
//! |---|---:|---:|---:|---:|
//! | L2 of 2 MiB | 1.4 to 1.6 | 1.6 to 1.7 | 2.3 | |
//! | L2 of 1 MiB, L3 of 36 MiB that others use too | 2.8 | 4.0 | | 4.9 |
//!
//! (The second row beside compilers, at real-time priority; 2^17 took 2.3 when all was quiet.) The
//! design reports 0.7 for 2^20 on another processor; that was not repeated here.

mod edges;
mod forecast;
mod groups;
mod kept;
mod lots;
mod memory;
mod ranges;
mod refusal;
mod relaxing;
mod room;
mod rows;
mod settings;
mod shape;
mod show;
mod spill;
mod storage;
mod straight;
mod streamed;

use welter_store::header::{Encoding, KEY_BITS};

pub use self::forecast::{Forecast, Round, Stage};
pub use self::kept::KeptShape;
pub use self::memory::{Layout, Memory};
pub use self::ranges::RangesPlan;
pub use self::refusal::within;
pub(crate) use self::relaxing::LISTED_BYTES;
pub use self::room::Room;
pub use self::rows::RowsPlan;
pub use self::settings::{FrontierMode, IndexMode, Route, Settings, StorageMode};
pub use self::shape::Shape;
pub use self::show::human_bytes;
pub use self::spill::SpillPlan;
pub use self::storage::StoragePlan;
pub(crate) use self::straight::PART_BYTES;
pub use self::straight::Straightness;
pub use self::streamed::Streamed;

use self::refusal::{MARGIN, refusal};
use crate::EngineError;
use crate::kernels::vertices::SEGMENT_BITS;
use crate::machine::arena::SLAB_BYTES;
use crate::machine::figures::Machine;
use crate::machine::pace::Pace;

/// A chunk fits a slab, whatever its last tile holds.
pub(crate) const CHUNK_BYTES_MAX: usize = SLAB_BYTES - (1 << 16);

/// Bytes of storage that an iteration moves, at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes that are read.
    pub read: u64,
    /// Bytes that are written.
    pub written: u64,
}

/// How a run will be done.
#[expect(clippy::struct_excessive_bools, reason = "each says one thing, and any go together")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Worker threads.
    pub threads: usize,
    /// Log2 of the largest width of a stripe; keys keep so many bits for the destination.
    pub stripe_bits: u32,
    /// Log2 of the largest width of a block of sources.
    pub block_bits: u32,
    /// How edges are held in memory.
    pub encoding: Encoding,
    /// Size at which a chunk is closed, bytes.
    pub chunk_bytes: usize,
    /// Whether the program has a frontier, so that an index of sources is made.
    pub frontier: bool,
    /// How its iterations find their edges.
    pub frontier_mode: FrontierMode,
    /// Whether tiles with few edges go on into the next blocks of sources, as they do where nobody
    /// looks for those of few sources, and in kept graphs.
    pub wide_tiles: bool,
    /// Index that they find edges by.
    pub index: IndexMode,
    /// Whether there is room for rows.
    pub rows: bool,
    /// Whether rows of sources are made too, so that vertices can look for an active one.
    pub pulls: bool,
    /// Storage that the run takes; `None` where all is in memory.
    pub storage: Option<StoragePlan>,
    /// Whether the graph stays in its input, for a straight program.
    pub straight: bool,
    /// How it will be made should passes over the input turn out to be too many.
    pub instead: Option<Box<Self>>,
    /// Size of the graph that was planned for.
    pub shape: Shape,
    /// Vertices that there are at most: slots, until a survey has found which of them are some.
    pub vertices: u64,
    /// Bytes that the program takes for a vertex, and what it can do.
    pub layout: Layout,
    /// Settings that were forced.
    pub settings: Settings,
    /// Memory budget, bytes.
    pub budget_bytes: u64,
    /// How fast the machine is, where that made a difference to the plan.
    pub pace: Option<Pace>,
    /// Memory by use.
    pub memory: Memory,
}

impl Plan {
    /// Bytes on storage at most at a time; 0 where all is in memory.
    pub fn disk_bytes(&self) -> u64 {
        self.storage.map_or(0, |storage| storage.room.peak())
    }

    /// Plans a run, or refuses it when it cannot fit.
    ///
    /// # Errors
    /// [`EngineError::Budget`] when no encoding fits, [`EngineError::Configuration`] for a setting
    /// out of range.
    pub fn new(
        shape: Shape,
        layout: Layout,
        settings: &Settings,
        machine: &Machine,
    ) -> Result<Self, EngineError> {
        settings.check()?;
        layout.check(settings)?;
        with_threads(settings, machine, shape.edges, |threads| {
            with_stripes(settings, &shape, layout, machine, |stripe_bits| {
                Self::of(threads, stripe_bits, shape, layout, settings, machine)
            })
        })
    }

    fn of(
        threads: usize,
        stripe_bits: u32,
        shape: Shape,
        layout: Layout,
        settings: &Settings,
        machine: &Machine,
    ) -> Result<Self, EngineError> {
        let block_bits = settings
            .block_bits
            .unwrap_or_else(|| log2(machine.l1_bytes / 2 / layout.signal.max(1)).clamp(8, 14));
        let block_bits = block_bits.min(KEY_BITS - stripe_bits);
        let block_bits = if layout.active > 0 && settings.block_bits.is_none() {
            block_bits.min(band_block_bits(&shape, stripe_bits, threads))
        } else {
            block_bits
        };
        let budget_bytes = settings.budget(machine);
        let rows_wanted =
            settings.index != IndexMode::Bands && layout.looks_up() && shape.edges < 1 << 32;
        let plan = |(encoding, rows)| {
            let mut plan = Self {
                threads,
                stripe_bits,
                block_bits,
                encoding,
                chunk_bytes: settings.chunk_bytes.unwrap_or(CHUNK_BYTES_MAX),
                frontier: layout.active > 0,
                frontier_mode: settings.frontier.resident(),
                wide_tiles: layout.active == 0,
                index: settings.index,
                rows,
                pulls: rows && layout.pulled && settings.index == IndexMode::Rows,
                storage: None,
                straight: false,
                instead: None,
                shape,
                vertices: shape.slots,
                layout,
                settings: *settings,
                budget_bytes,
                pace: None,
                memory: Memory::default(),
            };
            plan.memory = Memory::of(&plan);
            plan
        };
        let stored = || {
            let encoding = settings.encoding.unwrap_or(Encoding::Compressed);
            storage::plan(plan((encoding, false)))
        };
        let forced = match settings.storage {
            StorageMode::Always { .. } | StorageMode::Kept => true,
            StorageMode::Auto => {
                layout.streams() && !matches!(settings.route, None | Some(Route::Fold))
            }
            StorageMode::Never => false,
        };
        if forced {
            let stored = stored();
            let fits = stored.memory.peak() <= budget_bytes;
            return if fits { Ok(stored) } else { Err(refusal(&[stored], budget_bytes)) };
        }
        let candidates = match settings.encoding {
            Some(encoding) => vec![encoding],
            None => vec![Encoding::Packed, Encoding::Short, Encoding::Compressed],
        };
        let best = candidates[0];
        let candidates = candidates.into_iter().map(|encoding| (encoding, false));
        let candidates = rows_wanted.then_some((best, true)).into_iter().chain(candidates);
        let mut plans: Vec<Self> = candidates.map(plan).collect();
        if settings.storage == StorageMode::Auto {
            plans.push(stored());
        }
        let fits = |plan: &&Self| plan.memory.peak() <= budget_bytes;
        let made = plans.iter().find(fits).cloned();
        if let Some(takes) = layout.straight.filter(|_| !settings.says_how()) {
            let straight = Self::straight(plan((best, false)), takes);
            if straight.pays(takes, made.as_ref()) {
                let instead = made.and_then(|plan| plan.after(&straight)).map(Box::new);
                let has_way_out = takes.always || instead.is_some();
                // With fewer threads there may be one.
                if has_way_out || threads == 1 || settings.threads.is_some() {
                    return Ok(Self { instead, ..straight });
                }
                return Err(refusal(&[straight], budget_bytes));
            }
            plans.insert(0, straight);
        }
        made.ok_or_else(|| refusal(&plans, budget_bytes))
    }

    /// The plan once the vertices have been counted. Widths stay; where edges go to storage, more
    /// of them may stay in memory, and `look` decides how they are written: the pace of the machine
    /// for so many bytes, and how many are free.
    ///
    /// # Errors
    /// [`EngineError::Budget`] when it cannot fit, and those of `pace`.
    pub(crate) fn counted(
        &self,
        vertices: u64,
        look: impl FnOnce(u64) -> Result<(Pace, u64), EngineError>,
    ) -> Result<Self, EngineError> {
        let mut plan = self.clone();
        plan.vertices = vertices;
        if plan.storage.is_some() {
            if plan.settings.encoding.is_some() {
                plan = storage::plan(plan);
            } else {
                let (pace, free) = look(plan.memory.chunks_stored)?;
                plan = Self { pace: Some(pace), ..storage::faster(&plan, &pace, free) };
            }
            // Bins are as they were planned before.
            if let (Some(now), Some(then)) = (&mut plan.storage, self.storage) {
                (now.bins_most, now.lots) = (then.bins_most, then.lots);
            }
            if plan.memory.peak() > plan.budget_bytes {
                let budget = plan.budget_bytes;
                return Err(refusal(&[plan], budget));
            }
        }
        Ok(plan)
    }

    /// Bytes of a budget in which no edges of this graph are on storage, nor is any vertex looked
    /// up in passes where rows serve the program; about.
    pub fn in_memory_bytes(&self) -> u64 {
        let Self { layout, settings, shape, .. } = self;
        let rows = layout.looks_up() && settings.index != IndexMode::Bands && shape.edges < 1 << 32;
        let encoding = if rows { Encoding::Packed } else { Encoding::Compressed };
        let (storage, frontier_mode) = (None, settings.frontier.resident());
        let plan = Self { storage, frontier_mode, encoding, rows, pulls: false, ..self.clone() };
        let peak = Memory::of(&plan).peak();
        peak + peak / MARGIN
    }

    /// Whether out-degrees are in memory only while edges are ingested.
    pub(crate) fn degrees_stored(&self) -> bool {
        self.storage.is_some_and(|storage| {
            storage.streamed.is_some() || storage.values_stored && self.layout.intersects()
        })
    }

    /// Bytes that an iteration in which all vertices are active moves from and to storage.
    pub fn traffic(&self) -> Traffic {
        let Some(storage) = self.storage else { return Traffic::default() };
        let values = if storage.values_stored && !self.layout.intersects() {
            self.vertices * self.layout.value
        } else {
            0
        };
        let state = storage.streamed.map_or(Traffic::default(), |way| way.traffic(self));
        let chunks = self.memory.chunks_stored.saturating_sub(storage.cache_bytes);
        let both = values + self.edge_states_stored();
        Traffic { read: self.looks() * chunks + both + state.read, written: both + state.written }
    }

    /// How often an iteration in which all vertices are active reads the edges.
    fn looks(&self) -> u64 {
        let way = self.storage.and_then(|storage| storage.streamed);
        way.map_or(1, |way| way.looks(self))
    }

    /// Groups of sources, so that the edges from a group to a stripe fill a quarter of a megabyte
    /// when they are sorted: both of the sort's buffers then stay in the second-level cache.
    pub(crate) fn groups(&self, stripes: usize) -> usize {
        let groups = self.shape.edges.div_ceil(CELL_EDGES * stripes.max(1) as u64);
        let segments = self.shape.slots.div_ceil(1 << SEGMENT_BITS).max(1);
        let bins = self.storage.map_or(MOST_BINS, |storage| storage.bins_most);
        groups.clamp(1, segments.min((bins / stripes.max(1) as u64).max(1))) as usize
    }

    /// Source partitions: a cell shall fill a chunk, and workers that take a partition each shall
    /// not wait long for the last one.
    pub(crate) fn partitions(&self, stripes: usize, groups: usize) -> usize {
        let chunks = self.shape.edges * 4 / (stripes.max(1) * CHUNK_BYTES_MAX) as u64;
        (chunks as usize).max(STRIPES_PER_WORKER * self.threads).min(groups)
    }

    /// Stripes that there shall be at least, so that no worker waits long for the last one. With
    /// few bins none may have many more edges than others: of cells that are too big to be sorted
    /// at once each piece reads all (R-MAT 27 as it is generated, with 1 GiB: by its shares 75 GB).
    pub(crate) fn stripes_least(&self) -> usize {
        let by_width = (self.shape.slots >> self.stripe_bits) as usize;
        let even = if self.storage.is_some() { by_width / 2 } else { 0 };
        even.max(STRIPES_PER_WORKER * self.threads)
    }

    /// Lots of bins that share slabs. Each worker has a half-empty slab for each lot, which shall
    /// be a small part of the whole; but nothing of a lot is free before all of it is sorted.
    pub(crate) fn lots(&self) -> usize {
        if let Some(storage) = self.storage {
            return storage.lots as usize;
        }
        let waiting = self.shape.edges * if self.shape.weighted { 16 } else { 6 };
        let lots = waiting / (16 * (self.threads * SLAB_BYTES) as u64);
        lots.clamp(1, LOTS_MAX) as usize
    }

    /// Bytes of a lot that is read back whole: what is left of bins that are spread evenly, and a
    /// quarter more.
    pub(crate) fn lot_bytes_most(&self) -> u64 {
        let waiting = self.shape.edges * memory::waiting_bytes(self.shape) / 3;
        let ends = (self.threads * SLAB_BYTES) as u64;
        waiting / self.lots().max(1) as u64 * 5 / 4 + ends
    }

    /// Edges that a worker sorts at once, at most: bigger cells are cut into pieces.
    pub(crate) fn sort_edges_max(&self) -> usize {
        if self.storage.is_some() {
            return SORT_EDGES_LEAST;
        }
        (self.shape.edges / (16 * self.threads as u64)).clamp(SORT_EDGES_LEAST as u64, 1 << 21)
            as usize
    }

    /// Lets a piece be sorted that could not be cut small enough, because too many edges are
    /// parallel.
    pub(crate) fn allow_sort(&self, edges: usize) -> Result<(), EngineError> {
        let over = edges.saturating_sub(self.sort_edges_max()) as u64;
        let need = self.memory.peak() + over * Memory::sort_bytes(&self.shape);
        if over == 0 || need <= self.budget_bytes {
            return Ok(());
        }
        let advice = "too many of the edges are parallel".to_owned();
        Err(EngineError::Budget { need, budget: self.budget_bytes, advice })
    }
}

/// More stripes than workers, so that none waits long for the last one.
const STRIPES_PER_WORKER: usize = 8;

/// Edges from a group to a stripe.
const CELL_EDGES: u64 = 1 << 15;

/// More lots than this free memory no earlier than it is needed.
const LOTS_MAX: u64 = 256;

/// More bins than this would not find their write-combining lines in the second-level cache.
const MOST_BINS: u64 = 1 << 14;

/// Edges that a worker can always sort at once.
const SORT_EDGES_LEAST: usize = 1 << 18;

/// As many threads are taken if the user says so, however small a graph is.
const THREADS_LEAST: usize = 16;

/// The plan with as many threads as the user says, if they are of any use; else with one a core, or
/// with as many fewer as it takes to fit: each has buffers of its own.
fn with_threads(
    settings: &Settings,
    machine: &Machine,
    edges: u64,
    plan: impl Fn(usize) -> Result<Plan, EngineError>,
) -> Result<Plan, EngineError> {
    // Below a few hundred thousand edges a second thread costs more than it does.
    let useful = (edges >> 17).clamp(1, 1 << 16) as usize;
    if let Some(threads) = settings.threads {
        return plan(threads.min(useful.max(THREADS_LEAST)));
    }
    let mut threads = machine.cores.min(useful);
    loop {
        match plan(threads) {
            Err(EngineError::Budget { .. }) if threads > 1 => threads = threads.div_ceil(2),
            planned => return planned,
        }
    }
}

/// The plan with stripes as wide as the user says; else with those whose accumulators stay in a
/// worker's cache. Where that takes more memory than there is, others may take much less: of narrow
/// stripes workers have short columns, of wide ones keys name few sources, so that less lies behind
/// these.
fn with_stripes(
    settings: &Settings,
    shape: &Shape,
    layout: Layout,
    machine: &Machine,
    plan: impl Fn(u32) -> Result<Plan, EngineError>,
) -> Result<Plan, EngineError> {
    if let Some(stripe_bits) = settings.stripe_bits {
        return plan(stripe_bits);
    }
    let slot_bits = u64::BITS - shape.slots.saturating_sub(1).leading_zeros();
    let wide = stripe_bits(shape, layout, machine).min(slot_bits.max(SEGMENT_BITS));
    let need = |planned: &Result<Plan, EngineError>| match planned {
        Ok(plan) => plan.memory.peak(),
        Err(EngineError::Budget { need, .. }) => *need,
        Err(_) => u64::MAX,
    };
    let mut best = plan(wide);
    let much_less = need(&best) / 4 * 3;
    for stripe_bits in (SEGMENT_BITS..wide).rev().chain(wide + 1..=STRIPE_BITS_MOST) {
        if !matches!(best, Err(EngineError::Budget { .. })) {
            break;
        }
        let other = plan(stripe_bits);
        if need(&other) < need(&best).min(much_less) {
            best = other;
        }
    }
    best
}

/// No wider, unless a cache has room for more.
const STRIPE_BITS_MOST: u32 = 20;

fn stripe_bits(shape: &Shape, layout: Layout, machine: &Machine) -> u32 {
    let group_bytes = layout.group * shape.edges / shape.slots.max(1);
    let accum_bytes = layout.accum + group_bytes;
    let second = (machine.l2_bytes / 4).max((machine.l2_bytes / 2).min(512 << 10));
    let third = (machine.l3_bytes / machine.cores.max(1) as u64).min(4 << 20);
    let room = if second >= 512 << 10 { second.min(2 << 20) } else { third.max(second) };
    let narrow = log2(shape.slots / GROUP_STRIPES).clamp(SEGMENT_BITS, 24);
    let least = if layout.group > 0 { narrow } else { SEGMENT_BITS };
    log2(room / accum_bytes.max(1)).clamp(least, 24)
}

/// Stripes of a group program, about, at most: each takes bins of its own.
const GROUP_STRIPES: u64 = 1 << 10;

/// Log2 of the width of a block whose tiles hold about 1,500 edges: 24 in each of its bands, so
/// that looking for the edges of one source reads few others.
fn band_block_bits(shape: &Shape, stripe_bits: u32, threads: usize) -> u32 {
    let stripes = (shape.slots >> stripe_bits).max((STRIPES_PER_WORKER * threads) as u64);
    log2((1536 * stripes).saturating_mul(shape.slots) / shape.edges.max(1)).clamp(6, 14)
}

fn log2(number: u64) -> u32 {
    number.max(1).ilog2()
}

#[cfg(test)]
mod tests;
