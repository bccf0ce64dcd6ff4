//! Requests to storage, as a plan states them.

use super::Plan;
use super::device::Measured;
use super::traffic::Traffic;
use crate::machine::arena::SLAB_BYTES;
use crate::machine::storage::{slabs_joined, slabs_written};

/// Requests of a run to storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedRequests {
    /// Bytes of a read at most, of what lies in slabs. Of more than one slab it is if they are
    /// neighbours.
    pub read_bytes: u64,
    /// Bytes of a write at most, likewise.
    pub write_bytes: u64,
    /// Reads that each worker has in flight.
    pub reads_in_flight: u64,
    /// Writes that it has.
    pub writes_in_flight: u64,
    /// Reads of an iteration in which all vertices are active, at most, if all are that large.
    pub reads: u64,
    /// Its writes.
    pub writes: u64,
    /// Whether the page cache stands between, as the user says.
    pub cached: bool,
    /// How the device was measured that they follow, if they do.
    pub measured: Option<Measured>,
}

impl Plan {
    /// How the device was measured that requests follow; none where the user says them all.
    fn measured(&self) -> Option<Measured> {
        let is_probed = self.storage().is_some_and(|storage| storage.probed);
        let of_graph = self.in_flight().filter(|_| is_probed).map(|_| Measured::Probe);
        of_graph.or(self.premises.settings.device.map(|device| device.measured))
    }

    /// Requests of the run to storage; `None` where it needs none.
    pub fn requests(&self) -> Option<PlannedRequests> {
        self.storage()?;
        let requests = self.premises.settings.requests;
        let bytes = |to_write| requests.bytes(to_write).unwrap_or(SLAB_BYTES) as u64;
        let [read_bytes, write_bytes] = [false, true].map(bytes);
        let in_flight = |slabs: usize, to_write| {
            let usual = slabs / slabs_joined(&requests, to_write);
            requests.in_flight.map_or(usual as u64, u64::from)
        };
        let Traffic { read, written } = self.traffic();
        Some(PlannedRequests {
            read_bytes,
            write_bytes,
            reads_in_flight: in_flight(self.io_depth(), false),
            writes_in_flight: in_flight(slabs_written(&requests), true),
            reads: read.div_ceil(read_bytes),
            writes: written.div_ceil(write_bytes),
            cached: requests.cached,
            measured: self.measured(),
        })
    }
}
