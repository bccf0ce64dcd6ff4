//! Place and time of what a checker sees.

use welter_protocol::ids::{Epoch, Step};
use welter_protocol::{Rank, Time};

/// Place and time of an observation.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// Virtual nanoseconds.
    pub now: Time,
    /// The process, by a number that no other has.
    pub process: usize,
    /// Rank of the process.
    pub rank: Rank,
    /// Epoch in which the process acts.
    pub epoch: Epoch,
    /// Step that the computation engine of the process has taken up.
    pub step: Option<Step>,
}
