//! The clock of a machine: nanoseconds since it was made, which never go back.

use std::time::{Duration, Instant};

use welter_protocol::Time;

/// A clock of one machine. Those of two are not comparable, and nothing compares them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    /// A clock at 0.
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }

    /// Nanoseconds that it shows.
    pub(crate) fn now(&self) -> Time {
        self.0.elapsed().as_nanos() as Time
    }

    /// Time until it shows this.
    pub(crate) fn until(&self, time: Time) -> Duration {
        Duration::from_nanos(time.saturating_sub(self.now()))
    }
}
