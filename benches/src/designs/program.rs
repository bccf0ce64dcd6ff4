//! Vertex programs in the manner of Pregel: a value a vertex, messages of 8 bytes along the edges
//! that leave it, supersteps with a barrier between them.
//!
//! Messages to one vertex can be combined, so that a design may sum them as they arrive or keep
//! them for a gather stage: the program does not know which.

use crate::engine::DAMPING;

/// A message: the number of a vertex at its worker, and a value.
pub(super) type Message = [u8; 8];

/// Message to a vertex.
#[inline(always)]
pub(super) fn message(vertex: u32, value: f32) -> Message {
    (u64::from(value.to_bits()) << 32 | u64::from(vertex)).to_le_bytes()
}

/// Vertex and value of a message.
#[inline(always)]
pub(super) fn parsed(message: Message) -> (u32, f32) {
    let both = u64::from_le_bytes(message);
    (both as u32, f32::from_bits((both >> 32) as u32))
}

/// A program whose values and messages are numbers.
pub(super) trait VertexProgram: Sync {
    /// Sum of no messages.
    const NONE: f32;

    /// Sum of two messages, or of two sums.
    fn combine(left: f32, right: f32) -> f32;

    /// Supersteps that send, at most.
    fn supersteps(&self) -> usize;

    /// First value of a vertex, and whether it sends.
    fn start(&self, vertex: u32) -> (f32, bool);

    /// Value after the messages of a superstep, and whether it sends.
    fn apply(&self, value: f32, sum: f32) -> (f32, bool);

    /// Message along each of as many edges.
    fn message(&self, value: f32, edges: usize) -> f32;
}

/// PageRank without the ranks of sinks, as the other baselines have it.
pub(super) struct PageRank {
    vertices: f64,
    iterations: usize,
}

impl PageRank {
    /// Iterations over a graph of as many vertices.
    pub(super) fn new(vertices: u64, iterations: usize) -> Self {
        Self { vertices: vertices as f64, iterations }
    }
}

impl VertexProgram for PageRank {
    const NONE: f32 = 0.0;

    #[inline(always)]
    fn combine(left: f32, right: f32) -> f32 {
        left + right
    }

    fn supersteps(&self) -> usize {
        self.iterations
    }

    fn start(&self, _: u32) -> (f32, bool) {
        ((1.0 / self.vertices) as f32, true)
    }

    #[inline(always)]
    fn apply(&self, _: f32, sum: f32) -> (f32, bool) {
        (((1.0 - DAMPING) / self.vertices) as f32 + DAMPING as f32 * sum, true)
    }

    #[inline(always)]
    fn message(&self, value: f32, edges: usize) -> f32 {
        value / edges as f32
    }
}

/// Shortest paths from a vertex along edges of length 1.
pub(super) struct Paths {
    /// Vertex from which they lead.
    pub(super) source: u32,
}

impl VertexProgram for Paths {
    const NONE: f32 = f32::INFINITY;

    #[inline(always)]
    fn combine(left: f32, right: f32) -> f32 {
        left.min(right)
    }

    fn supersteps(&self) -> usize {
        usize::MAX
    }

    fn start(&self, vertex: u32) -> (f32, bool) {
        if vertex == self.source { (0.0, true) } else { (f32::INFINITY, false) }
    }

    #[inline(always)]
    fn apply(&self, value: f32, sum: f32) -> (f32, bool) {
        if sum < value { (sum, true) } else { (value, false) }
    }

    #[inline(always)]
    fn message(&self, value: f32, _: usize) -> f32 {
        value + 1.0
    }
}
