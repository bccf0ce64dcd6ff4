//! Chunks that a computation engine has stored: edges, updates, vertices (Chaos, sections 5.1 and
//! 6.3).
//!
//! ```text
//! storing(t) = { (b, role) : sent(b, role) <= t, and not yet told that it is there }
//! copies(b)  = { primary } + { mirror } if the kind of b is kept twice
//!              primary at engine(b), mirror one machine further
//! ```
//!
//! **Invariant:** what is under way to storage is bounded, whatever disks do. With `w` the window
//! of stores, `s` the streams at a time and `n` the most that one piece of work makes:
//!
//! ```text
//! for all t:   sum of bytes(b) over storing(t)  <  w + s n
//! ```
//!
//! So a storage engine has at most `w + s n` bytes of each computation engine in its queue. Checked
//! in `Storing::is_full`, and by the simulator in `Stores::effect`.
//!
//! **Invariant:** who arrives has all that it made on storage, twice where it is kept twice:
//!
//! ```text
//! arrives(i, s) at t  =>  storing_i(t) = {}
//! made(b, i, s)       =>  for all role in copies(b): stored(b, role) <= arrives(i, s)
//! ```
//!
//! Checked in `ComputationEngine::arrive`; its sums are asserted in `Storing::remove`.

use super::ComputationEngine;
use crate::carrying;
use crate::checkpoint::vertices;
use crate::context::Context;
use crate::counters::Path;
use crate::ids::{Block, BlockName, Cell, Kind, Phase, Rank, Role, Step};
use crate::messages::Message;
use crate::payload::Payload;
use crate::placement::{Placement, mirror, vertex_engine};
use crate::planted::Bug;
use crate::work::{Filled, Rewritten};

impl ComputationEngine {
    /// Has edges stored: as they were read, or split.
    pub(super) fn store_edges(&mut self, cx: &mut Context, step: Step, filled: Vec<Filled>) {
        let is_rough = step.phase == Phase::Ingest && cx.config.splits();
        let kind = if is_rough { Kind::Rough } else { Kind::Edges };
        for Filled { partition, source, records, sources, payload, .. } in filled {
            let name = cx.name(kind, 0, Cell { partition, source });
            if cx.config.has(Bug::EdgesDropped) && name.number % 16 == 15 {
                continue;
            }
            let block = Block::of(name, records, sources, &payload);
            self.worked.stored += u64::from(records);
            self.worked.ingested.add(&block);
            self.store(cx, block, payload);
        }
    }

    /// Has stored what buffers held, of edges or updates.
    pub(super) fn store_filled(&mut self, cx: &mut Context, step: Step, filled: Vec<Filled>) {
        if step.phase == Phase::Split {
            cx.counters.count(Path::Split);
            return self.store_edges(cx, step, filled);
        }
        self.store_updates(cx, step, filled);
    }

    pub(super) fn store_updates(&mut self, cx: &mut Context, step: Step, filled: Vec<Filled>) {
        for Filled { partition, source, records, combined, sources, payload } in filled {
            self.worked.stored += u64::from(records);
            if combined > 0 {
                cx.counters.count(Path::Combined);
            }
            let iteration = carrying::gathered_in(cx, step);
            let name = cx.name(Kind::Updates, iteration, Cell { partition, source });
            self.store(cx, Block::of(name, records, sources, &payload), payload);
        }
    }

    /// Has the edges of a chunk stored as they are now, or as many of them as fill chunks.
    pub(super) fn store_rewritten(
        &mut self,
        cx: &mut Context,
        step: Step,
        (old, rewritten): (Block, Rewritten),
    ) {
        let records = u64::from(old.records);
        let none = matches!(rewritten, Rewritten::Not);
        assert_eq!(none, !self.rewrites(), "edges are rewritten in steps that say so");
        match rewritten {
            Rewritten::Not => return,
            Rewritten::InPlace(payload) => {
                cx.counters.count(Path::Rewritten);
                self.worked.kept += records;
                let name = cx.name(Kind::Edges, step.iteration + 1, old.name.cell());
                let block = Block::of(name, old.records, old.sources, &payload);
                self.store_generation(cx, block, payload);
            }
            Rewritten::Moved { kept, dropped, filled } => {
                self.worked.kept += kept;
                self.worked.dropped += dropped;
                self.store_contracted(cx, (step, old.name.partition), filled);
            }
        }
        let of = self.begin.as_ref().map(|begin| begin.generation);
        assert_eq!(Some(old.name.generation()), of, "edges of one generation are streamed");
        self.worked.streamed += records;
    }

    /// Has edges stored whose ends are others now, and which led to this partition.
    pub(super) fn store_contracted(
        &mut self,
        cx: &mut Context,
        (step, from): (Step, u32),
        filled: Vec<Filled>,
    ) {
        for Filled { partition, source, records, sources, payload, .. } in filled {
            let cell = Cell { partition, source };
            cx.counters.count(Path::Contracted);
            if partition != from {
                cx.counters.count(Path::Moved);
            }
            let name = cx.name(Kind::Edges, step.iteration + 1, cell);
            if cx.config.has(Bug::ContractedDropped) && name.number % 16 == 15 {
                continue;
            }
            self.store_generation(cx, Block::of(name, records, sources, &payload), payload);
        }
    }

    /// Has a chunk of the next generation of edges stored.
    fn store_generation(&mut self, cx: &mut Context, block: Block, payload: Payload) {
        self.worked.rewritten += u64::from(block.records);
        self.worked.ingested.add(&block);
        self.store(cx, block, payload);
    }

    pub(super) fn store_vertices(
        &mut self,
        cx: &mut Context,
        step: Step,
        partition: u32,
        chunks: Vec<Payload>,
    ) {
        let version = step.iteration + u32::from(step.phase != Phase::Ingest);
        let bytes = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        self.set_bytes.insert(partition, bytes);
        for (chunk, payload) in chunks.into_iter().enumerate() {
            let name = vertices(cx.epoch, version, partition, chunk as u64);
            self.store(cx, Block::of(name, 0, u64::MAX, &payload), payload);
        }
    }

    /// Has a block stored where its name or the policy says, and mirrored where it is kept longer.
    pub(super) fn store(&mut self, cx: &mut Context, block: Block, payload: Payload) {
        let BlockName { kind, partition, number, .. } = block.name;
        let engine = match kind {
            Kind::Edges | Kind::Rough | Kind::Updates | Kind::Vertices
                if cx.config.placement == Placement::Directory =>
            {
                self.storing.insert(block.name, payload.len() as u64);
                self.placing.insert(block.name, (block, payload));
                return cx.send(0, Message::Place(block.name));
            }
            Kind::Vertices => vertex_engine(cx.machines(), partition, number),
            _ => cx.place(partition, payload.len() as u64),
        };
        self.store_at(cx, engine, block, payload);
    }

    /// A directory has said where a chunk shall go.
    pub(crate) fn placed(&mut self, cx: &mut Context, name: BlockName, engine: Rank) {
        if let Some((block, payload)) = self.placing.remove(&name) {
            self.store_at(cx, engine, block, payload);
        } else if name.kind == Kind::Vertices {
            cx.send(engine, Message::Get(name));
        }
    }

    fn store_at(&mut self, cx: &mut Context, engine: Rank, block: Block, payload: Payload) {
        let forgets = cx.config.has(Bug::MirrorNotStored) && block.identity() % 8 == 7;
        if cx.config.copies(block.name.kind) && !forgets {
            let copy = Block { name: block.name.as_role(Role::Mirror), ..block };
            let message = Message::Store { block: copy, payload: payload.clone() };
            self.storing.insert(copy.name, payload.len() as u64);
            cx.send(mirror(cx.machines(), engine), message);
        }
        self.storing.insert(block.name, payload.len() as u64);
        cx.send(engine, Message::Store { block, payload });
    }

    pub(crate) fn stored(&mut self, cx: &mut Context, from: Rank, name: BlockName) {
        self.storing.remove(&name);
        if name.kind == Kind::Accumulators
            && let Some(step) = self.step()
        {
            let master = cx.config.partitions.master(name.partition);
            cx.send(master, Message::Parked { step, name, engine: from });
        }
        self.advance(cx);
    }
}
