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
//!
//! | file, bottom to top | what it has |
//! |---|---|
//! | `shape`, `settings`, `device`, `program`, `traffic` | what is planned, in its terms |
//! | `premises`, `edges`, `groups` | what all else follows from, and bounds of single things |
//! | `ranges`, `spill`, `triangles`, `out_of_core` | ways of a state that does not fit in memory |
//! | `memory`, `account`, `relaxing`, `bin_groups` | accounts of memory |
//! | `index`, `stored`, `disk_usage` | accounts of storage |
//! | this file | a plan |
//! | `ingest`, `forecast`, `requests`, `show` | what a plan says: of these, and to people |
//! | `compression`, `expected` | which compression pays on a device; what it saves and costs |
//! | `storage`, `input_scan`, `kept`, `budget_error`, `make` | how plans are made, and refused |
//!
//! Nothing here knows an edge, a column or a worker: `footprints` says what their buffers take,
//! and an account adds that up.
//!
//! Uses: `footprints`, `kernels`, `machine`.
//!
//! Invariant: every buffer that grows with a graph is in the account. Tested by
//! `no_run_takes_more_than_its_plan_says`.

mod account;
mod bin_groups;
mod budget_error;
mod compression;
mod device;
mod disk_usage;
mod edges;
mod expected;
mod forecast;
mod groups;
mod index;
mod ingest;
mod input_scan;
mod kept;
mod make;
mod memory;
mod out_of_core;
mod premises;
mod program;
mod ranges;
mod relaxing;
mod requests;
mod settings;
mod shape;
mod show;
mod spill;
mod storage;
mod stored;
mod traffic;
mod triangles;

pub use self::budget_error::within;
pub use self::compression::Sampled;
pub use self::device::{Device, Measured};
pub(crate) use self::device::{better_sizes, sizes, smaller};
pub use self::disk_usage::DiskUsage;
pub use self::expected::{Expected, ExpectedCodec};
pub use self::forecast::{EdgeWork, Forecast, Round, Stage};
pub use self::index::Index;
pub use self::input_scan::InputPasses;
pub(crate) use self::input_scan::PART_BYTES;
pub use self::kept::KeptShape;
pub use self::memory::Memory;
pub use self::out_of_core::{OutOfCore, StateAccess};
pub use self::premises::Premises;
pub use self::program::{FoldLayout, FrontierKind, InputScanCost, Layout, ProgramKind, Updates};
pub use self::ranges::RangesPlan;
pub use self::requests::{PlannedReads, PlannedRequests};
pub use self::settings::{CompressionMode, FrontierMode, IndexMode, Route, Settings, StorageMode};
pub use self::shape::Shape;
pub use self::spill::SpillPlan;
pub use self::stored::{BinsPlan, StoragePlan};
pub use self::traffic::Traffic;
pub use self::triangles::TrianglesPlan;
pub use crate::kernels::layout::EdgeLayout;
pub use crate::units::human_bytes;

use welter_store::io::IoOptions;

use crate::EngineError;
use crate::machine::arena::SLAB_BYTES;
use crate::machine::storage::{Storage, slabs_read, slabs_written};
use crate::machine::throughput::Throughput;

/// Plan of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Premises, which all else follows from.
    pub premises: Premises,
    /// Where edges and state are, and how edges of single vertices are looked up.
    pub access: Access,
    /// Throughput of the machine, where it made a difference to the plan.
    pub throughput: Option<Throughput>,
    /// Memory by use.
    pub memory: Memory,
}

/// Location of the edges and the state of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Edges and state in memory.
    Memory {
        /// Index by which the edges of single vertices are looked up.
        index: Index,
    },
    /// Edges on storage, and of the state what does not fit.
    Storage(StoragePlan),
    /// Edges in the input, which an input scan reads in passes.
    Input {
        /// Plan of a graph, should the passes turn out to be too many.
        instead: Option<Box<Plan>>,
    },
}

impl Plan {
    /// Storage that the run takes; `None` where it needs none.
    pub fn storage(&self) -> Option<&StoragePlan> {
        match &self.access {
            Access::Storage(storage) => Some(storage),
            Access::Memory { .. } | Access::Input { .. } => None,
        }
    }

    /// Index by which the edges of single vertices are looked up: only of edges in memory.
    pub fn index(&self) -> Index {
        match self.access {
            Access::Memory { index } => index,
            Access::Storage(_) | Access::Input { .. } => Index::None,
        }
    }

    /// Way in which the state is streamed, where not even signals fit in memory.
    pub fn out_of_core(&self) -> Option<OutOfCore> {
        self.storage().and_then(|storage| storage.state.out_of_core())
    }

    /// Whether the graph stays in its input, for an input scan.
    pub fn scans_input(&self) -> bool {
        matches!(self.access, Access::Input { .. })
    }

    /// Plan of a graph of the input, should passes over it turn out to be too many.
    pub fn instead(&self) -> Option<&Self> {
        match &self.access {
            Access::Input { instead } => instead.as_deref(),
            Access::Memory { .. } | Access::Storage(_) => None,
        }
    }

    /// Mode by which iterations of a program with a frontier find their edges.
    pub fn frontier_mode(&self) -> FrontierMode {
        let mode = self.premises.settings.frontier;
        if self.index() == Index::None { mode.stored() } else { mode.resident() }
    }

    /// The name of the route.
    pub fn route(&self) -> &'static str {
        match self.out_of_core() {
            None if self.scans_input() => "input-scan",
            None => "fold",
            Some(OutOfCore::Ranges(_)) => "ranges",
            Some(OutOfCore::Spill(_) | OutOfCore::Triangles(_)) => "spill",
        }
    }

    /// Bytes on storage at most at a time; 0 where all is in memory.
    pub fn disk_bytes(&self) -> u64 {
        self.storage().map_or(0, |storage| storage.room.peak())
    }

    /// Slabs that each worker has in flight.
    pub(crate) fn io_depth(&self) -> usize {
        let usual = || slabs_read(&self.premises.settings.requests);
        self.storage().and_then(|storage| storage.window).unwrap_or_else(usual)
    }

    /// Options by which a run of this plan reads and writes storage: all that opens volumes or
    /// makes requests for one does so with these options.
    pub fn io(&self, io: &IoOptions) -> IoOptions {
        IoOptions { requests: self.premises.settings.requests, ..io.clone() }
    }

    /// The throughput with the rates of the device of temporary files, where that was measured.
    pub fn at_rates_of_device(&self, throughput: Throughput) -> Throughput {
        let device = self.premises.settings.device;
        device.map_or(throughput, |device| device.at_its_rates(throughput))
    }

    /// Makes sure that a storage has no more slabs on their way than this plan has memory for.
    ///
    /// # Errors
    /// When it has: it was not made with [`Self::io`].
    pub(crate) fn bears(&self, storage: &Storage) -> Result<(), EngineError> {
        let (planned, found) = (&self.premises.settings.requests, &storage.io.requests);
        let reads = slabs_read(found) <= slabs_read(planned);
        if reads && slabs_written(found) <= slabs_written(planned) {
            return Ok(());
        }
        let what = "the storage of the workers has more requests in flight than the plan";
        Err(EngineError::internal(what))
    }

    /// Bytes of requests in flight, by all threads, where it was measured how many are best.
    pub fn in_flight(&self) -> Option<u64> {
        let window = self.storage()?.window?;
        Some((self.premises.threads * window * SLAB_BYTES) as u64)
    }

    /// Whether out-degrees are in memory only while edges are ingested.
    pub(crate) fn degrees_stored(&self) -> bool {
        let program = &self.premises.program;
        self.storage().is_some_and(|storage| storage.state.degrees_stored(program))
    }

    /// Bytes of states of edges that may be in memory.
    pub(crate) fn edge_states_resident(&self) -> u64 {
        self.storage().map_or(u64::MAX, |storage| storage.edge_states_bytes)
    }

    /// Bytes of states of edges that are on storage: read and written in each iteration.
    fn edge_states_stored(&self) -> u64 {
        self.premises.edge_states().saturating_sub(self.edge_states_resident())
    }

    /// Bytes that an iteration in which all vertices are active moves from and to storage.
    pub fn traffic(&self) -> Traffic {
        let Some(storage) = self.storage() else { return Traffic::default() };
        let Premises { vertices, program, .. } = self.premises;
        let values = if storage.state.values_stored() && !program.intersects() {
            vertices * program.value
        } else {
            0
        };
        let state = self.state_traffic();
        let both = values + self.edge_states_stored();
        Traffic { read: self.traffic_of_edges() + both + state.read, written: both + state.written }
    }

    /// Bytes of edges among those that it reads.
    fn traffic_of_edges(&self) -> u64 {
        let Some(storage) = self.storage() else { return 0 };
        let chunks = self.memory.chunks_stored.saturating_sub(storage.cache_bytes);
        self.edge_passes() * chunks
    }

    /// Bytes that such an iteration moves of a state that is streamed.
    fn state_traffic(&self) -> Traffic {
        self.out_of_core().map_or(Traffic::default(), |way| way.traffic(&self.premises))
    }

    /// Readings of the edges in an iteration in which all vertices are active.
    fn edge_passes(&self) -> u64 {
        self.out_of_core().map_or(1, |way| way.edge_passes(&self.premises))
    }

    /// Whether it fits its budget.
    fn fits(&self) -> bool {
        self.memory.peak() <= self.premises.budget_bytes
    }

    /// Bytes of the budget that nothing is planned for.
    pub(crate) fn free_bytes(&self) -> u64 {
        self.premises.budget_bytes.saturating_sub(self.memory.peak())
    }
}

#[cfg(test)]
mod tests;
