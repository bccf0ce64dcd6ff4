//! `designs`: whole vertex programs by the design of `BlitzG` and by those that it compares with,
//! beside routes of the command: time and memory by edge, of the same graph and iterations.
//!
//! | file | has |
//! |---|---|
//! | `program` | PageRank and shortest paths as vertex programs |
//! | `rows` | the graph, dealt out over workers |
//! | `arrivals` | a sum a vertex, or a queue a vertex; two of each swap roles |
//! | `buffers` | message buffers of a thread, or shared and behind locks |
//! | `carriers` | queues in memory or kernel sockets, with copies and interrupts where asked for |
//! | `lanes` | rings of buckets, the paper's own design |
//! | `supersteps` | threads that compute, parsers, barriers |
//! | `design` | which of these a design has |
//! | `reference` | plain loops that answers are compared with |
//! | `child` | one design in a process of its own |
//! | `bench` | the table, and numbers for Figure 8 |
//!
//! Machines are threads of one process, or processes of this computer: no cable is between them.
//! Buffers of the kernel are in no number. Memory depends on the allocator, so that
//! `cargo xtask bench designs` takes the system's, which the command has too.

mod arrivals;
mod bench;
mod buffers;
mod carriers;
pub(crate) mod child;
mod design;
mod lanes;
#[path = "../../../crates/transport/benches/shared/numbers.rs"]
mod numbers;
mod program;
mod reference;
mod rows;
mod supersteps;

pub(crate) use bench::{Arguments, run};
