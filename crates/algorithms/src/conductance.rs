//! Conductance: how much of what leaves the smaller of two sides crosses to the other.
//!
//! With `S` a set of vertices, and `w` the weight of an edge (1 where edges are counted):
//!
//! ```text
//! cut     = sum over edges u -> v, u in S and v not, of w(u, v)
//! vol(X)  = sum over edges u -> v, u in X, of w(u, v)
//! phi(S)  = cut / min(vol(S), vol(rest))
//! ```
//!
//! In a graph that was read as undirected an edge leaves both of its ends, so `vol` is the sum of
//! the degrees, a cut edge counts once, and `phi` is the same of `S` and of the rest. A self-loop
//! leaves its vertex once. Where a side has no edges, or weights that add up to no more than 0,
//! there is no conductance.
//!
//! One pass over the edges. Each vertex says its side; it adds up what comes from either, and all
//! sums follow from these. Edges are counted as integers, so their order does not matter, and
//! without weights no graph is made: the program is an input scan too, whose [`Sides`] are those
//! of slots.
//!
//! | Chaos, Table 1 (`Conductance`) | here |
//! |---|---|
//! | the side of a vertex | [`Sides`], `init`, `signal` |
//! | edges by the sides of their ends | `gather`, `apply`, [`Cut`] |
//!
//! Source: Leskovec, Lang, Dasgupta and Mahoney, Statistical properties of community structure in
//! large social and information networks (2008), for `phi`; X-Stream, which runs it in one pass.
//!
//! Two triangles with an edge between them: one edge of the seven that leave either side crosses.
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, run};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::{Conductance, Sides};
//! use welter_model::edges::{EdgeList, Reading};
//!
//! let edges = EdgeList::from_pairs(vec![[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3], [2, 3]]);
//! let reading = Reading { undirected: true, ..Reading::default() };
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of::<Conductance<u32>>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let program = Conductance::<u32>::new(Sides::of(6, [0, 1, 2]));
//! let outcome = run(&graph, &program, &workers, &progress)?;
//! assert_eq!(outcome.total.cut, 1.0);
//! assert_eq!(outcome.total.conductance(), Some(1.0 / 7.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt::Debug;
use std::ops::Add;

use bytemuck::{Pod, Zeroable};
use welter_model::input_scan::InputScan;
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Total, Value, Vertex};
use welter_model::table::ColumnData;

use crate::Sides;

/// Amount that edges add up to: their number, `u32` as degrees are, or their weights, `f64`.
pub trait Amount:
    Pod + Send + Sync + Debug + Default + PartialEq + Add<Output = Self> + Into<f64>
{
    /// Whether weights are added up.
    const WEIGHTED: bool;
    /// The amount that an edge adds.
    fn of(weight: f64) -> Self;
    /// A column of amounts.
    fn column(amounts: impl Iterator<Item = Self>) -> ColumnData;
}

impl Amount for u32 {
    const WEIGHTED: bool = false;

    #[inline(always)]
    fn of(_: f64) -> Self {
        1
    }

    fn column(amounts: impl Iterator<Item = Self>) -> ColumnData {
        ColumnData::U32(amounts.collect())
    }
}

impl Amount for f64 {
    const WEIGHTED: bool = true;

    #[inline(always)]
    fn of(weight: f64) -> Self {
        weight
    }

    fn column(amounts: impl Iterator<Item = Self>) -> ColumnData {
        ColumnData::F64(amounts.collect())
    }
}

/// The program, with edges that add up to an `A`.
#[derive(Clone, Debug, PartialEq)]
pub struct Conductance<A> {
    sides: Sides,
    amount: std::marker::PhantomData<A>,
}

impl<A: Amount> Conductance<A> {
    /// Of the set that `sides` states.
    pub fn new(sides: Sides) -> Self {
        Self { sides, amount: std::marker::PhantomData }
    }
}

/// State of a vertex: what comes to it from the other side, and 1 in `S`, 0 in the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C, packed)]
pub struct Across<A> {
    across: A,
    side: u32,
}

impl<A: Amount> Value for Across<A> {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        let sides = values.iter().map(|value| value.side).collect();
        let across = A::column(values.iter().map(|value| value.across));
        vec![("across", across), ("side", ColumnData::U32(sides))]
    }
}

/// Sums over all edges, and how many vertices are on each side: the rest first, then `S`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Cut {
    /// Edges, or weights, from `S` to the rest.
    pub cut: f64,
    /// Edges, or weights, that leave each side.
    pub volumes: [f64; 2],
    /// Vertices on each side.
    pub vertices: [u64; 2],
}

impl Cut {
    /// `phi`, unless a side has no volume.
    pub fn conductance(&self) -> Option<f64> {
        let [rest, set] = self.volumes;
        (rest > 0.0 && set > 0.0).then(|| self.cut / rest.min(set))
    }
}

#[inline(always)]
fn sums<A: Add<Output = A> + Copy>([rest, set]: [A; 2], [more_rest, more_set]: [A; 2]) -> [A; 2] {
    [rest + more_rest, set + more_set]
}

impl Total for Cut {
    #[inline(always)]
    fn merge(self, other: Self) -> Self {
        Self {
            cut: self.cut + other.cut,
            volumes: sums(self.volumes, other.volumes),
            vertices: sums(self.vertices, other.vertices),
        }
    }
}

impl<A: Amount> Program for Conductance<A> {
    type Value = Across<A>;
    type Signal = u8;
    type Update = [A; 2];
    type Accum = [A; 2];
    type Total = Cut;

    const WEIGHTED: bool = A::WEIGHTED;
    const DEGREES: bool = false;
    const WIDE: bool = true;

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> Applied<Across<A>, Cut> {
        let side = self.sides.has(vertex.index).into();
        Applied::active(Across { across: A::default(), side }, Cut::default())
    }

    #[inline(always)]
    fn signal(&self, value: &Across<A>) -> u8 {
        value.side as u8
    }

    #[inline(always)]
    fn scatter(&self, side: u8, weight: f64) -> Option<[A; 2]> {
        let (amount, none) = (A::of(weight), A::default());
        Some(if side == 0 { [amount, none] } else { [none, amount] })
    }

    #[inline(always)]
    fn identity(&self) -> [A; 2] {
        [A::default(); 2]
    }

    #[inline(always)]
    fn gather(&self, accum: [A; 2], update: [A; 2]) -> [A; 2] {
        sums(accum, update)
    }

    #[inline(always)]
    fn merge(&self, left: [A; 2], right: [A; 2]) -> [A; 2] {
        sums(left, right)
    }

    #[inline(always)]
    fn apply(&self, value: Across<A>, [rest, set]: [A; 2], _: &Cut) -> Applied<Across<A>, Cut> {
        let side = value.side;
        let (across, cut) = if side == 0 { (set, set.into()) } else { (rest, 0.0) };
        let vertices = [u64::from(side == 0), u64::from(side == 1)];
        let total = Cut { cut, volumes: [rest.into(), set.into()], vertices };
        Applied::active(Across { across, side }, total)
    }

    fn next(&self, iterations: u64, _: &Cut) -> Next {
        if iterations == 0 { Next::Iterate } else { Next::Stop }
    }

    fn limit(&self) -> Limit {
        Limit::Stated(1)
    }
}

/// Edges that were met: all, those that leave `S`, and those that go to the rest from there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    all: u64,
    from_set: u64,
    cut: u64,
}

impl InputScan for Conductance<u32> {
    type Sums = Sums;
    type Update = ();
    type Accum = u32;
    type Value = Across<u32>;
    type Total = Cut;

    #[inline(always)]
    fn edge(&self, source: u32, target: u32, _: f64, sums: &mut Sums) -> Option<()> {
        let [source, target] = [source, target].map(|slot| self.sides.has(slot.into()));
        sums.all += 1;
        sums.from_set += u64::from(source);
        sums.cut += u64::from(source && !target);
        (source != target).then_some(())
    }

    #[inline(always)]
    fn gather(&self, across: u32, (): ()) -> u32 {
        across + 1
    }

    fn total(&self, Sums { all, from_set, cut }: Sums) -> Cut {
        let volumes = [all - from_set, from_set].map(|edges| edges as f64);
        Cut { cut: cut as f64, volumes, vertices: [0, 0] }
    }

    fn value(&self, slot: u32, across: u32) -> (Across<u32>, Cut) {
        let in_set = self.sides.has(slot.into());
        let vertices = [u64::from(!in_set), u64::from(in_set)];
        (Across { across, side: in_set.into() }, Cut { vertices, ..Cut::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_without_edges_has_no_conductance() {
        let cut = |cut, volumes| Cut { cut, volumes, vertices: [1, 1] }.conductance();
        assert_eq!(cut(2.0, [8.0, 4.0]), Some(0.5));
        assert_eq!(cut(0.0, [8.0, 4.0]), Some(0.0));
        assert_eq!(cut(0.0, [8.0, 0.0]), None);
        assert_eq!(cut(0.0, [0.0, 0.0]), None);
        assert_eq!(cut(1.0, [2.0, -1.0]), None);
    }
}
