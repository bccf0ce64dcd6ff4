//! The new values of a stripe's vertices, and what follows from them: signals, flags and totals.

use welter_model::program::{Applied, Program, Total, Vertex};

use crate::columns::state::{Part, segments};
use crate::edges::graph::Graph;

/// Sets values, signals and totals before the first iteration. `degrees`: of the stripe's vertices.
#[inline(always)]
pub(crate) fn init_part<P: Program>(
    graph: &Graph,
    program: &P,
    degrees: &[u32],
    values: &mut [P::Value],
    part: &mut Part<'_, P>,
) {
    let base = part.stripe.vertices.start;
    renew(graph, program, values, part, |place, _| {
        let index = base + place as u64;
        program.init(Vertex { index, out_degree: degrees[place].into() })
    });
}

/// Begins the accumulators of vertices of these values.
pub(crate) fn begin_part<P: Program>(program: &P, values: &[P::Value], accums: &mut [P::Accum]) {
    for (accum, value) in accums.iter_mut().zip(values) {
        *accum = program.begin(value);
    }
}

/// Sets what an iteration makes of the values and of what was gathered.
#[inline(always)]
pub(crate) fn apply_part<P: Program>(
    graph: &Graph,
    program: &P,
    last: &P::Total,
    (accums, values): (&[P::Accum], &mut [P::Value]),
    part: &mut Part<'_, P>,
) {
    renew(graph, program, values, part, |place, value| program.apply(value, accums[place], last));
}

/// Sets what follows from values and flags that are there.
pub(crate) fn resume_part<P: Program>(program: &P, values: &[P::Value], part: &mut Part<'_, P>) {
    for (signal, value) in part.signals.iter_mut().zip(&values[..part.stripe.width()]) {
        *signal = program.signal(value);
    }
    if P::FRONTIER {
        let flags = &part.active[..part.stripe.width()];
        part.active_count = flags.iter().map(|flag| u64::from(*flag)).sum();
    }
}

/// Sets the values of a stripe's vertices to what `applied` makes of their places and values, and
/// all that follows from them.
#[inline(always)]
fn renew<P: Program>(
    graph: &Graph,
    program: &P,
    values: &mut [P::Value],
    part: &mut Part<'_, P>,
    applied: impl Fn(usize, P::Value) -> Applied<P::Value, P::Total>,
) {
    let mut count = 0;
    let first = part.stripe.vertices.start;
    for (segment, total) in segments(graph, part.stripe).zip(&mut *part.totals) {
        let vertices = first + segment.start as u64..first + segment.end as u64;
        let start = segment.start;
        let columns = Vertices {
            values: &mut values[segment.clone()],
            signals: &mut part.signals[segment.clone()],
            active: if P::FRONTIER { &mut part.active[segment] } else { &mut [] },
        };
        let renewed = columns.renew(program, |place, value| applied(start + place, value));
        count += renewed.active;
        *total = renewed.total.merge(repeated(renewed.last, graph.alike(&vertices) - 1));
    }
    if P::FRONTIER {
        part.active_count = count;
    }
}

/// Columns of some consecutive vertices.
#[derive(Debug)]
pub struct Vertices<'a, P: Program> {
    /// Values of the vertices.
    pub values: &'a mut [P::Value],
    /// Signals of the vertices.
    pub signals: &'a mut [P::Signal],
    /// Which of them are active, in a program whose vertices fall inactive; else nothing.
    pub active: &'a mut [u8],
}

/// Totals of vertices that were renewed, and how many are active.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Renewed<T> {
    /// The total of all.
    pub total: T,
    /// Total of the last vertex.
    pub(crate) last: T,
    /// How many are active, in a program whose vertices fall inactive.
    pub active: u64,
}

impl<P: Program> Vertices<'_, P> {
    /// Sets values to what `applied` makes of their places and them, and all that follows.
    #[inline(always)]
    pub(crate) fn renew(
        self,
        program: &P,
        applied: impl Fn(usize, P::Value) -> Applied<P::Value, P::Total>,
    ) -> Renewed<P::Total> {
        let (mut sum, mut last) = (P::Total::default(), P::Total::default());
        let mut count = 0;
        let mut one = |place, value: &mut P::Value, signal: &mut P::Signal| {
            let applied = applied(place, *value);
            *value = applied.value;
            *signal = program.signal(&applied.value);
            sum = sum.merge(applied.total);
            last = applied.total;
            applied.active
        };
        let columns = self.values.iter_mut().zip(self.signals).enumerate();
        if P::FRONTIER {
            for ((place, (value, signal)), flag) in columns.zip(self.active) {
                let active = one(place, value, signal);
                *flag = active.into();
                count += u64::from(active);
            }
        } else {
            for (place, (value, signal)) in columns {
                one(place, value, signal);
            }
        }
        Renewed { total: sum, last, active: count }
    }
}

/// The total of so many sets of vertices that have the same.
pub(crate) fn repeated<T: Total>(total: T, mut times: u64) -> T {
    let (mut sum, mut power) = (T::default(), total);
    while times > 0 {
        if times % 2 == 1 {
            sum = sum.merge(power);
        }
        power = power.merge(power);
        times /= 2;
    }
    sum
}
