//! Number of updates that programs make on an R-MAT graph, iteration by iteration: what the tables
//! of [`super::algorithms`] are taken from.
//!
//! ```text
//! updates(i) = 10^6 * |{ edges whose source is active and scatters in iteration i }| / |edges|
//! ```
//!
//! The programs are those of `welter_algorithms`, run one edge after the other as in the
//! interpreter of the tests.

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

/// Updates of a million edges in each iteration, the bytes of a value and of an update, and whether
/// degrees are looked at.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Name of the algorithm in Table 1 of the paper.
    pub name: &'static str,
    /// Bytes of a value, and of an update.
    pub bytes: [usize; 2],
    /// Whether first values look at degrees.
    pub degrees: bool,
    /// Updates of a million edges, by iteration.
    pub updates: Vec<u32>,
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

/// Iterations that are counted: all of each program but `MCST`, whose table has the first alone.
const ITERATIONS_MAX: usize = 40;
const TREES_MAX: usize = 20;

/// Runs a program, and counts.
fn count<P: Program>(name: &'static str, graph: &Graph, program: &P) -> Recorded {
    let most = if name == "MCST" { TREES_MAX } else { ITERATIONS_MAX };
    let mut degrees = vec![0; graph.slots()];
    graph.pairs.iter().for_each(|pair| degrees[pair[0] as usize] += 1);
    let (mut values, mut active, mut total) = (Vec::new(), Vec::new(), P::Total::default());
    for (index, &out_degree) in degrees.iter().enumerate() {
        let first = program.init(Vertex { index: index as u64, out_degree });
        values.push(first.value);
        active.push(first.active || !P::FRONTIER);
        total = total.merge(first.total);
    }
    let mut updates = Vec::new();
    while updates.len() < most
        && program.next(updates.len() as u64, &total) == Next::Iterate
        && active.contains(&true)
    {
        let signals: Vec<P::Signal> = values.iter().map(|value| program.signal(value)).collect();
        let mut accums: Vec<P::Accum> =
            values.iter().map(|value| program.init_accum(value)).collect();
        let mut made = 0;
        for (edge, pair) in graph.pairs.iter().enumerate() {
            let [from, to] = pair.map(|slot| slot as usize);
            let weight = if P::WEIGHTED { graph.weight(edge) } else { 1.0 };
            if active[from]
                && let Some(update) = program.scatter(signals[from], weight)
            {
                accums[to] = program.gather(accums[to], update);
                made += 1;
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
        updates.push((1_000_000 * made as u64 / graph.pairs.len().max(1) as u64) as u32);
    }
    let bytes = [size_of::<P::Value>(), size_of::<P::Update>()];
    Recorded { name, bytes, degrees: P::DEGREES, updates }
}

/// All ten algorithms of the paper's Table 1 on one graph.
pub fn record(graph: &Graph) -> Vec<Recorded> {
    let vertices = graph.slots() as u64;
    let both = read_as(graph, Reading { undirected: true, ..Reading::default() });
    let ways = Reading { duplicates: Duplicates::Directions, ..Reading::default() };
    let pagerank = PageRank::<f32>::new(vertices, 0.85, 5, 0.0, Dangling::Spread);
    let sides = Sides::of(vertices, 0..vertices / 2);
    let mut recorded = vec![
        count("BFS", graph, &Bfs::new(vec![0])),
        count("WCC", &both, &LabelPropagation),
        count("MCST", &both, &ForestLabels::default()),
        count("MIS", &both, &Mis::new(1)),
        count("SSSP", graph, &Sssp::<f32>::new(vec![0], 1.0)),
        count("PR", graph, &pagerank),
        count("SCC", &read_as(graph, ways), &Colours),
        count("Cond", graph, &Conductance::<u32>::new(sides)),
        count("SpMV", graph, &Spmv::<f32>::new(Vector::Random { seed: 1 }, 1)),
    ];
    if let Some(potential) = Potential::<2>::coupled(0.6) {
        recorded.push(count("BP", graph, &BeliefPropagation::new(potential, 5, 0.0)));
    }
    recorded
}
