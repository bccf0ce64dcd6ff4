//! Graphs whose answers are known from mathematics, or were counted and published.

use welter_algorithms::Bfs;
use welter_model::edges::Reading;
use welter_model::table::ColumnData;
use welter_testing::answers::{by_depth, sizes};
use welter_testing::closed_form::{Search, directed_cycle, searches};
use welter_testing::executors::Executor;
use welter_testing::graph::Graph;
use welter_testing::puzzles::{eight_puzzle, pancakes, pocket_cube, published, rank};

use crate::{columns, components, depths, engines};

/// Counts states by their distance from one of them, and compares them with what is published. One
/// engine does it, and merges nothing, because the large ones take a while.
fn holds(graph: &Graph, start: u32, reached: u64, deepest: usize, name: &str, key: &str) {
    let reading = Reading { undirected: true, ..Reading::default() };
    let executor = Executor::Memory(engines(graph)[0].clone());
    let answer = executor.run(graph, reading, &Bfs::new(vec![start.into()]));
    let ColumnData::I64(depths) = columns(&answer.values) else { panic!("depths are integers") };
    let counts = by_depth(&depths);
    assert_eq!((counts.iter().sum::<u64>(), counts.len() - 1), (reached, deepest), "{name}");
    if let Some(published) = published(name, key) {
        assert_eq!(counts[..published.len()], published, "{name}");
    }
}

#[test]
fn the_eight_puzzle_has_two_halves() {
    let graph = eight_puzzle();
    assert_eq!(graph.pairs.len(), 483_840);
    let goal = rank([1, 2, 3, 4, 5, 6, 7, 8, 0]);
    holds(&graph, goal, 181_440, 31, "8-puzzle", "bfs_from_goal_1..8_0_counts");
    assert_eq!(sizes(&components(&graph)), [181_440, 181_440]);
}

#[test]
fn nine_pancakes_take_ten_turns() {
    let graph = pancakes();
    assert_eq!(graph.pairs.len(), 1_451_520);
    holds(&graph, 0, 362_880, 10, "pancake-9", "bfs_counts");
    assert_eq!(sizes(&components(&graph)), [362_880]);
}

#[test]
fn the_pocket_cube_is_solved_in_14_quarter_turns_or_11_turns() {
    for (half_turns, edges, deepest, name) in
        [(false, 11_022_480, 14, "pocket-cube-QTM"), (true, 16_533_720, 11, "pocket-cube-HTM")]
    {
        let graph = pocket_cube(half_turns);
        assert_eq!(graph.pairs.len(), edges);
        holds(&graph, 0, 3_674_160, deepest, name, "bfs_counts");
    }
}

#[test]
fn cubes_cycles_stars_and_grids() {
    for Search { name, graph, undirected, source, levels } in searches() {
        assert_eq!(by_depth(&depths(&graph, undirected, source.into())), levels, "{name}");
        assert_eq!(sizes(&components(&graph)), [graph.slots() as u64], "{name}");
    }
    let cycle = directed_cycle(1500).graph;
    assert_eq!(depths(&cycle, false, 0), (0..1500).collect::<Vec<i64>>());
    assert_eq!(sizes(&components(&Graph::new(4, vec![[1, 2]]))), [2, 1, 1]);
}
