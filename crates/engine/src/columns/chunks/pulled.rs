//! Edges of a chunk that was pulled: folded, scattered, or shown.

use bytemuck::{Pod, cast_slice, try_cast_slice};
use welter_model::extended::Extended;
use welter_model::program::Program;
use welter_model::stream::{Again, Edge, Stream};
use welter_store::chunk::{Chunk, Tile};
use welter_store::{ChunkError, checksum};

use super::Cell;
use crate::EngineError;
use crate::kernels::ends::{Ends, Said};
use crate::kernels::gather::{Look, Sides};
use crate::kernels::kernel::{Coding, Scratch, Sources, fold_within, scatter_tile};
use crate::kernels::keys::{Columns, Reach};
use crate::kernels::sift::sift_tile;

/// A chunk of a cell, whole, whose keys may still be anything.
#[derive(Clone, Copy, Debug)]
pub struct Pulled<'c, 'b> {
    pub(super) cell: &'c Cell,
    pub(super) chunk: Chunk<'b>,
}

impl<'b> Pulled<'_, 'b> {
    /// How many edges it has.
    pub fn edges(&self) -> u64 {
        self.chunk.edges()
    }

    /// How many bytes it has; behind these may be [`states`].
    pub fn bytes(&self) -> usize {
        self.chunk.bytes()
    }

    /// Folds all edges into the accumulators of the stripe. `sources`: what those of the cell say.
    ///
    /// # Errors
    /// When an edge leads outside these columns. Some edges were folded then.
    pub fn fold<P: Program>(
        &self,
        program: &P,
        sources: Sources<'_, P::Signal>,
        accums: &mut [P::Accum],
        scratch: &mut Scratch,
    ) -> Result<(), EngineError> {
        let coding = Coding::of::<P>(self.chunk.label());
        self.tiles([known(&sources), accums.len()], |tile, place, columns| {
            let (edges, sources) = (0..tile.edges, from(&sources, place));
            fold_within(program, tile, edges, (coding, columns), sources, accums, scratch);
        })
    }

    /// Hands the updates of all edges to `put`, with their destinations.
    ///
    /// # Errors
    /// When an edge leads outside the sources or the stripe. Some were scattered then.
    pub fn scatter<P: Program>(
        &self,
        program: &P,
        sources: Sources<'_, P::Signal>,
        scratch: &mut Scratch,
        mut put: impl FnMut(u64, P::Update),
    ) -> Result<(), EngineError> {
        let coding = Coding::of::<P>(self.chunk.label());
        let first = self.cell.targets.start;
        let width = self.cell.targets.end - first;
        self.tiles([known(&sources), width as usize], |tile, place, columns| {
            let put = |target: u32, update| put(first + u64::from(target), update);
            let sources = from(&sources, place);
            scatter_tile(program, tile, (coding, columns), sources, scratch, put);
        })
    }

    /// Hands the edges to `show` that are news to the cells of all vertices.
    ///
    /// # Errors
    /// When an edge leads to a vertex that has no cell. Some were shown then.
    pub fn sift<S: Stream>(
        &self,
        program: &S,
        step: S::Step,
        cells: &[S::Cell],
        scratch: &mut Scratch,
        show: impl Fn(Edge) + Copy,
    ) -> Result<(), EngineError> {
        let coding = Coding::weighted(self.chunk.label(), S::WEIGHTED);
        let [first, first_target] = [&self.cell.sources, &self.cell.targets]
            .map(|range| cells.len().min(range.start as usize));
        let (sources, targets) = (&cells[first..], &cells[first_target..]);
        // Edges that hand on what changed see what those before them changed.
        let look = match program.again(step) {
            Again::Anytime | Again::Never if S::UNEQUAL => Look::Unequal,
            Again::Anytime | Again::Never => Look::Runs,
            _ => Look::Up,
        };
        self.tiles([sources.len(), targets.len()], |tile, place, columns| {
            let sides = Sides { sources: &sources[place..], targets, look };
            let base = tile.source as u32;
            sift_tile(
                tile,
                (coding, columns),
                &sides,
                scratch,
                #[inline(always)]
                |source, target| program.news(step, source, target),
                #[inline(always)]
                |source, target, weight| {
                    let target = first_target as u32 + target;
                    show(Edge { source: base + source, target, weight });
                },
            );
        })
    }

    /// Shows all edges what their ends say, with their states, and hands what they tell to `tell`,
    /// with the place of their destination in the stripe. `ends`: what the sources and the
    /// destinations of the cell say.
    ///
    /// # Errors
    /// When an edge leads outside these columns, or there are not as many states as edges. Some
    /// were shown then.
    pub fn extend<E: Extended>(
        &self,
        program: &E,
        [sources, targets]: [&[E::Signal]; 2],
        states: &mut [E::State],
        scratch: &mut Scratch,
        mut tell: impl FnMut(usize, E::Update),
    ) -> Result<(), EngineError> {
        if states.len() as u64 != self.edges() {
            return Err(self.other_states(states.len()));
        }
        let coding = Coding::weighted(self.chunk.label(), E::WEIGHTED);
        let mut rest = states;
        self.tiles([sources.len(), targets.len()], |tile, place, columns| {
            let base = [tile.source, self.cell.targets.start].map(|first| first as usize);
            let said = Said::Sources(&sources[place..]);
            let ends = Ends { program, base, said, targets };
            coding.keys(tile, 0..tile.edges, scratch, |keys, weights| {
                let (states, left) = std::mem::take(&mut rest).split_at_mut(keys.len());
                rest = left;
                let keys = columns.hold(keys, coding.target_bits);
                ends.run(keys, weights, states, &mut tell);
            });
        })
    }

    /// Hands each tile to `each`, with the place of its first source in a column of the cell's, and
    /// what its keys must not leave.
    fn tiles(
        &self,
        [sources, targets]: [usize; 2],
        mut each: impl FnMut(&Tile<'b>, usize, &Columns),
    ) -> Result<(), EngineError> {
        for tile in self.chunk.tiles() {
            // No tile begins before the base of its chunk, which is that of the cell.
            let place = tile.source - self.cell.sources.start;
            let left = (sources as u64).checked_sub(place).ok_or_else(|| self.outside(place))?;
            let columns = Columns::new([left as usize, targets]);
            each(&tile, place as usize, &columns);
            if let Some(key) = columns.outside() {
                return Err(self.outside(key.into()));
            }
        }
        Ok(())
    }

    fn outside(&self, value: u64) -> EngineError {
        self.cell.failed(ChunkError::Field { what: "key of an edge", offset: 0, value })
    }

    fn other_states(&self, states: usize) -> EngineError {
        let (what, offset) = ("number of states of edges", self.bytes() as u64);
        self.cell.failed(ChunkError::Field { what, offset, value: states as u64 })
    }
}

/// Sources that something is known of.
fn known<S>(sources: &Sources<'_, S>) -> usize {
    let flags = sources.active.map_or(usize::MAX, <[u8]>::len);
    sources.signals.len().min(flags)
}

/// Sources from a place on.
fn from<'a, S>(sources: &Sources<'a, S>, place: usize) -> Sources<'a, S> {
    let Sources { signals, active } = *sources;
    Sources { signals: &signals[place..], active: active.map(|active| &active[place..]) }
}

/// Bytes between a chunk and the states of its edges: their checksum, and zeros.
const STATES_HEAD_BYTES: usize = 8;

/// A chunk with the states of its edges behind it, in the order in which they are shown.
pub fn with_states<S: Pod>(chunk: &[u8], states: &[S]) -> Vec<u8> {
    let states: &[u8] = cast_slice(states);
    let checksum = u64::from(checksum::of(states)).to_le_bytes();
    [chunk, &checksum, states].concat()
}

/// The chunk at the front of some bytes, and the states behind it.
///
/// # Errors
/// As [`Cell::open`], and when the states are not what was written.
pub fn states<'c, 'b, S: Pod>(
    cell: &'c Cell,
    bytes: &'b [u8],
) -> Result<(Pulled<'c, 'b>, &'b [S]), EngineError> {
    let pulled = cell.open(bytes)?;
    let offset = pulled.bytes();
    let behind = bytes[offset..].split_at_checked(STATES_HEAD_BYTES);
    let states = behind
        .filter(|(checksum, states)| *checksum == u64::from(checksum::of(states)).to_le_bytes());
    let states = states.and_then(|(_, states)| try_cast_slice::<u8, S>(states).ok());
    match states {
        Some(states) if states.len() as u64 == pulled.edges() => Ok((pulled, states)),
        Some(states) => Err(pulled.other_states(states.len())),
        None => {
            let error = ChunkError::Checksum { what: "states of edges", offset: offset as u64 };
            Err(cell.failed(error))
        }
    }
}
