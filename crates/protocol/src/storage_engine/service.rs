//! In which order a storage engine reads and writes: in that in which requests come, reads and
//! writes alike, as many at a time as the disk wants (`Config::depth`; one in Chaos, section 6.2),
//! each chunk whole.
//!
//! ```text
//! begins(r1) <= begins(r2) <= ...                for requests r1, r2, ... in their order
//! |{ r : begins(r) <= t < ends(r) }| <= depth    for all t
//! queued(r)  = begins(r) - arrives(r)            service(r) = ends(r) - begins(r)
//! ```
//!
//! Two kinds of requests have no turn, for they need no disk: pulls of which it is known that no
//! chunk is left, and chunks of vertex sets where these stay in memory (`Config::vertex_sets`). The
//! machine that asks waits for both with all that it has: behind chunks that others pull, each of
//! its cells would end as late as the longest of all queues.
//!
//! **Invariant:** with a depth of 1 `service`, which computation engines take for `R_storage` of
//! equation 1 ([`crate::window`]), has no wait for other requests in it. With more, it is what one
//! takes of as many that share the disk. Tested by
//! `what_is_measured_as_service_has_no_wait_in_it`; checked by the simulator in `Windows::effect`.
//!
//! **Invariant:** the number of copies that were sent is reported after all of them, and counts
//! those alone that could be read. Tested by `the_end_of_copies_comes_after_all_of_them`.

use super::StorageEngine;
use super::requests::{Request, RequestKind, Service};
use crate::block::Damage;
use crate::config::VertexSets;
use crate::context::Context;
use crate::counters::Path;
use crate::ids::{Block, BlockName, Cell, Kind, Rank, Time};
use crate::messages::{Effect, Message, Pull, Stock};
use crate::payload::Payload;
use crate::planted::Bug;
use crate::rewriting::streamed;

impl StorageEngine {
    pub(crate) fn pull(&mut self, cx: &mut Context, from: Rank, pull: Pull) {
        if self.step.is_none_or(|step| step < pull.step) {
            cx.counters.count(Path::PulledEarly);
            if cx.config.has(Bug::EagerCursor) {
                let stock = self.stock(cx, pull);
                return cx.send(from, Message::NoChunk { pull, stock });
            }
        }
        // All chunks of a step that has begun are here, so nothing need be waited for.
        if self.step == Some(pull.step) && !self.has_any(cx, pull) {
            if !self.service.busy.is_empty() {
                cx.counters.count(Path::NoneAtOnce);
            }
            let stock = self.stock(cx, pull);
            return cx.send(from, Message::NoChunk { pull, stock });
        }
        self.service.ask(cx.now, from, RequestKind::Chunk(pull));
        self.serve(cx);
    }

    /// Whether any chunk is left for a pull.
    fn has_any(&mut self, cx: &mut Context, pull: Pull) -> bool {
        let set = self.sets.entry(streamed(pull.step, pull.generation, pull.cell)).or_default();
        set.reset(pull.step, pull.active);
        let any = set.has_any(pull.active);
        if !any && !set.left.is_empty() {
            cx.counters.count(Path::Inactive);
        }
        any
    }

    pub(crate) fn get(&mut self, cx: &mut Context, from: Rank, name: BlockName) {
        let held = cx.config.vertex_sets == VertexSets::Memory;
        if held && name.kind == Kind::Vertices {
            let (token, wanted) = (cx.token(), RequestKind::Block(name));
            cx.effects.extend(effect(token, &wanted));
            let request = Request { from, since: cx.now, wanted };
            self.service.beside.insert(token, (cx.now, request));
            if !self.service.busy.is_empty() {
                cx.counters.count(Path::ReadBeside);
            }
            return;
        }
        self.service.ask(cx.now, from, RequestKind::Block(name));
        self.serve(cx);
    }

    /// Keeps a block for a machine.
    pub(crate) fn store(&mut self, cx: &mut Context, from: Rank, block: Block, payload: Payload) {
        self.service.ask(cx.now, from, RequestKind::Store(block, payload));
        self.serve(cx);
    }

    /// Keeps a block that was lost here, from its copy.
    pub(crate) fn restore(&mut self, cx: &mut Context, block: Block, payload: Payload) {
        self.service.ask(cx.now, cx.rank, RequestKind::Restore(block, payload));
        self.serve(cx);
    }

    /// Serves the next requests, as many as the disk wants at a time.
    pub(super) fn serve(&mut self, cx: &mut Context) {
        let depth = if cx.config.has(Bug::DepthIgnored) { usize::MAX } else { cx.config.depth };
        while self.service.busy.len() < depth.max(1) {
            let Some(Request { from, since, wanted }) = self.service.queue.pop_front() else {
                return;
            };
            let wanted = match wanted {
                RequestKind::Chunk(pull) => {
                    let Some(block) = self.pick(cx, pull) else {
                        let stock = self.stock(cx, pull);
                        cx.send(from, Message::NoChunk { pull, stock });
                        continue;
                    };
                    RequestKind::Read(pull, block)
                }
                RequestKind::CopiesEnd(role, _) if self.service.is_copying(from, role) => {
                    return self.service.queue.push_front(Request { from, since, wanted });
                }
                RequestKind::CopiesEnd(role, count) => {
                    cx.send(from, Message::CopiesEnd { role, count });
                    continue;
                }
                wanted => wanted,
            };
            let token = cx.token();
            cx.effects.extend(effect(token, &wanted));
            self.service.busy.insert(token, (cx.now, Request { from, since, wanted }));
            if self.service.busy.len() > 1 {
                cx.counters.count(Path::Overlapped);
            }
        }
    }

    /// A chunk for a pull, if any is left.
    fn pick(&mut self, cx: &mut Context, pull: Pull) -> Option<Block> {
        let set = self.sets.entry(streamed(pull.step, pull.generation, pull.cell)).or_default();
        set.reset(pull.step, pull.active);
        let forgets = cx.config.has(Bug::HandedTwice) && cx.random.chance(30);
        let first = cx.config.has(Bug::WrongSummary);
        let planted = [forgets, first, cx.config.tolerates(Bug::HandedTwice)];
        let block = set.take(cx.config.sets, pull.active, planted);
        if block.is_none() && !set.left.is_empty() {
            cx.counters.count(Path::Inactive);
        }
        block
    }

    /// Stock here when a pull is answered. In a step that has not begun here it is not known which
    /// sources are active, so all cells that have a chunk are listed.
    fn stock(&mut self, cx: &mut Context, pull: Pull) -> Stock {
        let Pull { step, cell, generation, active, lists, .. } = pull;
        let set = self.sets.get(&streamed(step, generation, cell));
        let more = set.is_some_and(|set| set.may_have(step, active));
        let mut cells = Vec::new();
        let is_begun = self.step == Some(step);
        let left = is_begun.then(|| self.remaining(cx, step, cell.partition).bytes);
        if lists {
            let ends = [None, Some(u32::MAX)].map(|source| Cell { source, ..cell });
            let [first, last] = ends.map(|cell| streamed(step, generation, cell));
            for ((.., cell), set) in self.sets.range(first..=last) {
                let active = if is_begun { self.active(step, *cell) } else { u64::MAX };
                cells.extend(cell.source.filter(|_| set.may_have(step, active)));
            }
            if cx.config.has(Bug::CellUntold) && cx.random.chance(300) {
                cells.pop();
            }
        }
        Stock { more, left, cells }
    }

    /// The request that the device has just ended, if it was this.
    fn ended(&mut self, token: u64) -> Option<(Time, Request)> {
        let Service { busy, beside, .. } = &mut self.service;
        busy.remove(&token).or_else(|| beside.remove(&token))
    }

    /// A block was read, or cannot be.
    pub(crate) fn read(
        &mut self,
        cx: &mut Context,
        token: u64,
        result: Result<(Block, Payload), Damage>,
    ) {
        let Some((began, Request { from, since, wanted })) = self.ended(token) else { return };
        match (wanted, result) {
            (RequestKind::Read(pull, block), Ok((_, payload))) => {
                let (queued, service) = (began - since, cx.now - began);
                let stock = self.stock(cx, pull);
                cx.send(from, Message::Chunk { pull, block, payload, queued, service, stock });
            }
            (RequestKind::Block(name), Ok((_, payload))) => {
                cx.send(from, Message::Got { name, payload });
            }
            (RequestKind::Copy(_), Ok((block, payload))) => {
                cx.send(from, Message::Copied { block, payload });
            }
            (RequestKind::Copy(name), Err(_)) => {
                self.damaged(cx, name);
                self.service.one_copy_less(from, name.role);
            }
            (RequestKind::Read(_, Block { name, .. }) | RequestKind::Block(name), Err(_)) => {
                self.damaged(cx, name);
                cx.needs_new_epoch = true;
            }
            // Such blocks are not read.
            (
                RequestKind::Chunk(_)
                | RequestKind::CopiesEnd(..)
                | RequestKind::Store(..)
                | RequestKind::Restore(..),
                _,
            ) => {}
        }
        self.serve(cx);
    }

    /// A block was written. Hands out the name of one that was restored.
    pub(crate) fn written(&mut self, cx: &mut Context, token: u64) -> Option<BlockName> {
        let (_, Request { from, wanted, .. }) = self.ended(token)?;
        let restored = match wanted {
            RequestKind::Store(block, _) => {
                self.keep_block(block, false);
                cx.send(from, Message::Stored(block.name));
                None
            }
            RequestKind::Restore(block, _) => {
                self.keep_block(block, true);
                Some(block.name)
            }
            // Such blocks are not written.
            _ => None,
        };
        self.serve(cx);
        restored
    }
}

/// The effect that asks the device for it.
fn effect(token: u64, wanted: &RequestKind) -> Option<Effect> {
    match wanted {
        RequestKind::Read(_, Block { name, .. })
        | RequestKind::Block(name)
        | RequestKind::Copy(name) => Some(Effect::Read { token, name: *name }),
        RequestKind::Store(block, payload) | RequestKind::Restore(block, payload) => {
            Some(Effect::Write { token, block: *block, payload: payload.clone() })
        }
        RequestKind::Chunk(_) | RequestKind::CopiesEnd(..) => None,
    }
}
