//! The outcome of a run.

use bytemuck::Pod;

use crate::columns::levels::IterationStats;
use crate::columns::results::Values;

/// Result of a run: values, and how they came about.
#[derive(Debug)]
pub struct Outcome<V: Pod + Send, T> {
    /// Values of all vertices, in the order of the graph's vertex column.
    pub values: Values<V>,
    /// Iterations that were done.
    pub iterations: u64,
    /// Totals of the last iteration (of `init` when there was none).
    pub total: T,
    /// Totals of `init`, and of each iteration; of very many the first ones, in a mebibyte. Where
    /// vertices were at different iterations ([`Mode::Asynchronous`](crate::Mode::Asynchronous))
    /// they say nothing.
    pub totals: Vec<T>,
    /// Levels, one an iteration of a program with a frontier; empty for others.
    pub levels: Vec<IterationStats>,
}
