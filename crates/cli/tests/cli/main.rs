//! The command, run as a user runs it: what it prints, what it writes, and how it ends.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

mod bad_input;
mod bars;
mod bipartite;
mod bombs;
mod budgets;
mod cases;
mod cgroup;
mod checkpoint;
mod corpus;
mod csv;
mod duplicates;
mod formats;
mod graphalytics;
mod help;
mod hostile;
mod input_scan;
mod interrupt;
mod kept;
mod kills;
mod non_compact;
mod output;
mod papers;
mod probe;
mod reading;
mod resume;
mod routes;
mod sandbox;
mod scratch;
mod sources;
mod streams;
mod top;
mod traversals;
mod vectors;
mod vertices;
mod weights;
