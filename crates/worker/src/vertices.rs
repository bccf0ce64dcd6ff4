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
        chunks: &[Payload],
        count: usize,
        wanted: LoadedColumns,
    ) -> Result<(), EngineError> {
        let (shape, bytes) = (kernel.shape(), vertex_bytes(kernel));
        self.values.clear();
        self.signals.clear();
        self.active.clear();
        for chunk in chunks {
            let first = if wanted == LoadedColumns::Signals { 0 } else { self.values.len() };
            let (vertices, known) = (chunk.len() / bytes, self.active.len());
            self.values.resize(first + vertices * shape.value);
            self.active.resize(known + vertices, 1);
            let values = &mut self.values[first..];
            if bytes == shape.value {
                values.copy_from_slice(&chunk[..vertices * bytes]);
            } else {
                split(chunk, values, &mut self.active[known..]);
            }
            if wanted != LoadedColumns::Values {
                let before = self.signals.len();
                self.signals.resize(self.active.len() * shape.signal);
                kernel.signal(&self.values[first..], &mut self.signals[before..]);
            }
        }
        if wanted == LoadedColumns::Signals {
            self.values.clear();
        }
        let length: usize = chunks.iter().map(|chunk| chunk.len()).sum();
        let is_whole = length == bytes * self.active.len() && self.active.len() == count;
        if is_whole || chunks.is_empty() {
            return Ok(());
        }
        Err(other(format!("{length} bytes of {count} vertices, of {bytes} each")))
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
        self.signals.resize(count * shape.signal);
        self.active.clear();
        self.active.resize(count, 1);
        let active = if shape.capabilities.frontier { &mut self.active[..] } else { &mut [] };
        Vertices { values: &mut self.values, signals: &mut self.signals, active }
    }

    /// The set as chunks.
    pub(crate) fn chunks(&self, kernel: &Kernel, cut: &Partitioning) -> Vec<Payload> {
        let (width, bytes) = (kernel.shape().value, vertex_bytes(kernel));
        if bytes == width {
            return cut.vertex_chunks(&self.values, bytes);
        }
        let mut set = vec![0; self.active.len() * bytes];
        join(&self.values, &self.active, &mut set);
        cut.vertex_chunks(&set, bytes)
    }
}

/// Splits vertices into values and flags, of which there are as many.
fn split(vertices: &[u8], values: &mut [u8], flags: &mut [u8]) {
    match values.len().checked_div(flags.len()) {
        Some(4) => split_of::<4>(vertices, values, flags),
        Some(8) => split_of::<8>(vertices, values, flags),
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
            width in prop::sample::select(vec![1_usize, 4, 8, 12, 16]),
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
