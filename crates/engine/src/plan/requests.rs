//! Requests to storage, as a plan states them.

use super::Plan;
use super::device::Measured;
use super::traffic::Traffic;
use crate::machine::arena::SLAB_BYTES;
use crate::machine::storage::{slabs_joined, slabs_read, slabs_written};

/// Reads of one kind of storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedReads {
    /// Bytes of a read at most. Of more than one slab it is if they are neighbours.
    pub bytes: u64,
    /// Reads that each worker has in flight.
    pub in_flight: u64,
    /// Reads of an iteration in which all vertices are active, at most, if all are that large.
    pub count: u64,
}

/// Requests of a run to storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedRequests {
    /// Reads of what lies in slabs: of edges, and of temporary files where these lie on storage of
    /// the same kind.
    pub reads: PlannedReads,
    /// Reads of temporary files, of a run that has any while its edges lie elsewhere.
    pub temporary: Option<PlannedReads>,
    /// Whether edges lie elsewhere, such as in a bucket.
    pub elsewhere: bool,
    /// Bytes of a write at most, of what lies in slabs; more than one as for reads.
    pub write_bytes: u64,
    /// Writes that each worker has in flight.
    pub writes_in_flight: u64,
    /// Writes of an iteration in which all vertices are active, at most, if all are that large.
    pub writes: u64,
    /// Whether the page cache stands between, as the user says.
    pub cached: bool,
    /// Measurement of the device that requests follow, if they do.
    pub measured: Option<Measured>,
}

impl Plan {
    /// Measurement of the device that requests follow; none where the user says them all.
    fn measured(&self) -> Option<Measured> {
        let of_graph = self.storage().and_then(|storage| storage.measured);
        of_graph.or(self.premises.settings.device.map(|device| device.measured))
    }

    /// Requests of the run to storage; `None` where it needs none.
    pub fn requests(&self) -> Option<PlannedRequests> {
        let storage = self.storage()?;
        let requests = self.premises.settings.requests;
        let bytes = |to_write| requests.bytes(to_write).unwrap_or(SLAB_BYTES) as u64;
        let [read_bytes, write_bytes] = [false, true].map(bytes);
        let in_flight = |slabs: usize, to_write| {
            let usual = slabs / slabs_joined(&requests, to_write);
            requests.in_flight.map_or(usual as u64, u64::from)
        };
        let Traffic { read, written } = self.traffic();
        let here = |bytes: u64, slabs| PlannedReads {
            bytes: read_bytes,
            in_flight: in_flight(slabs, false),
            count: bytes.div_ceil(read_bytes),
        };
        let (reads, temporary) = if storage.elsewhere {
            let depth = self.io_depth();
            let (bytes, in_flight) = requests.elsewhere(depth).of_places(depth, SLAB_BYTES as u64);
            let edges = self.traffic_of_edges();
            let reads = PlannedReads { bytes, in_flight, count: edges.div_ceil(bytes) };
            let others = read.saturating_sub(edges);
            (reads, (others > 0).then(|| here(others, slabs_read(&requests))))
        } else {
            (here(read, self.io_depth()), None)
        };
        Some(PlannedRequests {
            reads,
            temporary,
            elsewhere: storage.elsewhere,
            write_bytes,
            writes_in_flight: in_flight(slabs_written(&requests), true),
            writes: written.div_ceil(write_bytes),
            cached: requests.cached,
            measured: self.measured(),
        })
    }
}
