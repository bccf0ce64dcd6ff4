//! Two-phase checkpoints of the vertex values (Chaos, section 6.6) and what a manifest says.
//!
//! ```text
//! prepare   every storage engine makes its parts of version i durable and says which they are
//! commit    the coordinator makes a manifest durable that lists all parts: the commit point
//! after     a copy of it lies one machine further before others are told; the two newest are kept
//! ```
//!
//! A checkpoint follows every `interval`-th iteration, the ingest and the end. Chaos writes one at
//! the barrier after each scatter as well. Values change in apply alone, so all that is new there
//! is the updates: that checkpoint names the same vertices, and the update chunks of the scatter.
//! A run that goes back to it gathers; where an update chunk is missing (they have no copies) it
//! scatters again.
//!
//! ```text
//! state(m) = (made, version)    of two manifests of one state the newer says all the older does
//! kept     = the newest manifests of the two newest states
//! ```
//!
//! **Invariant:** when a manifest is durable, all that it names is. Checked by the simulator in
//! `Checkpoints::persisted`. **Invariant:** what a kept manifest names is deleted by no machine,
//! but for the updates of the older one. Tested by
//! `the_two_newest_are_kept_by_epoch_and_then_by_version` and
//! `a_checkpoint_after_a_scatter_takes_the_place_of_the_one_before`; checked by the simulator in
//! `Checkpoints::installed`.

use std::sync::Arc;

use crate::audit::Sum;
use crate::config::Shape;
use crate::ids::{BlockName, Bytes, Epoch, Generation, Kind, Role};
use crate::payload::checksum;
use crate::wire::{Form, Reader, Wire};

/// First bytes of manifests of this version.
const MAGIC: &[u8; 8] = b"wltrmnf3";

/// A chunk of a vertex set in a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CheckpointShard {
    /// Partition of the vertex set.
    pub partition: u32,
    /// Place of the chunk in the vertex set.
    pub chunk: u64,
    /// Bytes.
    pub bytes: u32,
    /// Checksum.
    pub hash: u64,
}

/// Updates that were scattered when a checkpoint was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scattered {
    /// Epoch in which they were scattered.
    pub epoch: Epoch,
    /// Number of updates.
    pub updates: u64,
    /// The chunks of each machine.
    pub chunks: Vec<Sum>,
}

/// Where a manifest stands among others: the epoch that committed it, its version, and whether the
/// next iteration was scattered.
pub type Age = (Epoch, u32, bool);

/// List of all that a checkpoint consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Shape in which the cluster cut what it stored.
    pub shape: Shape,
    /// The epoch that committed it.
    pub committed: Epoch,
    /// The epoch that made its vertices.
    pub made: Epoch,
    /// Iterations that were done.
    pub version: u32,
    /// Whether these are the result.
    pub finished: bool,
    /// The edges.
    pub generation: Generation,
    /// Whether the next iteration rewrites them.
    pub rewrites: bool,
    /// Decision of the program.
    pub control: Bytes,
    /// Ranges of each partition that have active vertices.
    pub active: Arc<[u64]>,
    /// All edges of each machine.
    pub edges: Vec<Sum>,
    /// Number of edges that were read from the input.
    pub records: u64,
    /// All chunks of all vertex sets.
    pub parts: Vec<CheckpointShard>,
    /// Updates of the next iteration, if they were made.
    pub scattered: Option<Scattered>,
}

impl Manifest {
    /// Manifests by age.
    pub fn age(&self) -> Age {
        (self.committed, self.version, self.scattered.is_some())
    }

    /// Epoch and version of the values that the manifest names.
    pub fn state(&self) -> (Epoch, u32) {
        (self.made, self.version)
    }

    /// The name of a part.
    pub fn name(&self, partition: u32, chunk: u64) -> BlockName {
        vertices(self.made, self.version, partition, chunk)
    }

    /// Whether it needs this block.
    pub fn needs(&self, name: &BlockName) -> bool {
        match name.kind {
            Kind::Edges => name.generation() == self.generation,
            Kind::Vertices => name.epoch == self.made && name.iteration == self.version,
            Kind::Updates => self.has_scattered(name),
            Kind::Accumulators | Kind::Rough => false,
        }
    }

    /// Whether this is a chunk of the updates that were scattered.
    pub(crate) fn has_scattered(&self, name: &BlockName) -> bool {
        let of =
            (name.kind, name.role, name.iteration) == (Kind::Updates, Role::Primary, self.version);
        of && self.scattered.as_ref().is_some_and(|scattered| scattered.epoch == name.epoch)
    }

    /// Bytes of the manifest, with a checksum at the end.
    pub fn encode(&self) -> Bytes {
        let mut form = Form::of(MAGIC.to_vec());
        self.put(&mut form);
        let mut bytes = form.bytes;
        let sum = checksum(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes.into()
    }

    /// Manifest of these bytes, if they are one.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (body, sum) = bytes.split_last_chunk::<8>()?;
        if checksum(body).to_le_bytes() != *sum {
            return None;
        }
        Reader::new(body.strip_prefix(MAGIC)?, usize::MAX).only()
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

/// Whether the result of `iterations` iterations is checkpointed.
pub fn is_due(iterations: u32, interval: u32, goes_on: bool) -> bool {
    !goes_on || iterations == 0 || iterations.is_multiple_of(interval.max(1))
}

/// The newest manifests of the two newest states, which a machine keeps.
#[derive(Debug, Default)]
pub(crate) struct RetainedManifests(Vec<Arc<Manifest>>);

impl RetainedManifests {
    pub(crate) fn of(manifests: impl IntoIterator<Item = Arc<Manifest>>) -> Self {
        let mut kept = Self::default();
        for manifest in manifests {
            kept.add(manifest);
        }
        kept
    }

    /// Keeps a manifest, and hands out those that need not be kept any more.
    pub(crate) fn add(&mut self, manifest: Arc<Manifest>) -> Vec<Arc<Manifest>> {
        let same: Vec<_> = self.0.extract_if(.., |old| old.state() == manifest.state()).collect();
        let newer = same.iter().map(|old| old.age()).max() > Some(manifest.age());
        let (stays, mut dropped) = if newer {
            (same, vec![manifest])
        } else {
            let other = |old: &Arc<Manifest>| old.age() != manifest.age();
            let dropped = same.into_iter().filter(other).collect();
            (vec![manifest], dropped)
        };
        self.0.extend(stays);
        self.0.sort_by_key(|manifest| manifest.age());
        dropped.extend(self.0.drain(..self.0.len().saturating_sub(2)));
        dropped
    }

    pub(crate) fn all(&self) -> &[Arc<Manifest>] {
        &self.0
    }

    /// Whether one of them needs this block. Of updates those of the older one are let go.
    pub(crate) fn need(&self, name: &BlockName) -> bool {
        match name.kind {
            Kind::Updates => self.0.last().is_some_and(|manifest| manifest.needs(name)),
            _ => self.0.iter().any(|manifest| manifest.needs(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(count: u32, version: u32) -> Manifest {
        let epoch = Epoch { coordinator: 2, count };
        let (machines, partitions, vertices) = (2, 4, 99);
        let bounds = 17;
        let shape = Shape { machines, partitions, vertices, bounds, chunk_vertices: 7, route: 1 };
        Manifest {
            shape,
            committed: epoch,
            made: Epoch { coordinator: 1, count: 7 },
            version,
            finished: version == 9,
            generation: Generation { epoch: Epoch { coordinator: 1, count: 1 }, iteration: 0 },
            rewrites: version == 9,
            control: [1, 2, 3].as_slice().into(),
            active: [u64::MAX, 0, 5].as_slice().into(),
            edges: vec![Sum { count: 3, hash: 99 }, Sum::default()],
            records: 41,
            parts: vec![CheckpointShard { partition: 4, chunk: 5, bytes: 6, hash: 7 }],
            scattered: None,
        }
    }

    #[test]
    fn manifests_come_back_and_damage_is_seen() {
        for version in [0, 9] {
            let mut manifest = sample(3, version);
            manifest.scattered = (version == 0).then(|| Scattered {
                epoch: Epoch { coordinator: 2, count: 8 },
                updates: 77,
                chunks: vec![Sum { count: 1, hash: 5 }, Sum::default()],
            });
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
        // (iterations, interval, continues) -> due
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
        let mut kept = RetainedManifests::default();
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

    #[test]
    fn a_checkpoint_after_a_scatter_takes_the_place_of_the_one_before() {
        let epoch = Epoch { coordinator: 1, count: 7 };
        let scattered = |version| Manifest {
            scattered: Some(Scattered { epoch, updates: 1, chunks: Vec::new() }),
            ..sample(4, version)
        };
        let update = |iteration| BlockName {
            kind: Kind::Updates,
            iteration,
            ..vertices(epoch, iteration, 0, 0)
        };
        let mut kept = RetainedManifests::default();
        kept.add(Arc::new(sample(4, 1)));
        kept.add(Arc::new(sample(4, 2)));
        let dropped = kept.add(Arc::new(scattered(2)));
        assert_eq!(dropped, [Arc::new(sample(4, 2))]);
        assert!(kept.need(&update(2)) && !kept.need(&update(1)));
        assert!(kept.need(&sample(4, 1).name(0, 0)), "the state before is there still");
        assert_eq!(kept.add(Arc::new(sample(4, 2))), [Arc::new(sample(4, 2))], "old news");
        kept.add(Arc::new(sample(4, 3)));
        assert!(!kept.need(&update(2)), "those of the older one are let go");
    }
}
