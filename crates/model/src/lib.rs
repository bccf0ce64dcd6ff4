//! Edges, ids and programs: what a graph algorithm is made of.
//!
//! Invariant: nothing in this crate knows a file, a socket, a clock or a thread. Checked in
//! `layers::check_source`, a rule of the project's own, and by clippy.

pub mod checkpointable;
pub mod contract;
pub mod edge_sample;
pub mod edges;
pub mod extended;
pub mod frequency;
pub mod group;
pub mod id;
pub mod ids;
pub mod input_scan;
pub mod intersect;
pub mod limit;
pub mod names;
pub mod non_compact;
pub mod pair;
pub mod program;
pub mod rank_select;
pub mod records;
pub mod spread;
pub mod stream;
pub mod stream_wrapper;
pub mod table;
pub mod two_kinds;
pub mod with_sides;
