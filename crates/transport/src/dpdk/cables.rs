//! Lanes of one thread over several devices, of which each leads to some of its peers: memif is a
//! cable between two processes.

use std::io;

use super::{Address, Dpdk};
use crate::bucket::{Bucket, Layout};
use crate::datagrams::{Came, Datagrams};

/// The lanes of a thread, one a device.
pub struct Cables {
    devices: Vec<Dpdk>,
    /// Device of each peer, and the peer's number there.
    ways: Vec<(usize, usize)>,
    /// The device that is asked next.
    next: usize,
}

impl Cables {
    /// Lanes to these peers, in the order in which an endpoint names them: each has the number of
    /// the device that leads to it, and its address.
    pub fn new(mut devices: Vec<Dpdk>, peers: &[(usize, Address)]) -> Self {
        let mut addresses = vec![Vec::new(); devices.len()];
        let ways = peers.iter().map(|&(device, address)| {
            addresses[device].push(address);
            (device, addresses[device].len() - 1)
        });
        let ways = ways.collect();
        devices.iter_mut().zip(&addresses).for_each(|(device, peers)| device.set_peers(peers));
        Self { devices, ways, next: 0 }
    }
}

impl Datagrams for Cables {
    fn send(&mut self, to: usize, image: &[u8], segment_bytes: usize) -> io::Result<bool> {
        let (device, to) = self.ways[to];
        self.devices[device].send(to, image, segment_bytes)
    }

    fn receive(&mut self, into: &mut [u8]) -> io::Result<Option<Came>> {
        let Some((datagram, segment_bytes)) = self.receive_in_place(&mut [])? else {
            return Ok(None);
        };
        let bytes = datagram.len().min(into.len());
        into[..bytes].copy_from_slice(&datagram[..bytes]);
        Ok(Some(Came { bytes, segment_bytes }))
    }

    fn bucket(&mut self, layout: Layout) -> Bucket {
        // Each device sends packets of any pool, and pools have as many for each.
        self.next = (self.next + 1) % self.devices.len().max(1);
        match self.devices.get_mut(self.next) {
            Some(device) => device.bucket(layout),
            None => Bucket::new(layout),
        }
    }

    fn send_bucket(&mut self, to: usize, bucket: &mut Bucket) -> io::Result<bool> {
        let (device, to) = self.ways[to];
        self.devices[device].send_bucket(to, bucket)
    }

    fn receive_in_place<'a>(
        &'a mut self,
        into: &'a mut [u8],
    ) -> io::Result<Option<(&'a mut [u8], usize)>> {
        for _ in 0..self.devices.len() {
            self.next = (self.next + 1) % self.devices.len();
            if self.devices[self.next].has_come() {
                return self.devices[self.next].receive_in_place(into);
            }
        }
        Ok(None)
    }
}
