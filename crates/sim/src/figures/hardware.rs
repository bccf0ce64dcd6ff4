//! Figures 9, 10 and 11: fewer cores, slower disks, a slower network.

use super::algorithms::{Algorithm, BFS, PR};
use super::cluster::{Setting, Storage};
use super::extent::Extent;
use super::plot::{Claim, Figure, Series};

/// Times of a graph that grows with the machines, by that of one machine of the paper.
fn times(
    algorithm: &'static Algorithm,
    extent: Extent,
    change: impl Fn(Setting) -> Setting,
) -> Vec<f64> {
    let one = Setting::weak(algorithm, extent, 1).run().seconds;
    let time = |machines| change(Setting::weak(algorithm, extent, machines)).run().seconds / one;
    extent.machines().into_iter().map(time).collect()
}

/// Series of BFS and PageRank for each piece of hardware: its name, what it is, and the paper's
/// word on it.
fn compared<T: Copy>(
    extent: Extent,
    hardware: &[(&str, T, &'static str)],
    with: impl Fn(Setting, T) -> Setting,
) -> Vec<Series> {
    let of = |algorithm: &'static Algorithm| {
        let with = &with;
        hardware.iter().map(move |&(name, part, paper)| {
            let values = times(algorithm, extent, |setting| with(setting, part));
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
    let series = compared(extent, &cores, |setting, cores| Setting { cores, ..setting });
    vec![Figure {
        number: "9",
        title: "Cores of a machine: time by that of one machine with 16",
        axis: "machines",
        ticks: extent.ticks(),
        series,
        paper: "It performs adequately with half the cores; some are needed to keep the network \
                up.",
        notes: "The same: disks are the bottleneck down to two cores at 20 ns a record (assumed). \
                Cores that TCP takes are not in the model.",
    }]
}

/// Kind of disk.
pub(super) fn storage(extent: Extent) -> Vec<Figure> {
    let kinds = [("SSD", Storage::SSD, ""), ("HDD", Storage::HDD, "twice the time of SSDs")];
    let mut series = compared(extent, &kinds, |setting, storage| Setting { storage, ..setting });
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
    let series = compared(extent, &rates, |setting, link| Setting { link, ..setting });
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
