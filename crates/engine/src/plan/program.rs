//! What a program takes for a vertex, and what it can do, as far as a plan depends on it.

use welter_model::extended::Extended;
use welter_model::intersect::Intersect;
use welter_model::program::Program;
use welter_model::straight::Straight;
use welter_model::stream::{BySlot, Stream};
use welter_store::header::KEY_BITS;

use super::settings::{Route, Settings};
use crate::EngineError;
use crate::schedules::footprint::{CONTRACT_BYTES, LEFT_BYTES};

/// Memory that a straight program takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Straightness {
    /// Whether it pays where edges would fit in memory, too.
    pub always: bool,
    /// Bytes of a slot: what it was told, and what the program itself has for it.
    pub slot: u64,
    /// Bytes of an update that waits, its target included.
    pub update: u64,
}

impl Straightness {
    /// The memory of a program with so many bytes of its own for a slot.
    pub fn of<P: Straight>(own: u64) -> Self {
        let [accum, update] = [size_of::<P::Accum>(), size_of::<P::Update>()];
        Self { always: true, slot: accum as u64 + own, update: update as u64 + 4 }
    }

    /// The memory of a stream program.
    pub fn of_stream<S: BySlot>() -> Self {
        // Two bits are less than a byte.
        let slot = (size_of::<S::Cell>() + size_of::<S::Note>()) as u64 + u64::from(S::BITS);
        Self { always: S::PASSES == Some(1), slot, update: 0 }
    }
}

/// Bytes that a program takes per vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a capability of the program")]
pub struct Layout {
    /// Bytes of a value.
    pub value: u64,
    /// Bytes of a signal, or of the cell of a stream program.
    pub signal: u64,
    /// Bytes of an accumulator, or of what a stream program learns of a target.
    pub accum: u64,
    /// Bytes that tell whether a vertex is active: 1 where the program has a frontier.
    pub active: u64,
    /// Bytes that sparse iterations take: an accumulator and a place on lists where the program is
    /// monotone.
    pub sparse: u64,
    /// Whether vertices may look for an active one themselves.
    pub pulled: bool,
    /// Bytes of an update that waits for the others of its vertex, in group programs.
    pub group: u64,
    /// Bytes of an update that is told as it is; 0 in programs whose updates may be merged.
    pub told: u64,
    /// Bytes that are neither values nor signals.
    pub beside: u64,
    /// Bytes that the caller holds in memory for the program, such as what tables say of vertices.
    pub own: u64,
    /// Whether it is a fold program, whose signals need not be in memory all at once.
    pub folds: bool,
    /// Bytes that a stream program learns beside its cell.
    pub note: u64,
    /// Bytes that each worker takes to write edges anew, in stream programs.
    pub left: u64,
    /// Whether a stream program's edges may be contracted.
    pub contracts: bool,
    /// Bytes of state of an edge, in extended programs.
    pub edge: u64,
    /// Whether edges may be relaxed in any order, and so part by part.
    pub relaxes: bool,
    /// Whether it can be run as a straight program, on a graph that stays in its input. It makes no
    /// difference to graphs that are kept.
    pub straight: Option<Straightness>,
}

impl Layout {
    /// The layout of a program.
    pub fn of<P: Program>() -> Self {
        Self {
            value: size_of::<P::Value>() as u64,
            signal: size_of::<P::Signal>() as u64,
            accum: size_of::<P::Accum>() as u64,
            active: u64::from(P::FRONTIER),
            sparse: if P::MONOTONE { size_of::<P::Accum>() as u64 + 8 } else { 0 },
            pulled: P::ONE_IS_ENOUGH,
            group: if P::GROUPS { size_of::<P::Update>() as u64 } else { 0 },
            told: if P::COMBINES { 0 } else { size_of::<P::Update>() as u64 },
            folds: true,
            relaxes: P::RELAXES,
            ..Self::default()
        }
    }

    /// The layout of a program over triangles: ranks, where rows lie, and what is counted.
    pub fn of_intersect<I: Intersect>() -> Self {
        let value = size_of::<I::Value>() as u64;
        Self { value, accum: 4, group: 4, beside: 12, ..Self::default() }
    }

    /// The layout of an extended program. Edges look up what their targets say too, so a stripe has
    /// room for that beside the accumulators.
    pub fn of_extended<E: Extended>() -> Self {
        let (value, signal) = (size_of::<E::Value>() as u64, size_of::<E::Signal>() as u64);
        let (accum, edge) = (size_of::<E::Accum>() as u64, size_of::<E::State>() as u64);
        Self { value, signal, accum: accum + signal, edge, ..Self::default() }
    }

    /// Bytes that a program takes for a vertex in memory, beside degrees.
    pub fn bytes_a_vertex(&self) -> u64 {
        self.value + self.column() + 2 * self.active + self.sparse + self.beside + self.own
    }

    /// Bytes of what edges look up of a vertex: signals in two columns, where iterations follow
    /// each other, or what a stream program learns.
    fn column(&self) -> u64 {
        let columns = if self.folds || self.edge > 0 { 2 } else { 1 };
        columns * self.signal + self.note
    }

    /// Whether values and signals need not be in memory all at once.
    pub(super) fn streams(&self) -> bool {
        self.folds || self.edge > 0 || self.intersects()
    }

    /// Whether rows serve the program.
    pub(super) fn looks_up(&self) -> bool {
        self.sparse > 0 || self.groups()
    }

    /// Whether it is a group program.
    pub(super) fn groups(&self) -> bool {
        self.folds && self.group > 0
    }

    /// Whether it is a program over triangles.
    pub(super) fn intersects(&self) -> bool {
        !self.folds && self.group > 0
    }

    /// Whether values may be on storage: those of stream programs are made when all else is done,
    /// and stay in memory.
    pub(super) fn may_store_values(&self) -> bool {
        (self.folds || self.intersects()) && self.value > 0
    }

    /// Bytes of an update that waits on storage; in extended programs that is what a source says.
    pub(super) fn record(&self) -> u64 {
        4 + match self {
            _ if self.edge > 0 => self.signal,
            _ if self.told > 0 => self.told,
            _ => self.accum,
        }
    }

    /// Refuses a route that a program does not have: nobody shall believe that it was taken.
    pub(super) fn check(&self, settings: &Settings) -> Result<(), EngineError> {
        let take = match self {
            _ if self.groups() => "fold or spill",
            _ if self.intersects() => "fold or spill",
            _ => "fold",
        };
        let refused = |why| Err(EngineError::Route { why, take });
        match settings.route {
            None | Some(Route::Fold) => Ok(()),
            _ if *self == Self::kept() => {
                refused("a graph is kept for all programs and routes, and has no updates itself")
            }
            Some(Route::Ranges) if self.groups() => refused(
                "the updates of a vertex must wait for each other in this program, for which route \
                 ranges has no place",
            ),
            Some(Route::Ranges) if self.intersects() => refused(
                "this program holds neighbours of one vertex against those of another; on route \
                 ranges there is no place where both could meet",
            ),
            _ if self.streams() => Ok(()),
            _ => refused(
                "what this program learns of vertices lies in memory, where all edges find it; it \
                 has no updates that could wait on routes ranges and spill",
            ),
        }
    }

    /// The layout of a graph that is kept for programs which nobody knows yet: tiles for
    /// accumulators of 4 bytes, and no state.
    pub fn kept() -> Self {
        Self { accum: 4, ..Self::default() }
    }

    /// The layout of a stream program.
    pub fn of_stream<S: Stream>() -> Self {
        let (value, cell) = (size_of::<S::Value>() as u64, size_of::<S::Cell>() as u64);
        let note = size_of::<S::Note>() as u64;
        let contracts = S::CONTRACTS;
        let left = if S::PASSES == Some(1) { 0 } else { LEFT_BYTES };
        let left = left + if contracts { CONTRACT_BYTES } else { 0 };
        Self { value, signal: cell, accum: cell + note, note, left, contracts, ..Self::kept() }
    }

    /// Of so many bytes that could hold chunks, those that shall rather be free to write edges anew
    /// that are left: buffers of the workers, and a 32nd of the rest for edges that are
    /// contracted.
    pub(super) fn rewriting(&self, threads: u64, spare: u64) -> u64 {
        let buffers = spare.min(threads * self.left);
        buffers + if self.contracts { (spare - buffers) / 32 } else { 0 }
    }

    /// Bytes that are as many however many edges there are, beside the values: two columns of
    /// signals, or what a stream program learns, which reaches as far as a damaged key does.
    pub(super) fn columns(&self, vertices: u64, stripe_bits: u32) -> u64 {
        let sources = 1 << (KEY_BITS - stripe_bits);
        let padding = if self.folds { sources } else { sources.max(1 << stripe_bits) };
        (vertices + padding) * self.column()
    }
}
