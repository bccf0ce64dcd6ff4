//! Where and when a checker sees something.

use welter_protocol::ids::{Epoch, Step};
use welter_protocol::{Rank, Time};

/// Where something is seen.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// Virtual nanoseconds.
    pub now: Time,
    /// The process, by a number that no other has.
    pub process: usize,
    /// Its rank.
    pub rank: Rank,
    /// The epoch in which it acts.
    pub epoch: Epoch,
    /// Step that its computation engine has taken up.
    pub step: Option<Step>,
}
