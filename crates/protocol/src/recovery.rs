//! Going back to a checkpoint: what is there is checked against the manifest, and what is not is
//! restored from its copy.
//!
//! ```text
//! lacking(r) = blocks that the manifest places at r  -  blocks that are whole at r
//! primaries of r come from mirror(r), mirrors at r from the machine that they mirror, of the kinds
//! that are kept twice
//! ```
//!
//! **Invariant:** a machine says that it has installed a manifest, with nothing lost, only if every
//! vertex chunk that belongs at it is there with the manifest's checksum, its edges and updates
//! have the manifest's sums, and all of these are durable. So what was found or restored is synced,
//! whichever machine wrote it: a copy may have been written in an epoch that ended before it was
//! synced. The same holds for the manifest itself where manifests lie, on rank 0 and the machine
//! that mirrors it. Checked in `lacking`, and by the simulator in `Checkpoints::persisted`;
//! asserted in `Recovery::finish`.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::audit::Sum;
use crate::checkpoint::{Manifest, RetainedManifests};
use crate::context::Context;
use crate::counters::Path;
use crate::ids::{Block, BlockName, Kind, Rank, Role};
use crate::messages::{Effect, Install, Message, MissingBlocks};
use crate::payload::Payload;
use crate::placement::{Placement, mirror, mirrored, vertex_engine};
use crate::planted::Bug;
use crate::storage_engine::StorageEngine;

/// The way back of one machine in one epoch.
#[derive(Default)]
pub(crate) struct Recovery {
    manifest: Option<Arc<Manifest>>,
    installed: bool,
    answered: bool,
    /// Machines that were faster and want copies.
    asked: Vec<(Rank, Role, Vec<BlockName>)>,
    /// Answers that are missing, and copies that were announced and have not come.
    answers: usize,
    copies: i64,
    writing: BTreeSet<BlockName>,
    persisting: Option<u64>,
    syncing: Option<u64>,
    /// Manifests that the newest one stands for, as soon as it is here.
    old: Vec<Arc<Manifest>>,
}

impl Recovery {
    /// Goes back to where the coordinator says, by a manifest that may have to be kept here.
    pub(crate) fn install(
        &mut self,
        cx: &mut Context,
        storage: &mut StorageEngine,
        install: Install,
        (lacks_manifest, mut old): (bool, Vec<Arc<Manifest>>),
    ) {
        for (known, incarnation) in cx.incarnations.iter_mut().zip(install.incarnations) {
            *known = incarnation.max(*known);
        }
        let kept = install.previous.into_iter().chain(install.manifest.clone());
        old.extend(storage.install(cx, RetainedManifests::of(kept)));
        self.old = old;
        if !lacks_manifest {
            self.forget(cx);
        }
        self.installed = true;
        for (from, role, have) in std::mem::take(&mut self.asked) {
            storage.copy(cx, from, role, &have);
        }
        self.manifest = install.manifest;
        let Some(manifest) = self.manifest.clone() else { return self.finish(cx, storage) };
        if lacks_manifest {
            let token = cx.token();
            self.persisting = Some(token);
            cx.effects.push(Effect::Persist { token, manifest: manifest.clone() });
        }
        if !cx.config.has(Bug::NotRestored) {
            self.fetch_copies(cx, storage, &manifest);
        }
        self.advance(cx, storage);
    }

    fn forget(&mut self, cx: &mut Context) {
        cx.effects.extend(self.old.drain(..).map(Effect::Forget));
    }

    /// Asks for copies of what is lacking here, in either role, and is kept twice.
    fn fetch_copies(&mut self, cx: &mut Context, storage: &StorageEngine, manifest: &Manifest) {
        let machines = cx.machines();
        for (role, other) in [
            (Role::Primary, mirror(machines, cx.rank)),
            (Role::Mirror, mirrored(machines, cx.rank)),
        ] {
            let lost = lacking(cx, storage, manifest, role);
            let edges = lost.edges && cx.config.copies(Kind::Edges);
            if edges || lost.vertices && cx.config.copies(Kind::Vertices) {
                self.answers += 1;
                let needed = |name: &&BlockName| name.role == role && manifest.needs(name);
                let have = storage.blocks.keys().filter(needed);
                let have = have.map(|name| name.as_role(opposite(role))).collect();
                cx.send(other, Message::Fetch { role: opposite(role), have });
            }
        }
    }

    /// A machine wants copies.
    pub(crate) fn fetch(
        &mut self,
        cx: &mut Context,
        storage: &mut StorageEngine,
        (from, role, have): (Rank, Role, Vec<BlockName>),
    ) {
        if self.installed {
            storage.copy(cx, from, role, &have);
        } else {
            self.asked.push((from, role, have));
        }
    }

    /// A copy has come.
    pub(crate) fn copied(
        &mut self,
        cx: &mut Context,
        storage: &mut StorageEngine,
        block: Block,
        payload: Payload,
    ) {
        self.copies -= 1;
        let name = block.name.as_role(opposite(block.name.role));
        self.writing.insert(name);
        storage.restore(cx, Block { name, ..block }, payload);
    }

    /// All copies that a machine has were sent.
    pub(crate) fn copies_end(&mut self, cx: &mut Context, storage: &mut StorageEngine, count: u64) {
        assert!(self.answers > 0, "who is asked for copies answers once");
        self.answers -= 1;
        self.copies += count as i64;
        self.advance(cx, storage);
    }

    /// A copy was written.
    pub(crate) fn written(
        &mut self,
        cx: &mut Context,
        storage: &mut StorageEngine,
        name: BlockName,
    ) {
        if self.writing.remove(&name) {
            cx.counters.count(match name.kind {
                Kind::Edges => Path::RestoredEdges,
                _ => Path::RestoredVertices,
            });
            self.advance(cx, storage);
        }
    }

    /// All that is needed here is durable, or the manifest is.
    pub(crate) fn synced(&mut self, cx: &mut Context, storage: &mut StorageEngine, token: u64) {
        if self.persisting.take_if(|waited| *waited == token).is_some() {
            self.forget(cx);
            self.advance(cx, storage);
        }
        if self.syncing.take_if(|waited| *waited == token).is_some() {
            self.finish(cx, storage);
        }
    }

    fn advance(&mut self, cx: &mut Context, storage: &mut StorageEngine) {
        let waits = self.answers > 0 || self.copies != 0 || !self.writing.is_empty();
        if waits || self.persisting.is_some() || self.syncing.is_some() {
            return;
        }
        let needed =
            |name: &&BlockName| self.manifest.as_ref().is_some_and(|manifest| manifest.needs(name));
        let names: Vec<BlockName> = storage.blocks.keys().filter(needed).copied().collect();
        let token = cx.token();
        self.syncing = Some(token);
        cx.effects.push(Effect::Sync { token, names });
    }

    fn finish(&mut self, cx: &mut Context, storage: &mut StorageEngine) {
        if std::mem::replace(&mut self.answered, true) {
            return;
        }
        assert!(self.answers == 0 && self.copies == 0, "all copies have come");
        assert!(self.writing.is_empty(), "all copies are written");
        let mut lost = MissingBlocks::default();
        if let Some(manifest) = &self.manifest {
            lost = lacking(cx, storage, manifest, Role::Primary);
            storage.index_edges(manifest.generation);
            storage.index_updates(|name| manifest.has_scattered(name));
        }
        let directory = cx.config.placement == Placement::Directory;
        let chunk_sets = if directory { storage.chunk_sets() } else { Vec::new() };
        cx.send(0, Message::Installed { lost, chunk_sets });
    }
}

fn opposite(role: Role) -> Role {
    match role {
        Role::Primary => Role::Mirror,
        Role::Mirror => Role::Primary,
    }
}

/// Kinds of blocks of a role that a manifest places at this machine, and that it lacks.
fn lacking(
    cx: &Context,
    storage: &StorageEngine,
    manifest: &Manifest,
    role: Role,
) -> MissingBlocks {
    let machines = cx.machines();
    let owner = if role == Role::Primary { cx.rank } else { mirrored(machines, cx.rank) };
    let has = |part: &crate::checkpoint::CheckpointShard| {
        let name = manifest.name(part.partition, part.chunk).as_role(role);
        let block = storage.blocks.get(&name);
        block.is_some_and(|block| (block.bytes, block.hash) == (part.bytes, part.hash))
    };
    let here = manifest
        .parts
        .iter()
        .filter(|part| vertex_engine(machines, part.partition, part.chunk) == owner);
    let edges = storage.blocks.values().filter(|block| {
        let name = &block.name;
        name.kind == Kind::Edges && name.role == role && name.generation() == manifest.generation
    });
    let updates = storage.blocks.values().filter(|block| manifest.has_scattered(&block.name));
    let scattered = manifest.scattered.as_ref().filter(|_| role == Role::Primary);
    MissingBlocks {
        edges: Some(&Sum::of(edges)) != manifest.edges.get(owner),
        vertices: !here.into_iter().all(has),
        updates: scattered.is_some_and(|made| Some(&Sum::of(updates)) != made.chunks.get(owner)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::of_two;

    #[test]
    fn a_roster_never_goes_back() {
        let mut cx = Context::new(Arc::new(of_two()), 1, 1);
        cx.incarnations = vec![3, 1];
        let install = Install { incarnations: vec![2, 4], manifest: None, previous: None };
        let mut storage = StorageEngine::default();
        Recovery::default().install(&mut cx, &mut storage, install, (false, Vec::new()));
        assert_eq!(cx.incarnations, [3, 4], "it had heard of a newer process than the coordinator");
    }
}
