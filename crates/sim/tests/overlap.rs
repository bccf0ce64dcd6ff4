//! Gain of cores and of the depth of disks: chunks that are streamed at a time, requests that are
//! with a disk at a time (the shape of Figure 9, and what it does not show), and open pulls for
//! both.

#![expect(clippy::disallowed_macros, reason = "figures are for those who run a test by hand")]

use std::sync::Arc;

use welter_algorithms::PageRank;
use welter_algorithms::pagerank::Dangling;
use welter_protocol::config::Route;
use welter_protocol::partitions::Partitions;
use welter_protocol::random::Random;
use welter_sim::catalogue::graph;
use welter_sim::checkers::progress::End;
use welter_sim::disk::device::Speed;
use welter_sim::job::Partitioning;
use welter_sim::kernel_job::KernelJob;
use welter_sim::schedule::{MICROS, Schedule};
use welter_sim::world::World;
use welter_store::header::Encoding;

const MACHINES: usize = 4;

/// Three iterations of PageRank on 8,000 edges.
fn schedule(machines: usize) -> Schedule {
    let graph = graph(&mut Random::new(4), 200, 8000);
    let vertices = graph.slots() as u64;
    let widest = vertices.div_ceil(machines as u64);
    let partitions = Partitions::fitting(machines, vertices, 1, widest);
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
        combines: false,
    };
    let program = PageRank::<f64>::new(vertices, 0.85, 3, 0.0, Dangling::Spread);
    Schedule::calm(Arc::new(KernelJob::new("pagerank", &graph, program)), cut)
}

/// Virtual milliseconds.
fn measure(machines: usize, change: impl FnOnce(&mut Schedule)) -> f64 {
    let mut schedule = schedule(machines);
    change(&mut schedule);
    let report = World::run(&schedule, false);
    assert_eq!((report.failure, report.end), (None, End::Finished));
    report.time as f64 / 1e6
}

#[test]
fn streams_fill_cores() {
    // Half a millisecond of work a chunk, on disks and a network that keep up.
    let with = |cores, streams| {
        let time = measure(MACHINES, |schedule| {
            (schedule.cores, schedule.record_nanos) = (cores, 25 * MICROS);
            Arc::make_mut(&mut schedule.config).streams = streams;
        });
        println!("{cores} cores, {streams} streams: {time:.0} ms");
        time
    };
    let [one, two, four] = [1, 2, 4].map(|cores| with(cores, cores));
    // A fifth of it is serial: the input is read, and vertices are applied, by one core.
    assert!(two < 0.65 * one && four < 0.7 * two, "{one}, {two}, {four}");
    let (idle, crowded) = (with(4, 1), with(1, 4));
    assert!(idle > 0.95 * one, "a stream is on one core: {idle} of {one}");
    assert!(crowded > 0.95 * one, "and no core has two: {crowded} of {one}");
}

#[test]
fn requests_fill_disks() {
    // Disks that take half a millisecond a request, and eight of them at a time.
    let with = |depth| {
        let time = measure(MACHINES, |schedule| {
            let speed = Speed { depth: 8, ..Speed::serial(500 * MICROS, 0) };
            (schedule.speeds, schedule.record_nanos) = (vec![speed; MACHINES], MICROS);
            Arc::make_mut(&mut schedule.config).depth = depth;
        });
        println!("{depth} requests at a time: {time:.0} ms");
        time
    };
    let [one, two, four] = [1, 2, 4].map(with);
    assert!(two < 0.75 * one && four < 0.9 * two, "{one}, {two}, {four}");
}

#[test]
fn streams_ask_few_machines_for_several_chunks() {
    // Disks that take two milliseconds a request, and eight of them at a time; hardly any work.
    for machines in [1, 2] {
        let with = |streams, depth| {
            let time = measure(machines, |schedule| {
                let speed = Speed { depth: 8, ..Speed::serial(2000 * MICROS, 0) };
                (schedule.speeds, schedule.record_nanos) = (vec![speed; machines], MICROS);
                schedule.cores = 8;
                let config = Arc::make_mut(&mut schedule.config);
                (config.streams, config.depth) = (streams, depth);
            });
            println!("{machines} machines, {streams} streams, depth {depth}: {time:.0} ms");
            time
        };
        let [one, eight] = [1, 8].map(|streams| with(streams, 8));
        assert!(eight < 0.7 * one, "{machines} machines: {eight} of {one}");
        let [one, eight] = [1, 8].map(|streams| with(streams, 1));
        assert!(eight > 0.9 * one, "disks serve one at a time: {eight} of {one}");
    }
}
