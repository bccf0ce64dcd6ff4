//! A seeded simulator that tries to break the protocol.
//!
//! A seed makes a [`Schedule`](schedule::Schedule): machines, a graph, a program, policies, weather
//! and faults. A [`World`](world::World) runs it in virtual time on the very code that a real
//! cluster runs, with the kernels of real programs, and [`checkers`] look on. What a seed did once
//! it does again.

mod bins;
pub mod campaign;
pub mod catalogue;
pub mod checkers;
pub mod clock;
pub mod describe;
pub mod disk;
pub mod extended_job;
pub mod faults;
pub mod fold_job;
pub mod happened;
pub mod hunt;
pub mod intersect_job;
pub mod job;
pub mod network;
mod passes;
pub mod phases;
pub mod planted;
mod reading;
pub mod replay;
pub mod schedule;
pub mod sized_job;
pub mod stream_job;
pub mod world;
