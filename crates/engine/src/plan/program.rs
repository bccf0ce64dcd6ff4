//! Bytes that a program takes for a vertex, and what it can do, as far as a plan depends on it.

use welter_model::extended::Extended;
use welter_model::input_scan::InputScan;
use welter_model::intersect::Intersect;
use welter_model::program::Program;
use welter_model::stream::{OverInput, Stream};
use welter_store::header::KEY_BITS;
use welter_store::io::Requests;

use super::settings::{Route, Settings};
use crate::EngineError;
use crate::footprints::schedules as footprint;

/// Memory that an input scan takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputScanCost {
    /// Whether it pays where edges would fit in memory, too.
    pub always: bool,
    /// Bytes of a slot: its accumulator, and what the program itself has for it.
    pub slot: u64,
    /// Bytes of an update that waits, its target included.
    pub update: u64,
}

impl InputScanCost {
    /// The memory of a program with `own` bytes of its own for a slot.
    pub fn of<P: InputScan>(own: u64) -> Self {
        let [accum, update] = [size_of::<P::Accum>(), size_of::<P::Update>()];
        Self { always: true, slot: accum as u64 + own, update: update as u64 + 4 }
    }

    /// The memory of a stream program.
    pub fn of_stream<S: OverInput>() -> Self {
        // Two bits are less than a byte.
        let slot = (size_of::<S::VertexState>() + size_of::<S::Aux>()) as u64 + u64::from(S::BITS);
        Self { always: S::PASSES == Some(1), slot, update: 0 }
    }
}

/// Bytes that a program takes for a vertex, and its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of a value.
    pub value: u64,
    /// Bytes that the caller holds in memory for the program, such as what tables say of vertices.
    pub own: u64,
    /// Whether it can be run as an input scan, on a graph that stays in its input. It makes no
    /// difference to graphs that are kept.
    pub input_scan: Option<InputScanCost>,
    /// Kind of the program, and what it takes beside.
    pub kind: ProgramKind,
}

/// Kind of a program, and what it takes for a vertex beside its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// No program yet: a graph is kept for programs that are not known yet.
    Unknown,
    /// A fold program, whose updates are merged in accumulators.
    Fold(FoldLayout),
    /// An extended program, whose edges have states and look up what both their ends say.
    Extended {
        /// Bytes of a signal.
        signal: u64,
        /// Bytes of an accumulator.
        accum: u64,
        /// Bytes of state of an edge.
        edge: u64,
    },
    /// A stream program, which looks at edges in passes.
    Stream {
        /// Bytes of a cell.
        cell: u64,
        /// Bytes that it learns beside its cell.
        aux: u64,
        /// Whether there may be more passes than one, so that edges that are left are written anew.
        rewrites: bool,
        /// Whether edges may be contracted.
        contracts: bool,
    },
    /// A program over triangles.
    Triangles,
    /// A program that runs over the input alone, and has no state on a graph.
    InputScan,
}

/// Bytes that a fold program takes for a vertex beside its value, and its capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoldLayout {
    /// Bytes of a signal.
    pub signal: u64,
    /// Bytes of an accumulator.
    pub accum: u64,
    /// Vertices that iterations begin with.
    pub frontier: FrontierKind,
    /// Way in which the updates of a vertex are combined.
    pub updates: Updates,
}

/// Vertices that iterations of a fold program begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrontierKind {
    /// All vertices.
    #[default]
    All,
    /// Active vertices.
    Active,
    /// Active vertices in any order, so that single ones are looked up.
    Monotone {
        /// Whether vertices may look for an active one themselves.
        pulls: bool,
        /// Whether edges may be relaxed in any order, and so part by part.
        relaxes: bool,
    },
}

/// Way in which the updates of a vertex of a fold program are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Updates {
    /// Merged, as soon as two of them meet anywhere.
    #[default]
    Merged,
    /// Each meets its vertex as it is.
    Single {
        /// Bytes of an update.
        bytes: u64,
    },
    /// Each waits for the others of its vertex, in group programs.
    Grouped {
        /// Bytes of an update.
        bytes: u64,
    },
}

impl Layout {
    fn with(value: usize, kind: ProgramKind) -> Self {
        Self { value: value as u64, own: 0, input_scan: None, kind }
    }

    /// Layout of a fold program.
    pub fn of<P: Program>() -> Self {
        let bytes = size_of::<P::Update>() as u64;
        let fold = FoldLayout {
            signal: size_of::<P::Signal>() as u64,
            accum: size_of::<P::Accum>() as u64,
            frontier: match (P::FRONTIER, P::MONOTONE) {
                (false, _) => FrontierKind::All,
                (true, false) => FrontierKind::Active,
                (true, true) => FrontierKind::Monotone {
                    pulls: P::ANY_UPDATE_SUFFICES,
                    relaxes: P::ORDER_INDEPENDENT,
                },
            },
            updates: match (P::GROUPS, P::COMBINABLE) {
                (true, _) => Updates::Grouped { bytes },
                (false, false) => Updates::Single { bytes },
                (false, true) => Updates::Merged,
            },
        };
        Self::with(size_of::<P::Value>(), ProgramKind::Fold(fold))
    }

    /// Layout of a program over triangles.
    pub fn of_intersect<I: Intersect>() -> Self {
        Self::with(size_of::<I::Value>(), ProgramKind::Triangles)
    }

    /// The layout of an extended program.
    pub fn of_extended<E: Extended>() -> Self {
        let [signal, accum, edge] =
            [size_of::<E::Signal>(), size_of::<E::Accum>(), size_of::<E::State>()];
        let [signal, accum, edge] = [signal, accum, edge].map(|bytes| bytes as u64);
        Self::with(size_of::<E::Value>(), ProgramKind::Extended { signal, accum, edge })
    }

    /// The layout of a stream program.
    pub fn of_stream<S: Stream>() -> Self {
        let kind = ProgramKind::Stream {
            cell: size_of::<S::VertexState>() as u64,
            aux: size_of::<S::Aux>() as u64,
            rewrites: S::PASSES != Some(1),
            contracts: S::CONTRACTS,
        };
        Self::with(size_of::<S::Value>(), kind)
    }

    /// The layout of an input scan, with `own` bytes of its own for a slot.
    pub fn of_input_scan<P: InputScan>(own: u64) -> Self {
        let input_scan = Some(InputScanCost::of::<P>(own));
        Self { input_scan, ..Self::with(size_of::<P::Value>(), ProgramKind::InputScan) }
    }

    /// The layout of a graph that is kept for programs that are not known yet: tiles for
    /// accumulators of 4 bytes, and no state.
    pub fn kept() -> Self {
        Self::with(0, ProgramKind::Unknown)
    }

    fn fold(&self) -> Option<&FoldLayout> {
        match &self.kind {
            ProgramKind::Fold(fold) => Some(fold),
            _ => None,
        }
    }

    /// Bytes of a signal, or of the cell of a stream program.
    pub(crate) fn signal(&self) -> u64 {
        match self.kind {
            ProgramKind::Fold(FoldLayout { signal, .. })
            | ProgramKind::Extended { signal, .. }
            | ProgramKind::Stream { cell: signal, .. } => signal,
            ProgramKind::Unknown | ProgramKind::Triangles | ProgramKind::InputScan => 0,
        }
    }

    /// Bytes of a destination in a stripe: an accumulator, or what a stream program learns of it,
    /// or the length of a row. Edges of extended programs look up what their targets say too, so a
    /// stripe has room for that beside the accumulators.
    pub(super) fn accum(&self) -> u64 {
        match self.kind {
            ProgramKind::Fold(fold) => fold.accum,
            ProgramKind::Extended { signal, accum, .. } => accum + signal,
            ProgramKind::Stream { cell, aux, .. } => cell + aux,
            ProgramKind::Unknown | ProgramKind::Triangles => 4,
            ProgramKind::InputScan => 0,
        }
    }

    /// Whether the program has a frontier.
    pub(super) fn has_frontier(&self) -> bool {
        self.fold().is_some_and(|fold| fold.frontier != FrontierKind::All)
    }

    /// Bytes of the flag whether a vertex is active.
    pub(super) fn active(&self) -> u64 {
        u64::from(self.has_frontier())
    }

    /// Bytes that sparse iterations take: an accumulator and a place on lists.
    pub(super) fn sparse(&self) -> u64 {
        match self.fold() {
            Some(FoldLayout { accum, frontier: FrontierKind::Monotone { .. }, .. }) => accum + 8,
            _ => 0,
        }
    }

    /// Whether vertices may look for an active one themselves.
    pub(super) fn pulls(&self) -> bool {
        let monotone = self.fold().map(|fold| fold.frontier);
        matches!(monotone, Some(FrontierKind::Monotone { pulls: true, .. }))
    }

    /// Whether edges may be relaxed part by part.
    pub(super) fn relaxes(&self) -> bool {
        let monotone = self.fold().map(|fold| fold.frontier);
        matches!(monotone, Some(FrontierKind::Monotone { relaxes: true, .. }))
    }

    /// Bytes of an update that waits for the others of its vertex, or of a row's entry.
    pub(super) fn group(&self) -> u64 {
        match self.kind {
            ProgramKind::Fold(FoldLayout { updates: Updates::Grouped { bytes }, .. }) => bytes,
            ProgramKind::Triangles => 4,
            _ => 0,
        }
    }

    /// Bytes of an update that meets its vertex as it is, alone or among the others; 0 in programs
    /// whose updates may be merged before.
    pub(super) fn single(&self) -> u64 {
        match self.fold().map(|fold| fold.updates) {
            Some(Updates::Single { bytes } | Updates::Grouped { bytes }) => bytes,
            Some(Updates::Merged) | None => 0,
        }
    }

    /// Bytes that are neither values nor signals: of programs over triangles ranks, where rows lie,
    /// and what is counted.
    pub(super) fn beside(&self) -> u64 {
        if self.intersects() { 12 } else { 0 }
    }

    /// Bytes of state of an edge.
    pub fn edge(&self) -> u64 {
        match self.kind {
            ProgramKind::Extended { edge, .. } => edge,
            _ => 0,
        }
    }

    /// Bytes that a program takes for a vertex in memory, beside degrees.
    pub fn bytes_a_vertex(&self) -> u64 {
        self.value + self.column() + 2 * self.active() + self.sparse() + self.beside() + self.own
    }

    /// Bytes of what edges look up of a vertex: signals in two columns, where iterations follow
    /// each other, or what a stream program learns.
    fn column(&self) -> u64 {
        match self.kind {
            ProgramKind::Fold(FoldLayout { signal, .. }) | ProgramKind::Extended { signal, .. } => {
                2 * signal
            }
            ProgramKind::Stream { cell, aux, .. } => cell + aux,
            ProgramKind::Unknown | ProgramKind::Triangles | ProgramKind::InputScan => 0,
        }
    }

    /// Whether it is an extended program.
    pub(super) fn is_extended(&self) -> bool {
        matches!(self.kind, ProgramKind::Extended { .. })
    }

    /// Whether values and signals need not be in memory all at once.
    pub fn streams(&self) -> bool {
        self.fold().is_some() || self.is_extended() || self.intersects()
    }

    /// Whether rows serve the program.
    pub(super) fn uses_index(&self) -> bool {
        self.sparse() > 0 || self.groups()
    }

    /// Whether it is a group program.
    pub(super) fn groups(&self) -> bool {
        self.fold().is_some_and(|fold| matches!(fold.updates, Updates::Grouped { .. }))
    }

    /// Whether it is a program over triangles.
    pub fn intersects(&self) -> bool {
        self.kind == ProgramKind::Triangles
    }

    /// Whether edges that are left are written anew, or contracted.
    pub(super) fn rewrites(&self) -> bool {
        match self.kind {
            ProgramKind::Stream { rewrites, contracts, .. } => rewrites || contracts,
            _ => false,
        }
    }

    /// Whether edges may be contracted.
    pub(super) fn contracts(&self) -> bool {
        matches!(self.kind, ProgramKind::Stream { contracts: true, .. })
    }

    /// Whether values may be on storage: those of stream programs are made when all else is done,
    /// and stay in memory.
    pub(super) fn may_store_values(&self) -> bool {
        (self.fold().is_some() || self.intersects()) && self.value > 0
    }

    /// Bytes of an update that waits on storage; in extended programs that is what a source says.
    pub(super) fn record(&self) -> u64 {
        4 + match self.kind {
            ProgramKind::Extended { signal, .. } => signal,
            _ if self.single() > 0 => self.single(),
            _ => self.accum(),
        }
    }

    /// Refuses a route that a program does not have: no user shall believe that it was taken.
    pub(super) fn check(&self, settings: &Settings) -> Result<(), EngineError> {
        let take = match self {
            _ if self.groups() => "fold or spill",
            _ if self.intersects() => "fold or spill",
            _ => "fold",
        };
        let refused = |why| Err(EngineError::Route { why, take });
        match settings.route {
            None | Some(Route::Fold) => Ok(()),
            _ if self.kind == ProgramKind::Unknown => {
                refused("a graph is kept for all programs and routes, and has no updates itself")
            }
            Some(Route::Ranges) if self.groups() => refused(
                "the updates of a vertex must wait for each other in this program, for which route \
                 ranges has no place",
            ),
            Some(Route::Ranges) if self.intersects() => refused(
                "this program compares neighbours of one vertex with those of another; on route \
                 ranges there is no place where both could meet",
            ),
            _ if self.streams() => Ok(()),
            _ => refused(
                "what this program learns of vertices lies in memory, where all edges find it; it \
                 has no updates that could wait on routes ranges and spill",
            ),
        }
    }

    /// Of `spare` bytes that could hold chunks, those that shall rather be free to write edges anew
    /// that are left: buffers of the workers, and a 32nd of the rest for edges that are contracted.
    pub(super) fn rewriting(&self, (threads, requests): (u64, &Requests), spare: u64) -> u64 {
        let ProgramKind::Stream { rewrites, contracts, .. } = self.kind else { return 0 };
        let left = if rewrites { footprint::left(requests) } else { 0 };
        let left = left + if contracts { footprint::contract(requests) } else { 0 };
        let buffers = spare.min(threads * left);
        buffers + if contracts { (spare - buffers) / 32 } else { 0 }
    }

    /// Bytes that are as many however many edges there are, beside the values: two columns of
    /// signals, or what a stream program learns, which reaches as far as a damaged key does.
    pub(super) fn columns(&self, vertices: u64, stripe_bits: u32) -> u64 {
        let sources = 1 << (KEY_BITS - stripe_bits);
        let padding = if self.fold().is_some() { sources } else { sources.max(1 << stripe_bits) };
        (vertices + padding) * self.column()
    }
}
