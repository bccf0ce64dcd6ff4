//! Stream programs of which a snapshot can be taken between passes, to continue from.
//!
//! States of vertices are shared between threads, and steps are what programs like; snapshots are
//! plain data. Between two passes they are all that a run is: which edges are candidates is known
//! by states alone.

use bytemuck::Pod;

use crate::stream::{Next, Stream};

/// Words of an encoded step.
pub const STEP_WORDS: usize = 5;

/// The next step of a program as words: its kind, and the step.
pub type EncodedStep = [u64; 1 + STEP_WORDS];

/// A stream program that can be resumed.
pub trait Checkpointable: Stream {
    /// A vertex as plain data: its state and further data.
    type Snapshot: Pod + Send + Sync;

    /// The snapshot of a vertex.
    fn snapshot(&self, state: &Self::VertexState, aux: &Self::Aux) -> Self::Snapshot;

    /// The state and further data of which this is the snapshot; `None` if that is of no graph with
    /// `vertices` vertices.
    fn restored(
        &self,
        snapshot: Self::Snapshot,
        vertices: u64,
    ) -> Option<(Self::VertexState, Self::Aux)>;

    /// The words of a step. Their meaning never changes.
    fn encode_step(step: Self::Step) -> [u64; STEP_WORDS];

    /// The step of which these are the words; `None` if they are of none that is known.
    fn decode_step(words: [u64; STEP_WORDS]) -> Option<Self::Step>;
}

/// Encodes the next step of a program.
pub fn encode<S: Checkpointable>(next: Next<S::Step>) -> EncodedStep {
    let (kind, step) = match next {
        Next::Stop => (0, None),
        Next::SamplePass(step) => (1, Some(step)),
        Next::Pass(step) => (2, Some(step)),
        Next::Finalize(step) => (3, Some(step)),
        Next::FinishInMemory(step) => (4, Some(step)),
    };
    let mut words = [kind; STEP_WORDS + 1];
    words[1..].copy_from_slice(&step.map_or([0; STEP_WORDS], S::encode_step));
    words
}

/// Decodes the next step of a program; `None` if it is none that is known.
pub fn decode<S: Checkpointable>([kind, words @ ..]: EncodedStep) -> Option<Next<S::Step>> {
    if kind == 0 {
        return (words == [0; STEP_WORDS]).then_some(Next::Stop);
    }
    let step = S::decode_step(words)?;
    match kind {
        1 => Some(Next::SamplePass(step)),
        2 => Some(Next::Pass(step)),
        3 => Some(Next::Finalize(step)),
        4 => Some(Next::FinishInMemory(step)),
        _ => None,
    }
}
