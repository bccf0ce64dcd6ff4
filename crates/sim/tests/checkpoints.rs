//! Checkpoints after a scatter: a crash in the gather that follows does not cost the scatter, where
//! no update chunk is lost with it; and what they cost where nothing goes wrong.

#![expect(clippy::disallowed_macros, reason = "figures are for those who run a test by hand")]

use std::sync::Arc;

use welter_algorithms::PageRank;
use welter_algorithms::pagerank::Dangling;
use welter_protocol::Time;
use welter_protocol::config::{Copies, Route};
use welter_protocol::counters::Path;
use welter_protocol::partitions::Partitions;
use welter_protocol::random::Random;
use welter_sim::catalogue::graph;
use welter_sim::checkers::progress::End;
use welter_sim::faults::Fault;
use welter_sim::job::Partitioning;
use welter_sim::kernel_job::KernelJob;
use welter_sim::schedule::{MILLIS, Schedule};
use welter_sim::world::{Report, World};
use welter_store::header::Encoding;

/// Three iterations on four machines, one of which may crash.
fn run(scatter_checkpoints: bool, crash: Option<(Time, bool)>) -> Report {
    let graph = graph(&mut Random::new(4), 200, 8000);
    let vertices = graph.slots() as u64;
    let partitions = Partitions::fitting(4, vertices, 1, vertices.div_ceil(4));
    let cut = Partitioning {
        partitions: partitions.expect("a vertex fits"),
        route: Route::Spill,
        encoding: Encoding::Packed,
        chunk_records: 50,
        bin_chunks: 1,
        chunk_vertices: 50,
        piece_edges: 500,
        bins_open_max: u64::MAX,
        source_parts: 1,
        stripe_bits: 63,
        combines: false,
    };
    let program = PageRank::<f64>::new(vertices, 0.85, 3, 0.0, Dangling::Spread);
    let job = Arc::new(KernelJob::new("pagerank", &graph, program));
    let mut schedule = Schedule::calm(job, cut);
    let config = Arc::make_mut(&mut schedule.config);
    config.scatter_checkpoints = scatter_checkpoints;
    config.copies = Copies::BOTH;
    schedule.faults.extend(
        crash.map(|(at, replaced)| {
            (at, Fault::Crash { rank: 2, back_after: Some(MILLIS), replaced })
        }),
    );
    let report = World::run(&schedule, true);
    assert_eq!((&report.failure, report.end), (&None, End::Finished));
    report
}

/// Time when the first machine learns that this begins.
fn when(report: &Report, what: &str) -> Time {
    let line = report.trace.iter().find(|line| line.contains(what)).expect("it begins");
    let millis = line.trim_start().split(' ').next().and_then(|at| at.parse::<f64>().ok());
    (millis.expect("lines begin with a time") * 1e6) as Time
}

/// Number of times that a machine that did not crash began the second scatter.
fn scatters(report: &Report) -> usize {
    let begins = |line: &&String| line.contains(" 1#1 <- ") && line.contains("begin Scatter 1");
    report.trace.iter().filter(begins).count()
}

#[test]
fn an_interrupted_gather_does_not_scatter_again() {
    for (scatter_checkpoints, replaced, expected) in
        [(false, false, 2), (true, false, 1), (true, true, 2)]
    {
        let undisturbed = run(scatter_checkpoints, None);
        assert_eq!(scatters(&undisturbed), 1);
        let at = when(&undisturbed, "begin Gather 1") + MILLIS / 2;
        let report = run(scatter_checkpoints, Some((at, replaced)));
        let what = format!("checkpoints: {scatter_checkpoints}, disk lost: {replaced}");
        assert_eq!(scatters(&report), expected, "{what}");
        let kept = report.counters.get(Path::ScatterKept);
        assert_eq!(kept, u64::from(scatter_checkpoints && !replaced), "{what}");
        println!("{what}: {:.1} ms, undisturbed {:.1} ms", ms(&report), ms(&undisturbed));
    }
}

fn ms(report: &Report) -> f64 {
    report.time as f64 / 1e6
}
