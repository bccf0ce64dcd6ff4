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

pub mod chunks;
pub mod kept;
pub mod machine;
pub mod meter;
pub mod plan;

mod apart;
mod arena;
mod bins;
mod checkpoint;
mod compact;
mod cuts;
mod dispatch;
mod edge_states;
mod error;
mod extended;
mod extent;
mod fixpoint;
mod frontier;
mod gather;
mod graph;
mod groups;
mod index;
mod ingest;
mod intersect;
mod iterate;
mod kernel;
mod keys;
mod levels;
mod lookups;
mod marks;
mod nontemporal;
mod own_cores;
mod pace;
mod partition;
mod parts;
mod pass;
mod peel;
mod pieces;
mod pull;
mod push;
mod radix;
mod ranges;
mod reached;
mod read_ahead;
mod record;
mod regroup;
mod renew;
mod resident;
mod results;
mod rows;
mod run;
mod segments;
mod shelf;
mod sift;
mod sparse;
mod spill;
mod state;
mod straight;
mod survey;
mod tiles;
mod trim;
mod update_chunk;
mod updates;
mod values;
mod vertices;
mod weights;
mod windows;
mod workers;

pub use arena::Buffer;
pub use checkpoint::{CheckpointOptions, CheckpointStats, Checkpoints, Every};
pub use error::EngineError;
pub use extended::{extend, extend_resumable};
pub use extent::Storage;
pub use graph::Graph;
pub use intersect::intersect;
pub use iterate::Outcome;
pub use levels::{Level, Mode};
pub use pace::Pace;
pub use pass::{Generation, Passed, pass, pass_resumable};
pub use peel::peel;
pub use results::Values;
pub use run::{run, run_resumable};
pub use straight::{count, pass_over};
pub use trim::{keep_little, trim};
pub use vertices::Vertices;
pub use workers::Workers;
