//! Going on from a checkpoint: the last one, or the one before where that is damaged.

use bytemuck::{Pod, Zeroable, bytes_of_mut, cast_slice_mut};
use welter_model::program::Program;
use welter_store::StoreError;
use welter_store::sealed::SealedReader;

use super::manifest::{Entry, LEVEL_BYTES, Shape, VERSION};
use super::{Checkpoints, Reached, STATE_KIND};
use crate::EngineError;
use crate::graph::Graph;
use crate::iterate::{Level, Mode};
use crate::state::{Parts, State};
use crate::values::Desk;
use crate::workers::lock;

/// Vertices whose flags are unpacked at a time.
const PACKED: usize = 1 << 15;

/// Sets the columns of a run to those of a checkpoint, and says how far that was; `None` where
/// there is none yet.
pub(crate) fn restore<P: Program>(
    checkpoints: &Checkpoints,
    graph: &Graph,
    program: &P,
    state: &mut State<P>,
) -> Result<Option<Reached<P::Total>>, EngineError> {
    let entries = lock(&checkpoints.progress).entries.clone();
    let mut first = None;
    for entry in entries {
        belongs::<P>(checkpoints, &entry.shape, graph)?;
        match read_state(checkpoints, graph, program, state, &entry) {
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
            // What was read may be anything, and is written over by the next one.
            Err(error) if is_damage(&error) => drop(first.get_or_insert(error)),
            Err(error) => return Err(error),
        }
    }
    first.map_or(Ok(None), Err)
}

/// Refuses a checkpoint of another graph or program.
fn belongs<P: Program>(
    checkpoints: &Checkpoints,
    then: &Shape,
    graph: &Graph,
) -> Result<(), EngineError> {
    let now = Shape::of::<P>(graph);
    if now == *then {
        return Ok(());
    }
    let directory = checkpoints.directory.display();
    if (now.vertices, now.edges, now.degrees) == (then.vertices, then.edges, then.degrees) {
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
        if now.degrees == then.degrees { "" } else { ", and other out-degrees" },
    )))
}

/// Whether a file is not what was written, so that another may serve.
fn is_damage(error: &EngineError) -> bool {
    let EngineError::Store(error) = error else { return false };
    matches!(error, StoreError::Damaged { .. } | StoreError::Ended { .. })
}

fn read_state<P: Program>(
    checkpoints: &Checkpoints,
    graph: &Graph,
    program: &P,
    state: &mut State<P>,
    entry: &Entry,
) -> Result<Reached<P::Total>, EngineError> {
    let mut column = Column::open(checkpoints, entry)?;
    column.values(graph, program, state)?;
    state.active_count = graph.vertices();
    if P::FRONTIER {
        state.active_count = column.flags(&mut state.active[1][..graph.vertices() as usize])?;
    }
    let levels = column.levels(entry.levels)?;
    let mut total = P::Total::zeroed();
    column.read(bytes_of_mut(&mut total))?;
    column.end(entry)?;
    // As after an iteration: what was written is what is read next.
    state.close();
    let Entry { iterations, lookups, .. } = *entry;
    Ok(Reached { iterations, total, levels, lookups })
}

/// The file of a checkpoint, and the checksum of what was read of it.
struct Column {
    reader: SealedReader,
    path: std::path::PathBuf,
    checksum: u32,
}

impl Column {
    fn open(checkpoints: &Checkpoints, entry: &Entry) -> Result<Self, StoreError> {
        let path = checkpoints.state_path(entry.iterations);
        let opened = SealedReader::open(&path, STATE_KIND, checkpoints.faults.as_ref());
        let reader = opened.map_err(crate::kept::missing)?;
        reader.is_version(VERSION)?;
        let identity = checkpoints.identity(entry.iterations);
        reader.belongs_to(identity.graph, identity.generation)?;
        let column = Self { reader, path, checksum: 0 };
        match entry.shape.payload_bytes(entry.levels) {
            Some(bytes) if bytes == column.reader.payload_bytes() => Ok(column),
            _ => Err(column.damaged(40, "the manifest says that it has another length")),
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), StoreError> {
        self.reader.read(bytes)?;
        self.checksum = crc32c::crc32c_append(self.checksum, bytes);
        Ok(())
    }

    /// Values, to where they are in this run, and the signals that follow from them.
    fn values<P: Program>(
        &mut self,
        graph: &Graph,
        program: &P,
        state: &mut State<P>,
    ) -> Result<(), EngineError>
    where
        P::Value: Pod,
    {
        let Parts { stripes: parts, stored, .. } = state.parts(graph);
        let mut desk = stored.map(|stored| Desk::new(stored, graph)).transpose()?;
        for (number, part) in parts.iter().enumerate() {
            let part = &mut *lock(part);
            let width = part.stripe.width();
            let mut away = desk.as_mut().map(Desk::blank).transpose()?;
            let resident = std::mem::take(&mut part.values);
            let values = away.as_deref_mut().map_or(resident, |column| &mut column[..width]);
            self.read(cast_slice_mut(values))?;
            for (signal, value) in part.signals.iter_mut().zip(values) {
                *signal = program.signal(value);
            }
            if let (Some(desk), Some(column)) = (&mut desk, away) {
                desk.put(number, column)?;
            }
        }
        desk.as_mut().map_or(Ok(()), Desk::finish)
    }

    /// Who is active, and how many these are.
    fn flags(&mut self, active: &mut [u8]) -> Result<u64, StoreError> {
        let mut packed = [0; PACKED / 8];
        let mut count = 0;
        for flags in active.chunks_mut(PACKED) {
            let packed = &mut packed[..flags.len().div_ceil(8)];
            self.read(packed)?;
            for (flags, byte) in flags.chunks_mut(8).zip(packed) {
                for (bit, flag) in flags.iter_mut().enumerate() {
                    *flag = *byte >> bit & 1;
                    count += u64::from(*flag);
                }
            }
        }
        Ok(count)
    }

    fn levels(&mut self, count: u64) -> Result<Vec<Level>, StoreError> {
        let mut levels = Vec::new();
        for _ in 0..count {
            let mut record = [0_u64; LEVEL_BYTES as usize / 8];
            self.read(cast_slice_mut(&mut record))?;
            let mode = match record[0] {
                0 => Mode::Dense,
                1 => Mode::Pull,
                2 => Mode::Sparse,
                3 => Mode::Local,
                _ => return Err(self.damaged(64, "an iteration was done in a way unknown")),
            };
            levels.push(Level { mode, active: record[1], edges: record[2] });
        }
        Ok(levels)
    }

    /// Holds what was read against what the manifest says.
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
