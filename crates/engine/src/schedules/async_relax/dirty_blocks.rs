//! Changes while parts of a graph are relaxed, and the parts that have not met them yet.

use std::ops::Range;

use crate::edges::graph::{Graph, Stripe};
use crate::edges::slab_location::ChunkPlace;

/// Vertices that changed, and the parts that have not received it.
pub(super) struct DirtyBlocks<'g> {
    pub(super) graph: &'g Graph,
    /// The number of this wave.
    pub(super) wave: u64,
    /// By block of sources: the wave in which one of them changed last.
    changed: Vec<u64>,
    /// By stripe: up to and with which wave it has received all changes.
    relaxed: Vec<u64>,
    /// By stripe: whether some of its own vertices have not been sent to it.
    waiting: Vec<bool>,
}

impl<'g> DirtyBlocks<'g> {
    /// No part has met the active vertices.
    pub(super) fn new(graph: &'g Graph, active: &[u8]) -> Self {
        let active = &active[..graph.vertices() as usize];
        let any = |flags: &[u8]| flags.iter().any(|&flag| flag != 0);
        let blocks = active.chunks(1 << graph.layout.block_bits).map(|block| u64::from(any(block)));
        let waiting = |stripe: &Stripe| {
            any(&active[stripe.vertices.start as usize..stripe.vertices.end as usize])
        };
        Self {
            graph,
            wave: 2,
            changed: blocks.collect(),
            relaxed: vec![0; graph.stripes.len()],
            waiting: graph.stripes.iter().map(waiting).collect(),
        }
    }

    /// The blocks of those sources that are outside of a stripe and may have changed since it
    /// received them.
    fn unheard(&self, stripe: usize, sources: &Range<u64>) -> impl Iterator<Item = usize> + '_ {
        let bits = self.graph.layout.block_bits;
        let count = self.changed.len();
        let own = &self.graph.stripes[stripe].vertices;
        let before = sources.start..sources.end.min(own.start);
        let after = sources.start.max(own.end)..sources.end;
        let relaxed = self.relaxed[stripe];
        [before, after]
            .into_iter()
            .filter(|sources| !sources.is_empty())
            .map(move |sources| sources.start >> bits..((sources.end - 1) >> bits) + 1)
            .flat_map(move |blocks| {
                (blocks.start as usize).min(count)..count.min(blocks.end as usize)
            })
            .filter(move |&block| self.changed[block] > relaxed)
    }

    /// Whether any vertices outside a stripe, of these, may have changed since it received them.
    pub(super) fn outside(&self, stripe: usize, sources: &Range<u64>) -> bool {
        self.unheard(stripe, sources).next().is_some()
    }

    /// By block: whether a stripe that its vertices have edges to has not received a change there.
    pub(super) fn untold(&self) -> Vec<bool> {
        let mut untold = vec![false; self.changed.len()];
        for (number, stripe) in self.graph.stripes.iter().enumerate() {
            for block in stripe.chunks.iter().flat_map(|it| self.unheard(number, &it.sources)) {
                untold[block] = true;
            }
        }
        untold
    }

    /// The chunks of a stripe that have news from outside.
    pub(super) fn chunks(&self, stripe: usize) -> impl Iterator<Item = usize> {
        let chunks = &self.graph.stripes[stripe].chunks;
        let has_news = move |&chunk: &usize| {
            let place: &ChunkPlace = &chunks[chunk];
            self.outside(stripe, &place.sources)
        };
        (0..chunks.len()).filter(has_news)
    }

    /// Takes the next stripe that has news off those that are left.
    pub(super) fn next(&self, left: &mut Range<usize>) -> Option<usize> {
        left.find(|&stripe| self.waiting[stripe] || self.chunks(stripe).next().is_some())
    }

    /// A stripe has been visited. `changed`, which is cleared: of which blocks, from that of its
    /// first vertex on, a vertex changed; `waiting`: whether some have not been sent to itself.
    pub(super) fn note_changes(&mut self, stripe: usize, changed: &mut [bool], waiting: bool) {
        self.relaxed[stripe] = self.wave - 1;
        self.waiting[stripe] = waiting;
        let first = self.graph.stripes[stripe].vertices.start >> self.graph.layout.block_bits;
        for (changed, now) in self.changed[first as usize..].iter_mut().zip(changed) {
            if std::mem::take(now) {
                *changed = self.wave;
            }
        }
    }
}
