//! Jobs of a schedule: random small graphs, and every algorithm of the engine.

use std::sync::Arc;

use welter_algorithms::als::Als4;
use welter_algorithms::bp::Potential;
use welter_algorithms::mcst::Cost;
use welter_algorithms::pagerank::Dangling;
use welter_algorithms::spmv::Vector;
use welter_algorithms::{
    BeliefPropagation, Bfs, BfsTree, Cdlp, Conductance, ForestContraction, ForestLabels, HyperBall,
    KCore, LabelPropagation, Lcc, LocalContraction, Mis, PageRank, Sides, Spmv, Sssp,
    StrongContraction, StrongLabels, SumProduct, Triangles, Walk,
};
use welter_model::edges::{Duplicates, Reading};
use welter_model::group::Grouped;
use welter_protocol::random::{Random, mix};
use welter_testing::graph::Graph;
use welter_testing::plain::{components, forest, strong_components};
use welter_testing::reading::read_as;

use crate::contract_job::ContractJob;
use crate::job::Job;
use crate::kernel_job::KernelJob;
use crate::phases::Colours;
use crate::triangle_job::TriangleJob;

/// The algorithms, by name.
pub const ALGORITHMS: [&str; 23] = [
    "labels",
    "pagerank",
    "bfs",
    "sssp",
    "spmv",
    "mis",
    "cdlp",
    "kcore",
    "bfs-tree",
    "hyperball",
    "conductance",
    "als",
    "bp",
    "colours",
    "wcc",
    "mcst",
    "scc",
    "triangles",
    "lcc",
    "sum-product",
    "walk",
    "forest-labels",
    "strong-labels",
];

/// A graph of at most `vertices_max` vertices and `edges_max` edges, with hubs, loops, parallel
/// edges and vertices that have no edge.
pub fn graph(random: &mut Random, vertices_max: u64, edges_max: u64) -> Graph {
    let vertices = 1 + random.below(vertices_max);
    let edges = random.below(edges_max + 1);
    let favourites = 1 + random.below(4);
    let end = |random: &mut Random| {
        let bound = if random.chance(400) { favourites.min(vertices) } else { vertices };
        random.below(bound) as u32
    };
    let pairs = (0..edges).map(|_| [end(random), end(random)]).collect();
    let weights = (0..edges).map(|_| (1 + random.below(64)) as f64 / 4.0).collect();
    Graph { weights: Some(weights), ..Graph::new(vertices as usize, pairs) }
}

/// A job of this name on a random graph.
pub fn job(name: &str, random: &mut Random, graph: &Graph) -> Arc<dyn Job> {
    let both = || read_as(graph, Reading { undirected: true, ..Reading::default() });
    let vertices = graph.slots() as u64;
    let seed = random.number();
    let sources = vec![random.below(vertices), random.below(vertices)];
    let iterations = 1 + random.below(3);
    match name {
        "pagerank" => {
            let program = PageRank::<f64>::new(vertices, 0.85, iterations, 0.0, Dangling::Spread);
            Arc::new(KernelJob::new("pagerank", graph, program))
        }
        "bfs" => Arc::new(KernelJob::new("bfs", graph, Bfs::new(sources))),
        "bfs-tree" => Arc::new(KernelJob::new("bfs-tree", graph, BfsTree::new(sources))),
        "sssp" => Arc::new(KernelJob::new("sssp", graph, Sssp::<f64>::new(sources, 1.0))),
        "spmv" => {
            let program = Spmv::<f64>::new(Vector::Random { seed }, iterations);
            Arc::new(KernelJob::new("spmv", graph, program))
        }
        "mis" => Arc::new(KernelJob::new("mis", &both(), Mis::new(seed))),
        "cdlp" => Arc::new(KernelJob::new("cdlp", &both(), Grouped(Cdlp::new(iterations)))),
        "kcore" => Arc::new(KernelJob::new("kcore", &both(), Grouped(KCore))),
        "hyperball" => {
            Arc::new(KernelJob::new("hyperball", graph, HyperBall::<16>::new(seed, Some(4))))
        }
        "conductance" => {
            let sides = Sides::of(vertices, 0..vertices / 2);
            Arc::new(KernelJob::new("conductance", &both(), Conductance::<u32>::new(sides)))
        }
        "als" => {
            // Edges run from the first half to the second.
            let users = (vertices as u32 / 2).max(1);
            let items = (vertices as u32).saturating_sub(users).max(1);
            let of_sides = |&[from, to]: &[u32; 2]| [from % users, users + to % items];
            let pairs = graph.pairs.iter().map(of_sides).collect();
            let slots = (users + items) as usize;
            let rated = Graph { weights: graph.weights.clone(), ..Graph::new(slots, pairs) };
            let rated = read_as(&rated, Reading { undirected: true, ..Reading::default() });
            let sides = Sides::of(slots as u64, u64::from(users)..slots as u64);
            let program = Als4::new(sides, 0.1, iterations, seed);
            Arc::new(KernelJob::within(1e-6, "als", &rated, program))
        }
        "bp" => {
            let Some(potential) = Potential::<2>::coupled(0.6) else {
                unreachable!("0.6 lies between 0 and 1")
            };
            let program = BeliefPropagation::new(potential, iterations, 0.0);
            Arc::new(KernelJob::new("bp", &both(), program))
        }
        "colours" => {
            let directions = Duplicates::Directions;
            let ways = read_as(graph, Reading { duplicates: directions, ..Reading::default() });
            Arc::new(KernelJob::new("colours", &ways, Colours))
        }
        "sum-product" => {
            let Some(program) = Potential::<2>::coupled(0.6)
                .and_then(|potential| SumProduct::<2, 1>::new(potential, 1 + iterations, 0.0))
            else {
                unreachable!("0.6 lies between 0 and 1")
            };
            // Vertices have different priors.
            let prior = |vertex: u64| [1.0, (1 + mix(seed ^ vertex) % 64) as f64 / 8.0];
            let program = program.with_priors((0..vertices).map(prior).collect());
            // Messages are kept as 32-bit numbers.
            Arc::new(KernelJob::extended(1e-4, "sum-product", &both(), program))
        }
        "walk" => {
            let mut sums = vec![0.0; graph.slots()];
            for (edge, &[source, _]) in graph.pairs.iter().enumerate() {
                sums[source as usize] += graph.weight(edge);
            }
            let jumps = sums.iter().map(|sum| 1.0 + sum % 3.0).collect();
            let walk = Walk::new(vertices, 0.85, iterations, 0.0).weighted(sums).jumping(jumps);
            let Some(walk) = walk else { unreachable!("there are vertices") };
            Arc::new(KernelJob::new("walk", graph, walk))
        }
        "forest-labels" => {
            Arc::new(KernelJob::new("forest-labels", &both(), ForestLabels::default()))
        }
        "wcc" | "mcst" | "scc" | "strong-labels" => joined(name, random, graph),
        "triangles" | "lcc" => {
            let ranges_most = *random.pick(&[1, 1, 3, 4]);
            match name {
                "lcc" => Arc::new(TriangleJob::new("lcc", graph, ranges_most, Lcc)),
                _ => Arc::new(TriangleJob::new("triangles", graph, ranges_most, Triangles)),
            }
        }
        _ => Arc::new(KernelJob::new("labels", &both(), LabelPropagation)),
    }
}

/// A graph as a program that contracts wants it: both ways, with a loop at each vertex and no
/// other.
pub fn with_members(graph: &Graph) -> Graph {
    let pairs = Reading { undirected: true, drop_self_loops: true, ..Reading::default() };
    let mut read = read_as(&Graph { weights: None, ..graph.clone() }, pairs);
    read.pairs.extend((0..read.slots() as u32).map(|vertex| [vertex; 2]));
    read
}

/// Programs over what hangs together, judged by searches, Kruskal and Kosaraju.
fn joined(name: &str, random: &mut Random, graph: &Graph) -> Arc<dyn Job> {
    let both = Reading { undirected: true, ..Reading::default() };
    let column = |values: Vec<u64>| values.into_iter().map(|value| vec![value as f64]).collect();
    match name {
        "mcst" => {
            let heaviest = random.chance(300);
            let branches = forest(graph, heaviest).into_iter();
            let rows = branches.map(|(one, other, weight)| vec![one as f64, other as f64, weight]);
            let cost = if heaviest { Cost::Maximum } else { Cost::Minimum };
            let (both, program) = (read_as(graph, both), ForestContraction::new(cost));
            Arc::new(ContractJob::new("mcst", &both, program, rows.collect()))
        }
        "scc" | "strong-labels" => {
            let duplicates = Duplicates::Directions;
            let ways = Reading { drop_self_loops: true, duplicates, ..Reading::default() };
            let rows = column(strong_components(graph));
            let ways = read_as(graph, ways);
            if name == "scc" {
                return Arc::new(ContractJob::new("scc", &ways, StrongContraction, rows));
            }
            Arc::new(KernelJob::listed("strong-labels", &ways, StrongLabels, rows))
        }
        _ => {
            let rows = column(components(graph));
            let program = LocalContraction::new(random.number());
            Arc::new(ContractJob::new("wcc", &with_members(graph), program, rows))
        }
    }
}
