//! Two-phase checkpoints of the vertex values (Chaos, section 6.6) and what a manifest says.
//!
//! ```text
//! prepare   every storage engine makes its parts of version i durable and says which they are
//! commit    the coordinator makes a manifest durable that lists all parts: the commit point
//! after     a copy of it lies one machine further before anybody is told; the two newest are kept
//! ```
//!
//! A checkpoint follows every `interval`-th iteration, the ingest and the end. Values change in
//! apply alone, so the barrier after a scatter has nothing to add.
//!
//! **Invariant:** when a manifest is durable, all that it names is. **Invariant:** what a kept
//! manifest names is deleted by nobody.

use std::sync::Arc;

use crate::audit::Sum;
use crate::names::{BlockName, Epoch, Kind, Payload, Role, checksum};

/// A chunk of a vertex set in a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// Its partition.
    pub partition: u32,
    /// Its place in it.
    pub chunk: u64,
    /// Bytes.
    pub bytes: u32,
    /// Checksum.
    pub hash: u64,
}

/// What a checkpoint consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The epoch that committed it.
    pub committed: Epoch,
    /// The epoch that made its vertices.
    pub made: Epoch,
    /// Iterations that were done.
    pub version: u32,
    /// Whether these are the result.
    pub finished: bool,
    /// The epoch that stored the edges.
    pub generation: Epoch,
    /// What the program decided.
    pub control: Payload,
    /// Which ranges of each partition have active vertices.
    pub active: Arc<[u64]>,
    /// All edges of each machine.
    pub edges: Vec<Sum>,
    /// All chunks of all vertex sets.
    pub parts: Vec<Part>,
}

impl Manifest {
    /// Manifests by age.
    pub fn age(&self) -> (Epoch, u32) {
        (self.committed, self.version)
    }

    /// The name of a part.
    pub fn name(&self, partition: u32, chunk: u64) -> BlockName {
        vertices(self.made, self.version, partition, chunk)
    }

    /// Whether it needs this block.
    pub(crate) fn needs(&self, name: &BlockName) -> bool {
        match name.kind {
            Kind::Edges => name.epoch == self.generation,
            Kind::Vertices => name.epoch == self.made && name.iteration == self.version,
            Kind::Updates | Kind::Accumulators => false,
        }
    }

    /// Its bytes, with a checksum at the end.
    pub fn encode(&self) -> Payload {
        let mut bytes = b"wltrmnf1".to_vec();
        let mut put = |word: u64| bytes.extend(word.to_le_bytes());
        let epoch = |epoch: Epoch| u64::from(epoch.coordinator) << 32 | u64::from(epoch.count);
        put(epoch(self.committed));
        put(epoch(self.made));
        put(u64::from(self.version) << 1 | u64::from(self.finished));
        put(epoch(self.generation));
        put(self.edges.len() as u64);
        for sum in &self.edges {
            put(sum.count);
            put(sum.hash);
        }
        put(self.parts.len() as u64);
        for part in &self.parts {
            put(u64::from(part.partition) << 32 | u64::from(part.bytes));
            put(part.chunk);
            put(part.hash);
        }
        put(self.active.len() as u64);
        self.active.iter().for_each(|ranges| put(*ranges));
        put(self.control.len() as u64);
        bytes.extend_from_slice(&self.control);
        let sum = checksum(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes.into()
    }

    /// What these bytes say, if they are those of a manifest.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (body, sum) = bytes.split_last_chunk::<8>()?;
        if checksum(body).to_le_bytes() != *sum {
            return None;
        }
        let mut rest = body.strip_prefix(b"wltrmnf1")?;
        let mut take = || {
            let (word, after) = rest.split_first_chunk::<8>()?;
            rest = after;
            Some(u64::from_le_bytes(*word))
        };
        let epoch = |word: u64| Epoch { coordinator: (word >> 32) as u32, count: word as u32 };
        let committed = epoch(take()?);
        let made = epoch(take()?);
        let version = take()?;
        let generation = epoch(take()?);
        // Nothing is allocated by what a count merely says.
        let mut edges = Vec::new();
        for _ in 0..take()? {
            edges.push(Sum { count: take()?, hash: take()? });
        }
        let mut parts = Vec::new();
        for _ in 0..take()? {
            let first = take()?;
            let (partition, bytes) = ((first >> 32) as u32, first as u32);
            parts.push(Part { partition, bytes, chunk: take()?, hash: take()? });
        }
        let mut active = Vec::new();
        for _ in 0..take()? {
            active.push(take()?);
        }
        let control = take()?;
        (rest.len() as u64 == control).then(|| Self {
            committed,
            made,
            version: (version >> 1) as u32,
            finished: version & 1 == 1,
            generation,
            control: rest.into(),
            active: active.into(),
            edges,
            parts,
        })
    }
}

/// The name of a chunk of a vertex set after `version` iterations, made in this epoch.
pub(crate) fn vertices(made: Epoch, version: u32, partition: u32, chunk: u64) -> BlockName {
    BlockName {
        kind: Kind::Vertices,
        role: Role::Primary,
        epoch: made,
        iteration: version,
        partition,
        source: None,
        number: chunk,
    }
}

/// Whether the result of so many iterations is checkpointed.
pub fn is_due(iterations: u32, interval: u32, goes_on: bool) -> bool {
    !goes_on || iterations == 0 || iterations.is_multiple_of(interval.max(1))
}

/// The two newest manifests that a machine keeps.
#[derive(Debug, Default)]
pub(crate) struct Kept(Vec<Arc<Manifest>>);

impl Kept {
    pub(crate) fn of(manifests: impl IntoIterator<Item = Arc<Manifest>>) -> Self {
        let mut kept = Self::default();
        for manifest in manifests {
            kept.add(manifest);
        }
        kept
    }

    /// Keeps a manifest, and hands out those that need not be kept any more.
    pub(crate) fn add(&mut self, manifest: Arc<Manifest>) -> Vec<Arc<Manifest>> {
        self.0.retain(|old| old.age() != manifest.age());
        self.0.push(manifest);
        self.0.sort_by_key(|manifest| manifest.age());
        self.0.drain(..self.0.len().saturating_sub(2)).collect()
    }

    pub(crate) fn all(&self) -> &[Arc<Manifest>] {
        &self.0
    }

    /// Whether one of them needs this block.
    pub(crate) fn need(&self, name: &BlockName) -> bool {
        self.0.iter().any(|manifest| manifest.needs(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(count: u32, version: u32) -> Manifest {
        let epoch = Epoch { coordinator: 2, count };
        Manifest {
            committed: epoch,
            made: Epoch { coordinator: 1, count: 7 },
            version,
            finished: version == 9,
            generation: Epoch { coordinator: 1, count: 1 },
            control: [1, 2, 3].as_slice().into(),
            active: [u64::MAX, 0, 5].as_slice().into(),
            edges: vec![Sum { count: 3, hash: 99 }, Sum::default()],
            parts: vec![Part { partition: 4, chunk: 5, bytes: 6, hash: 7 }],
        }
    }

    #[test]
    fn manifests_come_back_and_damage_is_seen() {
        for version in [0, 9] {
            let manifest = sample(3, version);
            let bytes = manifest.encode();
            assert_eq!(Manifest::decode(&bytes), Some(manifest));
            for bit in 0..8 * bytes.len() {
                let mut flipped = bytes.to_vec();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Manifest::decode(&flipped), None, "bit {bit}");
            }
            for length in 0..bytes.len() {
                assert_eq!(Manifest::decode(&bytes[..length]), None, "{length} bytes");
            }
        }
    }

    #[test]
    fn when_a_checkpoint_is_due() {
        // (iterations, interval, goes on) -> due
        let cases = [
            (0, 3, true, true),
            (1, 3, true, false),
            (2, 3, true, false),
            (3, 3, true, true),
            (4, 3, false, true),
            (5, 1, true, true),
            (5, 0, true, true),
        ];
        for (iterations, interval, goes_on, due) in cases {
            assert_eq!(is_due(iterations, interval, goes_on), due, "{iterations} of {interval}");
        }
    }

    #[test]
    fn the_two_newest_are_kept_by_epoch_and_then_by_version() {
        let mut kept = Kept::default();
        let mut dropped = Vec::new();
        // In epoch 3 a run went back to version 2, and on.
        for (count, version) in [(1, 2), (1, 5), (3, 3), (3, 4)] {
            let old = kept.add(Arc::new(sample(count, version)));
            dropped.extend(old.iter().map(|manifest| manifest.version));
        }
        assert_eq!(dropped, [2, 5]);
        assert!(kept.need(&sample(0, 3).name(1, 1)) && !kept.need(&sample(0, 5).name(1, 1)));
        assert!(kept.add(Arc::new(sample(3, 4))).is_empty(), "the same again is no news");
    }
}
