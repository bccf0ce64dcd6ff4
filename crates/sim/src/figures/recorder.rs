//! Numbers of updates that programs make, and of vertices that are active, on a graph, iteration by
//! iteration.
//!
//! ```text
//! updates(i) = |{ edges whose source is active and scatters in iteration i }|
//! sources(i) = |{ active vertices before iteration i that have an edge }|
//! ```
//!
//! The programs are those of `welter_algorithms`, run one edge after the other as in the
//! interpreter of the tests. Workers of real machines make as many updates ([`super::profiler`]).

use std::sync::Arc;

use welter_algorithms::bp::Potential;
use welter_algorithms::pagerank::Dangling;
use welter_algorithms::spmv::Vector;
use welter_algorithms::{
    BeliefPropagation, Bfs, Conductance, ForestLabels, LabelPropagation, Mis, PageRank, Sides,
    Spmv, Sssp,
};
use welter_model::edges::{Duplicates, Reading};
use welter_model::program::{Next, Program, Total, Vertex};
use welter_protocol::random::Random;
use welter_testing::graph::Graph;
use welter_testing::reading::read_as;

use crate::phases::Colours;
use crate::sized_job::Iteration;

/// Iterations of a program, the bytes of a value and of an update, and whether degrees are looked
/// at.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Name of the algorithm in Table 1 of the paper.
    pub name: &'static str,
    /// Bytes of a value, and of an update.
    pub bytes: [usize; 2],
    /// Whether first values look at degrees.
    pub degrees: bool,
    /// Iterations, of all edges and of the vertices that have one.
    pub iterations: Vec<Iteration>,
}

/// Something that is done with each of several programs, and the graph as it wants that to be read.
pub trait Visitor {
    /// Does it with a program, by its name in Table 1 of the paper.
    fn visit<P>(&mut self, name: &'static str, graph: &Arc<Graph>, program: P)
    where
        P: Program + Send + 'static;
}

/// An R-MAT graph of Graph500's parameters with 16 edges a vertex and weights from 0 to 1.
pub fn rmat(scale: u32, seed: u64) -> Graph {
    let random = &mut Random::new(seed);
    let mut pair = || {
        let [mut source, mut target] = [0u32; 2];
        for _ in 0..scale {
            let at = random.below(100);
            let (row, column) = match at {
                0..57 => (0, 0),
                57..76 => (0, 1),
                76..95 => (1, 0),
                _ => (1, 1),
            };
            (source, target) = (2 * source + row, 2 * target + column);
        }
        [source, target]
    };
    let pairs: Vec<[u32; 2]> = (0..16usize << scale).map(|_| pair()).collect();
    let random = &mut Random::new(seed ^ 1);
    let weights = pairs.iter().map(|_| random.below(1000) as f64 / 1000.0).collect();
    Graph { weights: Some(weights), ..Graph::new(1 << scale, pairs) }
}

/// Iterations of which tables are made, at most: all of each program but `MCST`, whose table has
/// the first alone.
const ITERATIONS_MAX: usize = 40;
const TREES_MAX: usize = 20;

/// Iterations of the algorithm of this name of which tables are made, at most.
pub fn iterations_max(name: &str) -> usize {
    if name == "MCST" { TREES_MAX } else { ITERATIONS_MAX }
}

/// Runs a program for at most this number of iterations, and counts.
pub fn count<P>(name: &'static str, graph: &Graph, program: &P, iterations_max: usize) -> Recorded
where
    P: Program,
{
    let mut degrees = vec![0; graph.slots()];
    graph.pairs.iter().for_each(|pair| degrees[pair[0] as usize] += 1);
    let (mut values, mut active, mut total) = (Vec::new(), Vec::new(), P::Total::default());
    for (index, &out_degree) in degrees.iter().enumerate() {
        let first = program.init(Vertex { index: index as u64, out_degree });
        values.push(first.value);
        active.push(first.active || !P::FRONTIER);
        total = total.merge(first.total);
    }
    let used = graph.used();
    let vertices = used.iter().filter(|used| **used).count() as u64;
    let mut iterations = Vec::new();
    while iterations.len() < iterations_max
        && program.next(iterations.len() as u64, &total) == Next::Iterate
        && active.contains(&true)
    {
        let sources = active.iter().zip(&used).filter(|(active, used)| **active && **used);
        let sources = sources.count() as u64;
        let signals: Vec<P::Signal> = values.iter().map(|value| program.signal(value)).collect();
        let mut accums: Vec<P::Accum> =
            values.iter().map(|value| program.init_accum(value)).collect();
        let mut updates = 0;
        for (edge, pair) in graph.pairs.iter().enumerate() {
            let [from, to] = pair.map(|slot| slot as usize);
            let weight = if P::WEIGHTED { graph.weight(edge) } else { 1.0 };
            if active[from]
                && let Some(update) = program.scatter(signals[from], weight)
            {
                accums[to] = program.gather(accums[to], update);
                updates += 1;
            }
        }
        let mut sum = P::Total::default();
        for (vertex, accum) in accums.into_iter().enumerate() {
            let applied = program.apply(values[vertex], accum, &total);
            values[vertex] = applied.value;
            sum = sum.merge(applied.total);
            active[vertex] = applied.active || !P::FRONTIER;
        }
        total = sum;
        iterations.push(Iteration { edges: graph.pairs.len() as u64, updates, vertices, sources });
    }
    let bytes = [size_of::<P::Value>(), size_of::<P::Update>()];
    Recorded { name, bytes, degrees: P::DEGREES, iterations }
}

/// Visits all ten algorithms of the paper's Table 1, in its order.
pub fn visit(graph: Graph, visitor: &mut impl Visitor) {
    let (vertices, graph) = (graph.slots() as u64, Arc::new(graph));
    visitor.visit("BFS", &graph, Bfs::new(vec![0]));
    // Graphs that are read otherwise are dropped as soon as may be: they are large.
    let both = Reading { undirected: true, ..Reading::default() };
    let both = Arc::new(read_as(&graph, both));
    visitor.visit("WCC", &both, LabelPropagation);
    visitor.visit("MCST", &both, ForestLabels::default());
    visitor.visit("MIS", &both, Mis::new(1));
    drop(both);
    visitor.visit("SSSP", &graph, Sssp::<f32>::new(vec![0], 1.0));
    let pagerank = PageRank::<f32>::new(vertices, 0.85, 5, 0.0, Dangling::Spread);
    visitor.visit("PR", &graph, pagerank);
    let ways = Reading { duplicates: Duplicates::Directions, ..Reading::default() };
    visitor.visit("SCC", &Arc::new(read_as(&graph, ways)), Colours);
    let sides = Sides::of(vertices, 0..vertices / 2);
    visitor.visit("Cond", &graph, Conductance::<u32>::new(sides));
    visitor.visit("SpMV", &graph, Spmv::<f32>::new(Vector::Random { seed: 1 }, 1));
    if let Some(potential) = Potential::<2>::coupled(0.6) {
        visitor.visit("BP", &graph, BeliefPropagation::new(potential, 5, 0.0));
    }
}

/// Counts of all of them.
struct Counts(Vec<Recorded>);

impl Visitor for Counts {
    fn visit<P>(&mut self, name: &'static str, graph: &Arc<Graph>, program: P)
    where
        P: Program + Send + 'static,
    {
        self.0.push(count(name, graph, &program, iterations_max(name)));
    }
}

/// All ten algorithms of the paper's Table 1 on one graph.
pub fn record(graph: Graph) -> Vec<Recorded> {
    let mut counts = Counts(Vec::new());
    visit(graph, &mut counts);
    counts.0
}
