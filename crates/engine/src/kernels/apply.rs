//! Values of consecutive vertices that an iteration makes, and what follows from them.

use welter_model::program::{Applied, Program, Total};

/// Columns of some consecutive vertices.
#[derive(Debug)]
pub(crate) struct Vertices<'a, P: Program> {
    /// Values of the vertices.
    pub(crate) values: &'a mut [P::Value],
    /// Signals of the vertices.
    pub(crate) signals: &'a mut [P::Signal],
    /// Which of them are active, in a program whose vertices fall inactive; else nothing.
    pub(crate) active: &'a mut [u8],
}

/// Totals of vertices that have new values, and how many are active.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VertexTotals<T> {
    /// The total of all.
    pub(crate) total: T,
    /// Total of the last vertex.
    pub(crate) last: T,
    /// How many are active, in a program whose vertices fall inactive.
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
        VertexTotals { total: sum, last, active: count }
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
