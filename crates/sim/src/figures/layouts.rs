//! Beyond the paper: the scale model with welter's own layout, step by step from that of Chaos.
//!
//! An iteration is what the second and the third of PageRank add to the first, so that the ingest
//! is left out. Disks of the trillion edges have the rate that the paper measured.

use std::sync::Arc;

use super::algorithms::{Algorithm, BFS, PR, SSSP, WCC};
use super::cluster::{Layout, Setting, Storage, run};
use super::extent::Extent;
use super::plot::{Figure, Series};

/// One iteration of PageRank, three, and five.
const ONE: Algorithm = Algorithm { full: Some(1), ..PR };
const THREE: Algorithm = Algorithm { full: Some(3), ..PR };
const FIVE: Algorithm = Algorithm { full: Some(5), ..PR };

/// The layouts, with their names.
const LAYOUTS: [(Layout, &str); 7] = [
    (Layout::Chaos, "as Chaos"),
    (Layout::Encoded, "edges encoded"),
    (Layout::Dense, "ids without holes"),
    (Layout::Fold, "signals fetched"),
    (Layout::Resident, "vertices in memory"),
    (Layout::Weighed, "bounds by edges"),
    (Layout::Level, "disks filled evenly"),
];

/// Seeds by which chunks are placed, since the fullest disk decides: one differs from another by
/// up to 8 %.
const SEEDS: [u64; 6] = [1, 2, 3, 4, 5, 6];

/// Seconds and bytes of an iteration: what the second and the third add to the first.
fn iteration(setting: impl Fn(&'static Algorithm) -> Setting) -> [f64; 2] {
    let [one, three] = [&ONE, &THREE].map(|algorithm| setting(algorithm).run());
    [(three.seconds - one.seconds) / 2.0, (three.bytes - one.bytes) / 2.0]
}

/// Seconds of an iteration: what four more add to the first, the mean of several placements.
fn mean_iteration(setting: impl Fn(&'static Algorithm) -> Setting) -> f64 {
    let seconds = |algorithm, seed| {
        let mut schedule = setting(algorithm).schedule();
        Arc::make_mut(&mut schedule.config).seed = seed;
        run(&schedule).seconds
    };
    let of = |seed| (seconds(&FIVE, seed) - seconds(&ONE, seed)) / 4.0;
    SEEDS.map(of).iter().sum::<f64>() / SEEDS.len() as f64
}

/// Disks of a machine that come to 7 GB/s on 32, as the paper measured.
const MEASURED: Storage = Storage { rate: 219, ..Storage::HDD };

/// Scale of a trillion edges.
const TRILLION: u32 = 36;

/// A trillion edges on the paper's machines.
pub(super) fn trillion(extent: Extent) -> Vec<Figure> {
    let row = |(layout, name): (Layout, &'static str)| {
        // Cells are many, and their last chunks part full: few enough of these at full size alone.
        let shrink = if layout < Layout::Fold { extent.smaller(4) } else { extent.shrink };
        let [seconds, bytes] = iteration(|algorithm| Setting {
            storage: MEASURED,
            wide: true,
            shrink,
            layout,
            ..Setting::rmat(algorithm, TRILLION - shrink, extent.most)
        });
        let times = f64::from(1 << shrink);
        Series::new(name, vec![times * seconds / 60.0, times * bytes / 1e12])
    };
    vec![Figure {
        number: "W1",
        title: "R-MAT 36 on hard disks, an iteration of PageRank by layout",
        axis: "layout",
        ticks: vec!["minutes".into(), "TB".into()],
        series: LAYOUTS.map(row).into(),
        paper: "An iteration of PageRank takes 3.8 hours (19 hours for five), 79 TB.",
        notes: "Encoded edges halve what an iteration moves, since updates of 8 bytes are \
                written and read as before; fetching signals instead takes these away, and 33 \
                % of the ids of R-MAT 36 have an edge, so that vertex sets fit into memory. \
                What is left are edges, which the disks alone would stream in 8.8 minutes. \
                Where machines have the memory for wide partitions of few edges, bounds by \
                edges leave little to steal; where not, helpers do nearly as well on these \
                disks. Cells are many, and in smaller graphs their last chunks are part full, \
                so minutes are fewer the larger the graph is.",
    }]
}

/// Graphs that grow with the machines.
pub(super) fn weak(extent: Extent) -> Vec<Figure> {
    let row = |(layout, name): (Layout, &'static str)| {
        let time = |machines| {
            let of = |algorithm| Setting { layout, ..Setting::weak(algorithm, extent, machines) };
            // Iterations of the first four are long.
            if layout < Layout::Resident { iteration(of)[0] } else { mean_iteration(of) }
        };
        let times: Vec<f64> = extent.machines().into_iter().map(time).collect();
        Series::new(name, times.iter().map(|time| time / times[0]).collect())
    };
    vec![Figure {
        number: "W2",
        title: "Weak scaling, an iteration of PageRank by layout: time by that of one machine",
        axis: "machines",
        ticks: extent.ticks(),
        series: LAYOUTS.map(row).into(),
        paper: "1.66 times on average of ten algorithms, with its own layout.",
        notes: "Each row is by its own time on one machine; the last three are means of six \
                placements of chunks. An edge of R-MAT 32 takes 1.17 \
                times the bytes of one of R-MAT 27, so disks alone come to 1.17. Signals that \
                all fetch grow with the vertices of the whole graph; edges are so few bytes \
                that help pays only for the fullest partitions, which bounds by edges do \
                without. What is left are round trips at the ends of cells, barriers, and \
                chunks that are not spread evenly over disks, which weighs less the more there \
                are.",
    }]
}

/// Runs with updates that are combined in the buffers of chunks, and with encoded edges.
pub(super) fn combining(extent: Extent) -> Vec<Figure> {
    let machines = extent.most;
    let found = [&BFS, &WCC, &SSSP, &PR].map(|algorithm| {
        let of = |layout, combines| {
            let setting =
                Setting { layout, combines, ..Setting::weak(algorithm, extent, machines) };
            let run = setting.run();
            [run.iterating, run.bytes]
        };
        let plain = of(Layout::Chaos, false);
        let others = [(Layout::Chaos, true), (Layout::Encoded, false), (Layout::Encoded, true)];
        others.map(|(layout, combines)| {
            let found = of(layout, combines);
            [0, 1].map(|place| found[place] / plain[place])
        })
    });
    let names = [
        "time, combined",
        "bytes, combined",
        "time, edges encoded",
        "bytes, edges encoded",
        "time, both",
        "bytes, both",
    ];
    let row = |(at, name): (usize, &'static str)| {
        Series::new(name, found.iter().map(|one| one[at / 2][at % 2]).collect())
    };
    vec![Figure {
        number: "W5",
        title: "Combining and codecs at the most machines: by the run with neither",
        axis: "algorithm",
        ticks: [BFS, WCC, SSSP, PR].map(|algorithm| algorithm.name.to_owned()).into(),
        series: names.into_iter().enumerate().map(row).collect(),
        paper: "Chaos combines no updates, and encodes nothing.",
        notes: "All other figures with the paper's layout have neither. Time is that of \
                iterations, bytes are those of the whole run. Updates meet in the buffer of a \
                chunk of 4 MiB before it is stored, as targets of R-MAT graphs are drawn; on a \
                smaller graph more of them do, since buffers stay as they are.",
    }]
}

/// Numbers of machines up to a thousand.
fn many(Extent { most, .. }: Extent) -> Vec<usize> {
    if most < 32 { vec![most, 4 * most] } else { vec![32, 128, 512, 1000] }
}

/// Graphs that grow with up to a thousand machines. Events grow with the square of these, so graphs
/// of many are smaller.
pub(super) fn thousand(extent: Extent) -> Vec<Figure> {
    let machines = many(extent);
    let found = |&machines: &usize| {
        let shrink = match machines {
            ..=128 => extent.shrink.saturating_sub(2),
            129..=512 => extent.shrink,
            _ => extent.shrink + 1,
        };
        let extent = Extent { shrink, ..extent };
        let layout = Layout::Level;
        let setting = Setting { layout, ..Setting::grown(&ONE, extent, machines) };
        let [disks, links] = setting.needed();
        let times = f64::from(1 << shrink);
        [setting.run().iterating, disks, links].map(|seconds| times * seconds)
    };
    let found: Vec<[f64; 3]> = machines.iter().map(found).collect();
    let row = |(place, name)| {
        Series::new(name, found.iter().map(|found: &[f64; 3]| found[place]).collect())
    };
    vec![Figure {
        number: "W3",
        title: "Up to a thousand machines, disks filled evenly: seconds of a PageRank iteration",
        axis: "machines",
        ticks: machines.iter().map(ToString::to_string).collect(),
        series: [(0, "simulated"), (1, "disks alone"), (2, "links alone")].map(row).into(),
        paper: "Up to 32 machines.",
        notes: "Each machine has a share of the size of R-MAT 27 of a graph that grows with \
                them, on the paper's SSDs and network. Seconds are those of a smaller graph, \
                times as many as it is smaller: less by a scale of 2 to 128 machines, of 4 on \
                512 and of 5 on 1,000, so that round trips, of which a partition has a few for \
                each of its cells, weigh more the more machines there are (128 less by 5: 41.6). \
                A machine fetches the values of all vertices in each iteration, so that links \
                which are 12.5 times as fast as disks become the bottleneck from about 250 \
                machines on. Signals of a cell are fetched while the one before is streamed, of \
                one cell at a time, and then links rest: that is what is between these and the \
                time that was simulated.",
    }]
}
