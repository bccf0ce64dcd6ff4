//! Settings of a plan that a user may force.

use welter_store::frame::Compression;
use welter_store::header::Encoding;
use welter_store::io::{IN_FLIGHT_MOST, REQUEST_BYTES_LEAST, REQUEST_BYTES_MOST, Requests};

use super::device::Device;
use crate::EngineError;
use crate::footprints::edges::{CHUNK_BYTES_MAX, frames};
use crate::kernels::vertices::SEGMENT_BITS;
use crate::machine::figures::Machine;

/// One part in `FREE_SHARE` of what is free is left to others,
const FREE_SHARE: u64 = 16;
/// and `FREE_LEAST` bytes where that is less: tables of pages, buffers of the system, files in its
/// cache.
const FREE_LEAST: u64 = 8 << 20;
/// Codecs are tried where nothing is said of them and they take one part in `CODECS_SHARE` of the
/// budget at most.
const CODECS_SHARE: u64 = 16;

/// Choices that the user may force. `None` leaves the choice to the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Worker threads.
    pub threads: Option<usize>,
    /// Memory budget, bytes.
    pub memory_bytes: Option<u64>,
    /// Bytes of the budget that are taken already and stay so: the ids, for instance.
    pub held_bytes: u64,
    /// Bytes of the budget that the process takes whatever it does.
    pub process_bytes: u64,
    /// Encoding of edges in memory.
    pub encoding: Option<Encoding>,
    /// Compression of chunks of edges and of updates on storage. It changes no answer, and nothing
    /// of the edges of a graph that is kept.
    pub compression: CompressionMode,
    /// Log2 of the width of a stripe, 12 to 24.
    pub stripe_bits: Option<u32>,
    /// Log2 of the width of a block of sources, 6 to 20.
    pub block_bits: Option<u32>,
    /// Size at which a chunk is closed, bytes.
    pub chunk_bytes: Option<usize>,
    /// Mode by which iterations of programs with a frontier find their edges.
    pub frontier: FrontierMode,
    /// Index that they find edges by.
    pub index: IndexMode,
    /// Whether edges may be kept on storage.
    pub storage: StorageMode,
    /// Where updates wait, of what goes to storage.
    pub route: Option<Route>,
    /// Whether route `spill` keeps vertices in memory, so that only updates go to storage.
    pub vertices_in_memory: bool,
    /// Bytes of groups, or of rows, that a worker has in memory.
    pub group_bytes: Option<u64>,
    /// Size of requests to storage, and number that each worker has in flight. It changes no
    /// answer.
    pub requests: Requests,
    /// The device of temporary files, if it was measured: requests that nothing is said of follow
    /// it. It changes no answer.
    pub device: Option<Device>,
    /// Whether stream programs continue reading edges from storage that can never be candidates
    /// again, instead of writing the others anew. It changes no answer.
    pub keeps_edges: bool,
}

/// Compression of chunks on storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompressionMode {
    /// As it is said.
    Stated(Compression),
    /// As lets the run end first, by the measured speed of the device and of the codecs.
    Measured,
    /// As `Measured` where codecs take a small share of the budget and nothing else of the plan
    /// changes for it, else not at all.
    #[default]
    Auto,
}

impl CompressionMode {
    /// The compression that may come of it for which there must be most memory.
    pub(super) fn widest(self) -> Compression {
        match self {
            Self::Stated(compression) => compression,
            Self::Measured | Self::Auto => {
                let all = Compression::ALL.into_iter();
                all.max_by_key(|codec| frames(*codec)).unwrap_or_default()
            }
        }
    }
}

impl Settings {
    /// Settings in which nothing is compressed where nothing is said of it.
    pub(super) fn without_codecs(self) -> Self {
        let is_stated = self.compression != CompressionMode::Auto;
        let compression =
            if is_stated { self.compression } else { CompressionMode::Stated(Compression::None) };
        Self { compression, ..self }
    }

    /// Settings of this many threads in which codecs are tried, if nothing is said of them and they
    /// take no more than a small share of a budget.
    pub(super) fn with_codecs(self, threads: usize, budget_bytes: u64) -> Option<Self> {
        let codecs = threads as u64 * frames(CompressionMode::Measured.widest());
        let are_tried =
            self.compression == CompressionMode::Auto && codecs <= budget_bytes / CODECS_SHARE;
        let compression = CompressionMode::Measured;
        are_tried.then_some(Self { compression, threads: Some(threads), ..self })
    }
}

impl From<Compression> for CompressionMode {
    fn from(compression: Compression) -> Self {
        Self::Stated(compression)
    }
}

/// Where updates wait, where not all is in memory. It changes no answer. A program that does not
/// have the route is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Nowhere: signals of all sources are in memory, and a stripe is folded at once.
    Fold,
    /// In accumulators of a range of destinations, while signals are read window by window.
    Ranges,
    /// On storage, in the order of their destinations (X-Stream).
    Spill {
        /// Whether updates of a destination meet before they are written.
        combined: bool,
        /// Whether what was gathered is scattered at once.
        fused: bool,
    },
}

/// Whether edges may be kept on storage, which the workers must have been given then. It changes
/// no answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StorageMode {
    /// A graph that does not fit in memory is refused.
    #[default]
    Never,
    /// Storage takes all that does not fit in memory.
    Auto,
    /// Storage takes all that can be there.
    Always {
        /// Bytes of chunks that stay in memory, at most.
        cache_bytes: u64,
        /// Whether values go to storage too.
        values: bool,
    },
    /// All chunks go to the files of a graph that is kept, and bins where they do not fit.
    Kept,
}

/// Index by which iterations of monotone programs look up the edges of single vertices. It changes
/// no answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexMode {
    /// By granules, and by rows from when these pay, if they fit the budget.
    #[default]
    Auto,
    /// By the place of each granule of sources in each tile.
    Granules,
    /// By rows of targets, and of sources where a program can use them, which hold every edge once
    /// or twice more and are made at ingest: for graphs that are searched again and again.
    Rows,
}

/// Mode by which iterations of monotone programs with a frontier find their edges. It changes no
/// answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrontierMode {
    /// By the number of edges that leave active vertices.
    #[default]
    Auto,
    /// Every iteration folds all stripes.
    Dense,
    /// Active vertices are looked up, by one thread or by all as their edges are few or many.
    Sparse,
    /// Vertices look for an active neighbour, where that is possible; else all stripes are folded.
    Pull,
    /// Active vertices are looked up, one after the other.
    Serial,
    /// Active vertices are looked up by all workers, stripe by stripe.
    Parallel,
    /// Where edges are on storage, parts of the graph are relaxed from the first iteration on,
    /// each while it is in memory, by programs that allow it; else as `Auto`.
    Asynchronous,
}

impl FrontierMode {
    /// Whether one thread looks active vertices up, where that `pays` by their edges.
    pub(crate) fn is_serial(self, pays: bool) -> bool {
        match self {
            Self::Serial => true,
            Self::Parallel => false,
            Self::Auto | Self::Dense | Self::Sparse | Self::Pull | Self::Asynchronous => pays,
        }
    }

    /// The mode that it means where all edges are in memory.
    pub(super) fn resident(self) -> Self {
        if self == Self::Asynchronous { Self::Auto } else { self }
    }

    /// The mode that it means where edges are on storage: what would be looked up is not in memory.
    pub(super) fn stored(self) -> Self {
        match self {
            Self::Auto | Self::Asynchronous => self,
            Self::Dense | Self::Sparse | Self::Pull | Self::Serial | Self::Parallel => Self::Dense,
        }
    }
}

impl Settings {
    /// Bytes of the budget that are no run's to take.
    pub(super) fn taken_bytes(&self) -> u64 {
        self.held_bytes + self.process_bytes
    }

    /// Bytes of memory that may be used: what was said, else most of what is free.
    pub fn budget(&self, machine: &Machine) -> u64 {
        let free = machine.memory_bytes;
        self.memory_bytes.unwrap_or(free - (free / FREE_SHARE).max(FREE_LEAST).min(free))
    }

    /// Whether the user says how a graph is to be made, and so that one is.
    pub(super) fn says_how(&self) -> bool {
        let widths = self.stripe_bits.is_some() || self.block_bits.is_some();
        let finds = self.frontier != FrontierMode::Auto || self.index != IndexMode::Auto;
        let writes = self.encoding.is_some() || self.chunk_bytes.is_some();
        widths || finds || writes || self.route.is_some()
    }

    /// Refuses what is out of range.
    pub(super) fn check(&self) -> Result<(), EngineError> {
        let within = |name, value: Option<u64>, least, most| match value {
            Some(found) if !(least..=most).contains(&found) => {
                Err(EngineError::Setting { name, least, most, found })
            }
            _ => Ok(()),
        };
        within("the number of threads", self.threads.map(|n| n as u64), 1, 1 << 12)?;
        within(
            "the stripe width in bits",
            self.stripe_bits.map(u64::from),
            SEGMENT_BITS.into(),
            24,
        )?;
        within("the block width in bits", self.block_bits.map(u64::from), 6, 20)?;
        for (name, bytes) in [
            ("the size of reads in bytes", self.requests.read_bytes),
            ("the size of writes in bytes", self.requests.write_bytes),
        ] {
            let (least, most) = (REQUEST_BYTES_LEAST.into(), REQUEST_BYTES_MOST.into());
            within(name, bytes.map(u64::from), least, most)?;
        }
        within(
            "the number of requests in flight",
            self.requests.in_flight.map(u64::from),
            1,
            IN_FLIGHT_MOST.into(),
        )?;
        within(
            "the chunk size in bytes",
            self.chunk_bytes.map(|n| n as u64),
            1 << 10,
            CHUNK_BYTES_MAX as u64,
        )
    }
}
