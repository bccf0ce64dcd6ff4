//! Strongly connected components against searches both ways, and against who reaches whom.
//!
//! Small graphs would all go to Tarjan's algorithm at once, which is part of the program, so each
//! is also run by passes alone and with that as late as may be; and the oracle is Kosaraju's.

use proptest::prelude::*;
use welter_algorithms::Scc;
use welter_algorithms::wcc::Label;
use welter_model::edges::Reading;
use welter_model::program::Value;
use welter_model::table::ColumnData;
use welter_testing::executors::executors;
use welter_testing::graph::Graph;
use welter_testing::plain::{neighbours, reached, strong_components};
use welter_testing::strategies::{graphs, wide_graphs};

fn components(labels: &[Label]) -> Vec<u64> {
    match Label::columns(labels).remove(0).1 {
        ColumnData::Vertices(components) => components,
        _ => panic!("components are vertices"),
    }
}

/// With all edges handed over at once, with few, and with none.
fn programs() -> [Scc; 3] {
    [Scc::default(), Scc::with_rest(20), Scc::with_rest(0)]
}

fn judge(graph: &Graph) {
    let expected = strong_components(graph);
    for executor in executors() {
        for program in programs() {
            let Some((found, _)) = executor.pass(graph, Reading::default(), &program) else {
                continue;
            };
            assert_eq!(components(&found), expected, "{program:?} by {executor:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn as_kosaraju(graph in wide_graphs(200, 400)) {
        judge(&graph);
    }

    #[test]
    fn of_dense_graphs(graph in wide_graphs(60, 1500)) {
        judge(&graph);
    }

    #[test]
    fn those_that_reach_each_other(graph in graphs(25, 50)) {
        let [targets, _] = neighbours(&graph);
        let reaches: Vec<Vec<usize>> = (0..graph.vertices())
            .map(|from| reached(&targets, from, &mut vec![true; graph.vertices()]))
            .collect();
        for program in programs() {
            let (found, _) = executors()[3].pass(&graph, Reading::default(), &program).unwrap();
            let found = components(&found);
            for one in 0..graph.vertices() {
                for other in 0..graph.vertices() {
                    let each = reaches[one].contains(&other) && reaches[other].contains(&one);
                    prop_assert_eq!(found[one] == found[other], each);
                }
            }
            prop_assert!((0..found.len()).all(|vertex| found[vertex] <= vertex as u64));
        }
    }
}

/// A permutation of `count` numbers that shows no order.
fn shuffled(count: u32) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..count).collect();
    let mut state = 5_u64;
    for last in (1..numbers.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        numbers.swap(last, (state >> 33) as usize % (last + 1));
    }
    numbers
}

/// Passes with one thread, and with two. How many two threads take depends on when they run: news
/// stops at a block that another thread has passed, and continues in the next pass.
fn passes(graph: &Graph, program: Scc) -> [u64; 2] {
    let expected = strong_components(graph);
    [1, 2].map(|number| {
        let executor = &executors()[number];
        let done = executor.pass(graph, Reading::default(), &program);
        let (found, passes) = done.expect("an engine runs it");
        assert!(components(&found) == expected, "{program:?} by {executor:?}");
        passes
    })
}

/// Whether passes of one thread are fewer than `most`, and those of two threads than as many for
/// each block of the second executor.
fn within([alone, together]: [u64; 2], most: u64, vertices: u64) -> bool {
    alone < most && together < most * vertices.div_ceil(1 << 12)
}

#[test]
fn long_paths_and_cycles_end() {
    let count = 100_000;
    let order = shuffled(count);
    let path: Vec<_> = order.windows(2).map(|pair| [pair[0], pair[1]]).collect();
    let cycle = [&path[..], &[[order[count as usize - 1], order[0]]]].concat();
    for pairs in [path, cycle] {
        let passes = passes(&Graph::new(count as usize, pairs), Scc::default());
        assert!(within(passes, 100, count.into()), "{passes:?}");
    }
    // By passes alone where ids tell who is next, whichever way: a sweep goes all the way.
    for step in [1, count - 1] {
        let cycle = (0..count).map(|vertex| [vertex, (vertex + step) % count]).collect();
        let passes = passes(&Graph::new(count as usize, cycle), Scc::with_rest(0));
        assert!(within(passes, 100, count.into()), "{passes:?}");
    }
    let path = (1..count).map(|vertex| [vertex - 1, vertex]).collect();
    let passes = passes(&Graph::new(count as usize, path), Scc::with_rest(0));
    assert!(within(passes, 1000, count.into()), "{passes:?}");
}

#[test]
fn streets_of_one_way_end() {
    let side = 300;
    let at = |row: u32, column: u32| row * side + column;
    let mut pairs = Vec::new();
    for one in 0..side {
        for step in 1..side {
            let ways = [[at(one, step - 1), at(one, step)], [at(step - 1, one), at(step, one)]];
            pairs.extend(ways.map(|[a, b]| if one % 2 == 0 { [a, b] } else { [b, a] }));
        }
    }
    let grid = Graph::new((side * side) as usize, pairs);
    let scattered = grid.relabelled(&shuffled(side * side));
    for graph in [grid, scattered] {
        for (program, most) in [(Scc::default(), 200), (Scc::with_rest(0), 1000)] {
            let passes = passes(&graph, program);
            assert!(within(passes, most, (side * side).into()), "{program:?}: {passes:?}");
        }
    }
}

#[test]
fn known_graphs() {
    let cycle = |first: u32, count: u32| {
        (0..count).map(move |place| [first + place, first + (place + 1) % count])
    };
    // Cycles of 1, 2, 3 and so on, each with an edge to the next one.
    let starts: Vec<u32> =
        (1..=60).scan(0, |at, count| Some(std::mem::replace(at, *at + count))).collect();
    let cycles = starts.iter().zip(1..).flat_map(|(&first, count)| cycle(first, count));
    let between = starts.windows(2).map(|pair| [pair[0], pair[1]]);
    judge(&Graph::new(1830, cycles.chain(between).collect()));
    // All in one, all alone, and no edge at all.
    judge(&Graph::new(500, cycle(0, 500).collect()));
    judge(&Graph::new(50, (0..50).flat_map(|a| (0..a).map(move |b| [a, b])).collect()));
    judge(&Graph::new(3, vec![[1, 1]]));
    judge(&Graph::new(1, Vec::new()));
}
