//! Ingest, plan, kernels and the iteration driver of one machine.
//!
//! Data flows one way: an edge stream is surveyed, its edges are binned by tile, sorted and written
//! into chunks ([`ingest`](Graph::ingest)); iterations fold the chunks of one stripe of
//! destinations after the other into accumulators that never leave the cache ([`run()`]).
//!
//! Invariants:
//! - One stripe belongs to one thread at a time: no atomic operation and no lock on the path of an
//!   edge.
//! - A destination meets its updates in the order of their sources, and totals are merged by fixed
//!   segments of vertices, so results are bit-identical for any number of threads, any widths and
//!   either encoding.
//! - Nothing here knows a socket. Files are volumes, which hold slabs of bytes, and beside them
//!   what [`kept`] writes.

pub mod kept;
pub mod plan;

mod checkpoint;
mod columns;
mod edges;
mod error;
mod ingest;
mod kernels;
mod machine;
mod schedules;

pub use checkpoint::{CheckpointOptions, CheckpointStats, Checkpoints, Every};
pub use columns::chunks;
pub use columns::levels::{Level, Mode};
pub use columns::outcome::Outcome;
pub use columns::results::Values;
pub use edges::graph::Graph;
pub use error::EngineError;
pub use kernels::vertices::Vertices;
pub use machine::arena::Buffer;
pub use machine::figures::Machine;
pub use machine::meter;
pub use machine::pace::Pace;
pub use machine::storage::Storage;
pub use machine::trim::{keep_little, trim};
pub use machine::workers::Workers;
pub use schedules::extended::{extend, extend_resumable};
pub use schedules::intersect::intersect;
pub use schedules::pass::{Generation, Passed, pass, pass_resumable};
pub use schedules::peel::peel;
pub use schedules::run::{run, run_resumable};
pub use schedules::straight::{count, pass_over};
