//! Programs for tests only: minima and integer sums, which are the same bits everywhere, and
//! frontiers that shrink, grow and flicker.

use bytemuck::{Pod, Zeroable};
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Total, Value, Vertex};
use welter_model::table::ColumnData;

/// A sum of integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Count(pub(crate) i64);

impl Total for Count {
    fn merge(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// A value of one column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct One<T>(pub(crate) T);

impl Value for One<u32> {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        vec![("label", ColumnData::U32(values.iter().map(|value| value.0).collect()))]
    }
}

impl Value for One<i64> {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        vec![("depth", ColumnData::I64(values.iter().map(|value| value.0).collect()))]
    }
}

impl Value for One<f64> {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        vec![("distance", ColumnData::F64(values.iter().map(|value| value.0).collect()))]
    }
}

/// The smallest number of a vertex from which a path leads here. The total counts changes.
pub(crate) struct SmallestLabel;

impl Program for SmallestLabel {
    type Value = One<u32>;
    type Signal = u32;
    type Update = u32;
    type Accum = u32;
    type Total = Count;

    const WEIGHTED: bool = false;
    const FRONTIER: bool = true;

    fn init(&self, vertex: Vertex) -> Applied<One<u32>, Count> {
        Applied::active(One(vertex.index as u32), Count(1))
    }

    fn signal(&self, value: &One<u32>) -> u32 {
        value.0
    }

    fn scatter(&self, signal: u32, _: f64) -> Option<u32> {
        Some(signal)
    }

    fn identity(&self) -> u32 {
        u32::MAX
    }

    fn gather(&self, accum: u32, update: u32) -> u32 {
        accum.min(update)
    }

    fn merge(&self, left: u32, right: u32) -> u32 {
        left.min(right)
    }

    fn apply(&self, value: One<u32>, accum: u32, _: &Count) -> Applied<One<u32>, Count> {
        let active = accum < value.0;
        let total = Count(active.into());
        Applied { value: One(value.0.min(accum)), total, active }
    }

    fn next(&self, _: u64, _: &Count) -> Next {
        Next::Iterate
    }

    fn limit(&self) -> Limit {
        Limit::Proved { most: |vertices| vertices, invariant: "a path visits a vertex once" }
    }
}

/// Arcs from vertex number `source`, -1 where no path leads. The total counts who was reached.
pub(crate) struct Depth {
    pub(crate) source: u64,
}

impl Program for Depth {
    type Value = One<i64>;
    type Signal = i64;
    type Update = i64;
    type Accum = i64;
    type Total = Count;

    const WEIGHTED: bool = false;
    const FRONTIER: bool = true;

    fn init(&self, vertex: Vertex) -> Applied<One<i64>, Count> {
        let is_source = vertex.index == self.source;
        Applied::active(One(if is_source { 0 } else { -1 }), Count(is_source.into()))
    }

    fn signal(&self, value: &One<i64>) -> i64 {
        value.0
    }

    fn scatter(&self, signal: i64, _: f64) -> Option<i64> {
        (signal >= 0).then_some(signal + 1)
    }

    fn identity(&self) -> i64 {
        i64::MAX
    }

    fn gather(&self, accum: i64, update: i64) -> i64 {
        accum.min(update)
    }

    fn merge(&self, left: i64, right: i64) -> i64 {
        left.min(right)
    }

    fn apply(&self, value: One<i64>, accum: i64, _: &Count) -> Applied<One<i64>, Count> {
        let active = value.0 < 0 && accum != i64::MAX;
        let value = if active { One(accum) } else { value };
        Applied { value, total: Count(active.into()), active }
    }

    fn next(&self, _: u64, total: &Count) -> Next {
        if total.0 > 0 { Next::Iterate } else { Next::Stop }
    }

    fn limit(&self) -> Limit {
        Limit::Proved { most: |vertices| vertices, invariant: "a path visits a vertex once" }
    }
}

/// Length of the shortest path from vertex number `source`, infinite where none leads. A path's
/// length is summed along the path, so it has the same bits everywhere.
pub(crate) struct Distance {
    pub(crate) source: u64,
}

impl Program for Distance {
    type Value = One<f64>;
    type Signal = f64;
    type Update = f64;
    type Accum = f64;
    type Total = ();

    const WEIGHTED: bool = true;
    const FRONTIER: bool = true;

    fn init(&self, vertex: Vertex) -> Applied<One<f64>, ()> {
        Applied::active(One(if vertex.index == self.source { 0.0 } else { f64::INFINITY }), ())
    }

    fn signal(&self, value: &One<f64>) -> f64 {
        value.0
    }

    fn scatter(&self, signal: f64, weight: f64) -> Option<f64> {
        signal.is_finite().then_some(signal + weight)
    }

    fn identity(&self) -> f64 {
        f64::INFINITY
    }

    fn gather(&self, accum: f64, update: f64) -> f64 {
        accum.min(update)
    }

    fn merge(&self, left: f64, right: f64) -> f64 {
        left.min(right)
    }

    fn apply(&self, value: One<f64>, accum: f64, (): &()) -> Applied<One<f64>, ()> {
        Applied { value: One(value.0.min(accum)), total: (), active: accum < value.0 }
    }

    fn next(&self, _: u64, (): &()) -> Next {
        Next::Iterate
    }

    fn limit(&self) -> Limit {
        Limit::Proved { most: |vertices| vertices, invariant: "a path visits a vertex once" }
    }
}

/// A vertex that is active in about one round of `one_in`, by a hash of its number and the round,
/// and adds its number to all it points at whenever it is. An update of a vertex that should be
/// silent, one that is missing, or one that is met twice, changes a sum for good.
pub(crate) struct Flicker {
    pub(crate) one_in: u64,
    pub(crate) rounds: u64,
}

/// Number of the vertex, round, and sum of what came in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Flickering {
    index: u64,
    round: u64,
    sum: i64,
}

impl Value for Flickering {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        vec![("sum", ColumnData::I64(values.iter().map(|value| value.sum).collect()))]
    }
}

impl Program for Flicker {
    type Value = Flickering;
    type Signal = u32;
    type Update = i64;
    /// Sum and number of updates.
    type Accum = [i64; 2];
    type Total = Count;

    const WEIGHTED: bool = false;
    const FRONTIER: bool = true;

    fn init(&self, vertex: Vertex) -> Applied<Flickering, Count> {
        let value = Flickering { index: vertex.index, round: 0, sum: 0 };
        Applied::active(value, Count(vertex.out_degree as i64))
    }

    fn signal(&self, value: &Flickering) -> u32 {
        value.index as u32
    }

    fn scatter(&self, signal: u32, _: f64) -> Option<i64> {
        (signal % 5 != 3).then_some(i64::from(signal) + 1)
    }

    fn identity(&self) -> [i64; 2] {
        [0, 0]
    }

    fn gather(&self, [sum, count]: [i64; 2], update: i64) -> [i64; 2] {
        [sum + update, count + 1]
    }

    fn merge(&self, left: [i64; 2], right: [i64; 2]) -> [i64; 2] {
        [left[0] + right[0], left[1] + right[1]]
    }

    fn apply(
        &self,
        value: Flickering,
        [sum, count]: [i64; 2],
        last: &Count,
    ) -> Applied<Flickering, Count> {
        let round = value.round + 1;
        let hash = (value.index * 31 + round).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        // Totals go in too: a total that is wrong once is wrong for good.
        let sum = value.sum.wrapping_mul(3) + sum + (last.0 & 0xff);
        let value = Flickering { round, sum, ..value };
        Applied { value, total: Count(count), active: hash.is_multiple_of(self.one_in) }
    }

    fn next(&self, iterations: u64, _: &Count) -> Next {
        if iterations < self.rounds { Next::Iterate } else { Next::Stop }
    }

    fn limit(&self) -> Limit {
        Limit::Stated(self.rounds)
    }
}

/// Number of edges that come in from vertices of each class (number modulo 24), and the largest
/// weight of each: an accumulator of 200 bytes, wider than a cache line.
pub(crate) struct Classes;

/// Counts and largest weights by class.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct PerClass {
    counts: [u32; 24],
    largest: [f32; 24],
    index: u64,
}

/// A class, and the weight of an edge that comes from it.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct FromClass {
    class: u32,
    weight: f32,
}

impl Value for PerClass {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        let sum = |value: &Self| value.counts.iter().sum();
        vec![("count", ColumnData::U32(values.iter().map(sum).collect()))]
    }
}

impl Program for Classes {
    type Value = PerClass;
    type Signal = u8;
    type Update = FromClass;
    type Accum = PerClass;
    type Total = Count;

    const WEIGHTED: bool = true;

    fn init(&self, vertex: Vertex) -> Applied<PerClass, Count> {
        Applied::active(PerClass { index: vertex.index, ..self.identity() }, Count(0))
    }

    fn signal(&self, value: &PerClass) -> u8 {
        (value.index % 24) as u8
    }

    fn scatter(&self, signal: u8, weight: f64) -> Option<FromClass> {
        Some(FromClass { class: signal.into(), weight: weight as f32 })
    }

    fn identity(&self) -> PerClass {
        PerClass { counts: [0; 24], largest: [f32::NEG_INFINITY; 24], index: 0 }
    }

    fn gather(&self, mut accum: PerClass, update: FromClass) -> PerClass {
        let FromClass { class, weight } = update;
        let class = class as usize;
        accum.counts[class] += 1;
        accum.largest[class] = accum.largest[class].max(weight);
        accum
    }

    fn merge(&self, mut left: PerClass, right: PerClass) -> PerClass {
        for class in 0..24 {
            left.counts[class] += right.counts[class];
            left.largest[class] = left.largest[class].max(right.largest[class]);
        }
        left
    }

    fn apply(&self, value: PerClass, accum: PerClass, _: &Count) -> Applied<PerClass, Count> {
        let total = Count(accum.counts.iter().map(|count| i64::from(*count)).sum());
        Applied { value: PerClass { index: value.index, ..accum }, total, active: true }
    }

    fn next(&self, iterations: u64, _: &Count) -> Next {
        if iterations < 1 { Next::Iterate } else { Next::Stop }
    }

    fn limit(&self) -> Limit {
        Limit::Stated(1)
    }
}
