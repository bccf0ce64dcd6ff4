//! Faults that tests plant. Below the reliability layer some datagrams are lost, repeated, late or
//! damaged, by a seeded generator; above it a bucket is folded twice. The command has no option for
//! them; only builds with debug assertions take them from its environment.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::bucket::{Bucket, Layout};
use crate::datagrams::{Came, Datagrams};
use crate::header::Header;

/// Shares of datagrams, each of 1,000.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Seed of the generator.
    pub seed: u64,
    /// Datagrams that are lost.
    pub lost: u64,
    /// Datagrams that come twice.
    pub repeated: u64,
    /// Datagrams that come after up to eight of those that were sent later.
    pub late: u64,
    /// Datagrams of which a bit is flipped.
    pub damaged: u64,
    /// Number of datagrams with each fault, in this order.
    pub counts: Arc<[AtomicU64; 4]>,
    /// Iteration in which a bucket is folded twice; 0 is none.
    pub refolded: u64,
    /// Whether that was done, by any end that has these faults.
    pub is_refolded: Arc<AtomicBool>,
}

impl Faults {
    /// Faults in words: `lost=200,repeated=50,late=100,damaged=10,refolded=2,seed=7`.
    pub fn of(text: &str) -> Option<Self> {
        let mut faults = Self::default();
        for part in text.split(',') {
            let (name, number) = part.split_once('=')?;
            let number = number.parse().ok()?;
            match name {
                "seed" => faults.seed = number,
                "lost" => faults.lost = number,
                "repeated" => faults.repeated = number,
                "late" => faults.late = number,
                "damaged" => faults.damaged = number,
                "refolded" => faults.refolded = number,
                _ => return None,
            }
        }
        Some(faults)
    }

    /// Whether a bucket with this head, which was folded, is the one that is folded again.
    pub fn refolds(&self, header: &Header) -> bool {
        let is_it =
            self.refolded > 0 && u64::from(header.iteration) == self.refolded && header.updates > 0;
        is_it && !self.is_refolded.swap(true, Ordering::AcqRel)
    }
}

/// A lower layer with faults, or without.
pub struct Faulty<D> {
    /// The layer without faults.
    pub lower: D,
    planted: Option<Box<Planted>>,
}

struct Planted {
    faults: Faults,
    random: u64,
    late: Vec<Late>,
}

/// A datagram that waits until as many others were sent.
struct Late {
    to: usize,
    bytes: Vec<u8>,
    others: u64,
}

/// Fate of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Lost,
    Late,
    Damaged,
    Twice,
    Sent,
}

impl<D> Faulty<D> {
    /// A lower layer of the thread of this number.
    pub fn new(lower: D, faults: Option<&Faults>, thread: usize) -> Self {
        let planted = faults.map(|faults| {
            let random = faults.seed.wrapping_mul(0x9e37_79b9).wrapping_add(thread as u64);
            Box::new(Planted { faults: faults.clone(), random, late: Vec::new() })
        });
        Self { lower, planted }
    }
}

impl Planted {
    /// A number below this one.
    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e);
        (self.random >> 33) % below
    }

    fn fate(&mut self) -> Fate {
        let Faults { lost, repeated, late, damaged, .. } = self.faults;
        let fates = [Fate::Lost, Fate::Twice, Fate::Late, Fate::Damaged];
        for (at, share) in [lost, repeated, late, damaged].into_iter().enumerate() {
            if self.draw(1000) < share {
                self.faults.counts[at].fetch_add(1, Ordering::Relaxed);
                return fates[at];
            }
        }
        Fate::Sent
    }

    /// Datagrams that are as late as they were to be.
    fn ripe(&mut self) -> Vec<Late> {
        self.late.iter_mut().for_each(|late| late.others = late.others.saturating_sub(1));
        let (ripe, late) = self.late.drain(..).partition(|late| late.others == 0);
        self.late = late;
        ripe
    }

    fn flipped(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        let bit = self.draw(8 * bytes.len().max(1) as u64) as usize;
        if let Some(byte) = bytes.get_mut(bit / 8) {
            *byte ^= 1 << (bit % 8);
        }
        bytes
    }
}

impl<D: Datagrams> Faulty<D> {
    fn treat(&mut self, to: usize, fate: Fate, bytes: &[u8]) -> io::Result<()> {
        let Some(planted) = &mut self.planted else { return Ok(()) };
        match fate {
            Fate::Lost | Fate::Sent => {}
            Fate::Late => {
                let others = 2 + planted.draw(8);
                planted.late.push(Late { to, bytes: bytes.to_vec(), others });
            }
            Fate::Damaged => {
                let bytes = planted.flipped(bytes);
                self.lower.send(to, &bytes, bytes.len())?;
            }
            Fate::Twice => {
                self.lower.send(to, bytes, bytes.len())?;
            }
        }
        let ripe = self.planted.as_mut().map(|planted| planted.ripe()).unwrap_or_default();
        for Late { to, bytes, .. } in ripe {
            self.lower.send(to, &bytes, bytes.len())?;
        }
        Ok(())
    }
}

impl<D: Datagrams> Datagrams for Faulty<D> {
    fn send(&mut self, to: usize, image: &[u8], segment_bytes: usize) -> io::Result<bool> {
        if self.planted.is_none() {
            return self.lower.send(to, image, segment_bytes);
        }
        for segment in image.chunks(segment_bytes) {
            let fate = self.planted.as_mut().map_or(Fate::Sent, |planted| planted.fate());
            if matches!(fate, Fate::Sent | Fate::Twice) {
                self.lower.send(to, segment, segment_bytes)?;
            }
            self.treat(to, fate, segment)?;
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
        if self.planted.is_some() && bucket.layout().segments > 1 {
            return self.send(to, bucket.image(), bucket.layout().segment_bytes);
        }
        let Some(planted) = &mut self.planted else { return self.lower.send_bucket(to, bucket) };
        let fate = planted.fate();
        if matches!(fate, Fate::Sent | Fate::Twice) {
            self.lower.send_bucket(to, bucket)?;
        }
        self.treat(to, fate, bucket.image())?;
        Ok(true)
    }

    fn receive_in_place<'a>(
        &'a mut self,
        into: &'a mut [u8],
    ) -> io::Result<Option<(&'a mut [u8], usize)>> {
        self.lower.receive_in_place(into)
    }
}
