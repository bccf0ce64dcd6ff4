//! The plan: widths, encoding, threads, and the memory that a run will take, before anything runs.
//!
//! Widths follow the caches. The accumulators of a stripe stay in a quarter of a core's
//! second-level cache where that is at least 512 KiB, else in its share of the last level, but
//! never more than 4 MiB of it; the signals of a block of sources stay in half of the first level.
//! Whole iterations on R-MAT 24, scrambled, 2 MiB of L2, in single runs: a stripe of 2^17 `f32`
//! took 1.4 to 1.6 ns an edge and core, 2^18 1.6 to 1.7, 2^19 2.3. The design reports 0.7 for 2^20
//! on a processor with 1 MiB of L2 and a fast last level of 32 MiB; that was not repeated here.

mod memory;
mod show;

use welter_store::header::{Encoding, KEY_BITS};

pub use self::memory::{Layout, Memory};
pub use self::show::human_bytes;

use crate::EngineError;
use crate::arena::SLAB_BYTES;
use crate::machine::Machine;
use crate::vertices::SEGMENT_BITS;

/// A chunk fits a slab, whatever its last tile holds.
pub(crate) const CHUNK_BYTES_MAX: usize = SLAB_BYTES - (1 << 16);

/// What the user may force. `None` leaves the choice to the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Worker threads.
    pub threads: Option<usize>,
    /// Memory budget, bytes.
    pub memory_bytes: Option<u64>,
    /// Bytes of the budget that are taken already and stay so: the ids, for instance.
    pub held_bytes: u64,
    /// How edges are held in memory.
    pub encoding: Option<Encoding>,
    /// Log2 of the width of a stripe, 12 to 24.
    pub stripe_bits: Option<u32>,
    /// Log2 of the width of a block of sources, 6 to 20.
    pub block_bits: Option<u32>,
    /// Size at which a chunk is closed, bytes.
    pub chunk_bytes: Option<usize>,
    /// How iterations of programs with a frontier find their edges.
    pub frontier: FrontierMode,
    /// What they find them by.
    pub index: IndexMode,
}

/// What iterations of monotone programs look up the edges of single vertices by. It changes no
/// answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexMode {
    /// By bands, and by rows from when these pay, if they fit the budget.
    #[default]
    Auto,
    /// By the place of each band of sources in each tile.
    Bands,
    /// By rows of targets, and of sources where a program can use them, which hold every edge once
    /// or twice more and are made at ingest: for graphs that are searched again and again.
    Rows,
}

/// How iterations of monotone programs with a frontier find their edges. It changes no answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrontierMode {
    /// By the number of edges that leave active vertices.
    #[default]
    Auto,
    /// All stripes are folded.
    Dense,
    /// Active vertices are looked up, by one thread or by all as their edges are few or many.
    Sparse,
    /// Vertices look for an active neighbour, where that is possible; else all stripes are folded.
    Pull,
    /// Active vertices are looked up, one after the other.
    Alone,
    /// Active vertices are looked up by all workers, stripe by stripe.
    Together,
}

/// What is known of a graph before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Slots: an upper bound on the number of vertices.
    pub slots: u64,
    /// Edges as they will be stored: both arcs of an undirected one.
    pub edges: u64,
    /// Whether weights are stored.
    pub weighted: bool,
    /// Whether `edges` or `slots` are estimates.
    pub estimated: bool,
    /// Bytes that the input itself holds in memory while it is ingested.
    pub input_bytes: u64,
}

/// How a run will be done.
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
    /// What they find them by.
    pub index: IndexMode,
    /// Whether there is room for rows.
    pub rows: bool,
    /// Whether rows of sources are made too, so that vertices can look for an active one.
    pub pulls: bool,
    /// What was planned for.
    pub shape: Shape,
    /// Memory budget, bytes.
    pub budget_bytes: u64,
    /// What memory goes where.
    pub memory: Memory,
}

impl Plan {
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
        check(settings)?;
        // Below a few hundred thousand edges a second thread costs more than it does.
        let useful = (shape.edges >> 17).clamp(1, 1 << 16) as usize;
        let threads = settings.threads.unwrap_or(machine.cores.min(useful));
        let slot_bits = u64::BITS - shape.slots.saturating_sub(1).leading_zeros();
        let stripe_bits = settings
            .stripe_bits
            .unwrap_or_else(|| stripe_bits(layout.accum, machine).min(slot_bits.max(SEGMENT_BITS)));
        let block_bits = settings
            .block_bits
            .unwrap_or_else(|| log2(machine.l1_bytes / 2 / layout.signal.max(1)).clamp(8, 14));
        let block_bits = block_bits.min(KEY_BITS - stripe_bits);
        let block_bits = if layout.active > 0 && settings.block_bits.is_none() {
            block_bits.min(band_block_bits(&shape, stripe_bits, threads))
        } else {
            block_bits
        };
        let budget_bytes = settings.memory_bytes.unwrap_or(machine.memory_bytes / 16 * 15);
        let rows_wanted =
            settings.index != IndexMode::Bands && layout.sparse > 0 && shape.edges < 1 << 32;
        let plan = |(encoding, rows)| {
            let mut plan = Self {
                threads,
                stripe_bits,
                block_bits,
                encoding,
                chunk_bytes: settings.chunk_bytes.unwrap_or(CHUNK_BYTES_MAX),
                frontier: layout.active > 0,
                frontier_mode: settings.frontier,
                index: settings.index,
                rows,
                pulls: rows && layout.pulled && settings.index == IndexMode::Rows,
                shape,
                budget_bytes,
                memory: Memory::default(),
            };
            plan.memory = Memory::of(&plan, layout, settings.held_bytes);
            plan
        };
        let candidates = match settings.encoding {
            Some(encoding) => vec![encoding],
            None => vec![Encoding::Packed, Encoding::Compressed],
        };
        let best = candidates[0];
        let candidates = candidates.into_iter().map(|encoding| (encoding, false));
        let candidates = rows_wanted.then_some((best, true)).into_iter().chain(candidates);
        let plans: Vec<Self> = candidates.map(plan).collect();
        match plans.iter().find(|plan| plan.memory.peak() <= budget_bytes) {
            Some(plan) => Ok(plan.clone()),
            None => Err(refusal(&plans, budget_bytes)),
        }
    }

    /// Groups of sources, so that the edges from a group to a stripe fill a quarter of a megabyte
    /// when they are sorted: both of the sort's buffers then stay in the second-level cache.
    pub(crate) fn groups(&self, stripes: usize) -> usize {
        let groups = self.shape.edges.div_ceil(CELL_EDGES * stripes.max(1) as u64);
        let segments = self.shape.slots.div_ceil(1 << SEGMENT_BITS).max(1);
        groups.clamp(1, segments.min((MOST_BINS / stripes.max(1)).max(1) as u64)) as usize
    }

    /// Stripes that there shall be at least, so that no worker waits long for the last one.
    pub(crate) fn stripes_least(&self) -> usize {
        STRIPES_PER_WORKER * self.threads
    }

    /// Lots of groups that share slabs. Each worker has a half-empty slab for each lot, which shall
    /// be a small part of the whole; but nothing of a lot is free before all of it is sorted.
    pub(crate) fn lots(&self) -> usize {
        let waiting = self.shape.edges * if self.shape.weighted { 16 } else { 6 };
        let lots = waiting / (16 * (self.threads * SLAB_BYTES) as u64);
        lots.clamp(1, LOTS_MAX) as usize
    }

    /// Edges that a worker sorts at once, at most: bigger cells are cut into pieces.
    pub(crate) fn sort_edges_max(&self) -> usize {
        (self.shape.edges / (16 * self.threads as u64)).clamp(1 << 18, 1 << 21) as usize
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
const MOST_BINS: usize = 1 << 14;

fn check(settings: &Settings) -> Result<(), EngineError> {
    let within = |name: &str, value: Option<u64>, least: u64, most: u64| match value {
        Some(value) if !(least..=most).contains(&value) => Err(EngineError::Configuration(
            format!("{name} must be between {least} and {most}, not {value}"),
        )),
        _ => Ok(()),
    };
    within("the number of threads", settings.threads.map(|n| n as u64), 1, 1 << 12)?;
    within(
        "the stripe width in bits",
        settings.stripe_bits.map(u64::from),
        SEGMENT_BITS.into(),
        24,
    )?;
    within("the block width in bits", settings.block_bits.map(u64::from), 6, 20)?;
    within(
        "the chunk size in bytes",
        settings.chunk_bytes.map(|n| n as u64),
        1 << 10,
        CHUNK_BYTES_MAX as u64,
    )
}

fn stripe_bits(accum_bytes: u64, machine: &Machine) -> u32 {
    let second = machine.l2_bytes / 4;
    let third = (machine.l3_bytes / machine.cores.max(1) as u64).min(4 << 20);
    let room = if second >= 512 << 10 { second.min(2 << 20) } else { third.max(second) };
    log2(room / accum_bytes.max(1)).clamp(SEGMENT_BITS, 24)
}

/// Log2 of the width of a block whose tiles hold about 1,500 edges: 24 in each of its bands, so
/// that looking for the edges of one source reads few others.
fn band_block_bits(shape: &Shape, stripe_bits: u32, threads: usize) -> u32 {
    let stripes = (shape.slots >> stripe_bits).max((STRIPES_PER_WORKER * threads) as u64);
    log2((1536 * stripes).saturating_mul(shape.slots) / shape.edges.max(1)).clamp(6, 14)
}

fn log2(number: u64) -> u32 {
    number.max(1).ilog2()
}

fn refusal(plans: &[Plan], budget: u64) -> EngineError {
    let need = plans.iter().map(|plan| plan.memory.peak()).min().unwrap_or(0);
    let advice = format!(
        "give it --memory {} or more on a machine that has it, or a smaller graph",
        human_bytes(need).replace(' ', "")
    );
    EngineError::Budget { need, budget, advice }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Machine = Machine {
        cores: 2,
        l1_bytes: 48 << 10,
        l2_bytes: 2 << 20,
        l3_bytes: 64 << 20,
        memory_bytes: 16 << 30,
    };
    const SHAPE: Shape =
        Shape { slots: 1 << 24, edges: 1 << 28, weighted: false, estimated: false, input_bytes: 0 };
    const LAYOUT: Layout =
        Layout { value: 8, signal: 4, accum: 4, active: 0, sparse: 0, pulled: false };

    #[test]
    fn widths_follow_the_caches() {
        let plan = Plan::new(SHAPE, LAYOUT, &Settings::default(), &MACHINE).unwrap();
        assert_eq!((plan.stripe_bits, plan.block_bits, plan.threads), (17, 12, 2));
        let small_l2 = Machine { l2_bytes: 1 << 20, l3_bytes: 32 << 20, ..MACHINE };
        let plan = Plan::new(SHAPE, LAYOUT, &Settings::default(), &small_l2).unwrap();
        assert_eq!(plan.stripe_bits, 20);
    }

    #[test]
    fn what_cannot_fit_is_refused_with_the_budget_that_would() {
        let settings = |bytes| Settings { memory_bytes: Some(bytes), ..Settings::default() };
        let Err(EngineError::Budget { need, budget, .. }) =
            Plan::new(SHAPE, LAYOUT, &settings(1 << 30), &MACHINE)
        else {
            panic!("must be refused")
        };
        assert_eq!(budget, 1 << 30);
        assert!(Plan::new(SHAPE, LAYOUT, &settings(need), &MACHINE).is_ok());
        assert!(Plan::new(SHAPE, LAYOUT, &settings(need - 1), &MACHINE).is_err());
    }

    #[test]
    fn what_the_caller_holds_counts() {
        let plan = |held_bytes| {
            let settings = Settings { held_bytes, ..Settings::default() };
            Plan::new(SHAPE, LAYOUT, &settings, &MACHINE).unwrap()
        };
        assert_eq!(plan(1 << 20).memory.peak(), plan(0).memory.peak() + (1 << 20));
        assert!(plan(1 << 20).to_string().contains("1.00 MiB  ids"));
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        for settings in [
            Settings { threads: Some(0), ..Settings::default() },
            Settings { stripe_bits: Some(25), ..Settings::default() },
            Settings { block_bits: Some(5), ..Settings::default() },
            Settings { chunk_bytes: Some(1), ..Settings::default() },
        ] {
            let error = Plan::new(SHAPE, LAYOUT, &settings, &MACHINE).unwrap_err();
            assert!(matches!(error, EngineError::Configuration(_)), "{settings:?}");
        }
    }
}
