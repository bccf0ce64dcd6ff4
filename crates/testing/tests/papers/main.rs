//! The algorithms of the papers' evaluations against references, on every executor.
//!
//! A binary of its own, because each program is compiled for every route.
//!
//! - `groups`: communities and core numbers against plain loops, and answers of others.
//! - `als`: factors against dense equations, solved by elimination.
//! - `bp`: beliefs against loops over the edges, and against sums over all states.
//! - `sum_product`: the same with messages on edges, exact where there are no cycles.
//! - `conductance`: cuts and volumes against a loop over the edges.
//! - `hyperball`: estimates against searches from every vertex, within their standard error, and
//!   against mathematics where they are exact.
//! - `mis`: sets against a loop over the vertices, and against what such a set is.
//! - `mcst`: forests against Kruskal's algorithm, and a verifier.
//! - `input_scan`: products, components and searches on graphs that stay in their input.
//! - `scc`: components against Kosaraju's algorithm, and against who reaches whom; deep graphs.
//! - `strong_labels`: the same by labels, on all routes.

mod als;
mod bp;
mod conductance;
mod groups;
mod hyperball;
mod input_scan;
mod mcst;
mod mis;
mod scc;
mod strong_labels;
mod sum_product;
