//! Making of a plan: threads and widths by the machine, then the first access that fits.

use welter_store::header::{Encoding, KEY_BITS};

use super::budget_error::{MARGIN, budget_error};
use super::index::Index;
use super::memory::Memory;
use super::premises::{Premises, STRIPES_PER_WORKER};
use super::program::{InputScanCost, Layout};
use super::settings::{CompressionMode, Route, Settings, StorageMode};
use super::shape::Shape;
use super::{Access, Plan, input_scan, storage};
use crate::EngineError;
use crate::footprints::edges::CHUNK_BYTES_MAX;
use crate::kernels::layout::EdgeLayout;
use crate::kernels::vertices::SEGMENT_BITS;
use crate::machine::figures::Machine;
use crate::machine::throughput::Throughput;

impl Plan {
    /// Plans a run, or refuses it when it cannot fit.
    ///
    /// # Errors
    /// [`EngineError::Budget`] when no encoding fits, [`EngineError::Setting`] for a setting
    /// out of range.
    pub fn new(
        shape: Shape,
        layout: Layout,
        settings: &Settings,
        machine: &Machine,
    ) -> Result<Self, EngineError> {
        let plain = Settings { device: None, ..settings.without_codecs() };
        let plan = Self::with_requests(shape, layout, &plain, machine)?;
        if plan.storage().is_none() {
            return Ok(plan);
        }
        // Neither requests nor codecs are worth what a run would lose for lack of room.
        let better = |plan: Self, settings: Settings| {
            let other = Self::with_requests(shape, layout, &settings, machine).ok();
            other.filter(|other| other.is_like(&plan)).unwrap_or(plan)
        };
        let Premises { threads, budget_bytes, .. } = plan.premises;
        let plan = match settings.with_codecs(threads, budget_bytes) {
            Some(settings) => better(plan, Settings { device: None, ..settings }),
            None => plan,
        };
        let Some(device) = settings.device else { return Ok(plan) };
        let requests = device.requests(settings.requests, threads as u64, budget_bytes);
        let compression = plan.premises.settings.compression;
        let threads = Some(threads);
        Ok(better(plan, Settings { threads, compression, requests, ..*settings }))
    }

    /// Whether edges are on storage, and updates take the same way, as by another plan.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.storage().is_some()
            && self.route() == other.route()
            && self.premises.threads == other.premises.threads
            && self.premises.edges.stripe_bits == other.premises.edges.stripe_bits
    }

    /// The plan whose requests are as the settings say, or of the usual size.
    fn with_requests(
        shape: Shape,
        layout: Layout,
        settings: &Settings,
        machine: &Machine,
    ) -> Result<Self, EngineError> {
        settings.check()?;
        layout.check(settings)?;
        with_threads(settings, machine, shape.edges, |threads| {
            with_stripes(settings, &shape, layout, machine, |stripe_bits| {
                let encoding = settings.encoding.unwrap_or(Encoding::Packed);
                let block_bits =
                    block_bits((threads, stripe_bits), &shape, &layout, settings, machine);
                let edges = EdgeLayout {
                    stripe_bits,
                    block_bits,
                    encoding,
                    compression: settings.compression.widest(),
                    chunk_bytes: settings.chunk_bytes.unwrap_or(CHUNK_BYTES_MAX),
                    wide_tiles: !layout.has_frontier(),
                };
                Self::fitting(&Premises {
                    threads,
                    edges,
                    shape,
                    vertices: shape.slots,
                    program: layout,
                    settings: *settings,
                    budget_bytes: settings.budget(machine),
                    even_stripes: false,
                })
            })
        })
    }

    /// The plan with these widths and threads: in memory, with rows and the widest encoding if they
    /// fit, else with edges on storage; but by a scan of the input where that pays.
    fn fitting(premises: &Premises) -> Result<Self, EngineError> {
        let Premises { threads, program, settings, budget_bytes, .. } = *premises;
        let stored = || {
            let encoding = settings.encoding.unwrap_or(Encoding::Compressed);
            storage::plan(&premises.with_encoding(encoding))
        };
        let forced = match settings.storage {
            StorageMode::Always { .. } | StorageMode::Kept => true,
            StorageMode::Auto => {
                program.streams() && !matches!(settings.route, None | Some(Route::Fold))
            }
            StorageMode::Never => false,
        };
        if forced {
            let stored = stored();
            return if stored.fits() {
                Ok(stored)
            } else {
                Err(budget_error(&[stored], budget_bytes))
            };
        }
        let encodings = match settings.encoding {
            Some(encoding) => vec![encoding],
            None => vec![Encoding::Packed, Encoding::Short, Encoding::Compressed],
        };
        let rows = premises.wants_rows().then(|| Self::in_memory(premises, true));
        let narrower = encodings
            .into_iter()
            .map(|encoding| Self::in_memory(&premises.with_encoding(encoding), false));
        let mut plans: Vec<Self> = rows.into_iter().chain(narrower).collect();
        if settings.storage == StorageMode::Auto {
            plans.push(stored());
        }
        let made = plans.iter().find(|plan| plan.fits()).cloned();
        if let Some(takes) = program.input_scan.filter(|_| !settings.says_how()) {
            let input_scan = input_scan::plan(premises, takes, None);
            if is_cheaper(&input_scan, takes, made.as_ref()) {
                let instead = made.and_then(|plan| input_scan::after(plan, &input_scan));
                let has_way_out = takes.always || instead.is_some();
                // With fewer threads there may be one.
                if has_way_out || threads == 1 || settings.threads.is_some() {
                    return Ok(input_scan::plan(premises, takes, instead));
                }
                return Err(budget_error(&[input_scan], budget_bytes));
            }
            plans.insert(0, input_scan);
        }
        made.ok_or_else(|| budget_error(&plans, budget_bytes))
    }

    /// The plan of a run whose edges are all in memory, with rows or without.
    fn in_memory(premises: &Premises, rows: bool) -> Self {
        let index = Index::new(premises, rows);
        let memory = Memory::of(premises, index);
        let access = Access::Memory { index };
        Self { premises: *premises, access, throughput: None, memory }
    }

    /// The plan once the vertices have been counted. Widths stay; where edges go to storage, more
    /// of them may stay in memory, and `look` decides how they are written: the throughput of the
    /// machine for a number of bytes, and how many are free.
    ///
    /// # Errors
    /// [`EngineError::Budget`] when it cannot fit, and those of `throughput`.
    pub(crate) fn counted(
        &self,
        vertices: u64,
        look: impl FnOnce(u64) -> Result<(Throughput, u64), EngineError>,
    ) -> Result<Self, EngineError> {
        let premises = Premises { vertices, ..self.premises };
        if self.storage().is_none() {
            return Ok(Self { premises, ..self.clone() });
        }
        let measured = premises.settings.compression == CompressionMode::Measured;
        let mut plan = if premises.settings.encoding.is_some() {
            let bytes = self.memory.chunks_stored;
            let throughput = if measured { Some(look(bytes)?.0) } else { self.throughput };
            Self { throughput, ..storage::plan(&premises) }
        } else {
            let (throughput, free) = look(self.memory.chunks_stored)?;
            Self { throughput: Some(throughput), ..storage::faster(&premises, &throughput, free) }
        };
        // Bins are as they were planned before.
        if let (Access::Storage(now), Some(then)) = (&mut plan.access, self.bins())
            && let Some(now) = &mut now.bins
        {
            (now.most, now.bin_groups) = (then.most, then.bin_groups);
        }
        if plan.fits() { Ok(plan) } else { Err(budget_error(&[plan], premises.budget_bytes)) }
    }

    /// Bytes of a budget in which no edges of this graph are on storage, nor is any vertex looked
    /// up in passes where rows serve the program; about.
    pub fn in_memory_bytes(&self) -> u64 {
        let rows = self.premises.wants_rows();
        let encoding = if rows { Encoding::Packed } else { Encoding::Compressed };
        let premises = Premises { even_stripes: false, ..self.premises.with_encoding(encoding) };
        let index = if rows { Index::RowsOncePaid { granules: false } } else { Index::None };
        let peak = Memory::of(&premises, index).peak();
        peak + peak / MARGIN
    }
}

/// Whether passes over the input are better than the plan by which a graph would be made.
fn is_cheaper(input_scan: &Plan, cost: InputScanCost, made: Option<&Plan>) -> bool {
    let is_stored = made.is_none_or(|plan| plan.storage().is_some());
    (cost.always || is_stored) && input_scan.fits()
}

/// Log2 of the width of a block: its signals stay in half of the first level, and where it is
/// searched for single sources its tiles are short.
fn block_bits(
    (threads, stripe_bits): (usize, u32),
    shape: &Shape,
    program: &Layout,
    settings: &Settings,
    machine: &Machine,
) -> u32 {
    let by_cache = || log2(machine.l1_bytes / 2 / program.signal().max(1)).clamp(8, 14);
    let bits = settings.block_bits.unwrap_or_else(by_cache).min(KEY_BITS - stripe_bits);
    if program.has_frontier() && settings.block_bits.is_none() {
        bits.min(band_block_bits(shape, stripe_bits, threads))
    } else {
        bits
    }
}

/// As many threads are taken if the user says so, however small a graph is.
const THREADS_LEAST: usize = 16;

/// The plan with as many threads as the user says, if they are of any use; else with one a core, or
/// with as many fewer as it takes to fit: each has buffers of its own.
pub(super) fn with_threads(
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
    let group_bytes = layout.group() * shape.edges / shape.slots.max(1);
    let accum_bytes = layout.accum() + group_bytes;
    let second = (machine.l2_bytes / 4).max((machine.l2_bytes / 2).min(512 << 10));
    let third = (machine.l3_bytes / machine.cores.max(1) as u64).min(4 << 20);
    let room = if second >= 512 << 10 { second.min(2 << 20) } else { third.max(second) };
    let narrow = log2(shape.slots / GROUP_STRIPES).clamp(SEGMENT_BITS, 24);
    let least = if layout.group() > 0 { narrow } else { SEGMENT_BITS };
    log2(room / accum_bytes.max(1)).clamp(least, 24)
}

/// Stripes of a group program, about, at most: each takes bins of its own.
const GROUP_STRIPES: u64 = 1 << 10;

/// Log2 of the width of a block whose tiles hold about 1,500 edges: 24 in each of its granules, so
/// that looking for the edges of one source reads few others.
fn band_block_bits(shape: &Shape, stripe_bits: u32, threads: usize) -> u32 {
    let stripes = (shape.slots >> stripe_bits).max((STRIPES_PER_WORKER * threads) as u64);
    log2((1536 * stripes).saturating_mul(shape.slots) / shape.edges.max(1)).clamp(6, 14)
}

fn log2(number: u64) -> u32 {
    number.max(1).ilog2()
}
