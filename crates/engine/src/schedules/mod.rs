//! Schedules: in which order edges and vertices are visited, and by which worker.
//!
//! | file | what it visits |
//! |---|---|
//! | `run` | chooses the schedule that the plan names |
//! | `iterate` | stripe after stripe, accumulators in the cache (route `fold`) |
//! | `ranges`, `spill` | windows of sources; updates through storage |
//! | `extended` | programs with states of edges, on each of these routes |
//! | `sparse`, `push`, `pull`, `frontier`, `reached`, `lookups`, `regroup` | few active vertices, through an index |
//! | `fixpoint`, `parts`, `resident` | blocks of vertices, each relaxed until nothing changes |
//! | `pass`, `straight` | passes over the edges, over a graph and over its input |
//! | `intersect`, `peel` | adjacency lists: triangles and core numbers |
//! | `levels` | what was done in each iteration |
//!
//! Nothing here knows a file format or an option of the command.
//!
//! Invariant: results have the same bits for any number of workers and any widths.

pub(crate) mod extended;
pub(crate) mod fixpoint;
pub(crate) mod frontier;
pub(crate) mod intersect;
pub(crate) mod iterate;
pub(crate) mod levels;
pub(crate) mod lookups;
pub(crate) mod parts;
pub(crate) mod pass;
pub(crate) mod peel;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod ranges;
pub(crate) mod reached;
pub(crate) mod regroup;
pub(crate) mod resident;
pub(crate) mod run;
pub(crate) mod sparse;
pub(crate) mod spill;
pub(crate) mod straight;
