//! Vertices of a partition: their first values, and those that an iteration gives them.

use welter_model::extended::Extended;
use welter_model::program::{Program, Vertex};

use super::{Renewed, Vertices};
use crate::kernels::ends::renew;
use crate::machine::dispatch::dispatched;

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

/// As [`init`], of an extended program: values, and what they say. The total.
///
/// # Panics
/// When there are fewer degrees than vertices, which is a bug of the caller.
pub fn init_extended<E: Extended>(
    program: &E,
    first: u64,
    degrees: &[u32],
    (values, signals): (&mut [E::Value], &mut [E::Signal]),
) -> E::Total {
    let [total, _] = renew(program, values, signals, |place, _| {
        let out_degree = degrees[place].into();
        program.init(Vertex { index: first + place as u64, out_degree })
    });
    total
}

/// As [`apply`], of an extended program: values, and what they say. The total.
///
/// # Panics
/// When there are fewer accumulators than vertices, which is a bug of the caller.
pub fn apply_extended<E: Extended>(
    program: &E,
    last: &E::Total,
    accums: &[E::Accum],
    (values, signals): (&mut [E::Value], &mut [E::Signal]),
) -> E::Total {
    let applied = |place: usize, value| program.apply(value, accums[place], last);
    let [total, _] = renew(program, values, signals, applied);
    total
}
