//! Stealing on partitions of very different size, and with vertex sets that are small or large: the
//! shape of Figures 16 and 17 in virtual time.

#![expect(clippy::disallowed_macros, reason = "figures are for those who run a test by hand")]

use std::sync::Arc;

use welter_algorithms::PageRank;
use welter_algorithms::pagerank::Dangling;
use welter_protocol::config::{Handover, Route};
use welter_protocol::partitions::Partitions;
use welter_protocol::placement::Placement;
use welter_protocol::planted::Bug;
use welter_protocol::random::Random;
use welter_protocol::steal::Bias;
use welter_protocol::times::Times;
use welter_sim::checkers::progress::End;
use welter_sim::job::Partitioning;
use welter_sim::kernel_job::KernelJob;
use welter_sim::schedule::{MILLIS, Schedule};
use welter_sim::world::World;
use welter_store::header::Encoding;
use welter_testing::graph::Graph;

const MACHINES: usize = 8;

/// A graph, and how it is cut.
#[derive(Clone, Copy)]
struct Shape {
    vertices: u64,
    edges: u64,
    /// Thousandths of ends that are in the first partition, whatever the others do.
    skew: u64,
}

/// Most edges leave, and most reach, the vertices of one partition; vertex sets are small.
const SKEWED: Shape = Shape { vertices: 800, edges: 96_000, skew: 700 };

/// Edges are more even, and to load a vertex set takes a third of what its edges do.
const WIDE: Shape = Shape { vertices: 32_000, edges: 96_000, skew: 300 };

fn graph(Shape { vertices, edges, skew }: Shape) -> Graph {
    let random = &mut Random::new(1);
    let mut end = || {
        let bound = if random.chance(skew) { vertices / MACHINES as u64 } else { vertices };
        random.below(bound) as u32
    };
    let pairs = (0..edges).map(|_| [end(), end()]).collect();
    Graph::new(vertices as usize, pairs)
}

/// A tenth of a millisecond of work a chunk, on disks and a network that keep up.
fn schedule(shape: Shape, bias: Bias, handover: Handover) -> Schedule {
    schedule_of(shape, 1, bias, handover)
}

/// A schedule with `each` partitions a machine.
fn schedule_of(shape: Shape, each: u64, bias: Bias, handover: Handover) -> Schedule {
    let graph = graph(shape);
    let vertices = graph.slots() as u64;
    let program = PageRank::<f64>::new(vertices, 0.85, 3, 0.0, Dangling::Spread);
    let vertex_bytes = 17;
    let memory = vertices.div_ceil(MACHINES as u64 * each) * vertex_bytes;
    let fitting = Partitions::fitting(MACHINES, vertices, vertex_bytes, memory);
    let partitions = fitting.expect("a vertex fits");
    let cut = Partitioning {
        partitions,
        route: Route::Spill,
        encoding: Encoding::Packed,
        chunk_records: 24,
        bin_chunks: 1,
        chunk_vertices: vertices / MACHINES as u64,
        piece_edges: 500,
        bins_open_max: u64::MAX,
        source_parts: 1,
        stripe_bits: 63,
        combines: false,
    };
    let job = Arc::new(KernelJob::new("pagerank", &graph, program));
    let mut schedule = Schedule::calm(job, cut);
    let config = Arc::make_mut(&mut schedule.config);
    (config.bias, config.handover) = (bias, handover);
    schedule
}

/// Milliseconds of the run, and the share of time in which computation engines waited for others.
fn measure(shape: Shape, bias: Bias, handover: Handover) -> (f64, f64) {
    measured(&schedule(shape, bias, handover))
}

fn measured(schedule: &Schedule) -> (f64, f64) {
    let report = World::run(schedule, false);
    assert_eq!(report.failure, None);
    assert_eq!(report.end, End::Finished);
    let idle: u64 = report.times.iter().map(|times| times.idle).sum();
    let all = report.time * MACHINES as u64;
    (report.time as f64 / 1e6, idle as f64 / all as f64)
}

#[test]
fn stealing_brings_the_idle_share_under_four_per_cent() {
    let (alone, idle_alone) = measure(SKEWED, Bias::NEVER, Handover::Memory);
    let (paper, idle_paper) = measure(SKEWED, Bias::PAPER, Handover::Memory);
    println!("alpha 0: {alone:.1} ms, {:.1} % idle", 100.0 * idle_alone);
    println!("alpha 1: {paper:.1} ms, {:.1} % idle", 100.0 * idle_paper);
    for (name, bias) in [
        ("0.8", Bias::Thousandths(800)),
        ("1.2", Bias::Thousandths(1200)),
        ("infinity", Bias::Always),
    ] {
        let (time, idle) = measure(SKEWED, bias, Handover::Memory);
        println!("alpha {name}: {time:.1} ms, {:.1} % idle", 100.0 * idle);
    }
    let (stored, idle_stored) = measure(SKEWED, Bias::PAPER, Handover::Storage);
    println!("alpha 1, accumulators stored: {stored:.1} ms, {:.1} % idle", 100.0 * idle_stored);
    assert!(idle_paper < 0.04, "{idle_paper}");
    assert!(idle_alone > 0.4, "{idle_alone}");
    assert!(paper < 0.5 * alone, "{paper} of {alone} ms");
    // Where accumulators are small beside edges, it makes no difference which way they go.
    assert!((stored / paper - 1.0).abs() < 0.01, "{stored} beside {paper} ms");
}

/// The breakdown of Figure 16: what is stolen was idle time, and costs copying and merging.
#[test]
fn times_are_split_into_work_overhead_and_waiting() {
    let split = |bias| {
        let report = World::run(&schedule(WIDE, bias, Handover::Memory), false);
        assert_eq!((report.failure, report.end), (None, End::Finished));
        let sum = |of: fn(&Times) -> u64| report.times.iter().map(of).sum::<u64>() as f64;
        let parts = [
            sum(|times| times.own),
            sum(|times| times.stolen),
            sum(|times| times.copying),
            sum(|times| times.merging),
            sum(|times| times.idle),
        ];
        let all = sum(Times::sum);
        assert!(all <= (report.time * MACHINES as u64) as f64, "{all}");
        println!(
            "{bias:?}: own, stolen, copying, merging, idle: {:.1?} %",
            parts.map(|part| 100.0 * part / all)
        );
        parts
    };
    let [own, stolen, copying, merging, idle] = split(Bias::NEVER);
    assert!(stolen + copying + merging < 1.0, "nobody helps");
    assert!(idle > own / 2.0);
    let [helped, stolen, copying, merging, waits] = split(Bias::PAPER);
    assert!(helped < own && stolen > 0.0 && copying > 0.0 && merging > 0.0);
    assert!(waits < idle && copying + merging < stolen, "helping costs less than it does");
}

/// Static partitions (the shape of Figure 18): each machine has its edges and updates on its own
/// disk, and none helps.
#[test]
fn static_partitions_wait_for_the_largest() {
    let mut schedule = schedule(SKEWED, Bias::NEVER, Handover::Memory);
    Arc::make_mut(&mut schedule.config).placement = Placement::Owner;
    let (time, idle) = measured(&schedule);
    let (paper, _) = measure(SKEWED, Bias::PAPER, Handover::Memory);
    println!("static partitions: {time:.1} ms, {:.1} % idle; Chaos {paper:.1} ms", 100.0 * idle);
    assert!(time > 3.0 * paper && idle > 0.7, "{time} beside {paper} ms");
}

/// With several partitions a machine, help comes for partitions that their master has not begun: a
/// machine that has ended with one must not wait for the master to come to it.
#[test]
fn stealers_of_partitions_that_wait_go_on() {
    let mut schedule = schedule_of(SKEWED, 3, Bias::PAPER, Handover::Memory);
    let (time, idle) = measured(&schedule);
    Arc::make_mut(&mut schedule.config).planted = Some(Bug::StealersStay);
    let (slow, idle_slow) = measured(&schedule);
    println!("3 partitions a machine: {time:.1} ms, {:.1} % idle", 100.0 * idle);
    println!("stealers wait for masters: {slow:.1} ms, {:.1} % idle", 100.0 * idle_slow);
    assert!(idle < 0.05, "{idle}");
    assert!(idle_slow > 2.0 * idle, "{idle_slow} beside {idle}");
}

/// Behind a slow network the own disk is empty first, which says nothing of the others.
#[test]
fn masters_are_helped_where_the_network_is_slower_than_disks() {
    let mut schedule = schedule(SKEWED, Bias::PAPER, Handover::Memory);
    // A two-hundredth of the rate of a disk, and work that keeps up with it.
    schedule.conditions.byte_thousandths = 100_000;
    schedule.record_nanos = 100;
    Arc::make_mut(&mut schedule.config).timing.resend = 1000 * MILLIS;
    let (time, idle) = measured(&schedule);
    Arc::make_mut(&mut schedule.config).planted = Some(Bug::OwnDiskAlone);
    let (slow, idle_slow) = measured(&schedule);
    println!("a slow network: {time:.1} ms, {:.1} % idle", 100.0 * idle);
    println!("masters know their own disks: {slow:.1} ms, {:.1} % idle", 100.0 * idle_slow);
    assert!(time < 0.8 * slow, "{time} beside {slow} ms");
}

#[test]
fn helping_always_costs_more_than_it_gains_where_vertex_sets_are_large() {
    let biases = [
        ("0", Bias::NEVER),
        ("0.8", Bias::Thousandths(800)),
        ("1", Bias::PAPER),
        ("1.2", Bias::Thousandths(1200)),
        ("infinity", Bias::Always),
    ];
    let times = biases.map(|(alpha, bias)| {
        let (time, idle) = measure(WIDE, bias, Handover::Memory);
        println!("alpha {alpha}: {time:.1} ms, {:.1} % idle", 100.0 * idle);
        time
    });
    let [never, _, paper, _, always] = times;
    let best = times.into_iter().fold(f64::INFINITY, f64::min);
    assert!(paper < 0.8 * never, "{times:?}");
    assert!(paper < 0.9 * always, "{times:?}");
    assert!(paper < 1.05 * best, "{times:?}");
    // Another one, in which masters are interrupted, spares stealers the wait, which is short.
    let (interrupted, idle) = measure(WIDE, Bias::PAPER, Handover::Interrupt);
    println!("alpha 1, masters interrupted: {interrupted:.1} ms, {:.1} % idle", 100.0 * idle);
    assert!((interrupted / paper - 1.0).abs() < 0.05, "{interrupted} beside {paper} ms");
    // The alternative that the paper rejects, accumulators by way of storage, gains nothing: what a
    // stealer saves by not waiting, the master reads again.
    let (stored, idle) = measure(WIDE, Bias::PAPER, Handover::Storage);
    println!("alpha 1, accumulators stored: {stored:.1} ms, {:.1} % idle", 100.0 * idle);
    assert!((stored / paper - 1.0).abs() < 0.01, "{stored} beside {paper} ms");
}
