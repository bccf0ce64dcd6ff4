//! The storage engine of a machine (Chaos, section 6): keeps blocks, and hands out chunks.
//!
//! The chunks that it has of a cell, and which of them are left in a step, are a [`ChunkSet`]; its
//! [`service`] says in which order it reads and writes.
//!
//! ```text
//! here(t)  = { b : written(b) <= t } - { b : deleted(b) <= t, or found damaged }
//! told "stored b" at t             =>  b in here(t)
//! deleted at the beginning of s    =   here - needed by a kept manifest - read or made in s
//! told "closed s" at a checkpoint  =>  all that the checkpoint takes from here is durable
//! ```
//!
//! **Invariant:** when an epoch ends, what is on the disk, or on its way there, is in `here` or is
//! deleted: `written(b) or writing(b)  =>  b in here, or deleted(b)`. Tested by
//! `what_is_on_its_way_to_the_disk_when_an_epoch_ends_is_deleted`; checked by the simulator in
//! `Orphans::look`.
//!
//! **Invariant:** while an epoch lasts, what is reported as stored stays until its step has ended
//! and no kept manifest needs it: `needed(b, t) and stored(b) <= t  =>  b in here(t)`, unless the
//! disk damages it. Checked by the simulator in `ExactlyOnce::finished` and
//! `Checkpoints::persisted`.

mod chunk_set;
mod requests;
mod service;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::chunk_set::ChunkSet;
use self::requests::{RequestKind, Service};
use crate::audit::{Served, Sum};
use crate::checkpoint::{CheckpointShard, Manifest, RetainedManifests};
use crate::context::Context;
use crate::counters::Path;
use crate::ids::{
    Block, BlockName, Cell, ChunkSetKey, Epoch, Generation, Kind, Phase, Rank, Role, Step,
};
use crate::messages::{Begin, Effect, Message};
use crate::planted::Bug;
use crate::rewriting::{self, streamed};
use crate::steal::Remaining;

/// Blocks, cursors and requests.
#[derive(Default)]
pub(crate) struct StorageEngine {
    /// Blocks that are stored, by name.
    pub(crate) blocks: BTreeMap<BlockName, Block>,
    sets: BTreeMap<ChunkSetKey, ChunkSet>,
    service: Service,
    closing: Option<(u64, Step, Served, Vec<CheckpointShard>)>,
    pub(crate) kept: RetainedManifests,
    step: Option<Step>,
    /// Ranges of each partition that have active vertices in this step.
    active: Arc<[u64]>,
    /// Of the edges that are in sets.
    generation: Generation,
    /// Whether this step rewrites them.
    rewrites: bool,
}

/// Ranges of sources that are active in a step, of those that the chunks of a cell may have.
fn active_in(active: &[u64], step: Step, cell: Cell) -> u64 {
    match step.phase {
        Phase::Split | Phase::Gather => u64::MAX,
        _ => active.get(cell.sources() as usize).copied().unwrap_or(0),
    }
}

/// Whether chunks of this kind are handed out.
fn is_streamed(kind: Kind) -> bool {
    matches!(kind, Kind::Edges | Kind::Updates | Kind::Rough)
}

impl StorageEngine {
    /// Forgets all that belongs to the epoch that ends. What is stored stays; what is on its way to
    /// the disk is in no table, and goes as soon as it is there.
    pub(crate) fn leave_epoch(&mut self, cx: &mut Context) {
        let writing = self.service.writing();
        let unknown = writing.into_iter().filter(|name| !self.blocks.contains_key(name));
        for name in unknown.filter(|_| !cx.config.has(Bug::OrphansLeft)) {
            cx.counters.count(Path::Orphaned);
            cx.effects.push(Effect::Delete(name));
        }
        if cx.config.has(Bug::KeptUpdates) {
            self.sets.values_mut().for_each(|set| set.step = None);
        } else {
            self.sets.clear();
        }
        self.service = Service::default();
        self.closing = None;
        self.step = None;
    }

    /// Keeps what a checkpoint (and one before it) needs, and nothing else. Returns the manifests
    /// that are not needed any more.
    pub(crate) fn install(
        &mut self,
        cx: &mut Context,
        kept: RetainedManifests,
    ) -> Vec<Arc<Manifest>> {
        let old = self.kept.all().iter().filter(|old| !kept.all().contains(old)).cloned();
        let old = old.collect();
        self.kept = kept;
        self.retain(cx, |_| false);
        if let Some(newest) = self.kept.all().last() {
            self.index_edges(newest.generation);
        }
        old
    }

    /// Puts the edges of a generation into sets again, to be streamed.
    pub(crate) fn index_edges(&mut self, generation: Generation) {
        self.generation = generation;
        self.sets.retain(|(kind, ..), _| *kind != Kind::Edges);
        for block in self.blocks.values() {
            let name = block.name;
            let is_primary = name.kind == Kind::Edges && name.role == Role::Primary;
            if is_primary && name.generation() == generation {
                let set = (Kind::Edges, generation.iteration, name.cell());
                self.sets.entry(set).or_default().add(*block);
            }
        }
    }

    /// Puts updates into sets, to be gathered.
    pub(crate) fn index_updates(&mut self, these: impl Fn(&BlockName) -> bool) {
        for block in self.blocks.values() {
            let Block { name, .. } = *block;
            if name.kind == Kind::Updates && these(&name) {
                let set = (Kind::Updates, name.iteration, name.cell());
                self.sets.entry(set).or_default().add(*block);
            }
        }
    }

    /// Forgets edges of all generations before this one. An edge of a new one may come before the
    /// beginning of its ingest, or of the step in which it is rewritten.
    fn turn_to(&mut self, generation: Generation) {
        if self.generation != generation {
            self.generation = generation;
            let Generation { iteration, .. } = generation;
            self.sets.retain(|(kind, of, _), _| *kind != Kind::Edges || *of >= iteration.max(1));
        }
    }

    /// Deletes all blocks that neither a kept manifest nor `also` needs.
    fn retain(&mut self, cx: &mut Context, also: impl Fn(&BlockName) -> bool) {
        let kept = &self.kept;
        self.blocks.retain(|name, _| {
            let stays = kept.need(name) || also(name);
            if !stays {
                cx.effects.push(Effect::Delete(*name));
            }
            stays
        });
    }

    /// A checkpoint is committed.
    pub(crate) fn keep(&mut self, cx: &mut Context, manifest: Arc<Manifest>) {
        for old in self.kept.add(manifest) {
            cx.effects.push(Effect::Forget(old));
        }
    }

    /// A step begins.
    pub(crate) fn begin(&mut self, cx: &mut Context, begin: &Begin) {
        self.step = Some(begin.step);
        self.active = begin.active.clone();
        if let Some(manifest) = &begin.committed {
            self.keep(cx, manifest.clone());
        }
        let Begin { step, made, generation, .. } = *begin;
        if step.phase != Phase::Gather {
            let epoch = cx.epoch;
            self.retain(cx, |name| match name.kind {
                // A faster machine may have applied already, on route `fold`, or rewritten.
                Kind::Vertices | Kind::Edges
                    if name.epoch == epoch && name.iteration > step.iteration =>
                {
                    true
                }
                Kind::Vertices => name.epoch == made && name.iteration == step.iteration,
                Kind::Edges => name.generation() == generation,
                Kind::Updates => name.epoch == epoch && name.iteration == step.iteration,
                Kind::Rough => {
                    name.epoch == epoch && matches!(step.phase, Phase::Ingest | Phase::Split)
                }
                Kind::Accumulators => false,
            });
        }
        if step.phase == Phase::Scatter && !cx.config.has(Bug::KeptUpdates) {
            // Chunks of a checkpoint are made again; some of the new ones may be here already.
            self.sets.retain(|(kind, ..), _| *kind != Kind::Updates);
            let now = (cx.epoch, step.iteration);
            self.index_updates(|name| (name.epoch, name.iteration) == now);
        }
        self.turn_to(generation);
        self.rewrites = begin.rewrites;
        if step.phase == Phase::Gather && cx.config.has(Bug::EarlyDelete) {
            for set in self.sets.iter().filter(|((kind, ..), _)| *kind == Kind::Updates) {
                cx.effects.extend(set.1.blocks.iter().map(|block| Effect::Delete(block.name)));
            }
        }
    }

    /// Syncing has ended.
    pub(crate) fn synced(&mut self, cx: &mut Context, token: u64) {
        let closing = self.closing.take_if(|(waited, ..)| *waited == token);
        let Some((_, step, served, parts)) = closing else { return };
        let edges = match step.phase {
            Phase::Ingest if cx.config.splits() => self.rough(cx.epoch),
            _ => self.edges(self.after(cx, step)),
        };
        let updates = Sum::of(self.updates(cx.epoch, step.iteration));
        cx.send(0, Message::Closed { step, served, parts, edges, updates });
    }

    /// A block is there now.
    fn keep_block(&mut self, block: Block, restored: bool) {
        let name = block.name;
        self.blocks.insert(name, block);
        if name.role == Role::Primary && is_streamed(name.kind) {
            if name.kind == Kind::Edges && name.iteration == 0 && !restored {
                self.turn_to(name.generation());
            }
            self.sets.entry((name.kind, name.iteration, name.cell())).or_default().add(block);
        }
    }

    /// The edges that there are when a step has ended.
    fn after(&self, cx: &Context, step: Step) -> Generation {
        rewriting::after(cx, step, self.rewrites, self.generation)
    }

    /// All edges of a generation here.
    pub(crate) fn edges(&self, generation: Generation) -> Sum {
        let primary = |name: &BlockName| {
            let is_primary = name.kind == Kind::Edges && name.role == Role::Primary;
            is_primary && name.generation() == generation
        };
        Sum::of(self.blocks.values().filter(|block| primary(&block.name)))
    }

    /// All edges here that are binned by one end alone.
    fn rough(&self, epoch: Epoch) -> Sum {
        let is_rough = |name: &BlockName| (name.kind, name.epoch) == (Kind::Rough, epoch);
        Sum::of(self.blocks.values().filter(|block| is_rough(&block.name)))
    }

    /// Updates here that were made in this epoch and iteration.
    fn updates(&self, epoch: Epoch, iteration: u32) -> impl Iterator<Item = &Block> {
        self.blocks.values().filter(move |Block { name, .. }| {
            (name.kind, name.epoch, name.iteration) == (Kind::Updates, epoch, iteration)
        })
    }

    /// Chunks here, by kind and cell.
    pub(crate) fn chunk_sets(&self) -> Vec<(Kind, Cell, u64)> {
        let sets = self.sets.iter();
        sets.map(|((kind, _, cell), set)| (*kind, *cell, set.blocks.len() as u64)).collect()
    }

    /// Ranges of sources that are active and that the chunks of a cell may have.
    fn active(&self, step: Step, cell: Cell) -> u64 {
        active_in(&self.active, step, cell)
    }

    /// Chunks of a partition here that can still be handed out in a step: those that are left and
    /// have an active source. None in a step that has not begun here.
    pub(crate) fn remaining(&mut self, cx: &Context, step: Step, partition: u32) -> Remaining {
        let mut sum = Remaining::default();
        if self.step != Some(step) {
            return sum;
        }
        let last = Cell { partition, source: Some(u32::MAX) };
        let of = self.generation.iteration;
        let cells = streamed(step, of, Cell::all(partition))..=streamed(step, of, last);
        let all = cx.config.has(Bug::UnwantedCounted);
        let active = &self.active;
        for ((.., cell), set) in self.sets.range_mut(cells) {
            set.reset(step, active_in(active, step, *cell));
            let left = set.left.iter().map(|&place| u64::from(set.blocks[place].bytes));
            let bytes = if all { left.sum() } else { set.left_bytes };
            if bytes > 0 {
                let sources = cx.config.partitions.range(cell.sources());
                sum.bytes += bytes;
                sum.cells += 1;
                sum.sources += sources.end - sources.start;
            }
        }
        sum
    }

    /// Sends copies of all blocks of a role that a manifest needs and the asker has not.
    pub(crate) fn copy(&mut self, cx: &mut Context, from: Rank, role: Role, have: &[BlockName]) {
        let newest = self.kept.all().last();
        let wanted = |name: &&BlockName| {
            (name.role == role && cx.config.copies(name.kind))
                && newest.is_some_and(|newest| newest.needs(name))
                && have.binary_search(name).is_err()
        };
        let names: Vec<BlockName> = self.blocks.keys().filter(wanted).copied().collect();
        let count = names.len() as u64;
        let copies = names.into_iter().map(RequestKind::Copy);
        for wanted in copies.chain([RequestKind::CopiesEnd(role, count)]) {
            self.service.ask(cx.now, from, wanted);
        }
        self.serve(cx);
    }

    /// A damaged block is as good as not there, now and after a restart.
    fn damaged(&mut self, cx: &mut Context, name: BlockName) {
        cx.counters.count(Path::Damaged);
        self.blocks.remove(&name);
        cx.effects.push(Effect::Delete(name));
    }

    /// All have arrived: says what was served. Nothing of the step will be asked for any more.
    pub(crate) fn close(&mut self, cx: &mut Context, step: Step, checkpoint: bool) {
        let (kind, before, _) = streamed(step, self.generation.iteration, Cell::all(0));
        let mut served = Served::default();
        if step.phase != Phase::Ingest {
            // Of edges that are rewritten, and of updates that are carried, those of the next
            // iteration are not asked for yet.
            let asked = |(of, iteration, _): &ChunkSetKey| *of == kind && *iteration == before;
            for ((.., cell), set) in self.sets.iter().filter(|(set, _)| asked(set)) {
                let one = set.served(step, self.active(step, *cell));
                served.handed = served.handed.and(one.handed);
                served.inactive = served.inactive.and(one.inactive);
                served.all = served.all.and(one.all);
            }
        }
        if matches!(step.phase, Phase::Split | Phase::Gather) {
            let streamed = |key: &&ChunkSetKey| (key.0, key.1) == (kind, before);
            let keys: Vec<_> = self.sets.keys().filter(streamed).copied().collect();
            for set in keys.iter().filter_map(|key| self.sets.remove(key)) {
                let names = set.blocks.iter().map(|block| block.name);
                for name in names.filter(|name| !self.kept.need(name)) {
                    self.blocks.remove(&name);
                    cx.effects.push(Effect::Delete(name));
                }
            }
        }
        let (names, parts) = if checkpoint { self.parts(cx, step) } else { Default::default() };
        let token = cx.token();
        self.closing = Some((token, step, served, parts));
        if checkpoint && !cx.config.has(Bug::CommitBeforePrepare) {
            cx.effects.push(Effect::Sync { token, names });
        } else {
            if checkpoint {
                cx.effects.push(Effect::Sync { token: 0, names });
            }
            self.synced(cx, token);
        }
    }

    /// The blocks that a checkpoint after this step must have durable here: names, and primary
    /// parts.
    fn parts(&self, cx: &Context, step: Step) -> (Vec<BlockName>, Vec<CheckpointShard>) {
        let (epoch, lazy) = (cx.epoch, cx.config.has(Bug::EdgesNotSynced));
        if step.phase == Phase::Scatter {
            let updates = self.updates(epoch, step.iteration);
            return (updates.map(|block| block.name).collect(), Vec::new());
        }
        let ingest = matches!(step.phase, Phase::Ingest | Phase::Split);
        let version = step.iteration + u32::from(!ingest);
        // Edges are made durable once, by the first manifest that names them.
        let edges = self.after(cx, step);
        let older = edges.iteration < version && !ingest;
        let lazy = lazy || older && cx.config.has(Bug::KeptNotSynced);
        let known = self.kept.all().last().is_some_and(|newest| newest.generation == edges);
        let blocks = self.blocks.values().filter(|block| {
            let name = &block.name;
            let part = name.kind == Kind::Vertices && name.iteration == version;
            let is_new = name.generation() == edges && !known && (ingest || !lazy);
            let skipped = name.role == Role::Mirror && cx.config.has(Bug::MirrorNotSynced);
            name.epoch == epoch && (part || name.kind == Kind::Edges && is_new) && !skipped
        });
        let (mut names, mut parts) = (Vec::new(), Vec::new());
        for Block { name, bytes, hash, .. } in blocks.copied() {
            names.push(name);
            if name.kind == Kind::Vertices && name.role == Role::Primary {
                parts.push(CheckpointShard {
                    partition: name.partition,
                    chunk: name.number,
                    bytes,
                    hash,
                });
            }
        }
        (names, parts)
    }
}
