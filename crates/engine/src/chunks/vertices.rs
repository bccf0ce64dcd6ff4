//! Vertices of a partition: their first values, and those that an iteration gives them.

use welter_model::program::{Program, Vertex};

use super::{Renewed, Vertices};
use crate::dispatch::dispatched;

/// Sets the values of vertices before the first iteration. `first`: the number of the first one;
/// `degrees`: edges that leave each.
///
/// # Panics
/// When there are fewer degrees than vertices, which is a bug of the caller.
pub fn init<P: Program>(
    program: &P,
    first: u64,
    degrees: &[u32],
    vertices: Vertices<'_, P>,
) -> Renewed<P::Total> {
    dispatched(
        #[inline(always)]
        || {
            vertices.renew(program, |place, _| {
                let out_degree = degrees[place].into();
                program.init(Vertex { index: first + place as u64, out_degree })
            })
        },
    )
}

/// Sets what an iteration makes of the values of vertices and of what was gathered for them.
/// `last`: the totals of the iteration before.
///
/// # Panics
/// When there are fewer accumulators than vertices, which is a bug of the caller.
pub fn apply<P: Program>(
    program: &P,
    last: &P::Total,
    accums: &[P::Accum],
    vertices: Vertices<'_, P>,
) -> Renewed<P::Total> {
    dispatched(
        #[inline(always)]
        || vertices.renew(program, |place, value| program.apply(value, accums[place], last)),
    )
}
