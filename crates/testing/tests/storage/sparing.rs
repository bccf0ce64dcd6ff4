//! Chunks that are not read because no active source reaches them.

use welter_algorithms::LabelPropagation;
use welter_algorithms::bfs::BfsTree;
use welter_engine::plan::FrontierMode::{Asynchronous, Auto, Dense};
use welter_engine::{IterationStats, Mode};
use welter_store::io::VolumeStats;

use super::*;

/// Vertices of a stripe, and the number of stripes.
const WIDTH: u32 = 1 << 12;
const STRIPES: u32 = 16;

fn list(pairs: Vec<[u32; 2]>, slots: u32) -> Box<dyn EdgeStream> {
    let mut list = EdgeList::new(Some(slots.into()), false);
    list.push(pairs, Vec::new());
    Box::new(list)
}

/// Values of a search from vertex 0, and what it moved.
struct RunOutcome {
    values: Vec<u8>,
    levels: Vec<IterationStats>,
    /// Bytes and requests to and from storage for values.
    moved: Option<VolumeStats>,
    /// Bytes of chunks that were read, and that there are.
    read: u64,
    chunk_bytes: u64,
}

fn searched<P: Program>(way: &Setup, program: &P, input: Box<dyn EdgeStream>) -> RunOutcome {
    let progress = Progress::new();
    let (graph, workers) = way.ingest_for(Layout::of::<P>(), input, &progress).unwrap();
    let read = || graph.storage_stats().map_or(0, |stats| stats.bytes_read);
    let before = read();
    let outcome = welter_engine::run(&graph, program, &workers, &progress).unwrap();
    let moved = outcome.values.storage_stats();
    let values = bytemuck::cast_slice(&outcome.values.whole().unwrap()).to_vec();
    let chunk_bytes = graph.chunk_bytes();
    RunOutcome { values, levels: outcome.levels, moved, read: read() - before, chunk_bytes }
}

/// Each stripe leads to the next, so every iteration reaches one of them.
#[test]
fn values_that_no_update_reaches_are_not_read() {
    let mut pairs: Vec<_> = (1..WIDTH).map(|vertex| [0, vertex]).collect();
    pairs.extend((1..WIDTH * (STRIPES - 1)).map(|vertex| [vertex, vertex + WIDTH]));
    let input = || list(pairs.clone(), WIDTH * STRIPES);
    let directory = folder();
    let narrow = |way| Setup { stripe_bits: 12, block_bits: Some(8), frontier: Dense, ..way };
    let (memory, way) = (narrow(Setup::memory()), narrow(Setup::stored(0, &directory)));
    let search = Bfs::new(vec![0]);
    let (expected, found) = (searched(&memory, &search, input()), searched(&way, &search, input()));
    assert!(found.values == expected.values && expected.moved.is_none());
    let all = u64::from(WIDTH * STRIPES) * 4;
    let VolumeStats { bytes_read, bytes_written, .. } = found.moved.unwrap();
    // Once to begin with, and about once when they are reached; 17 times each before.
    assert!(bytes_written <= 5 * all / 2, "{bytes_written} bytes of {all} written");
    assert!(bytes_read <= 3 * all / 2, "{bytes_read} bytes of {all} read");
}

/// A grid, both ways, row after row; corners have the smallest and the largest number.
fn grid(side: u32, weighted: bool) -> Box<dyn EdgeStream> {
    let mut list = EdgeList::new(Some((side * side).into()), weighted);
    for row in 0..side {
        let mut pairs = Vec::new();
        for vertex in row * side..(row + 1) * side {
            let right = (vertex % side + 1 < side).then_some(vertex + 1);
            let below = (row + 1 < side).then_some(vertex + side);
            let next = right.into_iter().chain(below);
            pairs.extend(next.flat_map(|next| [[vertex, next], [next, vertex]]));
        }
        let weight = |[from, to]: &[u32; 2]| f64::from((from ^ to) % 7 + from % 5) + 0.1;
        let weights = if weighted { pairs.iter().map(weight).collect() } else { Vec::new() };
        list.push(pairs, weights);
    }
    Box::new(list)
}

/// Runs a program on a grid of 600 levels, a quarter of whose chunks stay in memory: part by part
/// it reads a few graphs, level by level many.
fn on_a_grid<P: Program>(program: &P, values: bool, levels_least: usize) {
    const SIDE: u32 = 300;
    let directory = folder();
    let input = || grid(SIDE, P::WEIGHTED);
    let narrow = |way, frontier| Setup { stripe_bits: 12, frontier, ..way };
    let expected = searched(&narrow(Setup::memory(), Auto), program, input());
    let cache_bytes = expected.chunk_bytes / 4;
    for threads in [1, 3] {
        for frontier in [Auto, Asynchronous] {
            let storage = StorageMode::Always { cache_bytes, values };
            let way = Setup { threads, storage, ..Setup::stored(0, &directory) };
            let found = searched(&narrow(way, frontier), program, input());
            assert!(found.values == expected.values, "other values with {frontier:?}");
            let RunOutcome { read, chunk_bytes, levels, .. } = found;
            let name = format!("{threads} threads, {frontier:?}");
            let most = if frontier == Asynchronous { 8 } else { 16 };
            assert!(read > 0 && read <= most * chunk_bytes, "{name}: {read} of {chunk_bytes}");
            assert!(levels.iter().any(|level| level.mode == Mode::Asynchronous));
        }
    }
    let storage = StorageMode::Always { cache_bytes, values };
    let way = Setup { storage, ..Setup::stored(0, &directory) };
    let found = searched(&narrow(way, Dense), program, input());
    assert!(found.values == expected.values && found.levels.len() >= levels_least);
    assert!(found.read > 20 * found.chunk_bytes, "{} of {}", found.read, found.chunk_bytes);
}

#[test]
fn a_search_of_many_levels_reads_a_grid_a_few_times() {
    // From a corner, from the middle and from several places.
    on_a_grid(&Bfs::new(vec![0]), false, 599);
    on_a_grid(&Bfs::new(vec![150 * 300 + 150]), true, 301);
    on_a_grid(&BfsTree::new(vec![299, 44_444, 89_700]), false, 200);
}

#[test]
fn paths_and_labels_of_a_grid_read_it_a_few_times() {
    on_a_grid(&Sssp::<f32>::new(vec![4321], 2.0), false, 300);
    on_a_grid(&Sssp::<f64>::new(vec![89_999], f64::INFINITY), true, 599);
    on_a_grid(&LabelPropagation, false, 599);
}

/// A search of few levels does not change over, though there is room for it.
#[test]
fn a_graph_of_few_levels_is_read_level_by_level() {
    let directory = folder();
    let input = || Box::new(edges(400_000, 4_000, false));
    let way = |frontier| Setup { frontier, ..Setup::stored(0, &directory) };
    let search = Bfs::new(vec![1]);
    let found =
        [Auto, Dense, Asynchronous].map(|frontier| searched(&way(frontier), &search, input()));
    let [auto, dense, local] = found;
    assert!(auto.values == dense.values && local.values == dense.values);
    assert!(local.levels.iter().any(|level| level.mode == Mode::Asynchronous));
    assert_eq!((auto.read, auto.levels), (dense.read, dense.levels));
}

/// A search of ten levels, which looks at its graph more than six times, relaxes the last two.
#[test]
fn a_search_that_changes_over_near_its_end_reads_little_more() {
    let directory = folder();
    let input = || Box::new(edges(400_000, 50_000, false));
    let way = |frontier| Setup { frontier, ..Setup::stored(0, &directory) };
    let search = Bfs::new(vec![1]);
    let [auto, dense] = [Auto, Dense].map(|frontier| searched(&way(frontier), &search, input()));
    assert!(auto.values == dense.values);
    let same = auto.levels.iter().zip(&dense.levels).filter(|(auto, dense)| auto == dense).count();
    assert_eq!((same, auto.levels.len(), dense.levels.len()), (8, 10, 10));
    let most = dense.read + dense.read / 10;
    assert!(auto.read <= most, "{} bytes read, {most} may be", auto.read);
}
