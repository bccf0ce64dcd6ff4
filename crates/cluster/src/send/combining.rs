//! Choice of the sender: updates for a sub-range go singly, or meet in a stripe of accumulators of
//! its own first, of which those that were touched travel.
//!
//! ```text
//! singly      E m                        E updates, m: to write, send, receive and fold a message
//! combined    E f + n d + M m            M = n (1 - e^(-E / n)) of n accumulators are touched
//! ```
//!
//! The choice is made for each sub-range once its edges are known, and again in each iteration by
//! the share of the sources that are active, since few of them touch accumulators alone. A graph
//! with hubs touches fewer than M, so what is expected is the least that is gained. Costs are those
//! that were measured (docs/experiments/blitzg/measured.csv), by lower layer.
//!
//! **Invariant:** the messages of a stripe stand for all updates that met in it. Tested by
//! `combined_messages_stand_for_all_updates`.

use super::Transport;

/// Nanoseconds of the steps of a message or an update.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// Sending and receiving a byte.
    byte: f64,
    /// Making a message of an update, and folding it where it arrives.
    message: f64,
    /// Folding an update where it is made.
    fold: f64,
    /// Looking at an accumulator, and clearing it.
    look: f64,
}

impl Costs {
    /// Costs by this lower layer, or within a machine.
    pub(super) fn of(transport: Option<Transport>) -> Self {
        // Sent and received, for a message of 8 bytes.
        let byte = match transport {
            Some(Transport::Tcp) => (1.16 + 0.89) / 8.0,
            // With seals, which datagrams always have.
            Some(Transport::Udp) => (1.59 + 1.63) / 8.0,
            Some(Transport::Shared) => (0.17 + 0.44) / 8.0,
            #[cfg(feature = "dpdk")]
            Some(Transport::Dpdk) => (0.58 + 0.91) / 8.0,
            None => (0.13 + 0.43) / 8.0,
        };
        Self { byte, message: 1.6, fold: 1.0, look: 0.6 }
    }
}

impl Transport {
    /// Bytes a second that a core sends and another one receives, as they were measured.
    pub fn bytes_per_second(self) -> f64 {
        1e9 / Costs::of(Some(self)).byte
    }
}

/// Load of a sub-range on one sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Edges to it.
    pub(super) edges: u64,
    /// Vertices of the sub-range.
    pub(super) vertices: u64,
    /// Bytes of a message.
    pub(super) message_bytes: usize,
}

impl Load {
    /// Nanoseconds that combining is expected to gain with this share of active sources; below zero
    /// what it costs.
    pub(super) fn gain(self, costs: Costs, active: f64) -> f64 {
        let (edges, vertices) = (self.edges as f64 * active, self.vertices as f64);
        let message = costs.message + costs.byte * self.message_bytes as f64;
        let touched = vertices * -(-edges / vertices.max(1.0)).exp_m1();
        edges * message - (edges * costs.fold + vertices * costs.look + touched * message)
    }
}

/// Outcome of the choices of a thread in an iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Combined {
    /// Updates that were combined.
    pub(super) updates: u64,
    /// Messages that they became.
    pub(super) messages: u64,
    /// Nanoseconds that were expected to be gained.
    pub(super) gain: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_edges_to_few_vertices_are_combined_and_few_to_many_are_not() {
        let load = |edges, vertices| Load { edges, vertices, message_bytes: 12 };
        for transport in [Some(Transport::Tcp), Some(Transport::Udp), Some(Transport::Shared), None]
        {
            let gain =
                |edges, vertices, active| load(edges, vertices).gain(Costs::of(transport), active);
            assert!(gain(1_000_000, 10_000, 1.0) > 0.0, "{transport:?}");
            assert!(gain(10_000, 1_000_000, 1.0) < 0.0, "{transport:?}");
            assert!(gain(1_000_000, 10_000, 0.0001) < 0.0, "{transport:?}");
            assert!(gain(0, 0, 1.0) <= 0.0);
        }
        // The dearer a message, the earlier.
        let at = |transport| load(2_000, 1_000).gain(Costs::of(transport), 1.0);
        assert!(at(Some(Transport::Udp)) > at(Some(Transport::Tcp)));
        assert!(at(Some(Transport::Tcp)) > at(None));
    }
}
