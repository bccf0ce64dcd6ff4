//! Programs that welter is measured against.
//!
//! None of these shares code with the engine: they read the same files of raw pairs and know a
//! graph as compressed sparse rows of incoming edges. All rank without spreading the rank of sinks,
//! as the crate `graph` does, so that their answers can be compared with each other.

pub(crate) mod cost;
pub(crate) mod csr;
pub(crate) mod csr_pull;
pub(crate) mod gap;
#[cfg(feature = "graph-crate")]
pub(crate) mod graph_crate;
pub(crate) mod pairs;
pub(crate) mod plain;
pub(crate) mod search;
