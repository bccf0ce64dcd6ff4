//! Traffic that a plan expects of an iteration, beside what it moves.

use welter_engine::plan::Traffic;
use welter_store::io::VolumeStats;

use super::*;

/// Factor by which a plan may be off, either way: the compression of edges is not known to it.
const OFF: f64 = 1.5;

/// Bytes of an iteration: those of `iterations` beyond those of fewer.
fn moved(way: &Setup, iterations: [u64; 2]) -> (Traffic, VolumeStats) {
    let mut all = Vec::new();
    let mut expected = Traffic::default();
    for count in iterations {
        let progress = Progress::new();
        let input = Box::new(edges(3_000_000, 1 << 17, false));
        let (graph, workers) = way.ingest(Task::Ranks32, input, &progress).unwrap();
        expected = graph.plan().traffic_expected();
        let ranks = PageRank::<f32>::new(graph.vertices(), 0.85, count, 0.0, Dangling::Spread);
        let before = way.io.totals.stats();
        welter_engine::run(&graph, &ranks, &workers, &progress).unwrap();
        all.push(way.io.totals.stats().since(before));
    }
    (expected, all[1].since(all[0]))
}

#[test]
fn an_iteration_moves_what_was_expected() {
    let directory = folder();
    let way = Setup { stripe_bits: 14, ..Setup::stored(0, &directory) };
    let resident = StorageMode::Always { cache_bytes: 0, values: false };
    let half = StorageMode::Always { cache_bytes: 4 << 20, values: true };
    let packed = Some(Encoding::Packed);
    let plain = Some(Route::Spill { combined: false, fused: false });
    let fused = Some(Route::Spill { combined: true, fused: true });
    for (name, way) in [
        ("edges", Setup { storage: resident, ..way.clone() }),
        ("edges and values", way.clone()),
        ("packed", Setup { encoding: packed, ..way.clone() }),
        ("some of the edges", Setup { storage: half, encoding: packed, ..way.clone() }),
        ("ranges", way.clone().by_ranges()),
        ("spill", Setup { route: fused, ..way.clone() }),
        ("spill as it was", Setup { route: plain, ..way }),
    ] {
        let encoding = way.encoding.or(Some(Encoding::Compressed));
        let (expected, moved) = moved(&Setup { encoding, ..way }, [2, 4]);
        let each = [moved.bytes_read / 2, moved.bytes_written / 2];
        for (expected, moved) in [expected.read, expected.written].into_iter().zip(each) {
            let off = expected as f64 / moved.max(1) as f64;
            let is_near = (1.0 / OFF..OFF).contains(&off) || expected.max(moved) < 1 << 16;
            assert!(is_near, "{name}: {expected} bytes expected, {moved} moved");
        }
    }
}
