//! A central directory of chunks: what Chaos does without, to be compared with it (Figure 14).
//!
//! ```text
//! every chunk that is stored:   engine -> directory: where?      directory -> engine: there
//! every chunk that is pulled:   engine -> directory: who?        directory -> engine: one, or none
//! left(p, e) = chunks of p at e - engines that were sent to e for p in this step
//! ```
//!
//! It lies with the coordinator, and is made anew from what machines have when an epoch begins.
//!
//! **Invariant:** as many engines are sent to a storage engine in a step as it has chunks, at most:
//! so each pull finds a chunk, unless what is left has no active source.

use std::collections::BTreeMap;

use crate::context::Context;
use crate::messages::Message;
use crate::names::{BlockName, Cell, Kind, Phase, Rank, Step};

/// Chunks of one cell: how many each machine has, and how many of them are left in a step.
#[derive(Default)]
struct Shelf {
    all: Vec<u64>,
    left: Vec<u64>,
    step: Option<Step>,
}

/// Who has how many chunks of which cell.
#[derive(Default)]
pub(crate) struct Directory(BTreeMap<(Kind, Cell), Shelf>);

impl Directory {
    /// Forgets all, or all of a kind.
    pub(crate) fn clear(&mut self, only: Option<Kind>) {
        self.0.retain(|(kind, _), _| only.is_some_and(|only| *kind != only));
    }

    /// A machine has so many chunks of a cell.
    pub(crate) fn add(&mut self, machines: usize, engine: Rank, what: (Kind, Cell), count: u64) {
        let shelf = self.0.entry(what).or_default();
        shelf.all.resize(machines, 0);
        shelf.all[engine] += count;
    }

    /// Says where a chunk is to be stored.
    pub(crate) fn place(&mut self, cx: &mut Context, from: Rank, name: BlockName) {
        let engine = cx.random.below(cx.machines() as u64) as Rank;
        let shelf = self.0.entry((name.kind, name.cell())).or_default();
        shelf.all.resize(cx.machines(), 0);
        shelf.all[engine] += 1;
        cx.send(from, Message::Placed { name, engine });
    }

    /// Says who has a chunk, other than those that have said "none".
    pub(crate) fn find(
        &mut self,
        cx: &mut Context,
        from: Rank,
        (step, cell): (Step, Cell),
        none: &[Rank],
    ) {
        let kind = if step.phase == Phase::Gather { Kind::Updates } else { Kind::Edges };
        let shelf = self.0.entry((kind, cell)).or_default();
        if shelf.step != Some(step) {
            shelf.step = Some(step);
            shelf.left.clone_from(&shelf.all);
        }
        let engines = shelf.left.iter().enumerate();
        let engines = engines.filter(|(engine, left)| **left > 0 && !none.contains(engine));
        let engines: Vec<Rank> = engines.map(|(engine, _)| engine).collect();
        let engine = (!engines.is_empty()).then(|| *cx.random.pick(&engines));
        if let Some(engine) = engine {
            shelf.left[engine] -= 1;
        }
        cx.send(from, Message::Found { step, cell, engine });
    }
}
