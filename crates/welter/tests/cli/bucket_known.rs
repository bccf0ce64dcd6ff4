//! Answers that are published or follow from mathematics, by commands on graphs that are kept in a
//! bucket and streamed from there.

use welter_testing::answers::{by_depth, sizes};
use welter_testing::bucket::BucketServer;
use welter_testing::closed_form::{
    Known, Search, complete, directed_cycle, grid, hypercube, known, searches, star,
};
use welter_testing::graph::Graph;
use welter_testing::puzzles::{eight_puzzle, pancakes, pocket_cube, published, rank};
use welter_testing::relative_error;

use crate::bucket_answers::{ingested, table, values, write_edges};
use crate::sandbox::Sandbox;

/// A graph that is kept in a bucket, and whose slots are the ids there.
struct Kept {
    sandbox: Sandbox,
    server: BucketServer,
    ids: Vec<u64>,
}

impl Kept {
    /// Writes the edges to a file, and keeps the graph that has them and all slots.
    fn of(graph: &Graph, undirected: bool) -> Self {
        let sandbox = Sandbox::new();
        let direction = if undirected { "--undirected" } else { "" };
        let edges = write(&sandbox, graph);
        let input = format!("{edges} --vertices {} {direction}", graph.slots());
        Self { server: ingested(&sandbox, &input), sandbox, ids: graph.ids() }
    }

    /// Values of all vertices.
    fn values(&self, run: &str) -> Vec<f64> {
        values(&self.sandbox, &self.server, run, &self.ids)
    }

    /// Number of vertices of each depth in a search.
    fn levels(&self, source: u32) -> Vec<u64> {
        let depths = self.values(&format!("bfs --source {source}"));
        by_depth(&depths.into_iter().map(|depth| depth as i64).collect::<Vec<_>>())
    }

    /// Sizes of the components, the largest first.
    fn components(&self) -> Vec<u64> {
        let labels = self.values("wcc");
        sizes(&labels.into_iter().map(|label| label as u64).collect::<Vec<_>>())
    }

    /// Whether all vertices have this value.
    fn all_have(&self, run: &str, value: f64) -> bool {
        let values = self.values(run);
        !values.is_empty() && values.iter().all(|found| (found - value).abs() < 1e-12)
    }
}

/// Writes the edges of a graph to a file, and returns how it is read. Records are quicker to write
/// and to read than text, and a cube has millions.
fn write(sandbox: &Sandbox, graph: &Graph) -> &'static str {
    if let Some(weights) = &graph.weights {
        let pairs = graph.pairs.iter().map(|[from, to]| (u64::from(*from), u64::from(*to)));
        write_edges(sandbox, pairs, weights);
        return "e.tsv --weight 3";
    }
    let mut bytes: Vec<u8> = Vec::with_capacity(8 * graph.pairs.len());
    for slot in graph.pairs.iter().flatten() {
        bytes.extend_from_slice(&slot.to_le_bytes());
    }
    sandbox.write("e.u32", bytes);
    "e.u32"
}

#[test]
fn puzzles_in_a_bucket_take_as_many_moves_as_published() {
    let Some(levels) = published("8-puzzle", "bfs_from_goal_1..8_0_counts") else { return };
    let puzzle = Kept::of(&eight_puzzle(), true);
    assert_eq!(levels.len(), 32);
    assert_eq!(puzzle.levels(rank([1, 2, 3, 4, 5, 6, 7, 8, 0])), levels);
    assert_eq!(puzzle.components(), [181_440, 181_440]);
    assert!(puzzle.all_have("triangles", 0.0));
    let stacks = Kept::of(&pancakes(), true);
    let levels = stacks.levels(0);
    assert_eq!(levels.len(), 11);
    assert_eq!(Some(levels), published("pancake-9", "bfs_counts"));
    assert_eq!(stacks.components(), [362_880]);
}

#[test]
fn the_pocket_cube_in_a_bucket_is_solved_in_14_quarter_turns() {
    let Some(levels) = published("pocket-cube-QTM", "bfs_counts") else { return };
    assert_eq!(levels.len(), 15);
    assert_eq!(Kept::of(&pocket_cube(false), true).levels(0), levels);
}

#[test]
fn the_pocket_cube_in_a_bucket_is_solved_in_11_turns() {
    let Some(levels) = published("pocket-cube-HTM", "bfs_counts") else { return };
    assert_eq!(levels.len(), 12);
    assert_eq!(Kept::of(&pocket_cube(true), true).levels(0), levels);
}

#[test]
fn cubes_cycles_stars_and_grids_from_a_bucket() {
    let all = searches();
    assert_eq!(all.len(), 6);
    for Search { name, graph, undirected, source, levels } in all {
        let kept = Kept::of(&graph, undirected);
        assert_eq!(kept.levels(source), levels, "{name}");
        assert_eq!(kept.components(), [graph.slots() as u64], "{name}");
    }
    let kept = Kept::of(&Graph::new(4, vec![[1, 2]]), false);
    assert_eq!(kept.components(), [2, 1, 1], "vertices without edges");
}

#[test]
fn ranks_that_mathematics_gives_from_a_bucket() {
    let all = known();
    assert_eq!(all.len(), 12);
    for Known { name, graph, ranks } in all {
        let found = Kept::of(&graph, false).values("pagerank --iterations 250");
        let error = relative_error(&ranks, &found);
        assert!(error < 1e-12, "{name}: {error}");
    }
}

#[test]
fn triangles_cores_and_communities_that_mathematics_gives_from_a_bucket() {
    let triangles = f64::from(49 * 48 / 2);
    let mut count = 0;
    for (graph, undirected, results) in [
        (complete(50).graph, false, [("triangles", triangles), ("kcore", 49.0)]),
        (complete(50).graph, false, [("lcc", 1.0), ("cdlp --iterations 2", 0.0)]),
        (hypercube(10).graph, false, [("triangles", 0.0), ("kcore", 10.0)]),
        (directed_cycle(5000).graph, false, [("scc", 0.0), ("kcore", 2.0)]),
        (star(3000).graph, false, [("triangles", 0.0), ("lcc", 0.0)]),
        (grid(60, 90).graph, true, [("triangles", 0.0), ("kcore", 2.0)]),
    ] {
        let kept = Kept::of(&graph, undirected);
        for (run, value) in results {
            assert!(kept.all_have(run, value), "{run} of {} vertices", graph.slots());
            count += 1;
        }
    }
    assert_eq!(count, 12, "results");
}

#[test]
fn a_path_in_a_bucket_is_its_own_forest() {
    let path = grid(1, 400);
    let weights: Vec<f64> = (1..400).map(f64::from).collect();
    let total: f64 = weights.iter().sum();
    let kept = Kept::of(&Graph { weights: Some(weights), ..path.graph }, true);
    assert_eq!(kept.levels(path.source), path.levels);
    assert!(kept.all_have("kcore", 1.0));
    let forest = table(&kept.sandbox, &kept.server, "mcst");
    assert_eq!(forest.len(), 399);
    let found: f64 = forest.iter().map(|row| row[2]).sum();
    assert!((found - total).abs() < 0.5, "{found} for {total}");
}
