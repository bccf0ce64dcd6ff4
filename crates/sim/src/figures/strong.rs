//! Figures 7, 8 and 18: a graph of one size on more and more machines.

use std::sync::Arc;

use welter_protocol::placement::Placement;
use welter_protocol::steal::Bias;

use super::algorithms::{ALL, Algorithm, BFS, PR};
use super::cluster::{Setting, Storage, run};
use super::extent::Extent;
use super::plot::{Figure, Series};
use crate::sized_job::Spread;

/// Links and pages of the Data Commons graph.
const LINKS: u64 = 128_000_000_000;
const PAGES: u64 = 3_500_000_000;

/// Times of one machine by those of more.
fn speedups(times: &[f64]) -> Vec<f64> {
    times.iter().map(|time| times[0] / time).collect()
}

fn paper(algorithm: &Algorithm) -> &'static str {
    match algorithm.name {
        "Cond" => "23, the most",
        "MCST" => "8, the least",
        _ => "",
    }
}

/// An R-MAT graph that fits one machine's SSD.
pub(super) fn rmat(extent: Extent) -> Vec<Figure> {
    let row = |algorithm: &'static Algorithm| {
        let time = |machines| Setting::rmat(algorithm, 27 - extent.shrink, machines).run().seconds;
        let times: Vec<f64> = extent.machines().into_iter().map(time).collect();
        let claim = match algorithm.name {
            "Cond" => Some(23.0),
            "MCST" => Some(8.0),
            _ => None,
        };
        Series::new(algorithm.name, speedups(&times)).beside(paper(algorithm)).at_32(claim)
    };
    let mut series: Vec<Series> = ALL.into_iter().map(row).collect();
    series.push(Series::mean(&series).beside("13.5").at_32(Some(13.5)));
    vec![Figure {
        number: "7",
        title: "Strong scaling, R-MAT 27: times as fast as one machine",
        axis: "machines",
        ticks: extent.ticks(),
        series,
        paper: "13.5 times as fast on 32 machines on average.",
        notes: "Barriers, the first values and the largest partition weigh more on a small graph, \
                as in the paper, but less than there: on 32 machines the paper loses more than \
                half, and the model a fifth. It has no cost of a network stack or a file system; \
                which of these it is the paper's text does not tell. MCST is another \
                algorithm than the paper's.",
    }]
}

/// A web graph on hard disks.
pub(super) fn web(extent: Extent) -> Vec<Figure> {
    let row = |algorithm: &'static Algorithm, (paper, claim)| {
        let time = |machines| {
            let setting = Setting {
                vertices: PAGES >> extent.shrink,
                edges: LINKS >> extent.shrink,
                storage: Storage::HDD,
                spread: Spread::Even,
                wide: false,
                ..Setting::rmat(algorithm, 30, machines)
            };
            setting.run().seconds
        };
        let times: Vec<f64> = extent.machines().into_iter().map(time).collect();
        Series::new(algorithm.name, speedups(&times)).beside(paper).at_32(Some(claim))
    };
    vec![Figure {
        number: "8",
        title: "Strong scaling, the size of Data Commons, hard disks: times as fast",
        axis: "machines",
        ticks: extent.ticks(),
        series: vec![row(&BFS, ("20", 20.0)), row(&PR, ("18.5", 18.5))],
        paper: "20 times as fast for BFS and 18.5 for PageRank on 32 machines.",
        notes: "The graph itself is not here: it has the numbers of pages and links of Data \
                Commons, links spread evenly over ids, and searches take as many iterations as on \
                R-MAT 22. So partitions are of one size, and nothing need be stolen; the skew of \
                the real graph is what is missing.",
    }]
}

/// Static partitions, as Giraph has them: who owns a partition has its edges and updates, and no
/// machine helps.
pub(super) fn fixed(extent: Extent) -> Vec<Figure> {
    let row = |name: &str, is_static: bool| {
        let time = |machines| {
            let mut schedule = Setting::rmat(&PR, 27 - extent.shrink, machines).schedule();
            if is_static {
                let config = Arc::make_mut(&mut schedule.config);
                (config.bias, config.placement) = (Bias::NEVER, Placement::Owner);
            }
            run(&schedule).seconds
        };
        let times: Vec<f64> = extent.machines().into_iter().map(time).collect();
        let values = times.iter().map(|time| time / times[0]).collect();
        Series::new(name, values)
    };
    vec![Figure {
        number: "18",
        title: "Static partitions, PageRank on R-MAT 27: time by that of one machine",
        axis: "machines",
        ticks: extent.ticks(),
        series: vec![row("as Chaos", false), row("static", true)],
        paper: "Static partitions (Giraph) severely affect scalability; no number in the text.",
        notes: "Ours are Chaos with static partitions by ranges of ids, no Giraph, which deals \
                vertices out at random: those are more even than ranges of an R-MAT graph.",
    }]
}
