//! `SpMV`: the product of the graph's matrix with a vector.
//!
//! With `x` a vector over the vertices and `w` the weight of an edge (1 without weights):
//!
//! ```text
//! y(v) = sum over edges (u, v) of w(u, v) * x(u)
//! ```
//!
//! that is `y = A^T x` for the adjacency matrix `A`. Parallel edges add. With several `iterations`,
//! `y` becomes the next `x`. One pass over the edges an iteration (Chaos, Table 1).
//!
//! With one iteration edges are met once, so no graph is made: [`Product`] is the same as an
//! input scan, which adds in the order of the input, where a graph adds in the order of the
//! sources. Sums of floats may differ in their last digits.
//!
//! A matrix of three entries, times a vector:
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, run};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::Spmv;
//! use welter_model::edges::{EdgeList, Reading};
//! use welter_model::table::ColumnData;
//!
//! let mut edges = EdgeList::new(Some(3), true);
//! edges.push(vec![[0, 1], [0, 2], [1, 2]], vec![2.0, 3.0, 0.5]);
//! # let reading = Reading::default();
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of::<Spmv<f64>>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let outcome = run(&graph, &Spmv::<f64>::of(vec![1.0, 10.0, 100.0], 1), &workers, &progress)?;
//! let columns = Value::columns(&outcome.values.whole()?[..]);
//! assert_eq!(columns, [("value", ColumnData::F64(vec![0.0, 2.0, 8.0]))]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use welter_model::input_scan::InputScan;
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Value, Vertex};
use welter_model::table::ColumnData;

use crate::Float;
use crate::hash::hash;

/// The vector that is multiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vector {
    /// 1 everywhere: the result is the weighted in-degree.
    #[default]
    Ones,
    /// Numbers in `[0, 1)` that depend on the seed and the number of the vertex alone.
    Random {
        /// Picks the vector.
        seed: u64,
    },
}

impl Vector {
    /// The element at vertex number `index`.
    pub fn at(self, index: u64) -> f64 {
        match self {
            Self::Ones => 1.0,
            Self::Random { seed } => (hash(seed, index) >> 11) as f64 / (1_u64 << 53) as f64,
        }
    }
}

/// The program and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Spmv<F> {
    vector: Vector,
    /// The vector element by element, in the place of the other.
    given: Option<Arc<[f64]>>,
    iterations: u64,
    float: PhantomData<F>,
}

impl<F: Float> Spmv<F> {
    /// Multiplies `vector`, `iterations` times.
    pub fn new(vector: Vector, iterations: u64) -> Self {
        Self { vector, given: None, iterations, float: PhantomData }
    }

    /// Multiplies a vector that has an element for each vertex number.
    pub fn of(elements: Vec<f64>, iterations: u64) -> Self {
        Self { given: Some(elements.into()), ..Self::new(Vector::Ones, iterations) }
    }
}

/// One element of the vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Element<F>(F);

impl<F: Float> Value for Element<F> {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        vec![("value", F::column(values.iter().map(|element| element.0).collect()))]
    }
}

impl<F: Float> Program for Spmv<F> {
    type Value = Element<F>;
    type Signal = F;
    type Update = F;
    type Accum = F;
    type Total = ();

    const WEIGHTED: bool = true;
    const DEGREES: bool = false;
    const WIDE: bool = true;

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> Applied<Element<F>, ()> {
        let element = match &self.given {
            Some(elements) => elements[vertex.index as usize],
            None => self.vector.at(vertex.index),
        };
        Applied::active(Element(F::of(element)), ())
    }

    #[inline(always)]
    fn signal(&self, element: &Element<F>) -> F {
        element.0
    }

    #[inline(always)]
    fn scatter(&self, signal: F, weight: f64) -> Option<F> {
        Some(F::of(weight) * signal)
    }

    #[inline(always)]
    fn identity(&self) -> F {
        F::default()
    }

    #[inline(always)]
    fn gather(&self, accum: F, update: F) -> F {
        accum + update
    }

    #[inline(always)]
    fn merge(&self, left: F, right: F) -> F {
        left + right
    }

    #[inline(always)]
    fn apply(&self, _: Element<F>, accum: F, (): &()) -> Applied<Element<F>, ()> {
        Applied { value: Element(accum), total: (), active: true }
    }

    fn next(&self, iterations: u64, (): &()) -> Next {
        if iterations < self.iterations { Next::Iterate } else { Next::Stop }
    }

    fn limit(&self) -> Limit {
        Limit::Stated(self.iterations)
    }
}

/// The product as an input scan: vectors have an element for each slot.
///
/// Edges are met once, where they lie, and no graph is made:
///
/// ```
/// # use welter_engine::plan::{Layout, Plan, Settings, Shape};
/// # use welter_engine::{Graph, Machine, Workers, count};
/// # use welter_model::{ids::IdMap, program::Value};
/// # use welter_progress::Progress;
/// use welter_algorithms::spmv::Product;
/// use welter_model::edges::{EdgeList, Reading};
/// use welter_model::table::ColumnData;
///
/// let mut edges = EdgeList::new(Some(3), true);
/// edges.push(vec![[0, 1], [0, 2], [1, 2]], vec![2.0, 3.0, 0.5]);
/// # let reading = Reading::default();
/// # let shape = Shape::of(&edges, reading);
/// # let (settings, machine) = (Settings::default(), Machine::detect());
/// # let layout = Layout::of_input_scan::<Product<f64>>(8);
/// # let plan = Plan::new(shape, layout, &settings, &machine)?;
/// # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
/// # let progress = Progress::new();
/// # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
/// let product = Product::<f64>::new(Some([1.0, 10.0, 100.0].into_iter()));
/// let outcome = count(&graph, &product, &workers, &progress)?;
/// let columns = Value::columns(&outcome.values.whole()?[..]);
/// assert_eq!(columns, [("value", ColumnData::F64(vec![0.0, 2.0, 8.0]))]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Product<F> {
    /// The vector; none where it is 1 everywhere.
    x: Option<Vec<F>>,
}

impl<F: Float> Product<F> {
    /// The product with these elements, by slot; without any, with 1 everywhere.
    pub fn new(elements: Option<impl Iterator<Item = f64>>) -> Self {
        Self { x: elements.map(|elements| elements.map(F::of).collect()) }
    }
}

impl<F: Float> InputScan for Product<F> {
    type Sums = ();
    type Update = F;
    type Accum = F;
    type Value = Element<F>;
    type Total = ();

    const WEIGHTED: bool = true;

    #[inline(always)]
    fn edge(&self, source: u32, _: u32, weight: f64, (): &mut ()) -> Option<F> {
        let weight = F::of(weight);
        Some(self.x.as_ref().map_or(weight, |x| weight * x[source as usize]))
    }

    #[inline(always)]
    fn gather(&self, accum: F, update: F) -> F {
        accum + update
    }

    fn total(&self, (): ()) {}

    fn value(&self, _: u32, sum: F) -> (Element<F>, ()) {
        (Element(sum), ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_random_vector_is_in_range_and_never_changes() {
        let vector = Vector::Random { seed: 7 };
        let values: Vec<f64> = (0..1000).map(|index| vector.at(index)).collect();
        assert!(values.iter().all(|value| (0.0..1.0).contains(value)));
        let mean = values.iter().sum::<f64>() / 1000.0;
        assert!((mean - 0.5).abs() < 0.05, "{mean}");
        assert!((vector.at(0) - Vector::Random { seed: 8 }.at(0)).abs() > 1e-9);
    }
}
