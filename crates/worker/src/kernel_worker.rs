//! The worker of a kernel: fold programs, group programs and extended ones.
//!
//! ```text
//! edges     chunks of the store's format; behind them the states of edges, where there are any
//! updates   update chunks of the engine: accumulators, or updates where the program does not say
//!           how accumulators are merged; so is what a stealer hands over
//! total     the program's total, and of fold programs the number of active vertices u64
//! ```
//!
//! On route `fold`, and where edges look at both their ends, edges of one cell at a time are
//! streamed, and the signals of its source partition are in memory; else those of the open
//! partition are.

use std::any::Any;
use std::sync::Arc;

use welter_engine::EngineError;
use welter_engine::chunks::{Column, DecodeBuffers, Kernel, VertexTotals, init};
use welter_model::program::Next;
use welter_protocol::ids::{Bytes, Phase, Step};
use welter_protocol::{Outcome, Payload, Work};

use crate::bins::Bin;
use crate::degrees::degrees;
use crate::ingest::Ingest;
use crate::input::Input;
use crate::kept_updates::KeptUpdates;
use crate::kernel_streamer::KernelStreamer;
use crate::opened::{Opened, is_striped};
use crate::partitioning::Partitioning;
use crate::resources::{CallerAlone, Resources};
use crate::scratch::ScratchSpace;
use crate::vertices::{LoadedColumns, vertex_bytes};
use crate::{BufferedUpdates, Streamer, Worker, other};

/// A kernel, and what it has in memory of the partition that it works on.
pub struct KernelWorker {
    pub(crate) kernel: Kernel,
    ingest: Ingest,
    /// The open partition, and its vertices.
    pub(crate) opened: Arc<Opened>,
    /// Updates for the open partition that were received, of a program whose accumulators are not
    /// merged; those that were scattered, of an extended program.
    pub(crate) kept_updates: KeptUpdates,
    /// Parts that are not borrowed, and how many were made.
    pub(crate) streamers: Vec<KernelStreamer>,
    streamers_made: usize,
    pub(crate) resources: Arc<dyn Resources>,
    /// States of the edges of a chunk.
    pub(crate) states: Column,
    last: Vec<u8>,
    pub(crate) scratch: DecodeBuffers,
    pub(crate) looked_at: u64,
}

impl KernelWorker {
    /// The worker of a machine that reads this share of a graph of this number.
    ///
    /// # Errors
    /// When numbers of vertices are wider than the program has room for.
    pub fn new(
        kernel: Kernel,
        cut: Partitioning,
        graph: u64,
        input: Box<dyn Input>,
    ) -> Result<Self, EngineError> {
        let shape = *kernel.shape();
        cut.numbers_fit((shape.program)(), shape.capabilities.wide)?;
        let rewrites = matches!(kernel, Kernel::Extended(_));
        let (weighted, states) = (shape.capabilities.weighted, rewrites.then_some(shape.state));
        let ingest = Ingest::new(input, cut.clone(), (graph, weighted), (rewrites, states))
            .looking_at(shape.capabilities.degrees)
            .striped(is_striped(&kernel));
        Ok(Self {
            ingest,
            opened: Arc::new(Opened::new(kernel.clone(), cut, graph)),
            kept_updates: KeptUpdates::new(shape.update),
            streamers: Vec::new(),
            streamers_made: 0,
            resources: Arc::new(CallerAlone),
            states: Column::default(),
            last: vec![0; shape.total],
            scratch: DecodeBuffers::default(),
            looked_at: 0,
            kernel,
        })
    }

    /// Bytes of memory that kept updates took until now, at most, where they are bounded and were
    /// beyond that bound.
    pub fn kept_bytes_peak(&self) -> u64 {
        self.kept_updates.peak_bytes()
    }

    /// Bytes of a vertex on storage.
    pub fn vertex_bytes(kernel: &Kernel) -> u64 {
        vertex_bytes(kernel) as u64
    }

    fn init(&mut self, partition: u32, counts: &[Payload]) -> Result<Outcome, EngineError> {
        let Opened { kernel, cut, own, partition: open, .. } = Opened::alone(&mut self.opened)?;
        let looked_at = kernel.shape().capabilities.degrees;
        let degrees = degrees(counts, (&cut.partitions, partition), looked_at)?;
        own.begin(kernel, degrees.len());
        let first = cut.partitions.range(partition).start;
        let made = init(kernel, first, &degrees, own.columns(kernel));
        *open = partition;
        Ok(self.made(&made))
    }

    fn open(
        &mut self,
        step: Step,
        partition: u32,
        vertices: &[Payload],
        control: &[u8],
    ) -> Result<Outcome, EngineError> {
        let Self { kernel, kept_updates, last, resources, .. } = self;
        let opened = Opened::alone(&mut self.opened)?;
        let count = opened.cut.vertices(partition);
        let (total, _) = self::total(kernel, control)?;
        last.copy_from_slice(total);
        let wanted = match (&*kernel, step.phase) {
            (Kernel::Extended(_), _) => LoadedColumns::All,
            (_, Phase::Scatter) => LoadedColumns::Signals,
            _ => LoadedColumns::Values,
        };
        opened.own.load(kernel, (vertices, count), wanted, &**resources)?;
        opened.accums.begin(kernel, if step.phase == Phase::Scatter { 0 } else { count });
        kept_updates.begin(count)?;
        self.looked_at = opened.own.active.len() as u64;
        (opened.step, opened.partition) = (step, partition);
        Ok(Outcome::Opened)
    }

    fn turn(&mut self, source: u32, vertices: &[Payload]) -> Result<Outcome, EngineError> {
        let opened = Opened::alone(&mut self.opened)?;
        let (count, wanted) = (opened.cut.vertices(source), LoadedColumns::Signals);
        opened.source = source;
        opened.sources.load(&self.kernel, (vertices, count), wanted, &*self.resources)?;
        self.looked_at = opened.sources.active.len() as u64;
        Ok(Outcome::Turned)
    }

    /// The vertex set in memory, with what the next step must know of it.
    fn made(&self, made: &VertexTotals) -> Outcome {
        let Opened { kernel, cut, own, partition, .. } = &*self.opened;
        let vertices = own.chunks(kernel, cut, &*self.resources);
        let all = own.active.len() as u64;
        if let Kernel::Extended(_) = kernel {
            let active = if all == 0 { 0 } else { u64::MAX };
            return Outcome::Made { vertices, total: made.total[..].into(), active };
        }
        let count = if kernel.shape().capabilities.frontier { made.active } else { all };
        let active = cut.ranges_of(*partition, &own.active);
        Outcome::Made { vertices, total: total_bytes(&made.total, count), active }
    }

    fn apply(&mut self) -> Result<Outcome, EngineError> {
        let Self { kernel, kept_updates, last, looked_at, resources, .. } = self;
        let opened = Opened::alone(&mut self.opened)?;
        let at = opened.updates_for(opened.partition);
        *looked_at = opened.own.count(kernel) as u64;
        match &*kernel {
            Kernel::Extended(kernel) => {
                *looked_at += kept_updates.len();
                kept_updates.gather_extended(at, kernel, opened.accums.whole()?)?;
            }
            Kernel::Fold(kernel) if !is_striped(&opened.kernel) => {
                let accums = opened.accums.whole()?;
                kept_updates.gather(at, kernel, &opened.own.values, accums)?;
            }
            Kernel::Fold(_) => {}
        }
        kept_updates.clear()?;
        let made = opened.apply(last, &**resources);
        Ok(self.made(&made))
    }

    /// A streamer with the open partition, where chunks of this step are streamed side by side.
    pub(crate) fn streamer(&mut self) -> Option<KernelStreamer> {
        let is_apart = match (&self.kernel, self.opened.step.phase) {
            (Kernel::Fold(_), Phase::Scatter) => true,
            (Kernel::Fold(_), Phase::Fold | Phase::Gather) => is_striped(&self.kernel),
            _ => false,
        };
        if !is_apart || self.ingest.is_splitting() {
            return None;
        }
        let mut streamer = self.streamers.pop().unwrap_or_else(|| {
            self.streamers_made += 1;
            let number = self.streamers_made - 1;
            KernelStreamer::new(number, &self.opened, self.resources.clone())
        });
        streamer.opened = Some(self.opened.clone());
        Some(streamer)
    }

    /// Takes back a streamer.
    pub(crate) fn idle(&mut self, mut streamer: KernelStreamer) {
        streamer.opened = None;
        self.streamers.push(streamer);
        // The first comes first, so that one alone is always the same.
        self.streamers.sort_unstable_by_key(|streamer| std::cmp::Reverse(streamer.number));
    }

    fn decide(&self, iterations: u32, totals: &[(u32, Bytes)]) -> Result<Outcome, EngineError> {
        let kernel = &self.kernel;
        let (mut all, mut active) = (Vec::new(), 0);
        for (_, bytes) in totals {
            let (total, count) = total(kernel, bytes)?;
            all.extend_from_slice(total);
            active += count;
        }
        let all = kernel.total(&all);
        let goes_on = kernel.next(iterations.into(), &all) == Next::Iterate;
        Ok(match kernel {
            Kernel::Fold(_) => {
                let control = total_bytes(&all, active);
                Outcome::Decided { goes_on: goes_on && active > 0, control, rewrites: false }
            }
            Kernel::Extended(_) => {
                Outcome::Decided { goes_on, control: all.into(), rewrites: true }
            }
        })
    }
}

impl Worker for KernelWorker {
    fn work(&mut self, work: &Work) -> Result<Outcome, EngineError> {
        self.looked_at = 0;
        if matches!(work, Work::Open { .. } | Work::Ingest { first: true }) {
            // Of an epoch that has ended, perhaps, which a split or an input would wait beside.
            self.kept_updates.clear()?;
            let bins = self.streamers.iter_mut().flat_map(|streamer| &mut streamer.bins);
            bins.for_each(Bin::clear);
        }
        if let Some(outcome) = self.ingest.splits(work, &mut self.looked_at)? {
            return Ok(outcome);
        }
        match work {
            Work::Ingest { first } => self.ingest.piece(*first, &mut self.looked_at),
            Work::Init { partition, degrees } => self.init(*partition, degrees),
            Work::Open { step, partition, vertices, control } => {
                self.open(*step, *partition, vertices, control)
            }
            Work::Turn { source, vertices } => self.turn(*source, vertices),
            Work::Stream { payload, .. } => self.stream(payload),
            Work::Flush => Ok(Outcome::Flushed { filled: self.flush(), rewritten: Vec::new() }),
            Work::HandOver => Ok(Outcome::HandedOver(self.hand_over()?)),
            Work::Merge(payload) => self.merge(payload),
            Work::Apply => self.apply(),
            Work::Decide { iterations, totals, .. } => self.decide(*iterations, totals),
        }
    }

    fn keep_at_most(&mut self, updates_max: u64, scratch: Box<dyn ScratchSpace>) {
        if updates_max < u64::MAX {
            self.kept_updates.keep_at_most(updates_max, scratch);
        }
    }

    fn lend(&mut self, resources: Arc<dyn Resources>) {
        self.streamers.iter_mut().for_each(|streamer| streamer.resources = resources.clone());
        self.resources = resources;
    }

    fn borrow_streamer(&mut self) -> Option<Box<dyn Streamer>> {
        self.streamer().map(|streamer| Box::new(streamer) as Box<dyn Streamer>)
    }

    fn take_back(&mut self, streamer: Box<dyn Streamer>) {
        let streamer: Box<dyn Any> = streamer;
        if let Ok(streamer) = streamer.downcast::<KernelStreamer>() {
            self.idle(*streamer);
        }
    }

    fn looked_at(&self) -> u64 {
        self.looked_at
    }

    fn held(&self) -> BufferedUpdates {
        let (kept, bytes) = self.kept_updates.held();
        let bins = self.streamers.iter().flat_map(|streamer| &streamer.bins);
        BufferedUpdates { binned: bins.map(|bin| u64::from(bin.waiting())).sum(), kept, bytes }
    }
}

fn total_bytes(total: &[u8], active: u64) -> Bytes {
    [total, &active.to_le_bytes()].concat().into()
}

/// A total, and the number of active vertices where that comes with it.
fn total<'a>(kernel: &Kernel, bytes: &'a [u8]) -> Result<(&'a [u8], u64), EngineError> {
    let wrong = || other(format!("a total of {} bytes", bytes.len()));
    let (total, rest) = bytes.split_at_checked(kernel.shape().total).ok_or_else(wrong)?;
    match kernel {
        Kernel::Extended(_) => rest.is_empty().then_some((total, 0)),
        Kernel::Fold(_) => rest.try_into().ok().map(|count| (total, u64::from_le_bytes(count))),
    }
    .ok_or_else(wrong)
}
