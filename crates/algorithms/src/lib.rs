//! Algorithms, one file each.
//!
//! An algorithm is a [`Program`](welter_model::program::Program), a
//! [`Stream`](welter_model::stream::Stream) or another kind of program: mathematics, without I/O,
//! threads or clocks. Which executor runs it, and where its graph lies, it never learns.

pub mod als;
pub mod bfs;
pub mod bp;
pub mod cdlp;
pub mod conductance;
mod float;
pub mod forest_contraction;
pub mod forest_labels;
mod hash;
pub mod hyperball;
pub mod kcore;
pub mod levels;
pub mod local_contraction;
pub mod mcst;
pub mod mis;
pub mod multigraph_core;
pub mod pagerank;
pub mod scc;
mod sides;
pub mod spmv;
pub mod sssp;
pub mod sssp_tree;
pub mod stages;
pub mod strong_contraction;
pub mod strong_labels;
pub mod strong_rounds;
pub mod sum_product;
pub mod triangles;
pub mod walk;
pub mod wcc;

pub use als::Als;
pub use bfs::{Bfs, BfsTree};
pub use bp::BeliefPropagation;
pub use cdlp::Cdlp;
pub use conductance::Conductance;
pub use float::Float;
pub use forest_contraction::ForestContraction;
pub use forest_labels::ForestLabels;
pub use hyperball::HyperBall;
pub use kcore::KCore;
pub use levels::Levels;
pub use local_contraction::LocalContraction;
pub use mcst::Mcst;
pub use mis::Mis;
pub use multigraph_core::MultigraphCore;
pub use pagerank::PageRank;
pub use scc::Scc;
pub use sides::Sides;
pub use spmv::Spmv;
pub use sssp::Sssp;
pub use sssp_tree::SsspTree;
pub use strong_contraction::StrongContraction;
pub use strong_labels::StrongLabels;
pub use sum_product::SumProduct;
pub use triangles::{Lcc, Triangles};
pub use walk::Walk;
pub use wcc::{LabelPropagation, Wcc};
