//! Vertices of a program over triangles, in memory and on storage.
//!
//! ```text
//! vertex    degree u32, neighbours u32, closed u64, value
//! ```

use std::ops::Range;

use bytemuck::pod_read_unaligned;
use welter_engine::chunks::Column;

/// Bytes of a vertex before its value.
pub(super) const STATE_BYTES: usize = 16;

/// Columns of the vertices of a partition.
#[derive(Debug, Default)]
pub(super) struct VertexSet {
    pub(super) degrees: Vec<u32>,
    pub(super) neighbours: Vec<u32>,
    pub(super) closed: Vec<u64>,
    pub(super) values: Column,
}

impl VertexSet {
    /// Begins a set of `count` vertices, without values.
    pub(super) fn begin(&mut self, count: usize, value_bytes: usize) {
        let Self { degrees, neighbours, closed, values } = self;
        for column in [degrees, neighbours] {
            column.clear();
            column.resize(count, 0);
        }
        closed.clear();
        closed.resize(count, 0);
        values.clear();
        values.resize(count * value_bytes);
    }

    /// Reads the states of a chunk.
    pub(super) fn read(&mut self, states: &[u8], value_bytes: usize) {
        for state in states.chunks_exact(STATE_BYTES + value_bytes) {
            self.degrees.push(pod_read_unaligned(&state[..4]));
            self.neighbours.push(pod_read_unaligned(&state[4..8]));
            self.closed.push(pod_read_unaligned(&state[8..STATE_BYTES]));
            self.values.extend(&state[STATE_BYTES..]);
        }
    }

    /// The states of some vertices.
    pub(super) fn bytes(&self, vertices: Range<u64>, value_bytes: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for vertex in vertices.start as usize..vertices.end as usize {
            bytes.extend(self.degrees[vertex].to_le_bytes());
            bytes.extend(self.neighbours[vertex].to_le_bytes());
            bytes.extend(self.closed[vertex].to_le_bytes());
            bytes.extend_from_slice(&self.values[vertex * value_bytes..][..value_bytes]);
        }
        bytes
    }
}
