//! Resuming from a checkpoint: the last one, or the one before where that is damaged.

use bytemuck::cast_slice_mut;
use welter_store::sealed::SealedReader;
use welter_store::{StoreError, checksum};

use super::columns::Settable;
use super::manifest::{Entry, LEVEL_BYTES, MODE_BITS, Shape, VERSION, version};
use super::striped::StripedReader;
use super::{Checkpoints, RunProgress};
use crate::EngineError;
use crate::columns::levels::{IterationStats, Mode};
use crate::columns::totals::Totals;
use crate::edges::graph::Graph;
use crate::machine::sync::lock;

/// Vertices whose flags are unpacked at a time.
const PACKED: usize = 1 << 15;

/// Sets columns to those of a checkpoint, and says how far that was; `None` where there is none
/// yet.
pub(crate) fn restore_columns(
    checkpoints: &Checkpoints,
    graph: &Graph,
    shape: Shape,
    mut columns: impl Settable,
) -> Result<Option<RunProgress>, EngineError> {
    let shape = checkpoints.of_edges(shape);
    let entries = lock(&checkpoints.progress).entries.clone();
    let mut first = None;
    for entry in entries {
        belongs(checkpoints, &entry.shape, &shape)?;
        let read = read_state(checkpoints, graph, &mut columns, &entry);
        // Of a damaged one too: the next one is put to the same places.
        columns.finish()?;
        match read {
            Ok(reached) => {
                let mut written = lock(&checkpoints.progress);
                written.entries.retain(|other| other.iterations <= entry.iterations);
                written.stats.resumed_at = Some(entry.iterations);
                if let Some(error) = first {
                    let iterations = entry.iterations;
                    let what = format!("{error}; going on from the one before, {iterations}");
                    written.notes.push(what);
                }
                return Ok(Some(reached));
            }
            // The bytes that were read may be anything, and is written over by the next one.
            Err(error) if is_damage(&error) => drop(first.get_or_insert(error)),
            Err(error) => return Err(error),
        }
    }
    first.map_or(Ok(None), Err)
}

/// Refuses a checkpoint of another graph or program.
fn belongs(checkpoints: &Checkpoints, then: &Shape, now: &Shape) -> Result<(), EngineError> {
    if now == then {
        return Ok(());
    }
    let directory = checkpoints.directory.display();
    if *now == (Shape { order: now.order, ..*then }) {
        let what = "edges lay in another order when the run began, and so do their states: go on \
                    with the threads, the memory, the encoding and the route of then";
        return Err(EngineError::Changed(format!("{directory}: {what}")));
    }
    if (now.vertices, now.edges, now.edges_read) == (then.vertices, then.edges, then.edges_read) {
        let what = format!("{directory}: the run was begun by another version of this program");
        return Err(EngineError::Changed(what));
    }
    Err(EngineError::Changed(format!(
        "{directory}: the graph is not the one that the run began with: {} vertices and {} edges \
         then, {} and {} now{}",
        then.vertices,
        then.edges,
        now.vertices,
        now.edges,
        if now.edges_read == then.edges_read { "" } else { ", and other edges" },
    )))
}

/// Whether a file is not what was written, so that another may serve.
fn is_damage(error: &EngineError) -> bool {
    let EngineError::Store(error) = error else { return false };
    matches!(error, StoreError::Damaged { .. } | StoreError::Ended { .. })
}

fn read_state(
    checkpoints: &Checkpoints,
    graph: &Graph,
    columns: &mut impl Settable,
    entry: &Entry,
) -> Result<RunProgress, EngineError> {
    let mut payload = Payload::open(checkpoints, entry)?;
    for stripe in 0..graph.stripes.len() {
        columns.values(stripe, &mut |values| payload.read(values))?;
    }
    let mut active = graph.vertices();
    if entry.shape.frontier == 1 {
        let mut bits = Bits { flags: Vec::new(), next: 0, left: graph.vertices(), set: 0 };
        for stripe in 0..graph.stripes.len() {
            columns.active(stripe, &mut |flags| payload.flags(&mut bits, flags))?;
        }
        active = bits.set;
    }
    let levels = payload.levels(entry.levels)?;
    let totals = payload.totals(entry)?;
    if entry.shape.state_bytes > 0 {
        columns.states(&mut |states| payload.read(states))?;
    }
    payload.end(entry)?;
    let Entry { iterations, lookups, .. } = *entry;
    Ok(RunProgress { iterations, totals, levels, active, lookups })
}

/// Flags that were unpacked and not taken yet.
struct Bits {
    flags: Vec<u8>,
    next: usize,
    /// Number of flags that were not unpacked.
    left: u64,
    /// Vertices that are active, so far.
    set: u64,
}

/// The files of a checkpoint, and the checksum of what was read of them.
struct Payload {
    reader: StripedReader,
    version: u16,
    path: std::path::PathBuf,
    checksum: u32,
}

impl Payload {
    fn open(checkpoints: &Checkpoints, entry: &Entry) -> Result<Self, StoreError> {
        let path = checkpoints.state_path(entry);
        let opened = checkpoints.home.open(&path);
        let files = opened.map_err(|error| error.of_linked_file(&checkpoints.directory))?;
        let identity = checkpoints.identity(entry.iterations);
        let mut found = VERSION;
        for file in &files {
            found = version(file)?;
            file.belongs_to(identity.graph, identity.generation)?;
        }
        let all: u64 = files.iter().map(SealedReader::payload_bytes).sum();
        let reader = StripedReader::new(files);
        let payload = Self { reader, version: found, path, checksum: 0 };
        match entry.shape.payload_bytes(found, entry.iterations, entry.levels) {
            Some(bytes) if bytes == all => Ok(payload),
            _ => Err(payload.damaged(40, "the manifest says that it has another length")),
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), StoreError> {
        self.reader.read(bytes)?;
        self.checksum = checksum::append(self.checksum, bytes);
        Ok(())
    }

    /// Flags of the next vertices: 1 where one is active.
    fn flags(&mut self, bits: &mut Bits, mut active: &mut [u8]) -> Result<(), StoreError> {
        while !active.is_empty() {
            if bits.next == bits.flags.len() {
                self.unpack(bits)?;
            }
            let count = active.len().min(bits.flags.len() - bits.next);
            let (front, rest) = active.split_at_mut(count);
            front.copy_from_slice(&bits.flags[bits.next..][..count]);
            bits.next += count;
            active = rest;
        }
        Ok(())
    }

    fn unpack(&mut self, bits: &mut Bits) -> Result<(), StoreError> {
        let count = bits.left.min(PACKED as u64) as usize;
        let mut packed = [0; PACKED / 8];
        let packed = &mut packed[..count.div_ceil(8)];
        self.read(packed)?;
        bits.flags.clear();
        for byte in packed {
            bits.flags.extend((0..8).map(|bit| *byte >> bit & 1));
        }
        bits.flags.truncate(count);
        bits.set += bits.flags.iter().map(|flag| u64::from(*flag)).sum::<u64>();
        bits.left -= count as u64;
        bits.next = 0;
        Ok(())
    }

    fn levels(&mut self, count: u64) -> Result<Vec<IterationStats>, StoreError> {
        let mut levels = Vec::new();
        for _ in 0..count {
            let mut record = [0_u64; LEVEL_BYTES as usize / 8];
            self.read(cast_slice_mut(&mut record))?;
            let mode = match record[0] & ((1 << MODE_BITS) - 1) {
                0 => Mode::Dense,
                1 => Mode::Pull,
                2 => Mode::Sparse,
                3 => Mode::Asynchronous,
                _ => return Err(self.damaged(64, "an iteration was done in a way unknown")),
            };
            let iterations = (record[0] >> MODE_BITS) + 1;
            levels.push(IterationStats { mode, active: record[1], edges: record[2], iterations });
        }
        Ok(levels)
    }

    fn totals(&mut self, entry: &Entry) -> Result<Totals, StoreError> {
        // The length of the payload says that there are this many totals.
        let kept = entry.shape.totals(self.version, entry.iterations).unwrap_or_default();
        let width = entry.shape.total_bytes as usize;
        Totals::restored(width, (kept, entry.iterations + 1), |total| self.read(total))
    }

    /// Checks what was read against what the manifest says.
    fn end(self, entry: &Entry) -> Result<(), StoreError> {
        if self.checksum == entry.checksum {
            return Ok(());
        }
        Err(self.damaged(64, "it is not what the manifest lists: another checksum"))
    }

    fn damaged(&self, offset: u64, what: &str) -> StoreError {
        StoreError::Damaged { file: self.path.clone(), offset, what: what.to_owned() }
    }
}

/// Error of a run that must relax edges and cannot.
pub(crate) fn refuse_relaxing() -> EngineError {
    let what = "this run continues from values that were relaxed part by part, and has too little \
                memory to do so; allow it more";
    EngineError::Room(what)
}
