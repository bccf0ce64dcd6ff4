//! A lower layer that loses and repeats what it is given to send, by a sequence of numbers.

use std::io;

use welter_transport::{Bucket, Came, Datagrams, Layout};

/// Of 1,000 datagrams.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) lost: u64,
    pub(crate) repeated: u64,
}

pub(crate) struct Lossy<D> {
    pub(crate) lower: D,
    pub(crate) faults: Faults,
    pub(crate) random: u64,
}

impl<D> Lossy<D> {
    /// How often the next datagram is sent.
    fn times(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let drawn = (self.random >> 33) % 1000;
        let Faults { lost, repeated } = self.faults;
        if drawn < lost { 0 } else { 1 + u64::from(drawn < lost + repeated) }
    }
}

impl<D: Datagrams> Datagrams for Lossy<D> {
    fn send(&mut self, to: usize, image: &[u8], segment_bytes: usize) -> io::Result<bool> {
        for segment in image.chunks(segment_bytes) {
            for _ in 0..self.times() {
                self.lower.send(to, segment, segment_bytes)?;
            }
        }
        Ok(true)
    }

    fn receive(&mut self, into: &mut [u8]) -> io::Result<Option<Came>> {
        self.lower.receive(into)
    }

    fn bucket(&mut self, layout: Layout) -> Bucket {
        self.lower.bucket(layout)
    }

    fn send_bucket(&mut self, to: usize, bucket: &mut Bucket) -> io::Result<bool> {
        if bucket.layout().segments > 1 {
            return self.send(to, bucket.image(), bucket.layout().segment_bytes);
        }
        let mut went = true;
        for _ in 0..self.times() {
            went = self.lower.send_bucket(to, bucket)?;
        }
        Ok(went)
    }

    fn receive_in_place<'a>(
        &'a mut self,
        into: &'a mut [u8],
    ) -> io::Result<Option<(&'a mut [u8], usize)>> {
        self.lower.receive_in_place(into)
    }
}
