//! One file an algorithm.
//!
//! An algorithm is a [`Program`](welter_model::program::Program): mathematics, without I/O, threads
//! or clocks. Which executor runs it, and where its graph lies, it never learns.

pub mod bfs;
mod float;
mod hash;
pub mod hyperball;
pub mod pagerank;
pub mod spmv;
pub mod sssp;
pub mod wcc;

pub use bfs::{Bfs, BfsTree};
pub use float::Float;
pub use hyperball::HyperBall;
pub use pagerank::PageRank;
pub use spmv::Spmv;
pub use sssp::Sssp;
pub use wcc::{LabelPropagation, Wcc};
