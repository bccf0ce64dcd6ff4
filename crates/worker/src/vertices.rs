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
    /// Both.
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
            self.values.resize(first);
            for vertex in chunk.chunks_exact(bytes) {
                let (value, flag) = vertex.split_at(shape.value);
                self.values.extend(value);
                self.active.push(flag.first().copied().unwrap_or(1));
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
        let mut set = Vec::with_capacity(self.active.len() * bytes);
        for (value, active) in self.values.chunks_exact(width).zip(&self.active) {
            set.extend_from_slice(value);
            set.push(*active);
        }
        cut.vertex_chunks(&set, bytes)
    }
}
