//! Edges on their way to their owners. Some wait for each ring, since asking it for room takes
//! longer than writing an edge.

use welter_engine::EngineError;
use welter_protocol::partitions::Partitions;
use welter_transport::TxLane;
use welter_worker::InputEdge;

use super::edges::{OwnedEnd, record, record_bytes};
use super::error::Stop;
use super::messages::Messages;

/// Edges that wait for a ring, at most.
pub(super) const WAITING: usize = 256;

/// Edges of a share that is being read, by ring.
pub(super) struct EdgeSender {
    /// Sub-ranges of the owners.
    cut: Partitions,
    weighted: bool,
    /// Destinations and records of each ring.
    waiting: Vec<(Vec<u32>, Vec<u8>)>,
}

impl EdgeSender {
    /// Of a graph that is cut so.
    pub(super) fn new(cut: &Partitions, weighted: bool) -> Self {
        let room = || {
            let bytes = WAITING * record_bytes(weighted);
            (Vec::with_capacity(WAITING), Vec::with_capacity(bytes))
        };
        let waiting = (0..cut.count()).map(|_| room()).collect();
        Self { cut: cut.clone(), weighted, waiting }
    }

    /// Sends edges to the owners of this end of them. Some of them wait for others.
    ///
    /// # Errors
    /// An edge of a vertex that there is not, and failure of a lane.
    pub(super) fn send<L: TxLane>(
        &mut self,
        edges: &[InputEdge],
        end: OwnedEnd,
        messages: &mut Messages<L>,
    ) -> Result<(), Stop> {
        match (self.weighted, end) {
            (true, OwnedEnd::Source) => {
                self.each::<{ record_bytes(true) }, L>(edges, from_source, messages)
            }
            (true, OwnedEnd::Target) => {
                self.each::<{ record_bytes(true) }, L>(edges, from_target, messages)
            }
            (false, OwnedEnd::Source) => {
                self.each::<{ record_bytes(false) }, L>(edges, from_source, messages)
            }
            (false, OwnedEnd::Target) => {
                self.each::<{ record_bytes(false) }, L>(edges, from_target, messages)
            }
        }
    }

    /// Sends edges with records of this length, whose ends `ends` puts in order: the owned one is
    /// the first.
    fn each<const BYTES: usize, L: TxLane>(
        &mut self,
        edges: &[InputEdge],
        ends: impl Fn(&InputEdge) -> [u64; 2],
        messages: &mut Messages<L>,
    ) -> Result<(), Stop> {
        for edge in edges {
            let [own, other] = ends(edge);
            let found = self.cut.find_place(own).filter(|_| other < self.cut.vertices());
            let Some((ring, place)) = found else {
                let (vertex, slots) = (own.max(other), self.cut.vertices());
                return Err(EngineError::Vertex { vertex, slots }.into());
            };
            let (targets, records) = &mut self.waiting[ring as usize];
            // Slots of the command take 32 bits, since its readers hand out such pairs.
            targets.push(place as u32);
            records.extend_from_slice(&record(other as u32, edge.weight)[..BYTES]);
            if targets.len() == WAITING {
                self.send_waiting(ring as usize, messages)?;
            }
        }
        Ok(())
    }

    fn send_waiting<L: TxLane>(
        &mut self,
        ring: usize,
        messages: &mut Messages<L>,
    ) -> Result<(), Stop> {
        let (targets, records) = &mut self.waiting[ring];
        let sent = messages.send_all(ring, (targets, records));
        targets.clear();
        records.clear();
        sent.map_err(|error| messages.stop(error))
    }

    /// Sends those that wait.
    ///
    /// # Errors
    /// Failure of a lane.
    pub(super) fn flush<L: TxLane>(&mut self, messages: &mut Messages<L>) -> Result<(), Stop> {
        (0..self.waiting.len()).try_for_each(|ring| self.send_waiting(ring, messages))
    }
}

fn from_source(edge: &InputEdge) -> [u64; 2] {
    [edge.source, edge.target]
}

fn from_target(edge: &InputEdge) -> [u64; 2] {
    [edge.target, edge.source]
}
