//! The engine against the references, on every executor.
//!
//! One binary, so that what is dear to load is loaded once.
//!
//! - `pagerank`, `spmv`: against plain loops, known answers and mathematics, with tolerances.
//! - `everywhere`: the same bits whatever the threads, widths, chunk sizes and encodings.
//! - `laws`: relabelling, shuffling, cutting into parts, both directions.
//! - `limits`: programs that never settle, and graphs on which others take longest.
//! - `readings`: parallel edges, self-loops and directions against an ordered map.
//! - `frontiers`: programs whose vertices fall silent.
//! - `traversals`: breadth-first search, shortest paths and components against plain loops.
//! - `streams`: what a stream program is shown, and when.
//! - `oddities`: graphs that are empty, huge in one place, or full of holes.
//! - `failures`: inputs that fail, lie or are cancelled.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod everywhere;
mod failures;
mod frontiers;
mod laws;
mod limits;
mod non_compact;
mod oddities;
mod pagerank;
mod programs;
mod readings;
mod spmv;
mod streams;
mod traversals;
mod walk;
mod weights;
