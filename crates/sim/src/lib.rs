//! A seeded simulator that tries to break the protocol.
//!
//! A seed makes a [`Schedule`](schedule::Schedule): machines, a graph, a program, policies,
//! conditions and faults. A [`World`](world::World) runs it in virtual time on the very code that a
//! real cluster runs, with the kernels of real programs, and [`checkers`] look on. What a seed did
//! once it does again.
//!
//! # Example
//! PageRank on four machines. The seed decides the graph, the policies, the conditions and what
//! goes wrong; the result was compared with a plain loop's:
//!
//! ```
//! use welter_sim::checkers::progress::End;
//! use welter_sim::schedule::{Schedule, Overrides};
//! use welter_sim::world::World;
//!
//! let (algorithm, machines) = (Some("pagerank"), Some(4));
//! let overrides = Overrides { algorithm, machines, calm: true, ..Overrides::default() };
//! let schedule = Schedule::of(7, &overrides);
//! let report = World::run(&schedule, false);
//! assert_eq!((report.failure, report.end, report.judged), (None, End::Finished, true));
//!
//! // A seed does again what it did.
//! assert_eq!(World::run(&schedule, false).hash, report.hash);
//! ```

pub mod campaign;
pub mod catalogue;
pub mod checkers;
pub mod clock;
pub mod contract_job;
pub mod describe;
pub mod disk;
pub mod fault_counts;
pub mod faults;
pub mod figures;
pub mod hunt;
mod input;
pub mod job;
pub mod kernel_job;
pub mod network;
pub mod phases;
pub mod planted;
pub mod replay;
pub mod schedule;
pub mod sized_job;
mod tampered;
mod tampered_rows;
mod triangle_job;
pub mod world;
