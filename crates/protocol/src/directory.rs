//! A central directory of chunks: what Chaos does without, to be compared with it (Figure 14).
//!
//! ```text
//! every chunk that is stored:   engine -> directory: where?      directory -> engine: there
//! every chunk that is pulled:   engine -> directory: who?        directory -> engine: one, or none
//! every chunk of vertices:      likewise where, when it is stored and when it is loaded
//! left(p, e) = chunks of p at e - engines that were sent to e for p in this step
//! ```
//!
//! It lies with the coordinator, and is made anew from what machines have when an epoch begins. A
//! look-up takes time ([`Effect::Consult`]), one after the other: that is why it falls behind when
//! machines become many.
//!
//! **Invariant:** as many engines are sent to a storage engine in a step as it has chunks, at most:
//! so each pull finds a chunk, unless what is left has no active source. Asserted in
//! `Directory::find`.

use std::collections::{BTreeMap, VecDeque};

use crate::context::Context;
use crate::ids::{BlockName, Cell, ChunkSetKey, Kind, Rank, Step};
use crate::messages::{Effect, Message};
use crate::placement::vertex_engine;
use crate::rewriting::streamed;

/// Chunks of one cell: how many each machine has, and how many of them are left in a step.
#[derive(Default)]
struct ChunkSet {
    all: Vec<u64>,
    left: Vec<u64>,
    step: Option<Step>,
}

/// Question to the directory.
pub(crate) enum Query {
    /// Where shall this chunk go?
    Place(BlockName),
    /// Search for an engine that has a chunk of this cell, but for those that have said "none".
    Find {
        /// Step of the question.
        step: Step,
        /// Cell of the chunk.
        cell: Cell,
        /// Engines that have said "none".
        none: Vec<Rank>,
    },
}

/// Counts of chunks by cell and engine, and the questions that wait.
#[derive(Default)]
pub(crate) struct Directory {
    /// Of each kind, by the iteration that its blocks are named by.
    chunk_sets: BTreeMap<(Kind, u32, Cell), ChunkSet>,
    queue: VecDeque<(Rank, Query)>,
    busy: Option<u64>,
}

impl Directory {
    /// Forgets all, with the epoch.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Forgets all of a kind.
    pub(crate) fn forget(&mut self, kind: Kind) {
        self.chunk_sets.retain(|(of, ..), _| *of != kind);
    }

    /// Forgets edges that were rewritten since.
    pub(crate) fn forget_edges_before(&mut self, iteration: u32) {
        self.chunk_sets.retain(|(kind, of, _), _| *kind != Kind::Edges || *of >= iteration);
    }

    /// Forgets updates that were gathered.
    pub(crate) fn forget_updates_before(&mut self, iteration: u32) {
        self.chunk_sets.retain(|(kind, of, _), _| *kind != Kind::Updates || *of >= iteration);
    }

    /// A machine has `count` chunks of a cell.
    pub(crate) fn add(&mut self, machines: usize, engine: Rank, what: ChunkSetKey, count: u64) {
        let chunks = self.chunk_sets.entry(what).or_default();
        chunks.all.resize(machines, 0);
        chunks.all[engine] += count;
    }

    /// A machine asks.
    pub(crate) fn ask(&mut self, cx: &mut Context, from: Rank, query: Query) {
        self.queue.push_back((from, query));
        self.look_up(cx);
    }

    /// Begins with the next query, unless one is being looked up.
    fn look_up(&mut self, cx: &mut Context) {
        if self.busy.is_none() && !self.queue.is_empty() {
            let token = cx.token();
            self.busy = Some(token);
            cx.effects.push(Effect::Consult { token });
        }
    }

    /// A query was looked up, while edges are streamed that the iterations up to `generation` made.
    pub(crate) fn consulted(&mut self, cx: &mut Context, token: u64, generation: u32) {
        if self.busy.take_if(|waited| *waited == token).is_none() {
            return;
        }
        match self.queue.pop_front() {
            Some((from, Query::Place(name))) => self.place(cx, from, name),
            Some((from, Query::Find { step, cell, none })) => {
                self.find(cx, from, (step, streamed(step, generation, cell)), &none);
            }
            None => {}
        }
        self.look_up(cx);
    }

    fn place(&mut self, cx: &mut Context, from: Rank, name: BlockName) {
        if name.kind == Kind::Vertices {
            // Recovery, and who reads the result, know these by their hash, so it says no other.
            let engine = vertex_engine(cx.machines(), name.partition, name.number);
            return cx.send(from, Message::Placed { name, engine });
        }
        let engine = cx.random.below(cx.machines() as u64) as Rank;
        self.add(cx.machines(), engine, (name.kind, name.iteration, name.cell()), 1);
        cx.send(from, Message::Placed { name, engine });
    }

    fn find(
        &mut self,
        cx: &mut Context,
        from: Rank,
        (step, what): (Step, ChunkSetKey),
        none: &[Rank],
    ) {
        let (cell, chunks) = (what.2, self.chunk_sets.entry(what).or_default());
        if chunks.step != Some(step) {
            chunks.step = Some(step);
            chunks.left.clone_from(&chunks.all);
        }
        let engines = chunks.left.iter().enumerate();
        let engines = engines.filter(|(engine, left)| **left > 0 && !none.contains(engine));
        let engines: Vec<Rank> = engines.map(|(engine, _)| engine).collect();
        let engine = (!engines.is_empty()).then(|| *cx.random.pick(&engines));
        if let Some(engine) = engine {
            chunks.left[engine] -= 1;
            assert!(chunks.left[engine] < chunks.all[engine], "an engine has what it is asked for");
        }
        cx.send(from, Message::Found { step, cell, engine });
    }
}
