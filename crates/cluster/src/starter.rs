//! The trait of hosts: starters of machines, who speak with these.

use std::net::SocketAddr;
use std::time::Duration;

use welter_protocol::Rank;
use welter_protocol::checkpoint::Manifest;

use crate::ask::{Answer, Ask};
use crate::disk::folder::Parts;
use crate::error::ClusterError;
use crate::report::Reported;

/// A process that was started.
#[derive(Clone, Copy, Debug)]
pub struct Started {
    /// Incarnation of the process.
    pub incarnation: u32,
    /// Address at which the process listens.
    pub address: SocketAddr,
}

/// A starter of machines. Nothing is known here of the graph and the program.
pub trait Host: Send {
    /// Starts a process for a rank, whose incarnation is above this.
    ///
    /// # Errors
    /// Failure of the start.
    fn start(&mut self, rank: Rank, above: u32) -> Result<Started, ClusterError>;

    /// Sends to the process of a rank the address where another one listens.
    ///
    /// # Errors
    /// When the address is not one that machines may have.
    fn locate(&mut self, rank: Rank, peer: Rank, address: SocketAddr) -> Result<(), ClusterError>;

    /// The next report, if there is one in this time.
    fn next(&mut self, wait: Duration) -> Option<Reported>;

    /// Asks the process of a rank about the part of the result that it has.
    ///
    /// # Errors
    /// Process that is gone.
    fn ask(&mut self, rank: Rank, _: Ask) -> Result<(), ClusterError> {
        Err(ClusterError::Silent { rank })
    }

    /// The next piece of the answer of a process.
    ///
    /// # Errors
    /// Process that is gone, or has not what it was asked for.
    fn answer(&mut self, rank: Rank) -> Result<Answer, ClusterError> {
        Err(ClusterError::Silent { rank })
    }

    /// The part of the result that the process of a rank has on its disk.
    ///
    /// # Errors
    /// When it is not there any more.
    fn vertices(&mut self, rank: Rank, _: &Manifest) -> Result<Parts, ClusterError> {
        self.ask(rank, Ask::Vertices)?;
        let mut parts = Parts::new();
        loop {
            match self.answer(rank)? {
                Answer::Part(at, payload) => parts.push((at, payload)),
                Answer::Rows(..) => {}
                Answer::End => return Ok(parts),
            }
        }
    }

    /// Ends the process of a rank, if it lives still.
    fn stop(&mut self, rank: Rank);
}
