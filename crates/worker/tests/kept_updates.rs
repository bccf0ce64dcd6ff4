//! Updates that a worker has no room for in memory: the answer, the memory and the bytes that move.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::cast_slice;
use welter_algorithms::Cdlp;
use welter_engine::EngineError;
use welter_engine::chunks::{FoldKernel, Kernel, UpdateKey, write_updates};
use welter_model::group::Grouped;
use welter_protocol::config::Route;
use welter_protocol::ids::{Block, BlockName, Bytes, Epoch, Kind, Phase, Role, Step};
use welter_protocol::partitions::Partitions;
use welter_protocol::random::Random;
use welter_protocol::{Outcome, Payload, Work};
use welter_store::header::Encoding;
use welter_worker::{
    KernelWorker, Listed, MemoryScratch, Partitioning, ScratchSpace, Worker, kept_bytes,
};

const GRAPH: u64 = 7;
const VERTICES: u32 = 500;
const UPDATES: u64 = 20_000;

/// Bytes of an update with its destination.
const UPDATE_BYTES: u64 = 8;

/// Bytes that lie in a scratch place, that were written, and that were read.
type Moved = Arc<[AtomicU64; 3]>;

/// A scratch place that counts.
struct Counted {
    inner: MemoryScratch,
    moved: Moved,
}

impl ScratchSpace for Counted {
    fn append(&mut self, bytes: &[u8]) -> Result<u64, EngineError> {
        for count in &self.moved[..2] {
            count.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        }
        self.inner.append(bytes)
    }

    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), EngineError> {
        self.moved[2].fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.inner.read(offset, bytes)
    }

    fn clear(&mut self) -> Result<(), EngineError> {
        self.moved[0].store(0, Ordering::Relaxed);
        self.inner.clear()
    }
}

/// A worker of communities that has one partition, which it gathers.
struct Machine {
    worker: KernelWorker,
    vertices: Vec<Payload>,
    control: Bytes,
    moved: Moved,
}

fn cut() -> Partitioning {
    let vertices = VERTICES.into();
    Partitioning {
        partitions: Partitions::fitting(1, vertices, 1, vertices).expect("a vertex fits"),
        route: Route::Spill,
        encoding: Encoding::Packed,
        chunk_records: 100,
        bin_chunks: 1,
        chunk_vertices: 90,
        piece_edges: 50,
        bins_open_max: u64::MAX,
        source_parts: 1,
        stripe_bits: 63,
        combines: true,
    }
}

impl Machine {
    /// A machine that keeps this number of updates in memory.
    fn new(updates_max: u64) -> Self {
        let kernel = Kernel::Fold(FoldKernel::of(Arc::new(Grouped(Cdlp::new(3)))));
        let input = Box::new(Listed::new(Vec::new()));
        let mut worker = KernelWorker::new(kernel, cut(), GRAPH, input).expect("numbers fit");
        let moved = Moved::default();
        let inner = MemoryScratch::default();
        worker.keep_at_most(updates_max, Box::new(Counted { inner, moved: moved.clone() }));
        let ingest = worker.work(&Work::Ingest { first: true });
        let Ok(Outcome::Ingested { degrees: Some(degrees), .. }) = ingest else {
            panic!("there are no edges")
        };
        let made = worker.work(&Work::Init { partition: 0, degrees });
        let Ok(Outcome::Made { vertices, total, .. }) = made else { panic!("first values") };
        let totals = vec![(0, total)];
        let decided = worker.work(&Work::Decide { iterations: 0, control: [].into(), totals });
        let Ok(Outcome::Decided { control, .. }) = decided else { panic!("an iteration") };
        let mut machine = Self { worker, vertices, control, moved };
        machine.open();
        machine
    }

    fn open(&mut self) {
        let step = Step { iteration: 0, phase: Phase::Gather };
        let (vertices, control) = (self.vertices.clone(), self.control.clone());
        let opened = self.worker.work(&Work::Open { step, partition: 0, vertices, control });
        assert!(matches!(opened, Ok(Outcome::Opened)), "{opened:?}");
    }

    /// Gathers updates, by chunks.
    fn stream(&mut self, updates: &[(u32, u32)]) -> Result<(), EngineError> {
        for updates in updates.chunks(700) {
            let payload = chunk(updates);
            let name = BlockName {
                kind: Kind::Updates,
                role: Role::Primary,
                epoch: Epoch::default(),
                iteration: 0,
                partition: 0,
                source: None,
                number: 0,
            };
            let block = Block::of(name, updates.len() as u32, u64::MAX, &payload);
            self.worker.work(&Work::Stream { block, payload })?;
        }
        Ok(())
    }

    /// The vertices that all that was gathered makes.
    fn apply(&mut self) -> Result<Vec<u8>, EngineError> {
        let Outcome::Made { vertices, .. } = self.worker.work(&Work::Apply)? else {
            panic!("vertices are made")
        };
        Ok(vertices.iter().flat_map(|chunk| chunk.to_vec()).collect())
    }

    /// Bytes that lie in the scratch place, that were written, and that were read.
    fn moved(&self) -> [u64; 3] {
        [0, 1, 2].map(|place: usize| self.moved[place].load(Ordering::Relaxed))
    }
}

/// A chunk of updates: destinations and labels.
fn chunk(updates: &[(u32, u32)]) -> Payload {
    let (targets, labels): (Vec<u32>, Vec<u32>) = updates.iter().copied().unzip();
    let at = (GRAPH, UpdateKey::new(0, 0, 0));
    write_updates(4, at, (&targets, cast_slice(&labels)), targets.len() as u64).into()
}

/// Updates of which a vertex gets a thousand or so, and each other one forty.
fn updates() -> Vec<(u32, u32)> {
    let mut random = Random::new(5);
    let mut update = || {
        let target = if random.chance(50) { 3 } else { random.below(VERTICES.into()) };
        (target as u32, random.below(9) as u32)
    };
    (0..UPDATES).map(|_| update()).collect()
}

/// The vertices that all updates make where they are kept in memory.
fn expected() -> Vec<u8> {
    let mut machine = Machine::new(u64::MAX);
    machine.stream(&updates()).expect("they are for vertices");
    machine.apply().expect("there is memory")
}

#[test]
fn pieces_come_to_what_one_list_does() {
    let (updates, expected) = (updates(), expected());
    let bytes = UPDATES * UPDATE_BYTES;
    // The bin of the hub alone has no room among the fewest.
    for most in [1 << 11, 1 << 12] {
        let mut machine = Machine::new(most);
        machine.stream(&updates).expect("they are for vertices");
        let [_, written, _] = machine.moved();
        assert!(written >= bytes - most * UPDATE_BYTES, "what has no room was written");
        assert!(machine.apply().expect("each vertex has room") == expected, "{most}");
        let [lies, written, read] = machine.moved();
        assert_eq!(lies, 0, "nothing is left");
        assert!(written < bytes * 5 / 4, "{written} bytes of {bytes} are written once");
        assert!(read < written * 3 / 2, "{read} of {written} bytes are read once, or few again");
        // The chunks of the partition again for each piece that fits, which others would send.
        let again = UPDATES.div_ceil(most) * bytes;
        assert!(bytes + written + read < again, "{written} and {read} beside {again}");
        let (peak, most_bytes) =
            (machine.worker.kept_bytes_peak(), kept_bytes(most, 4, VERTICES.into()));
        assert!(peak <= most_bytes, "{peak} of {most_bytes} bytes");
        assert!((most * UPDATE_BYTES..bytes).contains(&peak), "{peak} bytes of memory");
    }
    let mut machine = Machine::new(1 << 15);
    machine.stream(&updates).expect("they are for vertices");
    assert!(machine.apply().expect("all have room") == expected);
    assert_eq!(machine.moved(), [0; 3], "what has room stays in memory");
}

#[test]
fn updates_of_one_vertex_must_have_room() {
    let mut machine = Machine::new(1 << 9);
    machine.stream(&updates()).expect("they are for vertices");
    let Err(EngineError::Budget { need, budget, .. }) = machine.apply() else {
        panic!("those of the hub have no room")
    };
    assert!(need > budget, "{need} of {budget}");
    // With as much as that they have.
    let most = (1 << 9) * need.div_ceil(budget).next_power_of_two();
    let mut machine = Machine::new(most);
    machine.stream(&updates()).expect("they are for vertices");
    assert!(machine.apply().is_ok(), "{most}");
}

#[test]
fn what_was_kept_before_is_forgotten() {
    let updates = updates();
    let mut machine = Machine::new(1 << 11);
    machine.stream(&updates[..9_000]).expect("they are for vertices");
    assert!(machine.moved()[0] > 0);
    // Another epoch has begun.
    machine.open();
    assert_eq!(machine.moved()[0], 0);
    machine.stream(&updates).expect("they are for vertices");
    assert!(machine.apply().expect("each vertex has room") == expected());
}

#[test]
fn updates_that_have_no_room_are_handed_over() {
    let updates = updates();
    let (own, others) = updates.split_at(UPDATES as usize / 3);
    let [mut master, mut helper] = [1 << 11, 1 << 12].map(Machine::new);
    master.stream(own).expect("they are for vertices");
    helper.stream(others).expect("they are for vertices");
    assert!(helper.moved()[0] > 0);
    let handed = helper.worker.work(&Work::HandOver).expect("there is memory");
    let Outcome::HandedOver(payload) = handed else { panic!("updates") };
    assert_eq!(helper.moved()[0], 0);
    let merged = master.worker.work(&Work::Merge(payload)).expect("they are for vertices");
    assert!(matches!(merged, Outcome::Merged));
    assert!(master.apply().expect("each vertex has room") == expected());
}

#[test]
fn updates_for_no_vertex_are_errors() {
    let outside: Vec<_> = (0..3_000).map(|label| (VERTICES, label)).collect();
    let mut machine = Machine::new(1 << 11);
    assert!(machine.stream(&outside).is_err(), "where they are written");
    machine.open();
    machine.stream(&outside[..100]).expect("they are not looked at yet");
    assert!(machine.apply().is_err(), "where they are grouped");
}
