//! Messages of a superstep where they arrive: a sum a vertex, or a queue a vertex.
//!
//! A worker has two of these that swap roles: one fills while the program takes from the other.

use super::program::{Message, VertexProgram, parsed};

/// Messages that have arrived, by vertex.
pub(super) trait Arrivals: Send {
    /// Room for as many vertices.
    fn new<P: VertexProgram>(vertices: usize) -> Self;

    /// Messages arrive.
    fn put<P: VertexProgram>(&mut self, messages: &[Message]);

    /// Sum of the messages to a vertex, which are gone then.
    fn take<P: VertexProgram>(&mut self, vertex: usize) -> f32;
}

/// Accumulators: a message is folded as it arrives.
pub(super) struct Sums(Vec<f32>);

impl Arrivals for Sums {
    fn new<P: VertexProgram>(vertices: usize) -> Self {
        Self(vec![P::NONE; vertices])
    }

    fn put<P: VertexProgram>(&mut self, messages: &[Message]) {
        for &message in messages {
            let (vertex, value) = parsed(message);
            let sum = &mut self.0[vertex as usize];
            *sum = P::combine(*sum, value);
        }
    }

    #[inline(always)]
    fn take<P: VertexProgram>(&mut self, vertex: usize) -> f32 {
        std::mem::replace(&mut self.0[vertex], P::NONE)
    }
}

/// Queues, into which a parser dispatches messages by their target, for a gather stage. A queue
/// keeps its memory, which is faster than to ask for it in each superstep.
pub(super) struct Queues(Vec<Vec<f32>>);

impl Arrivals for Queues {
    fn new<P: VertexProgram>(vertices: usize) -> Self {
        Self(vec![Vec::new(); vertices])
    }

    fn put<P: VertexProgram>(&mut self, messages: &[Message]) {
        for &message in messages {
            let (vertex, value) = parsed(message);
            self.0[vertex as usize].push(value);
        }
    }

    #[inline(always)]
    fn take<P: VertexProgram>(&mut self, vertex: usize) -> f32 {
        self.0[vertex].drain(..).fold(P::NONE, P::combine)
    }
}
