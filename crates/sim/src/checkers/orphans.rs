//! Nothing lies on a disk for ever that no machine knows of: what an epoch before has left there is
//! named by a manifest.
//!
//! ```text
//! x opens a partition in epoch e, or the run ends in e:
//!   for all b on the disk of x, but those that are being deleted or written:
//!     epoch(b) >= e, or a manifest that lies on some disk, or was kept since, names b
//! ```
//!
//! Looked at when a machine takes up its first partition in an epoch, and at the end.
//!
//! Not checked: blocks of the epoch itself, and manifests.

use std::collections::BTreeMap;

use welter_protocol::Event;
use welter_protocol::checkpoint::{Age, Manifest};
use welter_protocol::ids::{BlockName, Epoch};
use welter_protocol::messages::Effect;

/// All manifests that there ever were, and the epoch in which each process was looked at last.
#[derive(Default)]
pub struct Orphans {
    manifests: BTreeMap<Age, Manifest>,
    looked: BTreeMap<usize, Epoch>,
}

impl Orphans {
    /// Something happens to a machine.
    pub fn event(&mut self, process: usize, event: &Event) {
        if let Event::Start { manifests, .. } = event {
            self.looked.remove(&process);
            for manifest in manifests.iter().filter_map(|bytes| Manifest::decode(bytes)) {
                self.manifests.insert(manifest.age(), manifest);
            }
        }
    }

    /// A machine wants something done.
    pub fn effect(&mut self, effect: &Effect) {
        if let Effect::Persist { manifest, .. } = effect {
            self.manifests.insert(manifest.age(), Manifest::clone(manifest));
        }
    }

    /// A process takes up a partition, and has these blocks.
    ///
    /// # Errors
    /// A block that no machine knows of.
    pub fn opened<'a>(
        &mut self,
        process: usize,
        epoch: Epoch,
        blocks: impl Iterator<Item = &'a BlockName>,
    ) -> Result<(), String> {
        if self.looked.insert(process, epoch) == Some(epoch) {
            return Ok(());
        }
        self.look(process, epoch, blocks)
    }

    /// Looks at the blocks of a machine.
    ///
    /// # Errors
    /// A block that no machine knows of.
    pub fn look<'a>(
        &self,
        which: usize,
        epoch: Epoch,
        mut blocks: impl Iterator<Item = &'a BlockName>,
    ) -> Result<(), String> {
        let is_known = |name: &BlockName| {
            name.epoch >= epoch || self.manifests.values().any(|manifest| manifest.needs(name))
        };
        match blocks.find(|name| !is_known(name)) {
            Some(name) => Err(format!("{name} lies at {which} in {epoch}, and nobody knows of it")),
            None => Ok(()),
        }
    }
}
