//! Figures 9, 10 and 11: fewer cores, slower disks, a slower network; and, beyond the paper,
//! machines of today.

use super::algorithms::{Algorithm, BFS, PR};
use super::cluster::{Kernels, Layout, Setting, Storage};
use super::extent::Extent;
use super::plot::{Claim, Figure, Series};
use super::profiles::{Origin, recorded};

/// Times of a graph that grows with the machines, by that of one machine of the paper.
fn times(
    algorithm: &'static Algorithm,
    (extent, kernels): (Extent, Kernels),
    change: impl Fn(Setting) -> Setting,
) -> Vec<f64> {
    let weak = |machines| Setting { kernels, ..Setting::weak(algorithm, extent, machines) };
    let one = weak(1).run().seconds;
    let time = |machines| change(weak(machines)).run().seconds / one;
    extent.machines().into_iter().map(time).collect()
}

/// Series of BFS and PageRank for each piece of hardware: its name, what it is, and the paper's
/// word on it.
fn compared<T: Copy>(
    (extent, kernels): (Extent, Kernels),
    hardware: &[(&str, T, &'static str)],
    with: impl Fn(Setting, T) -> Setting,
) -> Vec<Series> {
    let of = |algorithm: &'static Algorithm| {
        let with = &with;
        hardware.iter().map(move |&(name, part, paper)| {
            let values = times(algorithm, (extent, kernels), |setting| with(setting, part));
            Series::new(format!("{}, {name}", algorithm.name), values).beside(paper)
        })
    };
    [&BFS, &PR].into_iter().flat_map(of).collect()
}

/// Number of cores.
pub(super) fn cores(extent: Extent) -> Vec<Figure> {
    let cores = [
        ("16 cores", 16, ""),
        ("12 cores", 12, ""),
        ("8 cores", 8, "adequate"),
        ("2 cores", 2, ""),
        ("1 cores", 1, ""),
    ];
    let with = |setting: Setting, cores| Setting { cores, ..setting };
    let mut series = compared((extent, Kernels::Assumed), &cores, with);
    if recorded().times == Origin::Measured {
        let few = [("2 cores, recorded", 2, ""), ("1 cores, recorded", 1, "")];
        series.extend(compared((extent, Kernels::Recorded), &few, with));
    }
    vec![Figure {
        number: "9",
        title: "Cores of a machine: time by that of one machine with 16",
        axis: "machines",
        ticks: extent.ticks(),
        series,
        paper: "It performs adequately with half the cores; some are needed to keep the network \
                up.",
        notes: "The same: disks are the bottleneck down to two cores at 20 ns a record (assumed). \
                Rows with times that were recorded, where there are any, are by that of one \
                machine with 16 such cores. Cores that TCP takes are not in the model.",
    }]
}

/// Kind of disk.
pub(super) fn storage(extent: Extent) -> Vec<Figure> {
    let kinds = [("SSD", Storage::SSD, ""), ("HDD", Storage::HDD, "twice the time of SSDs")];
    let with = |setting: Setting, storage| Setting { storage, ..setting };
    let mut series = compared((extent, Kernels::Recorded), &kinds, with);
    for pair in series.chunks_exact_mut(2) {
        let claims = pair[0].values.iter().map(|ssd| Claim::About(2.0 * ssd));
        pair[1].claims = claims.enumerate().collect();
    }
    vec![Figure {
        number: "10",
        title: "SSD and hard disks: time by that of one machine with SSDs",
        axis: "machines",
        ticks: extent.ticks(),
        series,
        paper: "Half the bandwidth takes twice the time, on any number of machines.",
        notes: "The same, and a little more for the latency of hard disks.",
    }]
}

/// Rate of the network.
pub(super) fn network(extent: Extent) -> Vec<Figure> {
    let rates =
        [("40 Gb/s", 40_000, ""), ("1 Gb/s", 1000, "a quarter of the disks' rate: bottleneck")];
    let with = |setting: Setting, link| Setting { link, ..setting };
    let series = compared((extent, Kernels::Recorded), &rates, with);
    vec![Figure {
        number: "11",
        title: "Network: time by that of one machine with 40 Gb/s",
        axis: "machines",
        ticks: extent.ticks(),
        series,
        paper: "At 1 Gb/s, a quarter of the rate of a disk, the network is the bottleneck, and \
                Chaos does not scale.",
        notes: "The same. Most chunks come through links. Masters know from answers to their \
                pulls what others have left: from their own disk alone, which is behind no link \
                and so empty first, they would decline all help, and a search would take 17.7 \
                times as long on 32 machines.",
    }]
}

/// One iteration of PageRank.
const ONE: Algorithm = Algorithm { full: Some(1), ..PR };

/// Cores of a machine of today.
const CORES: usize = 64;

/// Gigabits a second of interfaces of today.
const LINKS: [u64; 4] = [10, 25, 100, 200];

/// Machines of today.
pub(super) fn today(extent: Extent) -> Vec<Figure> {
    let storages = [
        ("NVMe of 3 GB/s", Storage::NVME),
        ("NVMe of 7 GB/s", Storage { rate: 7000, ..Storage::NVME }),
        ("bucket", Storage::BUCKET),
    ];
    let rows = |(layout, of): (Layout, &'static str)| {
        storages.map(|(name, storage)| {
            let seconds = |gigabits: u64| {
                let weak = Setting::weak(&ONE, extent, extent.most);
                let setting =
                    Setting { storage, layout, link: 1000 * gigabits, cores: CORES, ..weak };
                f64::from(1 << extent.shrink) * setting.run().iterating
            };
            Series::new(format!("{of}, {name}"), LINKS.map(seconds).into())
        })
    };
    let layouts = [(Layout::Chaos, "as Chaos"), (Layout::Level, "own layout")];
    vec![Figure {
        number: "W7",
        title: "Machines of today at the most of them: seconds of a PageRank iteration",
        axis: "Gb/s",
        ticks: LINKS.map(|gigabits| gigabits.to_string()).into(),
        series: layouts.into_iter().flat_map(rows).collect(),
        paper: "SSDs of 400 MB/s, 40 Gb/s, 16 cores.",
        notes: "R-MAT 27 a machine, of 64 cores with the times of kernels that stand above, drives \
                that serve four requests at a time, and a bucket that each machine reaches at 10 \
                Gb/s of its own, 30 ms a request and 32 at a time (all of these assumed). \
                Seconds are those of a smaller graph, times as many as it is smaller. The paper \
                asks for links that are faster than disks: of 10 Gb/s they are that beside its \
                SSDs, and not beside one drive of today. The switch carries all of them at once.",
    }]
}
