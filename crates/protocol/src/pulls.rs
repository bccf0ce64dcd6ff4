//! The input of a partition as a computation engine sees it (Chaos, sections 6.3 and 6.5): chunks
//! from anywhere, until nobody has one.
//!
//! ```text
//! engines = open + asked + said "none"           disjoint
//! ended  <=>  all engines said "none", and every chunk that came was streamed
//! asked + waiting <= window
//! ```
//!
//! **Invariant:** one pull at a time is open at an engine. A "none" holds for the rest of the step:
//! nothing is added to what a step streams once it has begun.

use std::collections::{BTreeMap, VecDeque};

use crate::context::Context;
use crate::messages::{Message, Pull};
use crate::names::{Block, Payload, Rank, Step};
use crate::planted::Bug;
use crate::window::{Window, draw};

/// Pulls of one engine for one partition.
#[derive(Default)]
pub(crate) struct Pulls {
    open: Vec<Rank>,
    asked: BTreeMap<Rank, Pull>,
    waiting: VecDeque<(Block, Payload)>,
}

impl Pulls {
    pub(crate) fn of_all(machines: usize) -> Self {
        Self { open: (0..machines).collect(), ..Self::default() }
    }

    /// Asks as many engines as the window allows.
    pub(crate) fn fill(
        &mut self,
        cx: &mut Context,
        window: &Window,
        (step, partition, active): (Step, u32, u64),
    ) {
        while !self.open.is_empty() && self.asked.len() + self.waiting.len() < window.size() {
            let engine = draw(&mut self.open, &mut cx.random);
            let pull = Pull { step, partition, active, sent: cx.now };
            self.asked.insert(engine, pull);
            cx.send(engine, Message::Pull(pull));
        }
    }

    /// A chunk has come.
    pub(crate) fn chunk(&mut self, engine: Rank, chunk: (Block, Payload)) {
        if self.asked.remove(&engine).is_some() {
            self.open.push(engine);
        }
        self.waiting.push_back(chunk);
    }

    /// An engine has none.
    pub(crate) fn none(&mut self, cx: &Context, engine: Rank) {
        self.asked.remove(&engine);
        if cx.config.has(Bug::FirstNoneEnds) {
            self.open.clear();
        }
    }

    /// The next chunk to stream.
    pub(crate) fn next(&mut self) -> Option<(Block, Payload)> {
        self.waiting.pop_front()
    }

    pub(crate) fn ended(&self) -> bool {
        self.open.is_empty() && self.asked.is_empty() && self.waiting.is_empty()
    }
}
