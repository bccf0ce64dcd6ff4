//! Ways to run a program on a graph, in one list, so that a test that is written once judges them
//! all; an executor that is added to the list is judged by every test.
//!
//! An executor promises one of two things about sums of floats: the same bits as [`interpret`]
//! gives (route `fold` on one machine, for any threads, widths, chunk sizes and encodings), or
//! numbers near them. Minima, and sums of integers, are the same bits on every executor.

mod memory;

use std::fmt::Debug;

use welter_engine::Machine;
use welter_engine::kept;
use welter_engine::plan::{FrontierMode, IndexMode, Route, Settings, StorageMode};
use welter_engine::{Checkpoints, EngineError};
use welter_model::edges::Reading;
use welter_model::extended::Extended;
use welter_model::ids::IdMap;
use welter_model::intersect::Intersect;
use welter_model::program::{Program, Value};
use welter_model::stream::Stream;
use welter_model::table::ColumnData;
use welter_store::frame::Compression;
use welter_store::header::Encoding;

pub use self::memory::{Room, integers, workers};
pub use crate::folder::Folder;
use crate::graph::Graph;
use crate::interpreter::{Answer, interpret, interpret_extended};
use crate::reading::read_as;

/// One way to run a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Executor {
    /// The interpreter, on what the plain reading makes of the edges.
    Reference,
    /// The engine.
    Memory(Memory),
    /// The engine, on a graph that was kept and is opened with these settings.
    Kept(Memory, Settings),
}

/// The engine, with what must not change an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Settings of the plan.
    pub settings: Settings,
    /// Edges in a part of the input.
    pub part_edges_max: usize,
    /// Whether the input states its number of slots where it need not.
    pub slots_stated: bool,
    /// Whether a sample of the input shows next to nothing of it.
    pub blind: bool,
}

/// A machine of the tests' own, so that plans are the same wherever they run.
pub const MACHINE: Machine = Machine {
    cores: 2,
    l1_bytes: 48 << 10,
    l2_bytes: 1 << 20,
    l3_bytes: 32 << 20,
    memory_bytes: 64 << 30,
};

/// All executors, the reference first.
pub fn executors() -> Vec<Executor> {
    use Compression::{Lz4, Snappy, Zlib, Zstd};
    use Encoding::{Compressed, Packed, Pairs, Short};
    use FrontierMode::{Asynchronous as Async, Auto, Dense};
    let always = |cache_bytes, values| StorageMode::Always { cache_bytes, values };
    let spill = |combined, fused| Route::Spill { combined, fused };
    let updates = |compression, (combined, fused), executor| {
        framed(compression, by(spill(combined, fused), executor))
    };
    let mut all = in_memory();
    all.extend([
        stored(2, Compressed, [12, 6], 1 << 10, (0, false), Auto),
        framed(Zstd, stored(1, Compressed, [13, 8], 1 << 16, (1 << 20, true), Dense)),
        framed(Snappy, stored(3, Pairs, [12, 7], 1 << 12, (0, true), Auto)),
        stored(2, Packed, [12, 6], 1 << 12, (0, false), Async),
        stored(2, Short, [12, 6], 1 << 10, (0, true), Auto),
        stored(3, Short, [13, 7], 1 << 16, (1 << 14, false), Async),
        stored(3, Compressed, [12, 7], 1 << 10, (0, true), Async),
        blind(stored(2, Compressed, [12, 7], 1 << 10, (0, false), Auto)),
        framed(Zlib, reopened([1, 3], Compressed, [12, 6], 1 << 10, StorageMode::Auto, Async)),
        framed(Lz4, reopened([3, 2], Packed, [13, 8], 1 << 12, always(3 << 20, false), Auto)),
        reopened([2, 1], Compressed, [12, 7], 1 << 10, always(0, true), Auto),
        reopened([1, 2], Packed, [12, 6], 1 << 12, always(0, false), Async),
    ]);
    all.extend([
        by(Route::Ranges, stored(2, Compressed, [12, 6], 1 << 10, (0, true), Auto)),
        by(Route::Ranges, stored(1, Short, [12, 7], 1 << 12, (0, true), Auto)),
        updates(Snappy, (true, true), stored(2, Short, [13, 6], 1 << 12, (0, true), Auto)),
        by(Route::Ranges, stored(3, Packed, [20, 12], 1 << 16, (0, true), Dense)),
        by(Route::Ranges, reopened([3, 2], Packed, [13, 8], 1 << 12, StorageMode::Auto, Auto)),
        updates(Lz4, (true, true), stored(2, Compressed, [12, 6], 1 << 10, (0, true), Auto)),
        updates(Zlib, (false, true), stored(3, Compressed, [13, 8], 1 << 12, (9999, true), Auto)),
        by(
            spill(true, false),
            reopened([2, 3], Compressed, [12, 7], 1 << 10, always(0, true), Auto),
        ),
        updates(Zstd, (false, false), stored(1, Pairs, [14, 8], 1 << 12, (0, true), Auto)),
    ]);
    all
}

/// Executors in memory, and the interpreter before them.
fn in_memory() -> Vec<Executor> {
    use Encoding::{Compressed, Packed, Pairs, Short};
    use FrontierMode::{Auto, Dense, Parallel, Pull, Serial};
    use IndexMode::{Granules, Rows};
    let mut modes = [Serial, Pull, Parallel, Auto, Parallel, Pull, Dense].into_iter().cycle();
    let mut indexes = [IndexMode::Auto, Rows, Granules].into_iter().cycle();
    let mut groups = [None, Some(1 << 12), Some(1 << 14)].into_iter().cycle();
    let mut memory = |threads, encoding, [stripe, block]: [u32; 2], chunk_bytes, part_edges_max| {
        let settings = Settings {
            threads: Some(threads),
            encoding: Some(encoding),
            stripe_bits: Some(stripe),
            block_bits: Some(block),
            chunk_bytes: Some(chunk_bytes),
            frontier: modes.next().unwrap_or_default(),
            index: indexes.next().unwrap_or_default(),
            group_bytes: groups.next().unwrap_or_default(),
            ..Settings::default()
        };
        let slots_stated = part_edges_max % 2 == 0;
        Executor::Memory(Memory { settings, part_edges_max, slots_stated, blind: false })
    };
    vec![
        Executor::Reference,
        Executor::Memory(Memory {
            settings: Settings { threads: Some(1), ..Settings::default() },
            part_edges_max: 1 << 20,
            slots_stated: true,
            blind: false,
        }),
        memory(2, Packed, [18, 12], 1 << 18, 1000),
        memory(3, Packed, [12, 6], 1 << 10, 7),
        memory(4, Compressed, [12, 6], 1 << 10, 10),
        memory(1, Compressed, [13, 19], 1 << 16, 1 << 20),
        memory(2, Compressed, [24, 8], 1 << 10, 33),
        memory(3, Packed, [20, 12], 1 << 12, 1),
        memory(4, Packed, [14, 7], 1 << 18, 501),
        memory(2, Packed, [12, 6], 1 << 12, 8),
        memory(2, Compressed, [14, 6], 1 << 12, 90),
        memory(1, Pairs, [12, 6], 1 << 12, 64),
        memory(3, Packed, [13, 6], 1 << 12, 2),
        memory(2, Short, [12, 6], 1 << 12, 31),
        memory(3, Short, [18, 12], 1 << 18, 400),
        memory(1, Short, [24, 6], 1 << 12, 60),
        blind(memory(2, Compressed, [12, 6], 1 << 10, 30)),
        blind(memory(3, Packed, [13, 8], 1 << 12, 50)),
    ]
}

/// The engine with bins and chunks on storage, and values too where it is said.
fn stored(
    threads: usize,
    encoding: Encoding,
    [stripe, block]: [u32; 2],
    chunk_bytes: usize,
    (cache_bytes, values): (u64, bool),
    frontier: FrontierMode,
) -> Executor {
    let settings = Settings {
        threads: Some(threads),
        encoding: Some(encoding),
        stripe_bits: Some(stripe),
        block_bits: Some(block),
        chunk_bytes: Some(chunk_bytes),
        frontier,
        storage: StorageMode::Always { cache_bytes, values },
        group_bytes: Some(1 << 12),
        ..Settings::default()
    };
    let part_edges_max = 100 * threads;
    Executor::Memory(Memory { settings, part_edges_max, slots_stated: true, blind: false })
}

/// The engine on a graph that was kept, with other threads than it is run with.
fn reopened(
    [before, after]: [usize; 2],
    encoding: Encoding,
    [stripe, block]: [u32; 2],
    chunk_bytes: usize,
    storage: StorageMode,
    frontier: FrontierMode,
) -> Executor {
    let settings = kept::settings(&Settings {
        threads: Some(before),
        encoding: Some(encoding),
        stripe_bits: Some(stripe),
        block_bits: Some(block),
        chunk_bytes: Some(chunk_bytes),
        ..Settings::default()
    });
    let memory = Memory { settings, part_edges_max: 77, slots_stated: false, blind: false };
    let threads = Some(after);
    Executor::Kept(memory, Settings { threads, storage, frontier, ..Settings::default() })
}

/// Executor of an input whose sample is misleading: stripes are too wide at first.
fn blind(executor: Executor) -> Executor {
    match executor {
        Executor::Memory(memory) => Executor::Memory(Memory { blind: true, ..memory }),
        other => other,
    }
}

/// Executor whose chunks are compressed on storage.
fn framed(compression: Compression, executor: Executor) -> Executor {
    let with = |memory: Memory| {
        let settings = Settings { compression: compression.into(), ..memory.settings };
        Memory { settings, ..memory }
    };
    match executor {
        Executor::Memory(memory) => Executor::Memory(with(memory)),
        Executor::Kept(memory, settings) => Executor::Kept(with(memory), settings),
        Executor::Reference => Executor::Reference,
    }
}

/// Executor with signals on storage too.
fn by(route: Route, executor: Executor) -> Executor {
    let route = Some(route);
    match executor {
        Executor::Memory(memory) => {
            Executor::Memory(Memory { settings: Settings { route, ..memory.settings }, ..memory })
        }
        Executor::Kept(memory, settings) => Executor::Kept(memory, Settings { route, ..settings }),
        Executor::Reference => Executor::Reference,
    }
}

/// Nearness that the answers of two executors must have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Nearness {
    /// Equality of the bits.
    Bits,
    /// This relative error, as in [`crate::relative_error`]. Executors of route `fold` on one
    /// machine must still agree with each other to the bit.
    Within(f64),
}

/// Runs a program on all executors, compares their answers with the reference's and with each
/// other, and returns the reference's.
///
/// # Panics
/// When an executor fails, or disagrees in vertices, values, iterations or totals.
pub fn judge<P: Program<Total: PartialEq + Debug>>(
    graph: &Graph,
    reading: Reading,
    program: &P,
    nearness: Nearness,
) -> Answer<P::Value, P::Total> {
    let expected = Executor::Reference.run(graph, reading, program);
    let mut folded: Option<(Executor, Answer<_, _>)> = None;
    let others = executors().into_iter().filter(|executor| *executor != Executor::Reference);
    for executor in others.filter(Executor::takes::<P>) {
        let found = executor.run(graph, reading, program);
        if found.in_step {
            assert_eq!(found.iterations, expected.iterations, "iterations of {executor:?}");
        }
        if executor.sums_in_another_order() && P::Value::columns(&found.values).iter().any(is_float)
        {
            let near = found.bits() == expected.bits() || {
                let most = if let Nearness::Within(most) = nearness { most } else { 1e-12 };
                crate::relative_error(&expected.numbers(), &found.numbers()) <= most
            };
            assert!(near, "{executor:?} is far from the reference");
            continue;
        }
        match nearness {
            Nearness::Bits => same_bits(&found, &expected, || format!("{executor:?}")),
            Nearness::Within(error_max) => {
                let error = crate::relative_error(&expected.numbers(), &found.numbers());
                assert!(error <= error_max, "{executor:?} is {error:.1e} from the reference");
            }
        }
        if let Some((first, answer)) = &folded {
            same_bits(&found, answer, || format!("{executor:?}, not {first:?}"));
        } else {
            folded = Some((executor, found));
        }
    }
    expected
}

/// Runs an extended program on all executors, compares their answers with the reference's to the
/// bit, and returns that. Totals that are floats are compared with each other only: the reference
/// adds vertices up one by one.
///
/// # Panics
/// When an executor fails, or disagrees in values, iterations or totals.
pub fn judge_extended<E: Extended<Total: PartialEq + Debug>>(
    graph: &Graph,
    reading: Reading,
    program: &E,
) -> Answer<E::Value, E::Total> {
    let expected = interpret_extended(&read_as(graph, reading), program);
    let mut totals: Option<Vec<E::Total>> = None;
    for executor in executors() {
        let Some(found) = executor.extend(graph, reading, program) else { continue };
        assert_eq!(found.iterations, expected.iterations, "iterations of {executor:?}");
        assert!(found.bits() == expected.bits(), "other bits by {executor:?}");
        if let Some(totals) = &totals {
            assert_eq!(*totals, found.totals, "totals of {executor:?}");
        }
        totals = Some(found.totals);
    }
    assert!(totals.is_some(), "no executor has a place for the state of edges");
    expected
}

/// Whether a column of results holds floats.
pub fn is_float((_, data): &(&str, ColumnData)) -> bool {
    matches!(data, ColumnData::F32(_) | ColumnData::F64(_))
}

fn same_bits<V: Value, T: PartialEq + Debug>(
    found: &Answer<V, T>,
    expected: &Answer<V, T>,
    name: impl Fn() -> String,
) {
    assert!(found.bits() == expected.bits(), "other bits by {}", name());
    assert_eq!(found.total, expected.total, "totals of {}", name());
    if found.in_step && expected.in_step {
        assert_eq!(found.totals, expected.totals, "totals of all iterations of {}", name());
    }
}

impl Executor {
    /// Whether it has a place for the updates of a program, which must wait for each other where
    /// it groups them.
    pub fn takes<P: Program>(&self) -> bool {
        !P::GROUPS || self.route() != Some(Route::Ranges)
    }

    /// The executor with `bytes` bytes for the groups of a worker.
    #[must_use]
    pub fn with_groups(mut self, bytes: u64) -> Self {
        if let Self::Memory(Memory { settings, .. }) | Self::Kept(_, settings) = &mut self {
            settings.group_bytes = Some(bytes);
        }
        self
    }

    /// The route that was stated to the engine.
    pub fn route(&self) -> Option<Route> {
        match self {
            Self::Reference => None,
            Self::Memory(Memory { settings, .. }) | Self::Kept(_, settings) => settings.route,
        }
    }

    /// Whether it writes checkpoints and continues from them.
    pub fn is_resumable(&self) -> bool {
        match self {
            Self::Reference => false,
            Self::Memory(_) | Self::Kept(..) => true,
        }
    }

    /// Whether a destination meets updates in another order than that of their sources.
    pub fn sums_in_another_order(&self) -> bool {
        matches!(self.route(), Some(Route::Spill { .. }))
    }

    /// Runs a program on a graph whose edges are to be read as `reading`.
    ///
    /// # Panics
    /// Failure of the executor.
    pub fn run<P: Program>(
        &self,
        graph: &Graph,
        reading: Reading,
        program: &P,
    ) -> Answer<P::Value, P::Total> {
        match self {
            Self::Reference => {
                let mut answer = interpret(&read_as(graph, reading), program);
                answer.values.retain(|value| !P::Value::LISTED || value.is_listed());
                answer
            }
            _ => self
                .run_resumable(graph, reading, program, None)
                .unwrap_or_else(|error| panic!("{self:?}: {error}")),
        }
    }

    /// Runs a stream program; also says in how many passes. The reference knows none.
    ///
    /// # Panics
    /// Failure of the executor.
    pub fn pass<S: Stream>(
        &self,
        graph: &Graph,
        reading: Reading,
        program: &S,
    ) -> Option<(Vec<S::Value>, u64)> {
        match self {
            Self::Reference => None,
            Self::Memory(memory) => Some(memory.pass_as(graph, None, reading, program)),
            Self::Kept(memory, settings) => {
                let done = memory.keep_and_pass(graph, reading, settings, program);
                Some(done.unwrap_or_else(|error| panic!("{self:?}: {error}")))
            }
        }
    }

    /// Walks over a graph's triangles. The reference is [`closed`](crate::plain::closed).
    ///
    /// # Panics
    /// Failure of the executor.
    pub fn intersect<I: Intersect>(
        &self,
        graph: &Graph,
        reading: Reading,
        program: &I,
    ) -> Option<Vec<I::Value>> {
        match self {
            Self::Reference => None,
            Self::Memory(memory) => Some(memory.intersect(graph, reading, program)),
            Self::Kept(memory, settings) => {
                let done = memory.keep_and_intersect(graph, reading, settings, program);
                Some(done.unwrap_or_else(|error| panic!("{self:?}: {error}")))
            }
        }
    }

    /// Runs an extended program. The reference is [`interpret_extended`].
    ///
    /// # Panics
    /// Failure of the executor.
    pub fn extend<E: Extended>(
        &self,
        graph: &Graph,
        reading: Reading,
        program: &E,
    ) -> Option<Answer<E::Value, E::Total>> {
        match self {
            Self::Reference => None,
            Self::Memory(memory) => Some(memory.extend(graph, reading, program)),
            Self::Kept(memory, settings) => {
                let done = memory.keep_and_extend(graph, reading, settings, program);
                Some(done.unwrap_or_else(|error| panic!("{self:?}: {error}")))
            }
        }
    }

    /// Runs a program that writes checkpoints, or continues from one.
    ///
    /// # Errors
    /// Error of the engine.
    ///
    /// # Panics
    /// When this is the reference, which knows no checkpoints.
    pub fn run_resumable<P: Program>(
        &self,
        graph: &Graph,
        reading: Reading,
        program: &P,
        checkpoints: Option<&Checkpoints>,
    ) -> Result<Answer<P::Value, P::Total>, EngineError> {
        self.run_as(graph, None, reading, program, checkpoints)
    }

    /// Runs a program on a graph whose slots have these ids, where that is said.
    ///
    /// # Errors
    /// Error of the engine.
    ///
    /// # Panics
    /// When this is the reference, which knows neither ids nor checkpoints.
    pub fn run_as<P: Program>(
        &self,
        graph: &Graph,
        ids: Option<&IdMap>,
        reading: Reading,
        program: &P,
        checkpoints: Option<&Checkpoints>,
    ) -> Result<Answer<P::Value, P::Total>, EngineError> {
        match self {
            Self::Reference => panic!("the reference knows neither ids nor checkpoints"),
            Self::Memory(memory) => memory.run((graph, ids), reading, program, checkpoints),
            Self::Kept(memory, settings) => {
                memory.keep_and_run((graph, ids), reading, settings, program, checkpoints)
            }
        }
    }
}
