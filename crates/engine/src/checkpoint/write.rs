//! Writing a checkpoint, stripe by stripe.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Instant;

use bytemuck::{bytes_of, cast_slice};
use welter_store::{StoreError, checksum, durable};

use super::files::state_name;
use super::manifest::{Entry, KEPT, LEVEL_BYTES, MODE_BITS, Shape, VERSION};
use super::striped::{PIECE, StripedWriter};
use super::{CheckpointColumns, Checkpoints, RunProgress};
use crate::EngineError;
use crate::columns::levels::{IterationStats, Mode};
use crate::edges::graph::Graph;
use crate::machine::sync::lock;

/// Vertices whose flags are packed at a time.
const PACKED: usize = 1 << 15;

impl Shape {
    /// The graph, and the bytes of a value and of the totals.
    pub(crate) fn of_widths(graph: &Graph, [value, total]: [usize; 2], frontier: bool) -> Self {
        Self {
            vertices: graph.vertices(),
            edges: graph.edges(),
            edges_read: match &graph.degrees_stored {
                Some(stored) => stored.checksum(),
                None => checksum::of(cast_slice(&graph.degrees[..graph.vertices() as usize])),
            },
            value_bytes: value as u32,
            total_bytes: total as u32,
            frontier: frontier.into(),
            state_bytes: 0,
            order: 0,
        }
    }

    /// The shape of a run whose edges have states of `bytes` bytes, whose order follows from these
    /// words.
    pub(crate) fn with_states(self, bytes: usize, order: &[u64]) -> Self {
        Self { state_bytes: bytes as u32, order: checksum::of(cast_slice(order)), ..self }
    }
}

impl Checkpoints {
    /// The shape with the sum of the edges that were read mixed in.
    pub(super) fn of_edges(&self, shape: Shape) -> Shape {
        let sum = self.edges.load(Ordering::Relaxed);
        Shape { edges_read: shape.edges_read ^ (sum ^ sum >> 32) as u32, ..shape }
    }

    /// Refuses, before the first iteration, a directory without room for checkpoints of this shape:
    /// the last checkpoint, the one before, and the one that is being written.
    pub(crate) fn check_space_of(&self, shape: &Shape) -> Result<(), StoreError> {
        if self.home.writer() > 0 {
            // Buckets do not say how much they take.
            return Ok(());
        }
        let bytes = shape.payload_bytes(VERSION, 0, 0).unwrap_or(u64::MAX);
        let there = lock(&self.progress).entries.len() as u64;
        let need = bytes.saturating_mul(KEPT as u64 + 1 - there);
        let parts = self.home.parts();
        if let Some(lost) = parts.iter().find(|part| !part.is_dir()) {
            let error = StoreError::Missing { file: lost.clone() };
            return Err(error.of_linked_file(&self.directory));
        }
        let each = need / (parts.len() as u64 + 1) + PIECE as u64 * u64::from(!parts.is_empty());
        let mut all = [&self.directory].into_iter().chain(parts);
        all.try_for_each(|directory| durable::check_space(directory, each))
    }
}

/// Writes a checkpoint of a run, of which all columns are where they are said to be.
pub(crate) fn write_columns(
    checkpoints: &Checkpoints,
    shape: Shape,
    columns: CheckpointColumns<'_>,
    reached: &RunProgress,
) -> Result<(), EngineError> {
    let shape = checkpoints.of_edges(shape);
    if std::mem::replace(&mut lock(&checkpoints.progress).failed, true) {
        return Err(StoreError::Poisoned { file: checkpoints.directory.clone() }.into());
    }
    let started = Instant::now();
    let (entry, bytes) = write_state(checkpoints, shape, columns, reached)?;
    let before = lock(&checkpoints.progress).entries.clone();
    let mut entries = before.clone();
    // A run that continued from the checkpoint before the last writes that one anew.
    entries.retain(|old| old.iterations < entry.iterations);
    entries.insert(0, entry);
    entries.truncate(KEPT);
    if let Err(error) = checkpoints.put_manifest(&entries) {
        checkpoints.abandon(&entry);
        return Err(error.into());
    }
    let kept: Vec<PathBuf> = entries.iter().map(|entry| checkpoints.state_path(entry)).collect();
    checkpoints.committed(entries, bytes, started.elapsed());
    let mut gone: Vec<PathBuf> = before.iter().map(|old| checkpoints.state_path(old)).collect();
    gone.retain(|path| !kept.contains(path));
    gone.iter().try_for_each(|path| checkpoints.home.remove(path))?;
    Ok(())
}

/// Writes the file of a checkpoint, durably; also says how large its payload is.
fn write_state(
    checkpoints: &Checkpoints,
    shape: Shape,
    columns: CheckpointColumns<'_>,
    reached: &RunProgress,
) -> Result<(Entry, u64), EngineError> {
    let levels = reached.levels.len() as u64;
    debug_assert_eq!(reached.totals.count(), reached.iterations + 1);
    let bytes = shape.payload_bytes(VERSION, reached.iterations, levels).ok_or_else(|| {
        StoreError::Request(format!("a checkpoint of {} vertices", shape.vertices))
    })?;
    let RunProgress { iterations, lookups, .. } = *reached;
    let writer = checkpoints.home.writer();
    let path = checkpoints.directory.join(state_name(iterations, writer));
    let identity = checkpoints.identity(reached.iterations);
    let file = checkpoints.home.create(&path, &identity, bytes)?;
    let mut payload = Payload { writer: file, checksum: 0 };
    columns.values.each(|values| Ok(payload.append(values)?))?;
    if shape.frontier == 1 {
        let mut waiting = Vec::with_capacity(PACKED);
        columns.active.each(|flags| Ok(payload.flags(&mut waiting, flags)?))?;
        payload.pack(&waiting)?;
    }
    payload.levels(&reached.levels)?;
    for totals in reached.totals.parts() {
        payload.append(totals)?;
    }
    columns.states.each(|states| Ok(payload.append(states)?))?;
    let Payload { writer: file, checksum } = payload;
    file.commit()?;
    Ok((Entry { iterations, shape, levels, lookups, checksum, writer }, bytes))
}

/// The file, and the checksum of what is in it so far.
struct Payload {
    writer: StripedWriter,
    checksum: u32,
}

impl Payload {
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.checksum = checksum::append(self.checksum, bytes);
        self.writer.append(bytes)
    }

    /// A bit a vertex, the first one lowest. Those that do not fill a piece wait.
    fn flags(&mut self, waiting: &mut Vec<u8>, mut flags: &[u8]) -> Result<(), StoreError> {
        while waiting.len() + flags.len() >= PACKED {
            let (front, rest) = flags.split_at(PACKED - waiting.len());
            waiting.extend_from_slice(front);
            self.pack(waiting)?;
            waiting.clear();
            flags = rest;
        }
        waiting.extend_from_slice(flags);
        Ok(())
    }

    fn pack(&mut self, flags: &[u8]) -> Result<(), StoreError> {
        let pack = |flags: &[u8]| {
            let bits = flags.iter().enumerate();
            bits.fold(0_u8, |byte, (bit, flag)| byte | u8::from(*flag != 0) << bit)
        };
        let packed: Vec<u8> = flags.chunks(8).map(pack).collect();
        self.append(&packed)
    }

    fn levels(&mut self, levels: &[IterationStats]) -> Result<(), StoreError> {
        for IterationStats { mode, active, edges, iterations } in levels {
            let mode: u64 = match mode {
                Mode::Dense => 0,
                Mode::Pull => 1,
                Mode::Sparse => 2,
                Mode::Asynchronous => 3,
            };
            let record = [mode | (iterations - 1) << MODE_BITS, *active, *edges];
            debug_assert_eq!(size_of_val(&record) as u64, LEVEL_BYTES);
            self.append(bytes_of(&record))?;
        }
        Ok(())
    }
}
