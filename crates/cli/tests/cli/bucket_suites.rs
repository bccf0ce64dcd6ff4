//! Outputs of validation suites, and searches whose levels are published or follow from
//! mathematics, by commands on graphs that are kept in a bucket and streamed from there.

use std::collections::BTreeMap;

use welter_testing::answers::{by_depth, sizes};
use welter_testing::bucket::BucketServer;
use welter_testing::closed_form::{Search, searches};
use welter_testing::graph::Graph;
use welter_testing::puzzles::{eight_puzzle, pancakes, published, rank};
use welter_testing::validation::{Case, Outcome, cases, lagraph};

use crate::bucket_answers::{ingested, table, values, write_edges};
use crate::sandbox::Sandbox;

/// Compares all results of one graph, and returns how many these are.
fn compared(cases: &[Case]) -> usize {
    let sandbox = Sandbox::new();
    let Case { rows, ids, undirected, .. } = &cases[0];
    write_edges(&sandbox, rows.pairs.iter().copied(), &rows.weights);
    let vertices: String = ids.iter().map(|id| id.to_string() + "\n").collect();
    sandbox.write("v.txt", vertices);
    let weight = if rows.weights.is_empty() { "" } else { "--weight 3" };
    let direction = if *undirected { "--undirected" } else { "" };
    let server = ingested(&sandbox, &format!("e.tsv --vertices-from v.txt {weight} {direction}"));
    for case in cases {
        let source = || case.ids[case.source()];
        let run = match case.outcome {
            Outcome::Depths => format!("bfs --source {}", source()),
            Outcome::Distances => format!("sssp --source {}", source()),
            Outcome::Components => "wcc".to_owned(),
        };
        let found = values(&sandbox, &server, &run, &case.ids);
        assert!(case.accepts(&found), "{}", case.name);
    }
    cases.len()
}

#[test]
fn the_outputs_of_ldbc_and_libgrape_from_a_bucket() {
    let mut graphs = BTreeMap::<_, Vec<Case>>::new();
    for case in cases() {
        graphs.entry((case.input, case.undirected)).or_default().push(case);
    }
    let count: usize = graphs.values().map(|cases| compared(cases)).sum();
    let graphs = graphs.len();
    // Six graphs with one result, a directed and an undirected example with three, and a large
    // graph with two where it is directed and three where it is not.
    assert!(graphs == 0 || (graphs, count) == (10, 17), "{count} results of {graphs} graphs");
}

#[test]
fn the_numbers_of_lagraph_from_a_bucket() {
    let Some(known) = lagraph() else { return };
    let mut count = 0;
    for (path, expected) in &known.components {
        let sandbox = Sandbox::new();
        let server = ingested(&sandbox, path.to_str().unwrap());
        let rows = table(&sandbox, &server, "wcc");
        let labels: Vec<u64> = rows.iter().map(|row| row[1] as u64).collect();
        assert_eq!(sizes(&labels).len() as u64, *expected, "{}", path.display());
        count += 1;
        if *path == known.karate {
            let ids: Vec<u64> = (1..=34).collect();
            let found = values(&sandbox, &server, "bfs --source 31", &ids);
            let expected = known.levels.iter().map(|level| *level as f64);
            assert!(found.iter().copied().eq(expected), "{found:?}");
            count += 1;
        }
    }
    // Components of twelve matrices, and levels of one of them.
    assert_eq!(count, 13, "results");
}

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
        let pairs = graph.pairs.iter().map(|[from, to]| (u64::from(*from), u64::from(*to)));
        write_edges(&sandbox, pairs, &[]);
        let direction = if undirected { "--undirected" } else { "" };
        let input = format!("e.tsv --vertices {} {direction}", graph.slots());
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
}

#[test]
fn puzzles_in_a_bucket_take_as_many_moves_as_published() {
    let Some(levels) = published("8-puzzle", "bfs_from_goal_1..8_0_counts") else { return };
    let puzzle = Kept::of(&eight_puzzle(), true);
    assert_eq!(levels.len(), 32);
    assert_eq!(puzzle.levels(rank([1, 2, 3, 4, 5, 6, 7, 8, 0])), levels);
    assert_eq!(puzzle.components(), [181_440, 181_440]);
    let stacks = Kept::of(&pancakes(), true);
    let levels = stacks.levels(0);
    assert_eq!(levels.len(), 11);
    assert_eq!(Some(levels), published("pancake-9", "bfs_counts"));
    assert_eq!(stacks.components(), [362_880]);
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
