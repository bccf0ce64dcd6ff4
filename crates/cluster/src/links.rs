//! Links between machines: a connection in each direction of each pair, over TCP.
//!
//! ```text
//! machine 1   Outgoing to 2  ── hello, frames ──>  Incoming   machine 2
//!             Incoming      <── hello, frames ──   Outgoing to 1
//! ```
//!
//! One connection carries all messages of a direction in their order, so none overtakes another by
//! more than the protocol's channel takes. Each is made by the one that sends, who connects again
//! when it breaks; the other side needs to know of no address.
//!
//! **Invariant:** machines that prove nothing to each other listen at, connect to and receive from
//! loopback addresses alone, unless the user trusts the network. Checked in `Trust::check`, which
//! `listen`, `Links::locate` and `Shared::accept` ask. Tested by
//! `other_addresses_than_loopback_are_refused`.

pub(crate) mod counts;
pub(crate) mod frames;
pub(crate) mod handshake;
mod incoming;
mod outgoing;
pub(crate) mod stream;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use welter_protocol::messages::Envelope;
use welter_protocol::{Event, Rank};

use self::counts::Counts;
use self::frames::Limits;
use self::handshake::Hello;
use self::incoming::Incoming;
use self::outgoing::Outgoing;
use crate::credentials::Trust;
use crate::error::ClusterError;
use crate::pool::Pool;

/// Bounds of what waits for a peer, and of what it may send.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of messages that wait for a peer.
    pub queue_bytes_max: usize,
    /// Bytes of a payload: of a chunk, or of the accumulators of a partition.
    pub payload_bytes_max: usize,
}

/// Identity of a machine, as it introduces itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    /// Digest of all that machines agree on beforehand.
    pub(crate) run: u64,
    pub(crate) rank: Rank,
    pub(crate) incarnation: u32,
    pub(crate) machines: usize,
}

/// All links of a machine.
pub(crate) struct Links {
    outgoing: Vec<Option<Outgoing>>,
    incoming: Incoming,
    counts: Arc<Counts>,
    trust: Trust,
}

/// A listener at this address.
///
/// # Errors
/// When peers that are trusted so may not be there, or it cannot be had.
pub(crate) fn listen(address: SocketAddr, trust: &Trust) -> Result<TcpListener, ClusterError> {
    trust.check(address)?;
    TcpListener::bind(address)
        .map_err(|source| ClusterError::Socket { what: "listen for machines", source })
}

impl Drop for Links {
    fn drop(&mut self) {
        // Each may be in a call that takes a while: all at once, not one after the other.
        self.outgoing.iter().flatten().for_each(Outgoing::close);
    }
}

impl Links {
    /// The links of a machine that hands on what it receives to `events`.
    pub(crate) fn new(
        listener: TcpListener,
        (me, trust): (Identity, Trust),
        (bounds, pool_bytes): (Bounds, usize),
        events: SyncSender<Event>,
    ) -> io::Result<Self> {
        let Identity { run, rank, incarnation, machines } = me;
        let counts = Arc::new(Counts::default());
        let to = |to: Rank| {
            let hello = Hello { run, from: rank, incarnation, to };
            Outgoing::new((hello, trust.clone()), bounds.queue_bytes_max, counts.clone())
        };
        let outgoing = (0..machines).map(|peer| (peer != rank).then(|| to(peer)).transpose());
        let outgoing = outgoing.collect::<io::Result<Vec<_>>>()?;
        let limits = Limits { machines, payload_bytes_max: bounds.payload_bytes_max };
        let events = (events, counts.clone());
        let me = (run, rank, trust.clone());
        let incoming = Incoming::new(listener, me, (limits, Pool::new(pool_bytes)), events)?;
        Ok(Self { outgoing, incoming, counts, trust })
    }

    /// Address at which it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.incoming.address()
    }

    /// Learns where a peer listens.
    ///
    /// # Errors
    /// When peers that are trusted so may not be there.
    pub(crate) fn locate(&self, peer: Rank, address: SocketAddr) -> Result<(), ClusterError> {
        self.trust.check(address)?;
        if let Some(Some(outgoing)) = self.outgoing.get(peer) {
            outgoing.locate(address);
        }
        Ok(())
    }

    /// Sends a message, some time, unless it gets lost.
    pub(crate) fn send(&self, envelope: Envelope) {
        if let Some(Some(outgoing)) = self.outgoing.get(envelope.to) {
            outgoing.send(envelope);
        }
    }

    /// Whether messages wait for peers that are there.
    pub(crate) fn is_sending(&self) -> bool {
        self.outgoing.iter().flatten().any(Outgoing::is_sending)
    }

    /// Numbers of what has happened.
    pub(crate) fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }
}

#[cfg(test)]
mod tests;
