//! Values of consecutive vertices that an iteration makes, and what follows from them.

use welter_model::program::{Applied, Program, Total};

/// Columns of some consecutive vertices.
#[derive(Debug)]
pub(crate) struct Vertices<'a, P: Program> {
    /// Values of the vertices.
    pub(crate) values: &'a mut [P::Value],
    /// Signals of the vertices.
    pub(crate) signals: &'a mut [P::Signal],
    /// Vertices that are active, in a program whose vertices fall inactive; else nothing.
    pub(crate) active: &'a mut [u8],
}

/// Totals of vertices that have new values, and how many are active.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VertexTotals<T> {
    /// The total of all.
    pub(crate) total: T,
    /// Total of the last vertex.
    pub(crate) last: T,
    /// Number of active vertices, in a program whose vertices fall inactive.
    pub(crate) active: u64,
}

impl<P: Program> Vertices<'_, P> {
    /// Sets values to what `applied` makes of their places and them, and all that follows.
    #[inline(always)]
    pub(crate) fn apply_vertices(
        self,
        program: &P,
        applied: impl Fn(usize, P::Value) -> Applied<P::Value, P::Total>,
    ) -> VertexTotals<P::Total> {
        let mut totals =
            VertexTotals { total: P::Total::default(), last: P::Total::default(), active: 0 };
        let columns = self.values.iter_mut().zip(self.signals).enumerate();
        if P::FRONTIER {
            for ((place, (value, signal)), flag) in columns.zip(self.active) {
                let active = totals.set(program, applied(place, *value), (value, signal));
                *flag = active.into();
                totals.active += u64::from(active);
            }
        } else {
            for (place, (value, signal)) in columns {
                totals.set(program, applied(place, *value), (value, signal));
            }
        }
        totals
    }
}

impl<T: Total> VertexTotals<T> {
    /// Sets the columns of one more vertex to its new value; whether it is active. A function that
    /// is always inlined, since a closure that is called in two places need not be:
    /// then it is compiled without the vectors of the loop (`hyperball`, 1.11 of the time).
    #[inline(always)]
    fn set<P: Program<Total = T>>(
        &mut self,
        program: &P,
        applied: Applied<P::Value, T>,
        (value, signal): (&mut P::Value, &mut P::Signal),
    ) -> bool {
        *value = applied.value;
        *signal = program.signal(&applied.value);
        self.total = self.total.merge(applied.total);
        self.last = applied.total;
        applied.active
    }
}

/// The total of `times` sets of vertices that have the same total each.
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

/// Fills a column with what `made` makes of each value.
pub(crate) fn fill<T, V>(column: &mut [T], values: &[V], made: impl Fn(&V) -> T) {
    for (element, value) in column.iter_mut().zip(values) {
        *element = made(value);
    }
}
