//! Section 9.3 and Figure 12: graphs of a trillion edges on hard disks.

use std::sync::Arc;

use super::algorithms::{Algorithm, BFS, PR};
use super::cluster::{Setting, Storage, run};
use super::extent::Extent;
use super::plot::{Claim, Figure, Series};

/// By how many powers of two graphs are smaller, besides those of the extent, but where that has
/// the paper's scale: a run of which takes gigabytes.
const SMALLER: u32 = 4;

/// A graph of the paper's largest scales.
fn setting(algorithm: &'static Algorithm, scale: u32, extent: Extent) -> Setting {
    let shrink = extent.smaller(SMALLER);
    let rmat = Setting::rmat(algorithm, scale - shrink, extent.most);
    Setting { storage: Storage::HDD, wide: true, shrink, ..rmat }
}

/// The capacity run.
pub(super) fn capacity(extent: Extent) -> Vec<Figure> {
    let times = f64::from(1 << extent.smaller(SMALLER));
    let row = |algorithm: &'static Algorithm, paper, claims: [f64; 3]| {
        let run = setting(algorithm, 36, extent).run();
        let hours = times * run.seconds / 3600.0;
        let terabytes = times * run.bytes / 1e12;
        let values = vec![hours, terabytes, run.rate() / 1e9];
        let row = Series::new(algorithm.name, values).beside(paper);
        let claims = claims.into_iter().map(Claim::About).enumerate();
        claims.fold(row, |row, (tick, claim)| row.claimed(tick, claim))
    };
    vec![Figure {
        number: "9.3",
        title: "R-MAT 36, a trillion edges, on hard disks",
        axis: "algorithm",
        ticks: vec!["hours".into(), "TB".into(), "GB/s".into()],
        series: vec![
            row(&BFS, "9 h, 214 TB, 7 GB/s", [9.0, 214.0, 7.0]),
            row(&PR, "19 h, 395 TB, 7 GB/s", [19.0, 395.0, 7.0]),
        ],
        paper: "BFS in a little over 9 hours with 214 TB of transfers, five iterations of PageRank \
                in 19 hours with 395 TB, 7 GB/s.",
        notes: "Times and bytes are those of a smaller graph, times as many as it is smaller (with \
                `--shrink 0` it is the whole one). \
                The search has 6 iterations, as on R-MAT 22; from its bytes the paper's had \
                some more. PageRank has fewer bytes, for an update is an id of 8 bytes and a \
                number of 4, and the paper's must have been larger. 64 disks that give 200 \
                MB/s a pair come to 6.4 GB/s at most, and 7 are of disks that the paper measured \
                to be faster (W1 has those).",
    }]
}

/// Costs of checkpoints.
pub(super) fn checkpoints(extent: Extent) -> Vec<Figure> {
    let row = |algorithm: &'static Algorithm| {
        let time = |interval: u32, scatter: bool| {
            let setting = setting(algorithm, 35, extent);
            let mut schedule = setting.schedule();
            let config = Arc::make_mut(&mut schedule.config);
            (config.checkpoint_interval, config.scatter_checkpoints) = (interval, scatter);
            run(&schedule).seconds
        };
        let none = time(u32::MAX, false);
        let values = [(1, false), (1, true)]
            .map(|(interval, scatter)| 100.0 * (time(interval, scatter) / none - 1.0));
        let row = Series::new(algorithm.name, values.into()).beside("below 6");
        (0..2).fold(row, |row, tick| row.claimed(tick, Claim::AtMost(6.0)))
    };
    vec![Figure {
        number: "12",
        title: "Checkpoints, R-MAT 35, hard disks: % of the time",
        axis: "checkpoints",
        ticks: vec!["after gather".into(), "after scatter too".into()],
        series: vec![row(&BFS), row(&PR)],
        paper: "Below 6 % of the time, on hard disks, for a checkpoint at every barrier.",
        notes: "Values are written in either case, and here go to the disk at once, so that a \
                checkpoint costs a sync and a manifest. Where a cache holds values back, as the \
                paper's page cache may, it costs the writing of what would have been overwritten.",
    }]
}
