//! Updates that are combined in the buffers of chunks, beside those that are not: the same answer,
//! from less storage.

#![expect(clippy::disallowed_macros, reason = "figures are for those who run a test by hand")]

use std::sync::Arc;

use welter_algorithms::PageRank;
use welter_algorithms::pagerank::Dangling;
use welter_protocol::config::Route;
use welter_protocol::partitions::Partitions;
use welter_protocol::random::Random;
use welter_sim::catalogue::graph;
use welter_sim::checkers::progress::End;
use welter_sim::job::Partitioning;
use welter_sim::kernel_job::KernelJob;
use welter_sim::schedule::Schedule;
use welter_sim::world::World;
use welter_store::header::Encoding;

/// Chunks of updates that were written, and virtual milliseconds.
fn measure(combines: bool) -> (usize, f64) {
    let graph = graph(&mut Random::new(4), 200, 8000);
    let vertices = graph.slots() as u64;
    let partitions = Partitions::fitting(4, vertices, 1, vertices.div_ceil(4));
    let cut = Partitioning {
        partitions: partitions.expect("a vertex fits"),
        route: Route::Spill,
        encoding: Encoding::Packed,
        chunk_records: 20,
        bin_chunks: 1,
        chunk_vertices: 50,
        piece_edges: 500,
        bins_open_max: u64::MAX,
        source_parts: 1,
        stripe_bits: 63,
        combines,
    };
    let program = PageRank::<f64>::new(vertices, 0.85, 3, 0.0, Dangling::Spread);
    let job = Arc::new(KernelJob::new("pagerank", &graph, program));
    let report = World::run(&Schedule::calm(job, cut), true);
    assert_eq!((report.failure, report.end), (None, End::Finished));
    let chunks = report.trace.iter().filter(|line| line.contains(" -> writes Updates")).count();
    (chunks, report.time as f64 / 1e6)
}

#[test]
fn hubs_meet_in_the_buffer() {
    let [(each, slow), (combined, fast)] = [false, true].map(measure);
    println!("chunks of updates: {each}, combined {combined}; {slow:.1} ms, {fast:.1} ms");
    assert!(combined * 10 < each * 8, "{combined} of {each} chunks");
    assert!(fast < slow, "{fast} of {slow} ms");
}
