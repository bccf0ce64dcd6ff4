//! A vertex set in memory, and as the chunks that it travels and waits in.
//!
//! ```text
//! vertex    value, active u8     fold programs
//!           value                extended programs, which show all edges in every iteration
//! ```

use welter_engine::EngineError;
use welter_engine::chunks::{Column, Kernel, Vertices};
use welter_protocol::Payload;

use crate::other;
use crate::partitioning::Partitioning;
use crate::resources::{Resources, WorkPart};

/// Vertices whose values are in memory at a time where their signals alone are wanted.
const PIECE_VERTICES: usize = 1 << 12;

/// Bytes of a vertex on storage.
pub(crate) fn vertex_bytes(kernel: &Kernel) -> usize {
    kernel.shape().value + usize::from(matches!(kernel, Kernel::Fold(_)))
}

/// Columns of the vertices of a partition.
#[derive(Debug, Default)]
pub(crate) struct VertexSet {
    pub(crate) values: Column,
    pub(crate) signals: Column,
    /// Flags of all vertices: ones in a program whose vertices do not fall inactive.
    pub(crate) active: Vec<u8>,
}

/// Columns that are wanted of a vertex set that is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadedColumns {
    /// Values alone, to apply.
    Values,
    /// Signals alone, to stream the edges that leave the set.
    Signals,
    /// Values and signals.
    All,
}

impl VertexSet {
    /// Reads the chunks of a set of `count` vertices, or none of it.
    pub(crate) fn load(
        &mut self,
        kernel: &Kernel,
        (chunks, count): (&[Payload], usize),
        wanted: LoadedColumns,
        resources: &dyn Resources,
    ) -> Result<(), EngineError> {
        let (shape, bytes) = (kernel.shape(), vertex_bytes(kernel));
        let length: usize = chunks.iter().map(|chunk| chunk.len()).sum();
        let are_whole = chunks.iter().all(|chunk| chunk.len().is_multiple_of(bytes));
        let count = if chunks.is_empty() { 0 } else { count };
        if !are_whole || length != count * bytes {
            return Err(other(format!("{length} bytes of {count} vertices, of {bytes} each")));
        }
        let has_values = wanted != LoadedColumns::Signals;
        let [value, signal] = [
            if has_values { shape.value } else { 0 },
            if wanted == LoadedColumns::Values { 0 } else { shape.signal },
        ];
        self.values.set_length(count * value);
        self.signals.set_length(count * signal);
        self.active.resize(count, 1);
        let (mut values, mut signals) = (&mut self.values[..], &mut self.signals[..]);
        let mut active = &mut self.active[..];
        let mut parts: Vec<WorkPart<'_>> = Vec::new();
        for chunk in chunks {
            let vertices = chunk.len() / bytes;
            let [values, signals] =
                [front(&mut values, vertices * value), front(&mut signals, vertices * signal)];
            let active = front(&mut active, vertices);
            parts.push(Box::new(move || {
                if has_values {
                    load_values(kernel, chunk, values, active);
                    if signal > 0 {
                        kernel.signal(values, signals);
                    }
                } else {
                    load_signals(kernel, chunk, signals, active);
                }
            }));
        }
        resources.run(parts);
        Ok(())
    }

    /// Begins a set of `count` vertices, without values.
    pub(crate) fn begin(&mut self, kernel: &Kernel, count: usize) {
        self.values.clear();
        self.values.resize(count * kernel.shape().value);
    }

    /// Number of vertices whose values are there.
    pub(crate) fn count(&self, kernel: &Kernel) -> usize {
        self.values.len() / kernel.shape().value
    }

    /// Columns of the set as a kernel changes them.
    pub(crate) fn columns(&mut self, kernel: &Kernel) -> Vertices<'_> {
        let (shape, count) = (kernel.shape(), self.count(kernel));
        // A kernel sets all of them.
        self.signals.set_length(count * shape.signal);
        self.active.clear();
        self.active.resize(count, 1);
        let active = if shape.capabilities.frontier { &mut self.active[..] } else { &mut [] };
        Vertices { values: &mut self.values, signals: &mut self.signals, active }
    }

    /// The set as chunks: at least one. Each is made where it travels and waits.
    pub(crate) fn chunks(
        &self,
        kernel: &Kernel,
        cut: &Partitioning,
        resources: &dyn Resources,
    ) -> Vec<Payload> {
        let (width, bytes, count) =
            (kernel.shape().value, vertex_bytes(kernel), self.count(kernel));
        if count == 0 {
            return vec![Payload::default()];
        }
        let most = cut.chunk_vertices as usize;
        let mut made: Vec<Option<Payload>> = vec![None; count.div_ceil(most)];
        let chunks = self.values.chunks(most * width).zip(self.active.chunks(most));
        let mut parts: Vec<WorkPart<'_>> = Vec::new();
        for ((values, active), chunk) in chunks.zip(&mut made) {
            parts.push(Box::new(move || {
                let mut buffer = resources.buffer(active.len() * bytes);
                if bytes == width {
                    buffer.copy_from_slice(values);
                } else {
                    join(values, active, &mut buffer);
                }
                *chunk = Some(buffer.seal());
            }));
        }
        resources.run(parts);
        made.into_iter().flatten().collect()
    }
}

/// Cuts the first `length` bytes off.
#[expect(clippy::mut_mut, reason = "a slice that is cut, as of `slice::split_off_mut`")]
pub(crate) fn front<'b>(bytes: &mut &'b mut [u8], length: usize) -> &'b mut [u8] {
    let (front, rest) = std::mem::take(bytes).split_at_mut(length);
    *bytes = rest;
    front
}

/// Values and flags of the vertices of a chunk.
fn load_values(kernel: &Kernel, chunk: &[u8], values: &mut [u8], active: &mut [u8]) {
    if let Kernel::Extended(_) = kernel {
        values.copy_from_slice(chunk);
        active.fill(1);
    } else {
        split(chunk, values, active);
    }
}

/// Signals and flags of the vertices of a chunk, some at a time.
fn load_signals(kernel: &Kernel, chunk: &[u8], signals: &mut [u8], active: &mut [u8]) {
    let (shape, bytes) = (kernel.shape(), vertex_bytes(kernel));
    let mut values = Column::default();
    let pieces = chunk.chunks(PIECE_VERTICES * bytes);
    let columns = signals.chunks_mut(PIECE_VERTICES * shape.signal);
    for ((piece, signals), active) in pieces.zip(columns).zip(active.chunks_mut(PIECE_VERTICES)) {
        values.set_length(active.len() * shape.value);
        load_values(kernel, piece, &mut values, active);
        kernel.signal(&values, signals);
    }
}

/// Splits vertices into values and flags, of which there are as many.
fn split(vertices: &[u8], values: &mut [u8], flags: &mut [u8]) {
    match values.len().checked_div(flags.len()) {
        Some(4) => split_of::<4>(vertices, values, flags),
        Some(8) => split_of::<8>(vertices, values, flags),
        Some(16) => split_of::<16>(vertices, values, flags),
        Some(width) => {
            let parts = values.chunks_exact_mut(width).zip(flags);
            for (vertex, (value, flag)) in vertices.chunks_exact(width + 1).zip(parts) {
                value.copy_from_slice(&vertex[..width]);
                *flag = vertex[width];
            }
        }
        None => {}
    }
}

/// As [`split`], of values of a known width: their copies are loads and stores, not calls.
fn split_of<const WIDTH: usize>(vertices: &[u8], values: &mut [u8], flags: &mut [u8]) {
    let ((values, _), mut rest) = (values.as_chunks_mut::<WIDTH>(), vertices);
    for (value, flag) in values.iter_mut().zip(flags) {
        let Some((vertex, others)) = rest.split_at_checked(WIDTH + 1) else { return };
        value.copy_from_slice(&vertex[..WIDTH]);
        (*flag, rest) = (vertex[WIDTH], others);
    }
}

/// Makes vertices of values and flags, of which there are as many.
fn join(values: &[u8], flags: &[u8], vertices: &mut [u8]) {
    match values.len().checked_div(flags.len()) {
        Some(4) => join_of::<4>(values, flags, vertices),
        Some(8) => join_of::<8>(values, flags, vertices),
        Some(16) => join_of::<16>(values, flags, vertices),
        Some(width) => {
            let parts = values.chunks_exact(width).zip(flags);
            for (vertex, (value, flag)) in vertices.chunks_exact_mut(width + 1).zip(parts) {
                vertex[..width].copy_from_slice(value);
                vertex[width] = *flag;
            }
        }
        None => {}
    }
}

/// As [`join`], of values of a known width.
fn join_of<const WIDTH: usize>(values: &[u8], flags: &[u8], vertices: &mut [u8]) {
    let ((values, _), mut rest) = (values.as_chunks::<WIDTH>(), vertices);
    for (value, flag) in values.iter().zip(flags) {
        let Some((vertex, others)) = rest.split_at_mut_checked(WIDTH + 1) else { return };
        vertex[..WIDTH].copy_from_slice(value);
        (vertex[WIDTH], rest) = (*flag, others);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn vertices_that_are_joined_split_into_what_they_were(
            width in prop::sample::select(vec![1_usize, 4, 8, 12, 16, 20]),
            flags in prop::collection::vec(0_u8..2, 0..50),
            seed in any::<u8>(),
        ) {
            let values: Vec<u8> =
                (0..flags.len() * width).map(|place| (place * 31) as u8 ^ seed).collect();
            let mut vertices = vec![0; flags.len() * (width + 1)];
            join(&values, &flags, &mut vertices);
            for (place, vertex) in vertices.chunks_exact(width + 1).enumerate() {
                prop_assert_eq!(&vertex[..width], &values[place * width..][..width]);
                prop_assert_eq!(vertex[width], flags[place]);
            }
            let (mut again, mut marks) = (vec![0; values.len()], vec![7; flags.len()]);
            split(&vertices, &mut again, &mut marks);
            prop_assert_eq!((again, marks), (values, flags));
        }
    }
}
