//! Scatter: updates along the edges of a sub-range, into messages, singly or combined.
//!
//! Edges lie by the stripe that they lead to, so what is combined needs accumulators of one stripe
//! at a time, which stay in a cache, and leave before the next one begins if they were touched. A
//! sub-range
//! is told at once that nothing more comes, so it may apply while others are still sent to.

use std::sync::Arc;

use welter_engine::chunks::{Column, DecodeBuffers, FoldKernel, Kernel, Sources};
use welter_protocol::partitions::Partitions;
use welter_transport::TxLane;

use super::combining::{Combined, Costs, Load};
use super::edges::{EdgeChunk, Edges, SourceParts};
use super::error::Stop;
use super::messages::Messages;
use super::{Combine, Transport};

/// Edges of a sub-range of sources, and what it takes to scatter along them.
pub(super) struct Scattering {
    pub(super) kernel: FoldKernel,
    pub(super) cut: Arc<Partitions>,
    /// The sub-range.
    pub(super) place: u32,
    pub(super) edges: Edges,
    pub(super) combine: Combine,
    pub(super) transport: Transport,
    scratch: DecodeBuffers,
    /// Accumulators for updates to a stripe before they are sent; none has met any between two.
    stripe: Column,
    /// A chunk that was read.
    read: Column,
    /// Choices of this iteration.
    combined: Combined,
}

impl Scattering {
    /// Of edges that are yet to come.
    pub(super) fn new(
        kernel: FoldKernel,
        (cut, place): (Arc<Partitions>, u32),
        (combine, transport): (Combine, Transport),
    ) -> Self {
        Self {
            kernel,
            cut,
            place,
            edges: Edges::default(),
            combine,
            transport,
            scratch: DecodeBuffers::default(),
            stripe: Column::default(),
            read: Column::default(),
            combined: Combined::default(),
        }
    }

    /// Choices since this was called last.
    pub(super) fn take_combined(&mut self) -> Combined {
        std::mem::take(&mut self.combined)
    }

    /// Sends what the sources of all edges say, if they are active, as long as the run is not over:
    /// what is sent then is of no use. Rings to sub-ranges that are done have ended the iteration.
    pub(super) fn scatter<L: TxLane>(
        &mut self,
        (signals, active): (&[u8], &[u8]),
        messages: &mut Messages<L>,
        mut is_over: impl FnMut() -> bool,
    ) -> Result<(), Stop> {
        let frontier = self.kernel.shape().capabilities.frontier;
        let (parts, share) = if frontier { actives(active) } else { (u64::MAX, 1.0) };
        let sources = Sources { signals, active: frontier.then_some(active) };
        for to in lacking(&self.edges.chunks, self.cut.count()) {
            messages.end_ring(to)?;
        }
        let chunks = std::mem::take(&mut self.edges.chunks);
        // Each begins with another destination, so that not all send to one.
        let first = chunks.partition_point(|chunk| chunk.other <= self.place);
        let (early, late) = chunks.split_at(first);
        let same = |one: &EdgeChunk, next: &EdgeChunk| one.other == next.other;
        let mut targets = late.chunk_by(same).chain(early.chunk_by(same));
        let done = targets.try_for_each(|chunks| -> Result<(), Stop> {
            let gain = self.gain(chunks, share);
            let target = chunks.first().map(|chunk| chunk.other as usize);
            self.combined.gain += gain.unwrap_or(0);
            for stripe in chunks.chunk_by(|one, next| one.ends == next.ends) {
                let chunks = stripe.iter().filter(|chunk| chunk.sources & parts != 0);
                let chunks = chunks.take_while(|_| !is_over());
                match gain {
                    Some(_) => self.combined(chunks, sources, messages)?,
                    None => self.singly(chunks, sources, messages)?,
                }
            }
            if let Some(target) = target {
                messages.end_ring(target)?;
            }
            Ok(())
        });
        self.edges.chunks = chunks;
        done
    }

    /// Nanoseconds that are expected to be gained if updates along these edges, to one sub-range,
    /// are combined. None where they are not to be.
    fn gain(&self, chunks: &[EdgeChunk], active: f64) -> Option<u64> {
        let (shape, target) = (self.kernel.shape(), chunks.first()?.other);
        if !shape.capabilities.combines || self.combine == Combine::Never {
            return None;
        }
        let range = self.cut.range(target);
        let load = Load {
            edges: chunks.iter().map(|chunk| chunk.edges).sum(),
            vertices: range.end - range.start,
            message_bytes: shape.record() + size_of::<u32>(),
        };
        let machine = |sub_range: u32| sub_range as usize % self.cut.machines();
        let is_own = machine(target) == machine(self.place);
        let gain = load.gain(Costs::of((!is_own).then_some(self.transport)), active);
        (self.combine == Combine::Always || gain > 0.0).then_some(gain.max(0.0) as u64)
    }

    fn singly<'c, L: TxLane>(
        &mut self,
        chunks: impl Iterator<Item = &'c EdgeChunk>,
        sources: Sources<'_, u8>,
        messages: &mut Messages<L>,
    ) -> Result<(), Stop> {
        let Self { kernel, edges, scratch, read, .. } = self;
        for chunk in chunks {
            let cell = chunk.cell(&self.cut, self.place);
            let pulled = edges.open(chunk, &cell, read)?;
            let mut ring = messages.stripe(chunk.other as usize, first(&self.cut, chunk));
            let sent = pulled.send(kernel, sources, scratch, &mut ring);
            sent.map_err(|error| messages.stop(error))?;
        }
        Ok(())
    }

    /// Folds along edges that lead to one stripe, and sends what that came to.
    fn combined<'c, L: TxLane>(
        &mut self,
        chunks: impl Iterator<Item = &'c EdgeChunk>,
        sources: Sources<'_, u8>,
        messages: &mut Messages<L>,
    ) -> Result<(), Stop> {
        let Self { kernel, edges, scratch, stripe, read, .. } = self;
        let accum_bytes = kernel.shape().accum;
        let (mut met, mut updates) = (None, 0);
        for chunk in chunks {
            let cell = chunk.cell(&self.cut, self.place);
            let bytes = (cell.targets.end - cell.targets.start) as usize * accum_bytes;
            if stripe.len() < bytes {
                stripe.resize(bytes);
                Kernel::Fold(kernel.clone()).clear(stripe);
            }
            let pulled = edges.open(chunk, &cell, read)?;
            pulled.fold(kernel, sources, &mut stripe[..bytes], scratch)?;
            updates += pulled.edges();
            met = Some((chunk.other as usize, first(&self.cut, chunk), bytes));
        }
        let Some((target, first, bytes)) = met else { return Ok(()) };
        let before = messages.sent(target);
        let sent = kernel.drain(&mut stripe[..bytes], &mut messages.stripe(target, first));
        sent.map_err(|error| messages.stop(error))?;
        let sent = messages.sent(target) - before;
        messages.stand_for(target, updates.saturating_sub(sent));
        self.combined.updates += updates;
        self.combined.messages += sent;
        Ok(())
    }
}

/// The first destination of a chunk, in its sub-range.
fn first(cut: &Partitions, chunk: &EdgeChunk) -> u32 {
    (chunk.ends.start - cut.range(chunk.other).start) as u32
}

/// Sub-ranges, of as many, to which none of these chunks leads, which lie in their order.
fn lacking(chunks: &[EdgeChunk], sub_ranges: u32) -> Vec<usize> {
    let mut chunks = chunks.chunk_by(|one, next| one.other == next.other).peekable();
    let mut has = |to: u32| chunks.next_if(|group| group[0].other == to).is_some();
    (0..sub_ranges).filter(|&to| !has(to)).map(|to| to as usize).collect()
}

/// Parts of vertices that have active ones, and the share of those that are.
fn actives(active: &[u8]) -> (u64, f64) {
    let (all, sources) = (active.len(), SourceParts::of(active.len()));
    let places = active.iter().enumerate().filter(|(_, active)| **active != 0);
    let (parts, count) = places.fold((0, 0_usize), |(parts, count), (place, _)| {
        (parts | sources.part_of(place), count + 1)
    });
    (parts, count as f64 / all.max(1) as f64)
}
