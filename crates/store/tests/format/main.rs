//! The chunk format, from outside.
//!
//! - `plain`: a second reader, written from `docs/format.md` alone.
//! - `round_trip`: what goes in comes out, by both readers.
//! - `golden`: today's builder writes yesterday's bytes, and both readers read them.
//! - `damage`: every flipped bit, every missing byte and every forged field.
//! - `frames`: chunks under a compression, the same ways.
//! - `seeds`: the seeds of the fuzz target, and thousands of changes of each.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod damage;
mod frames;
mod golden;
mod plain;
mod round_trip;
mod samples;
mod seeds;
