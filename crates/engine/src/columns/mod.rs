//! Columns: one value a vertex, or a state an edge, in memory or on storage.
//!
//! | file | what it has |
//! |---|---|
//! | `state`, `stripe_columns`, `results` | values, signals and accumulators, made and read |
//! | `striped` | columns in memory or on storage, that schedules do not tell apart |
//! | `windows` | windows of sources in memory, of columns on storage (`edges::values`) |
//! | `edge_states` | states of edges, in the order of the chunks |
//! | `groups`, `updates` | room for updates by destination; updates on storage |
//! | `outcome`, `levels`, `totals` | what a run leaves, and what its iterations did and summed up |
//! | `chunks` | columns and updates as bytes, for the machines of a cluster |
//!
//! Nothing here knows in which order edges are visited.
//!
//! Uses: `edges`, `footprints`, `kernels`, `machine`.
//!
//! Invariant: a stripe's part of a column belongs to one worker at a time. Checked in
//! `State::parts`, which hands out each part once, as a slice of its own.

pub mod chunks;
pub(crate) mod edge_states;
pub(crate) mod groups;
pub(crate) mod levels;
pub(crate) mod outcome;
pub(crate) mod results;
pub(crate) mod state;
pub(crate) mod stripe_columns;
pub(crate) mod striped;
pub(crate) mod totals;
pub(crate) mod updates;
pub(crate) mod windows;
