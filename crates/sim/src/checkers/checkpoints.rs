//! Committed checkpoints are never lost.
//!
//! ```text
//! when the coordinator persists a manifest:  every part, and every chunk of edges and updates that
//!                                            it counts, is durable on its disk
//! when an epoch begins:                      its manifest is no older than the newest one told of,
//!                                            and of a cluster of the same shape
//! ```
//!
//! Not checked: where disks lie, rot or are replaced, an older checkpoint, or the input, is a
//! rightful way back, and parts may be missing that were reported durable. A cluster of one tells
//! nobody of its checkpoints. Nor is it checked that copies (of parts, edges and manifests) lie
//! where they should: a run with copies that goes farther back than it must is not noticed.

use std::sync::Arc;

use welter_protocol::audit::Sum;
use welter_protocol::checkpoint::{Age, Manifest};
use welter_protocol::config::Shape;
use welter_protocol::messages::{Envelope, Message};
use welter_protocol::names::Time;
use welter_protocol::placement::vertex_engine;

use crate::disk::Disk;

/// The newest manifest that was told of.
#[derive(Default)]
pub struct Checkpoints {
    /// Whether disks lie, rot or are replaced.
    pub bad_disks: bool,
    told: Option<Age>,
    shape: Option<Shape>,
}

impl Checkpoints {
    /// For a cluster of this shape; whether disks lie, rot or are replaced.
    pub fn new(shape: Shape, bad_disks: bool) -> Self {
        Self { bad_disks, told: None, shape: Some(shape) }
    }

    /// The coordinator persists a manifest.
    ///
    /// # Errors
    /// When something that it names is not durable.
    pub fn persisted(
        &self,
        now: Time,
        manifest: &Arc<Manifest>,
        disks: &[&Disk],
    ) -> Result<(), String> {
        if self.bad_disks {
            return Ok(());
        }
        for part in &manifest.parts {
            let disk = disks[vertex_engine(disks.len(), part.partition, part.chunk)];
            let name = manifest.name(part.partition, part.chunk);
            if !disk.is_durable(now, name) {
                return Err(format!("{name} is not durable when version {} is", manifest.version));
            }
        }
        for (rank, (disk, sum)) in disks.iter().zip(&manifest.edges).enumerate() {
            let durable: Sum = disk.durable_edges(now, manifest.generation);
            if durable != *sum {
                return Err(format!("edges of {rank} are not durable when a manifest is"));
            }
        }
        let Some(scattered) = &manifest.scattered else { return Ok(()) };
        for (rank, (disk, sum)) in disks.iter().zip(&scattered.chunks).enumerate() {
            if disk.durable_updates(now, scattered.epoch, manifest.version) != *sum {
                return Err(format!("updates of {rank} are not durable when a manifest is"));
            }
        }
        Ok(())
    }

    /// Somebody says something.
    ///
    /// # Errors
    /// When an epoch goes back too far.
    pub fn said(&mut self, envelope: &Envelope) -> Result<(), String> {
        let other = |manifest: &Arc<Manifest>| Some(manifest.shape) != self.shape;
        match &envelope.message {
            Message::Begin(begin) => {
                if let Some(manifest) = &begin.committed {
                    self.told = self.told.max(Some(manifest.age()));
                }
            }
            Message::Finish(manifest) => self.told = self.told.max(Some(manifest.age())),
            Message::Install(install) if install.manifest.as_ref().is_some_and(other) => {
                return Err("went back to a manifest of a cluster of another shape".to_owned());
            }
            Message::Install(install) if !self.bad_disks => {
                let age = install.manifest.as_ref().map(|manifest| manifest.age());
                if age < self.told {
                    let told = self.told;
                    return Err(format!("went back to {age:?} after {told:?} was committed"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
