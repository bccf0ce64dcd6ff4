//! The figures of Chaos, made anew by the scale model: configuration, simulated runs, rows, table.
//!
//! Each function of [`FIGURES`] takes an [`Extent`] and gives figures with their numbers, what the
//! paper says, and where ours differ and why. A test runs the smallest one of each and asserts its
//! claim.
//!
//! Updates, active sources and times of kernels are those of a file ([`profiles`]), which a command
//! makes by runs of a worker ([`profiler`]).
//!
//! W1 to W7 continue from there: welter's own layout, more machines, larger graphs, updates that
//! are combined, smaller partitions, machines of today.
//!
//! Machines that are stated, and no paper's, have a [`forecast`], which benchmarks of real machines
//! have beside what they measure.
//!
//! Figures of `BlitzG` ([`blitzg`]) are made of measurements, by another model ([`sending`]).
//!
//! Not here: Figures 1 to 4, which are no measurements. (The figure with the number 1 is Table 1,
//! which the benchmark `outofcore` makes by real runs too.)

pub mod algorithms;
pub mod blitzg;
mod chart;
pub mod cluster;
mod extent;
pub mod forecast;
pub mod grid;
mod hardware;
mod large;
mod layouts;
pub mod measured;
mod page;
mod plot;
mod policies;
pub mod profiler;
pub mod profiles;
pub mod recorder;
pub mod sending;
mod sizes;
mod strong;
#[cfg(test)]
mod tests;
mod weak;

pub use self::chart::svg;
pub use self::extent::Extent;
pub use self::page::{BLITZG, CHAOS, Page, Paper};
pub use self::plot::{Claim, Figure, Series};

/// Makes figures of an extent.
pub type Maker = fn(Extent) -> Vec<Figure>;

/// All figures, with the numbers that each function makes.
pub const FIGURES: [(&[&str], Maker); 20] = [
    (&["5"], policies::busy),
    (&["1", "6", "13", "16", "19"], weak::figures),
    // A graph of one size has few chunks on many machines: none smaller than the paper's.
    (&["7"], |extent| strong::rmat(extent.whole())),
    (&["8"], strong::web),
    (&["9.3"], large::capacity),
    (&["9"], hardware::cores),
    (&["10"], hardware::storage),
    (&["11"], hardware::network),
    (&["12"], large::checkpoints),
    (&["14"], policies::directory),
    (&["15"], policies::window),
    (&["17"], policies::bias),
    (&["18"], |extent| strong::fixed(extent.whole())),
    (&["W1"], layouts::trillion),
    (&["W2"], layouts::weak),
    (&["W3"], layouts::thousand),
    (&["W4"], sizes::larger),
    (&["W5"], layouts::combining),
    (&["W6"], sizes::divided),
    (&["W7"], hardware::today),
];
