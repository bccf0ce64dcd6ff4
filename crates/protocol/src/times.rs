//! Kinds of time that a computation engine spends (Chaos, section 10.2 and Figure 16).
//!
//! ```text
//! own       streams, flushes and applies partitions of its own, or reads the input
//! stolen    streams, flushes partitions of others
//! copying   loads vertex sets of partitions of others, and hands accumulators over
//! merging   merges accumulators of others into its own
//! idle      waits: at barriers, for answers to proposals, for masters or stealers
//! ```
//!
//! **Invariant:** at each time it is at one of these: their sum is the time since it began. Tested
//! by `times_add_up_from_when_the_clock_began`.

use crate::ids::Time;

/// Kind of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Spent {
    Own,
    Stolen,
    Copying,
    Merging,
    #[default]
    Idle,
}

/// Nanoseconds of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Work on its own partitions.
    pub own: Time,
    /// Work on partitions of others.
    pub stolen: Time,
    /// Time of a stealer for vertex sets that it copies.
    pub copying: Time,
    /// Time of a master for accumulators that it merges.
    pub merging: Time,
    /// Time without work.
    pub idle: Time,
}

impl Times {
    fn of(&mut self, spent: Spent) -> &mut Time {
        match spent {
            Spent::Own => &mut self.own,
            Spent::Stolen => &mut self.stolen,
            Spent::Copying => &mut self.copying,
            Spent::Merging => &mut self.merging,
            Spent::Idle => &mut self.idle,
        }
    }

    /// Sum of all kinds of time.
    pub fn sum(&self) -> Time {
        self.own + self.stolen + self.copying + self.merging + self.idle
    }
}

/// A clock that is turned to what is done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    times: Times,
    spent: Spent,
    /// Begin of the present kind; none before the first.
    since: Option<Time>,
}

impl Clock {
    /// From now on time is spent on this.
    pub(crate) fn turn(&mut self, now: Time, spent: Spent) {
        let since = self.since.replace(now).unwrap_or(now);
        *self.times.of(self.spent) += now - since;
        self.spent = spent;
    }

    /// Times by kind until now.
    pub(crate) fn times(&self, now: Time) -> Times {
        let mut clock = *self;
        clock.turn(now, self.spent);
        clock.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_add_up_from_when_the_clock_began() {
        let mut clock = Clock::default();
        assert_eq!(clock.times(99).sum(), 0);
        for (now, spent) in [
            (100, Spent::Own),
            (103, Spent::Own),
            (110, Spent::Copying),
            (111, Spent::Stolen),
            (131, Spent::Merging),
            (135, Spent::Idle),
        ] {
            clock.turn(now, spent);
        }
        let times = Times { own: 10, stolen: 20, copying: 1, merging: 4, idle: 7 };
        assert_eq!((clock.times(142), times.sum()), (times, 42));
    }
}
