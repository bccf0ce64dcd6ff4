//! Committed checkpoints are never lost.
//!
//! ```text
//! holders(b) = { engine(b) } + { one machine further, if the kind of b is kept twice }
//!
//! when the coordinator persists a manifest:  every part, and every chunk of edges and updates that
//!                                            it counts, is durable on the disks of all holders
//! when a manifest is told of:                it is durable, and its copy is
//! when an epoch begins:                      its manifest is no older than the newest one told of,
//!                                            and of a cluster of the same shape
//! when edges are read again:                 more disks were lost than their copies make up for
//! ```
//!
//! Of how many lost disks this holds: of one where all that a checkpoint needs is kept twice (of
//! vertices, and of edges if the program rewrites them), else of none. Edges are not read again
//! after the loss of one where these are kept twice.
//!
//! Not checked: after a bit has flipped on a disk, or a write was misdirected, an older checkpoint,
//! or the input, is a rightful way back, and parts may be missing that were reported durable; so
//! after the loss of more disks than above, but for what is persisted then. What lies on a disk
//! that was lost since the last epoch began is missing there. A cluster of one sends no other
//! machine of its checkpoints. Updates have no copies.

use std::collections::BTreeSet;
use std::sync::Arc;

use welter_protocol::checkpoint::{Age, Manifest};
use welter_protocol::config::{Config, Copies, Edges, Shape};
use welter_protocol::ids::{Epoch, Kind, Phase, Role};
use welter_protocol::messages::{Envelope, Install, Message};
use welter_protocol::placement::{mirror, vertex_engine};
use welter_protocol::{Effect, Rank};

use crate::disk::Disk;

/// The newest manifest that was announced, and what disks have done.
pub struct Checkpoints {
    shape: Shape,
    copies: Copies,
    rewrites: bool,
    announced: Option<Age>,
    /// Something durable may be damaged.
    harmed: bool,
    /// Disks that were lost.
    lost: usize,
    /// The newest epoch that began.
    epoch: Epoch,
    /// Ranks among them since the last epoch began.
    lately: BTreeSet<Rank>,
}

/// Whether disks are to be looked at when this is wanted.
pub fn looks_at_disks(effect: &Effect) -> bool {
    match effect {
        Effect::Persist { .. } => true,
        Effect::Send(envelope) => manifest_of(&envelope.message).is_some(),
        _ => false,
    }
}

/// The manifest that a message announces.
fn manifest_of(message: &Message) -> Option<&Arc<Manifest>> {
    match message {
        Message::Begin(begin) => begin.committed.as_ref(),
        Message::Finish(manifest) => Some(manifest),
        _ => None,
    }
}

impl Checkpoints {
    /// Of a cluster with these settings.
    pub fn new(config: &Config) -> Self {
        Self {
            shape: config.shape(),
            copies: Copies {
                vertices: config.copies(Kind::Vertices),
                edges: config.copies(Kind::Edges),
            },
            rewrites: config.edges != Edges::Fixed,
            announced: None,
            harmed: false,
            lost: 0,
            epoch: Epoch::default(),
            lately: BTreeSet::new(),
        }
    }

    /// A rank has got an empty disk.
    pub fn disk_lost(&mut self, rank: Rank) {
        self.lost += 1;
        self.lately.insert(rank);
    }

    /// From now on a disk may have damaged what was durable.
    pub fn disk_harmed(&mut self) {
        self.harmed = true;
    }

    /// Lost disks of which nothing that a checkpoint needs is missed.
    fn bearable(&self) -> usize {
        usize::from(self.copies.vertices && (self.copies.edges || !self.rewrites))
    }

    /// Where a block lies that belongs at an engine: the disk, and in which role.
    fn holders(&self, engine: Rank, twice: bool) -> impl Iterator<Item = (Rank, Role)> + use<'_> {
        let further = mirror(self.shape.machines as usize, engine);
        let copy = twice.then_some((further, Role::Mirror));
        let holders = [(engine, Role::Primary)].into_iter().chain(copy);
        holders.filter(|(rank, _)| !self.lately.contains(rank))
    }

    /// The coordinator persists a manifest.
    ///
    /// # Errors
    /// When something that it names is not durable.
    pub fn persisted(&self, manifest: &Arc<Manifest>, disks: &[&Disk]) -> Result<(), String> {
        if self.harmed {
            return Ok(());
        }
        let version = manifest.version;
        for part in &manifest.parts {
            let engine = vertex_engine(disks.len(), part.partition, part.chunk);
            for (rank, role) in self.holders(engine, self.copies.vertices) {
                let name = manifest.name(part.partition, part.chunk).as_role(role);
                if !disks[rank].is_durable(name) {
                    return Err(format!("{name} is not durable when version {version} is"));
                }
            }
        }
        for (engine, sum) in manifest.edges.iter().enumerate() {
            for (rank, role) in self.holders(engine, self.copies.edges) {
                if disks[rank].durable_edges(manifest.generation, role) != *sum {
                    let what = format!("edges of {engine} are not durable at {rank}, as {role:?}");
                    return Err(format!("{what}, when version {version} is"));
                }
            }
        }
        let Some(scattered) = &manifest.scattered else { return Ok(()) };
        for (engine, sum) in scattered.chunks.iter().enumerate() {
            for (rank, _) in self.holders(engine, false) {
                if disks[rank].durable_updates(scattered.epoch, version) != *sum {
                    return Err(format!("updates of {rank} are not durable when a manifest is"));
                }
            }
        }
        Ok(())
    }

    /// A machine says something; `disks` where these are of weight.
    ///
    /// # Errors
    /// When an epoch goes back too far, or edges are read again that are there.
    pub fn on_message(
        &mut self,
        envelope: &Envelope,
        disks: Option<&[&Disk]>,
    ) -> Result<(), String> {
        if envelope.epoch < self.epoch {
            // All have left that epoch: a process that was replaced says again what it said.
            return Ok(());
        }
        if let Some(manifest) = manifest_of(&envelope.message) {
            self.announced = self.announced.max(Some(manifest.age()));
            self.is_kept(manifest, disks)?;
        }
        match &envelope.message {
            Message::Install(install) => self.installed(envelope.epoch, install),
            Message::Begin(begin) if begin.edges_only && begin.step.phase == Phase::Ingest => {
                if !self.harmed && self.lost <= usize::from(self.copies.edges) {
                    let (lost, step) = (self.lost, begin.step);
                    return Err(format!("edges are read again in {step}, {lost} disks were lost"));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A manifest is announced: it must be durable, and its copy.
    fn is_kept(&self, manifest: &Arc<Manifest>, disks: Option<&[&Disk]>) -> Result<(), String> {
        let Some(disks) = disks.filter(|_| !self.harmed) else { return Ok(()) };
        for (rank, _) in self.holders(0, self.copies.vertices || self.copies.edges) {
            if !disks[rank].has_manifest(manifest.age()) {
                let age = manifest.age();
                return Err(format!("the manifest {age:?} is told of, and not durable at {rank}"));
            }
        }
        Ok(())
    }

    /// An epoch begins.
    fn installed(&mut self, epoch: Epoch, install: &Install) -> Result<(), String> {
        if install.manifest.as_ref().is_some_and(|manifest| manifest.shape != self.shape) {
            return Err("went back to a manifest of a cluster of another shape".to_owned());
        }
        if epoch > self.epoch {
            // Not so when it is said again: a disk may have been lost since.
            self.epoch = epoch;
            self.lately.clear();
        }
        let age = install.manifest.as_ref().map(|manifest| manifest.age());
        if !self.harmed && self.lost <= self.bearable() && age < self.announced {
            let (announced, lost) = (self.announced, self.lost);
            return Err(format!(
                "went back to {age:?} after {announced:?}, {lost} disks were lost"
            ));
        }
        Ok(())
    }
}
