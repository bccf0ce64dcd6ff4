//! Chunks that a kernel's worker streams, and updates that come of them or are met: by one of its
//! streamers, or, where updates are kept one by one or edges have states, by itself.

use welter_engine::EngineError;
use welter_engine::chunks::{
    ExtendedKernel, FoldKernel, Kernel, Records, UpdateKey, open_updates, states, with_states,
};
use welter_protocol::ids::Phase;
use welter_protocol::work::{Filled, Rewritten};
use welter_protocol::{Outcome, Payload};

use crate::bins::Bin;
use crate::kernel_streamer::KernelStreamer;
use crate::kernel_worker::KernelWorker;
use crate::opened::{Opened, sources};
use crate::{Streamer, other};

impl KernelWorker {
    pub(crate) fn stream(&mut self, payload: &[u8]) -> Result<Outcome, EngineError> {
        if let Some(mut streamer) = self.streamer() {
            let streamed = streamer.stream(payload);
            self.looked_at = streamer.looked_at;
            self.idle(streamer);
            return streamed;
        }
        match (self.kernel.clone(), self.opened.step.phase) {
            (_, Phase::Gather) => self.gather(payload),
            (Kernel::Fold(kernel), Phase::Fold) => self.fold(&kernel, payload),
            (Kernel::Extended(kernel), _) => self.rewrite(&kernel, payload),
            (Kernel::Fold(_), _) => Err(other("a chunk outside of any step that streams chunks")),
        }
    }

    /// Keeps the updates of edges of the cell at work.
    fn fold(&mut self, kernel: &FoldKernel, payload: &[u8]) -> Result<Outcome, EngineError> {
        let Self { opened, kept_updates, scratch, .. } = self;
        let at = opened.updates_for(opened.partition);
        let cell = opened.cut.chunk_cell(opened.graph, opened.cell(), 0);
        let pulled = cell.open(payload)?;
        let mut kept = Ok(());
        let put = |targets: &[u32], updates: &[u8]| {
            if kept.is_ok() {
                kept = kept_updates.extend(at, targets, updates);
            }
        };
        pulled.scatter(kernel, sources(kernel, &opened.sources), scratch, put)?;
        kept?;
        self.looked_at = pulled.edges();
        let (rewritten, filled) = (Rewritten::Not, Vec::new());
        Ok(Outcome::Streamed { made: 0, gathered: 0, rewritten, filled })
    }

    /// Shows the edges of a chunk what their ends say, and keeps the updates of these.
    fn rewrite(&mut self, kernel: &ExtendedKernel, payload: &[u8]) -> Result<Outcome, EngineError> {
        let Self { opened, states: kept_states, kept_updates, scratch, .. } = self;
        let cell = opened.cut.chunk_cell(opened.graph, opened.cell(), 0);
        let (pulled, held) = states(kernel.shape().state, &cell, payload)?;
        kept_states.clear();
        kept_states.extend(held);
        let at = opened.updates_for(opened.partition);
        let is_fold = opened.step.phase == Phase::Fold;
        let ends = [&opened.sources.signals[..], &opened.own.signals[..]];
        let mut kept = Ok(());
        let put = |targets: &[u32], updates: &[u8]| {
            if !is_fold {
                kept_updates.list().extend(targets, updates);
            } else if kept.is_ok() {
                kept = kept_updates.extend(at, targets, updates);
            }
        };
        pulled.extend(kernel, ends, kept_states, scratch, put)?;
        kept?;
        let made = pulled.edges();
        let rewritten = with_states(&payload[..pulled.bytes()], kept_states).into();
        let rewritten = Rewritten::InPlace(rewritten);
        let most = opened.cut.chunk_records;
        self.looked_at = made;
        let (mut filled, gathered) = (Vec::new(), 0);
        if is_fold {
            return Ok(Outcome::Streamed { made: 0, gathered, rewritten, filled });
        }
        if self.kept_updates.list().is_full(most) {
            filled = self.flush();
        }
        Ok(Outcome::Streamed { made, gathered, rewritten, filled })
    }

    /// Chunks of all that is left in buffers.
    pub(crate) fn flush(&mut self) -> Vec<Filled> {
        let Self { opened, streamers, resources, kept_updates, .. } = self;
        let (graph, at) = opened.updates_for(opened.partition);
        let Kernel::Fold(kernel) = &opened.kernel else {
            return kept_updates.list().take((graph, at), &**resources).into_iter().collect();
        };
        // In the order of their numbers, which is the other way round.
        let mut streamers = streamers.iter_mut().rev();
        let Some(KernelStreamer { bins, combiner, .. }) = streamers.next() else {
            return Vec::new();
        };
        let cut = &opened.cut;
        let combines = cut.combines && kernel.shape().capabilities.combines;
        let mut take = |(stripe, bin): (u32, &mut Bin)| {
            if combines {
                bin.combine(kernel, combiner, (cut.stripe_bits, cut.vertices(stripe)));
            }
            bin.take((graph, UpdateKey { stripe, ..at }), &**resources)
        };
        let mut filled = Vec::new();
        for others in streamers {
            for ((stripe, bin), more) in (0..).zip(&mut *bins).zip(&mut others.bins) {
                // No chunk has more records than a chunk, or more updates than can be counted.
                if bin.is_beyond(more, cut.chunk_records) {
                    filled.extend(take((stripe, &mut *bin)));
                }
                bin.append(more);
            }
        }
        filled.extend((0..).zip(bins).filter_map(take));
        filled
    }

    /// Keeps updates for the open partition.
    fn keep<'b>(&mut self, payload: &'b [u8]) -> Result<Records<'b>, EngineError> {
        let at = self.opened.updates_for(self.opened.partition);
        let records = open_updates(self.kernel.shape().record(), at, payload)?;
        self.kept_updates.extend(at, records.targets, records.accums)?;
        Ok(records)
    }

    fn gather(&mut self, payload: &[u8]) -> Result<Outcome, EngineError> {
        let records = self.keep(payload)?;
        self.looked_at = records.targets.len() as u64;
        let (gathered, rewritten, filled) = (records.updates, Rewritten::Not, Vec::new());
        Ok(Outcome::Streamed { made: 0, gathered, rewritten, filled })
    }

    pub(crate) fn merge(&mut self, payload: &[u8]) -> Result<Outcome, EngineError> {
        match (self.kernel.clone(), self.streamer()) {
            (Kernel::Fold(kernel), Some(mut streamer)) => {
                let met = streamer.gather(&self.opened, &kernel, payload);
                self.idle(streamer);
                met?;
            }
            _ => {
                self.keep(payload)?;
            }
        }
        if let Kernel::Fold(_) = self.kernel {
            self.looked_at = self.opened.cut.vertices(self.opened.partition) as u64;
        }
        Ok(Outcome::Merged)
    }

    /// Updates that a stealer has gathered, as a chunk.
    pub(crate) fn hand_over(&mut self) -> Result<Payload, EngineError> {
        let opened = Opened::alone(&mut self.opened)?;
        let at = opened.updates_for(opened.partition);
        match &self.kernel {
            Kernel::Fold(kernel) if kernel.shape().capabilities.combines => {
                Ok(opened.accums.touched(kernel, at)?.into())
            }
            _ => {
                let payload = self.kept_updates.chunk(at)?.into();
                self.kept_updates.clear()?;
                Ok(payload)
            }
        }
    }
}
