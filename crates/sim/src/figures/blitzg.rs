//! The figures of `BlitzG`: what was measured on this machine, and what the scale model of route
//! `send` makes of measured costs for machines that are not here.

use super::algorithms::{Algorithm, PR, SSSP, WCC};
use super::measured::Measured;
use super::plot::{Claim, Figure, Series};
use super::sending::{Costs, IterationFigures, Machines, Roles, Traffic};
use crate::sized_job::Iteration;

/// Makes a figure of measurements.
pub type MadeOf = fn(&Measured) -> Figure;

/// All figures, with their numbers.
pub const FIGURES: [(&str, MadeOf); 6] =
    [("5", links), ("6", threads), ("7", generation), ("8", memory), ("9", graphs), ("W1", today)];

/// Bytes of a message in the paper: a vertex of 8 and a value of 4.
const MESSAGE_BYTES: f64 = 12.0;

/// Threads of GPS in the paper's Figure 7: 4 workers with a work thread, a parser and two of a
/// library for the network each.
const GPS: Roles = Roles { workers: 4, senders: 8, accumulators: 4 };

/// A graph of the paper's Table I, and the machines it was run on.
struct Graph {
    name: &'static str,
    edges: f64,
    machines: u32,
}

const LIVE_JOURNAL: Graph = Graph { name: "LiveJournal", edges: 69e6, machines: 3 };
const TWITTER: Graph = Graph { name: "Twitter-2010", edges: 1.4e9, machines: 24 };
const UK: Graph = Graph { name: "UK-2007-05", edges: 3.7e9, machines: 32 };

/// Community detection by labels: each iteration sends labels along all edges, both ways.
const CD: Algorithm = Algorithm {
    name: "CD",
    weighted: false,
    both: true,
    vertex_bytes: 4,
    update_bytes: 4,
    degrees: false,
    full: Some(10),
};

/// An iteration of `messages` messages.
fn pass(
    messages: f64,
    count: u32,
    (roles, costs): (Roles, Costs),
    gigabits: f64,
) -> IterationFigures {
    let known = [costs.generate, costs.send, costs.fold].iter().all(|cost| cost.is_finite());
    if !known {
        let unknown = f64::NAN;
        return IterationFigures { seconds: unknown, link: unknown, busy: [unknown; 3] };
    }
    let traffic = Traffic { messages, message_bytes: MESSAGE_BYTES, most: 1.0 };
    Machines { count, roles, costs, gigabits }.pass(traffic)
}

/// An iteration of PageRank on Twitter's graph.
fn twitter(threads: (Roles, Costs), gigabits: f64) -> IterationFigures {
    pass(TWITTER.edges, TWITTER.machines, threads, gigabits)
}

/// Rates of links, gigabits a second.
const RATES: [f64; 4] = [1.0, 10.0, 40.0, 100.0];

/// Links of several rates.
fn links(measured: &Measured) -> Figure {
    let passed = |threads| RATES.map(|rate| twitter(threads, rate));
    let ours = passed((Roles::PAPER, measured.lanes("memif-1408")));
    let queues = passed((GPS, measured.queues()));
    let used = |name: &str, passed: &[IterationFigures; 4]| {
        Series::new(name, passed.iter().map(|passed| 100.0 * passed.link).collect())
    };
    let about = |series: Series, claims: [f64; 3]| {
        let claims = claims.into_iter().map(Claim::About).enumerate();
        claims.fold(series, |series, (tick, claim)| series.claimed(tick, claim))
    };
    let real = |name: &str, of: &str| {
        let at = |rate: f64| measured.of(&format!("link.{of}-{rate}"));
        Series::new(name, RATES.map(at).into())
    };
    let speedup = (0..4).map(|tick| queues[tick].seconds / ours[tick].seconds).collect();
    let own_costs =
        |name: &str, lanes: &str| used(name, &passed((Roles::PAPER, measured.lanes(lanes))));
    Figure {
        number: "5",
        title: "Share of the link that is used, by its rate, %",
        axis: "Gb/s",
        ticks: RATES.map(|rate| rate.to_string()).into(),
        series: vec![
            about(used("send over DPDK, modelled", &ours), [98.0, 96.0, 95.0])
                .beside("98, 96, 95 %"),
            own_costs("send over UDP, modelled", "udp"),
            own_costs("send over TCP, modelled", "tcp"),
            about(used("queues a vertex, modelled", &queues), [45.0, 4.6, 1.2])
                .beside("GPS: 45, 4.6, 1.2 %"),
            real("TCP lanes, measured", "tcp"),
            real("UDP lanes, measured", "udp"),
            real("UDP lanes, sealed, measured", "udp-sealed"),
            real("PageRank by route send over TCP, measured", "route-tcp"),
            about(Series::new("times as fast as queues a vertex", speedup), [2.1, 12.7, 25.3])
                .beside("2.1, 12.7, 25.3 times GPS")
                .not_drawn(),
        ]
        .into_iter()
        .chain(route_over_links(measured))
        .collect(),
        paper: "PageRank of Twitter-2010 on 24 machines uses 98, 96 and 95 % of links of 1, 10 and \
                40 Gb/s, GPS 45, 4.6 and 1.2 %.",
        notes: "Modelled rows are an iteration on 24 machines whose threads (6 workers, 4 senders, \
                6 accumulators) cost what was measured here; measured rows are two processes in \
                network namespaces, whose link `tc` holds to its rate, while others kept both \
                cores busy (seconds are in these shares, so 10 Gb/s are what two processes came \
                to beside them, UDP least, whose ends answer each other). Bytes of all heads \
                count, as the link carries them. The baseline is our own, in place of GPS: in \
                Rust, without a garbage collector, and its lock is never contended, so that it \
                fills slow links too, and less is gained over it than over GPS. A bucket of a \
                packet over memif costs 9 ns a message, one of 8 KiB 1.6: ours come from \
                packets, whose ends hand a packet to each other.",
    }
}

/// Route `send` over links of these rates: beside bare lanes, and its processor time by role.
fn route_over_links(measured: &Measured) -> [Series; 3] {
    let row =
        |name: &str, of: &dyn Fn(f64) -> f64| Series::new(name, RATES.map(of).into()).not_drawn();
    let link = |of: &str, rate: f64| measured.of(&format!("link.{of}-{rate}"));
    let role = |of: &str, rate: f64| measured.of(&format!("route.{of}-{rate}"));
    [
        row("route send by what TCP lanes use, %", &|rate| {
            100.0 * link("route-tcp", rate) / link("tcp", rate)
        }),
        row("computation threads, ns a message", &|rate| role("computation", rate)),
        row("accumulator threads, ns a message", &|rate| role("accumulator", rate)),
    ]
}

/// Numbers of threads.
fn threads(measured: &Measured) -> Figure {
    let even = |threads: u32| Roles { workers: threads, senders: threads, accumulators: threads };
    let roles: Vec<Roles> = (1..=6).map(even).chain([Roles::PAPER]).collect();
    let row = |name: &str, costs: Costs| {
        let seconds = |&roles: &Roles| 10.0 * twitter((roles, costs), 40.0).seconds;
        Series::new(name, roles.iter().map(seconds).collect())
    };
    let mut dpdk = row("send over DPDK", measured.lanes("memif-1408"));
    let most = dpdk.values[5];
    dpdk = dpdk.claimed(6, Claim::About(most)).beside("16 threads are as good as 18");
    let name = |roles: &Roles| {
        let Roles { workers, senders, accumulators } = *roles;
        let all = workers + senders + accumulators;
        if workers == senders { all.to_string() } else { format!("{all} (6, 4, 6)") }
    };
    Figure {
        number: "6",
        title: "Ten iterations by threads of a machine, modelled, seconds",
        axis: "threads",
        ticks: roles.iter().map(name).collect(),
        series: vec![
            dpdk,
            row("send over UDP", measured.lanes("udp")),
            row("send over TCP", measured.lanes("tcp")),
            row("send over UDP, roles measured apart", measured.roles("udp")),
            row("route send as it is", route(measured)),
        ],
        paper: "PageRank of Twitter-2010 on 24 machines with 40 Gb/s becomes faster up to 18 \
                threads, a third of them of each role; 6 workers, 4 senders and 6 accumulators \
                suffice. GPS is best with 2 workers.",
        notes: "With costs of this machine's cores few threads fill 40 Gb/s, so the curve is flat \
                where the paper's still falls; a message's cost on its cores of 2.0 GHz the paper \
                does not say. Costs of sending are what lanes cost beyond writing; where roles \
                were measured apart, a worker that writes in runs hands its buckets to a sender \
                thread. 'Route send as it is' has the processor time of its \
                computation and accumulator threads for a message over TCP, of which the \
                former send too, with all that \
                decoding edges, applying and caches that miss cost, which benches of lanes have \
                not.",
    }
}

/// Costs of route `send`, whose computation threads send.
fn route(measured: &Measured) -> Costs {
    let [generate, fold] = ["route.computation", "route.accumulator"].map(|it| measured.of(it));
    Costs { generate, send: 0.0, fold }
}

/// Messages that are made.
fn generation(measured: &Measured) -> Figure {
    const DESTINATIONS: [u32; 4] = [1, 4, 16, 64];
    let row = |name: &str, threads: f64, nanos: &dyn Fn(u32) -> f64| {
        let rate = |to: u32| threads * 1000.0 / nanos(to);
        Series::new(name, DESTINATIONS.map(rate).into())
    };
    let [none, locks] = ["none-1408.send", "locks-1408.send"].map(|name| measured.of(name));
    let runs = |to: u32| 1000.0 / measured.of(&format!("generate-runs-{to}"));
    let at_least = Claim::AtLeast(402.0);
    Figure {
        number: "7",
        title: "Millions of messages that a machine makes a second",
        axis: "destinations",
        ticks: DESTINATIONS.map(|count| count.to_string()).into(),
        series: vec![
            row("one at a time, 6 threads", 6.0, &|to| measured.singly(to))
                .claimed(3, at_least)
                .beside("402 to 473"),
            row("in runs, as tiles give them, 6 threads", 6.0, &runs).claimed(3, at_least),
            row("with a lock each, as queues a vertex, 4 threads", 4.0, &|to| {
                measured.singly(to) + locks - none
            })
            .claimed(3, Claim::About(0.47 * 437.5))
            .beside("GPS: 43 to 51 % of that"),
        ],
        paper: "With 6 threads that compute, PageRank of Twitter-2010 on 8 machines makes 402 to \
                473 million messages a second on each; GPS, with 4, 43 to 51 % of that.",
        notes: "A core was measured, and stands here times the threads of the paper: cores that \
                share a memory would make less: 4,705 million messages of 8 bytes are 38 GB/s. \
                The paper's messages have 12 bytes, and its threads read edges and ranks from \
                memory, where the bench reads 64 MiB of targets in their order. One at a time is \
                the paper's way, with targets at random among all destinations; edges that lie by \
                destination are written in runs. Ours make ten times as many; how much of \
                that are newer cores was not found out.",
    }
}

/// Algorithms of Figure 8, by their names in it and in numbers.
const MEMORY_JOBS: [(&str, &str); 2] = [("SSSP", "sssp"), ("PR", "pagerank")];

/// Scales of its graphs.
const MEMORY_SCALES: [u32; 3] = [18, 20, 22];

/// Memory by size of the graph, and time beside it.
fn memory(measured: &Measured) -> Figure {
    let tick = |name: &str| MEMORY_SCALES.map(|scale| format!("{name}, {scale}"));
    Figure {
        number: "8",
        title: "Resident memory of all machines by edge, bytes",
        axis: "algorithm",
        ticks: MEMORY_JOBS.iter().flat_map(|(name, _)| tick(name)).collect(),
        series: memory_rows(measured),
        paper: "On Twitter-2010 and 24 machines GraphLab takes 4.3 to 5.6 times the memory of \
                BlitzG, and 9.6 to 11.8 times its time.",
        notes: "R-MAT of a scale, 16 edges a vertex, two machines or workers: the most that was \
                resident at a time, of both together, less what they have at scale 10. Designs \
                are whole vertex programs of our own (`benches/src/designs`) on threads of one \
                process, each run in a process of its own on the same rows of edges (4 bytes an \
                edge), with the system's allocator; queues keep their memory; buffers of the \
                kernel are not counted. Route `send` packs its edges. GraphLab has copies of \
                vertices and of edges instead, and the row as GPS stands in its place. Times are \
                of ten iterations, or of all levels of a search, between threads without a \
                cable. CD was not written as a vertex program.",
    }
}

/// Rows of Figure 8: bytes an edge, and how many times as much of one design as of another.
fn memory_rows(measured: &Measured) -> Vec<Series> {
    let numbers = |what: &str, of: &str| -> Vec<f64> {
        let at = |job: &str, scale: u32| measured.of(&format!("{what}-an-edge.{of}-{job}-{scale}"));
        let of_job = |&(_, job): &(&str, &str)| MEMORY_SCALES.map(|scale| at(job, scale));
        MEMORY_JOBS.iter().flat_map(of_job).collect()
    };
    let row = |name: &str, of: &str| Series::new(name, numbers("bytes", of));
    let times = |name: &str, what: &str, [of, by]: [&str; 2]| {
        let (of, by) = (numbers(what, of), numbers(what, by));
        let ratios = of.iter().zip(&by).map(|(of, by)| of / by).collect();
        Series::new(name, ratios).not_drawn()
    };
    let on_largest = |series: Series, claim: Claim| series.claimed(2, claim).claimed(5, claim);
    vec![
        row("route send", "send"),
        row("route fold of a cluster", "fold").not_drawn(),
        row("route spill of a cluster", "spill"),
        row("one process", "one").not_drawn(),
        row("rings and accumulators", "lanes"),
        row("shared buffers with locks", "locks"),
        row("sockets with copies", "sockets"),
        row("a parser, two queues a vertex", "queues"),
        row("all of these, as GPS", "gps"),
        on_largest(
            times("memory, as GPS by route send", "bytes", ["gps", "send"]),
            Claim::AtLeast(4.3),
        )
        .beside("GraphLab: 4.3 to 5.6 times"),
        times("memory, as GPS by rings", "bytes", ["gps", "lanes"]),
        on_largest(times("time, as GPS by rings", "nanos", ["gps", "lanes"]), Claim::AtLeast(9.6))
            .beside("GraphLab: 9.6 to 11.8 times"),
        times("time, locks by buffers of each thread", "nanos", ["locks", "buffers"]),
        times("time, kernel by memory", "nanos", ["kernel", "buffers"]),
        times("time, copies by none", "nanos", ["copies", "buffers"]),
        times("time, interrupts by polling", "nanos", ["interrupts", "buffers"]),
        times("time, queues by accumulators", "nanos", ["queues", "buffers"]),
    ]
}

/// Graphs and algorithms.
fn graphs(measured: &Measured) -> Figure {
    const GRAPHS: [Graph; 3] = [LIVE_JOURNAL, TWITTER, UK];
    const TEN: Algorithm = Algorithm { full: Some(10), ..PR };
    let (ours, queues) = ((Roles::PAPER, measured.lanes("memif-1408")), (GPS, measured.queues()));
    let as_it_is = (Roles { senders: 0, workers: 8, accumulators: 8 }, route(measured));
    let passed = |threads| GRAPHS.map(|graph| pass(graph.edges, graph.machines, threads, 40.0));
    let [ours, queues, as_it_is] = [ours, queues, as_it_is].map(passed);
    let seconds = |algorithm: &Algorithm, passed: &[IterationFigures; 3]| {
        passed.iter().map(|whole| run(algorithm, whole)).collect::<Vec<f64>>()
    };
    let mut series = Vec::new();
    let mut rows = Vec::new();
    for (name, algorithm) in [("PR", TEN), ("SSSP", SSSP), ("CD", CD), ("CC", WCC)] {
        let (ours, queues) = (seconds(&algorithm, &ours), seconds(&algorithm, &queues));
        let times = queues.iter().zip(&ours).map(|(queues, ours)| queues / ours).collect();
        let row = Series::new(name, times);
        series.push(if name == "PR" {
            let claims = [19.0, 24.1, 27.3].map(Claim::About).into_iter().enumerate();
            claims.fold(row, |row, (tick, claim)| row.claimed(tick, claim)).beside("19, 24.1, 27.3")
        } else {
            (0..3)
                .fold(row, |row, tick| row.claimed(tick, Claim::AtLeast(17.2)))
                .beside("17.2 to 27.3")
        });
        let lasts = seconds(&algorithm, &as_it_is);
        for (what, values) in [("over DPDK", ours), ("as it is", lasts), ("queues", queues)] {
            rows.push(Series::new(format!("{name}, seconds, {what}"), values).not_drawn());
        }
    }
    series.extend(rows);
    Figure {
        number: "9",
        title: "Times as fast as vertex programs with queues, modelled, 40 Gb/s",
        axis: "layout",
        ticks: GRAPHS.iter().map(|graph| format!("{}, {}", graph.name, graph.machines)).collect(),
        series,
        paper: "17.2 to 27.3 times as fast as GPS, 20.7 on average: PageRank 19, 24.1 and 27.3 \
                times on LiveJournal with 3 machines, Twitter-2010 with 24 and UK-2007-05 with 32.",
        notes: "The graphs are not here: they are their numbers of edges (Table I) over machines \
                that have as many each. Iterations of SSSP and CC have the updates of the figures \
                of Chaos (`chaos/profiles.csv`), CD has ten along all edges both ways, each \
                folded at the cost of a number, which gathering labels is not. 'As it is' has the \
                processor time of route `send` over TCP with 8 threads of each of its two kinds. \
                Ours gain less than the paper's, because the baseline is faster than GPS, and \
                because 40 Gb/s limit ours on the larger graphs.",
    }
}

/// Seconds of all iterations of an algorithm, by that of one with a message an edge.
fn run(algorithm: &Algorithm, whole: &IterationFigures) -> f64 {
    let ways = if algorithm.both { 2.0 } else { 1.0 };
    let share = |one: &Iteration| whole.of_share(ways * one.updates as f64 / one.edges as f64);
    algorithm.iterations().iter().map(share).sum()
}

/// Rates of today, of others and ours, per core.
fn today(measured: &Measured) -> Figure {
    let theirs = [
        ("datagen-sf10k", 103.0),
        ("datagen-9_0", 67.0),
        ("graph500-28", 37.0),
        ("graph500-30", 35.0),
        ("friendster", 26.0),
        ("twitter_mpi", 13.0),
    ];
    let own = [("R-MAT, send", "send"), ("R-MAT, one process", "one")];
    let ours = own.map(|(name, of)| (name, 1000.0 / measured.of(&format!("edge-nanos.{of}"))));
    let all = theirs.iter().chain(&ours);
    let names = all.clone().map(|(name, _)| (*name).to_owned()).collect();
    Figure {
        number: "W1",
        title: "PageRank today: millions of arcs a second and core",
        axis: "algorithm",
        ticks: names,
        series: vec![Series::new("arcs", all.map(|(_, rate)| *rate).collect())],
        paper: "402 to 473 million messages a second for 16 threads, which is 25 to 30 million a \
                thread.",
        notes: "libgrape-lite, whose own report of Graphalytics (2024) has 8 machines of 64 \
                virtual cores, is the fastest that is published for machines with a network: ten \
                iterations, without reading the graph, and each edge of an undirected graph \
                counts twice. Ours are by processor time, of two machines on one computer and of \
                one process, 8 bytes a value, of iterations alone.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Round numbers of the size of those that were measured.
    const MEASURED: &str = "\
name,value
memory.send,0.15
tcp.send,1.1
tcp.receive,0.8
udp.send,0.9
udp.receive,0.9
memif-1408.send,1.6
memif-1408.receive,1.2
none-1408.send,1.1
none-1408.receive,0.8
locks-1408.send,15
all-1408.send,38
all-1408.receive,50
generate-singly-1,240
generate-singly-4,230
generate-singly-16,220
generate-singly-64,110
generate-runs-64,1700
udp-roles.worker,0.5
udp-roles.sender,0.8
udp-roles.accumulator,0.9
route.computation,5
route.accumulator,4
";

    #[test]
    fn messages_use_links_which_queues_do_not() {
        let measured = Measured::parse(MEASURED);
        let figure = links(&measured);
        let (ours, queues) = (&figure.series[0].values, &figure.series[3].values);
        assert!(ours[..3].iter().all(|share| *share > 93.0), "{}", figure.markdown());
        assert!(queues[2] < 50.0 && ours[2] > 2.0 * queues[2], "{}", figure.markdown());
        assert!(figure.of("TCP lanes, measured").values.iter().all(|share| share.is_nan()));
        let faster = figure.of("times as fast as queues a vertex");
        assert!(faster.values.is_sorted(), "{}", figure.markdown());
    }

    #[test]
    fn more_threads_are_faster_until_the_link_is_full() {
        let figure = threads(&Measured::parse(MEASURED));
        for series in &figure.series {
            assert!(series.values[..6].is_sorted_by(|few, more| 1.02 * few >= *more), "{series:?}");
        }
        let dpdk = &figure.series[0].values;
        assert!(dpdk[6] < 1.05 * dpdk[5] && dpdk[0] > 1.2 * dpdk[5], "{}", figure.markdown());
    }

    #[test]
    fn all_figures_can_be_made_of_what_there_is() {
        for (number, make) in FIGURES {
            let figure = make(&Measured::default());
            assert_eq!((figure.number, figure.series.is_empty()), (number, false));
            assert!(figure.series.iter().all(|it| it.values.len() == figure.ticks.len()));
        }
        let unknown = |series: &Series| series.values.iter().all(|value| value.is_nan());
        assert!(graphs(&Measured::default()).series.iter().all(unknown));
        let figure = graphs(&Measured::parse(MEASURED));
        assert!(figure.of("PR").values.iter().all(|times| *times > 1.5), "{}", figure.markdown());
    }

    #[test]
    fn memory_is_compared_by_algorithm_and_size() {
        let text = "name,value\nbytes-an-edge.send-pagerank-22,4\n\
                    bytes-an-edge.gps-pagerank-22,20\nnanos-an-edge.locks-sssp-18,6\n\
                    nanos-an-edge.buffers-sssp-18,2\n";
        let figure = memory(&Measured::parse(text));
        assert_eq!((figure.ticks[0].as_str(), figure.ticks[5].as_str()), ("SSSP, 18", "PR, 22"));
        let ratios = &figure.of("memory, as GPS by route send").values;
        assert!((ratios[5] - 5.0).abs() < 1e-9 && ratios[..5].iter().all(|it| it.is_nan()));
        let locks = &figure.of("time, locks by buffers of each thread").values;
        assert!((locks[0] - 3.0).abs() < 1e-9, "{}", figure.markdown());
        // Unmeasured numbers are near none of the paper's.
        assert!(figure.verdict().starts_with("1 of 4 numbers"), "{}", figure.verdict());
    }
}
