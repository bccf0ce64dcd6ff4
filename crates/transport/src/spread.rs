//! Receive queues by source port: which queue a card puts a datagram into (RSS), and the port that
//! leads to the queue of a lane.
//!
//! ```text
//! hash  = Toeplitz(key, address from, address to, port from, port to)
//! queue = table[hash mod entries],   table[i] = i mod queues
//! ```
//!
//! All machines have one key, so that a sender knows where its datagrams will come out, and the
//! thread that owns the sub-range gets them without a detour. Cards that let no process write key
//! or table spread differently; then the thread that finds a datagram hands it on (`dpdk`).
//!
//! **Invariant:** the hash is that of the specification of RSS. Tested by
//! `hashes_are_those_of_the_specification`.

use std::net::Ipv4Addr;

/// The key, which is that of the specification.
pub(crate) const KEY: [u8; 40] = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
    0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
    0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
];

/// First of the ports that senders choose from.
const FIRST_PORT: u16 = 49_152;
/// Number of ports of each lane.
const PORTS: u16 = 256;

/// Spread of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) queues: u16,
    /// Entries of the table; 0: the device does not spread.
    pub(crate) table: u16,
}

/// Both ends of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    pub(crate) from: (Ipv4Addr, u16),
    pub(crate) to: (Ipv4Addr, u16),
}

fn hash(flow: Flow) -> u32 {
    let mut input = [0; 12];
    input[..4].copy_from_slice(&flow.from.0.octets());
    input[4..8].copy_from_slice(&flow.to.0.octets());
    input[8..10].copy_from_slice(&flow.from.1.to_be_bytes());
    input[10..].copy_from_slice(&flow.to.1.to_be_bytes());
    let mut window = u64::from_be_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|i| KEY[i]));
    let mut hash = 0;
    for (index, byte) in input.into_iter().enumerate() {
        for bit in (0..8).rev() {
            if byte >> bit & 1 == 1 {
                hash ^= (window >> 32) as u32;
            }
            window <<= 1;
        }
        window |= u64::from(KEY[8 + index]);
    }
    hash
}

impl Spread {
    /// Queue that a flow comes out of, where the device spreads.
    fn queue(self, flow: Flow) -> u16 {
        (hash(flow) % u32::from(self.table)) as u16 % self.queues
    }

    /// Port of lane `lane` at `from`, from which datagrams come out of this queue at the other end.
    pub(crate) fn port(self, lane: u16, from: Ipv4Addr, to: (Ipv4Addr, u16), queue: u16) -> u16 {
        let first = FIRST_PORT + lane % (u16::MAX / PORTS - FIRST_PORT / PORTS) * PORTS;
        if self.queues < 2 || self.table == 0 {
            return first;
        }
        let mut ports = first..first + PORTS;
        let leads = |&port: &u16| self.queue(Flow { from: (from, port), to }) == queue;
        ports.find(leads).unwrap_or(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_specification() {
        let known = [
            ([66, 9, 149, 187], 2794, [161, 142, 100, 80], 1766, 0x51cc_c178),
            ([199, 92, 111, 2], 14230, [65, 69, 140, 83], 4739, 0xc626_b0ea),
            ([24, 19, 198, 95], 12898, [12, 22, 207, 184], 38024, 0x5c2b_394a),
            ([38, 27, 205, 30], 48228, [209, 142, 163, 6], 2217, 0xafc7_327f),
            ([153, 39, 163, 191], 44251, [202, 188, 127, 2], 1303, 0x10e8_28a2),
        ];
        for (from, from_port, to, to_port, expected) in known {
            let flow = Flow { from: (from.into(), from_port), to: (to.into(), to_port) };
            assert_eq!(hash(flow), expected, "{flow:?}");
        }
    }

    #[test]
    fn each_lane_has_a_port_to_each_queue() {
        for queues in [2, 3, 7, 16] {
            let spread = Spread { queues, table: 128 };
            let (from, to) = (Ipv4Addr::new(10, 0, 0, 1), (Ipv4Addr::new(10, 0, 0, 2), 7100));
            let mut ports = std::collections::BTreeSet::new();
            for lane in 0..20 {
                for queue in 0..queues {
                    let port = spread.port(lane, from, to, queue);
                    assert_eq!(spread.queue(Flow { from: (from, port), to }), queue);
                    assert!(port >= FIRST_PORT && ports.insert(port));
                }
            }
        }
        let one = Spread { queues: 4, table: 0 };
        assert_eq!(one.port(3, [1, 1, 1, 1].into(), ([2, 2, 2, 2].into(), 1), 2), 49_920);
    }
}
