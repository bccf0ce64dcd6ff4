//! Virtual time, in nanoseconds.

use welter_protocol::Time;

/// A microsecond in nanoseconds.
pub const MICROS: Time = 1000;
/// A millisecond in nanoseconds.
pub const MILLIS: Time = 1_000_000;
