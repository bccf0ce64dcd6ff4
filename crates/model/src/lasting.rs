//! Stream programs of which something can be kept between passes, to continue from.
//!
//! States of vertices are shared between threads, and steps are what programs like; kept are plain
//! data. Between two passes they are all that a run is: which edges are candidates is told by
//! states alone.

use bytemuck::Pod;

use crate::stream::{Next, Stream};

/// Words that a step is kept in.
pub const STEP_WORDS: usize = 5;

/// Words in which the next step of a program is kept: its kind, and the step.
pub type KeptNext = [u64; 1 + STEP_WORDS];

/// A stream program that can be resumed.
pub trait Checkpointable: Stream {
    /// Form in which a vertex is kept: its state and further data.
    type Kept: Pod + Send + Sync;

    /// The kept form of a vertex.
    fn kept(&self, state: &Self::VertexState, aux: &Self::Aux) -> Self::Kept;

    /// The state and further data of which this was kept; `None` if that is of no graph with so
    /// many vertices.
    fn restored(&self, kept: Self::Kept, vertices: u64) -> Option<(Self::VertexState, Self::Aux)>;

    /// The words that a step is kept in. Their meaning never changes.
    fn words(step: Self::Step) -> [u64; STEP_WORDS];

    /// The step of which these were kept; `None` if they are of none that is known.
    fn step(words: [u64; STEP_WORDS]) -> Option<Self::Step>;
}

/// Encodes the next step of a program.
pub fn encode<S: Checkpointable>(next: Next<S::Step>) -> KeptNext {
    let (kind, step) = match next {
        Next::Stop => (0, None),
        Next::SamplePass(step) => (1, Some(step)),
        Next::Pass(step) => (2, Some(step)),
        Next::Finalize(step) => (3, Some(step)),
        Next::FinishInMemory(step) => (4, Some(step)),
    };
    let mut kept = [kind; STEP_WORDS + 1];
    kept[1..].copy_from_slice(&step.map_or([0; STEP_WORDS], S::words));
    kept
}

/// Decodes the next step of a program; `None` if it is none that is known.
pub fn decode<S: Checkpointable>([kind, words @ ..]: KeptNext) -> Option<Next<S::Step>> {
    if kind == 0 {
        return (words == [0; STEP_WORDS]).then_some(Next::Stop);
    }
    let step = S::step(words)?;
    match kind {
        1 => Some(Next::SamplePass(step)),
        2 => Some(Next::Pass(step)),
        3 => Some(Next::Finalize(step)),
        4 => Some(Next::FinishInMemory(step)),
        _ => None,
    }
}
