//! State that a worker has all along: accumulators of its stripes in a range, and columns on their
//! way.

use std::sync::Mutex;

use super::columns::{RangesColumns, WorkerColumns};
use super::pass::{Pass, StripeSlice};
use crate::EngineError;
use crate::columns::stripe_columns::StripeColumns;
use crate::columns::windows::SignalWindow;
use crate::edges::graph::{Graph, Stripe};
use crate::edges::read_ahead::UpcomingTasks;
use crate::kernels::seam::{AnyKernel, Kernel};
use crate::kernels::shape::KernelShape;
use crate::machine::arena::Buffer;
use crate::machine::sync::lock;
use crate::schedules::edge_fold::{EdgeReader, Targets};
use crate::schedules::frontier::Masks;
use crate::schedules::lane::Lane;

/// Accumulators, buffers and counts of a worker.
pub(super) struct WorkerState<'g> {
    /// Accumulators of the worker's stripes in a range, each at a multiple of the largest width.
    accums: Buffer<u8>,
    /// Signals of these stripes, at the same places, where edges look at their targets.
    targets: Buffer<u8>,
    flags: Buffer<u8>,
    pub(super) reader: EdgeReader<'g>,
    /// Vertices that are active now.
    pub(super) active: u64,
    pub(super) io: WorkerColumns<'g>,
}

impl<'g> WorkerState<'g> {
    pub(super) fn new(
        graph: &'g Graph,
        shape: &KernelShape,
        columns: &'g RangesColumns,
        stripes: usize,
    ) -> Result<Self, EngineError> {
        let widest = graph.stripes.iter().map(Stripe::width).max().unwrap_or(0);
        let width = stripes << graph.layout.stripe_bits;
        let targets = if shape.state > 0 { width * shape.signal } else { 0 };
        let flags = if shape.capabilities.frontier { widest } else { 0 };
        Ok(Self {
            accums: Buffer::zeroed(width * shape.accum)?,
            targets: Buffer::zeroed(targets)?,
            flags: Buffer::in_order(flags)?,
            reader: EdgeReader::new(graph)?,
            active: 0,
            io: WorkerColumns::new(columns)?,
        })
    }

    /// Makes signals from the values of a stripe.
    pub(super) fn take_up(
        &mut self,
        (graph, kernel): (&Graph, &dyn Kernel),
        part: StripeSlice<'_>,
        active: &Mutex<Masks>,
    ) -> Result<(), EngineError> {
        let (io, stripe) = (&mut self.io, part.number);
        io.values.fetch(stripe)?;
        let values = io.values.take(stripe)?;
        if let Some(io) = &mut io.active {
            io.fetch(stripe)?;
            let column = io.take(stripe)?;
            self.flags.copy_from_slice(&column);
            io.done(column);
        }
        self.apply_stripe(graph, (part, values), active, |_, values, columns| {
            columns.resume(kernel, values);
        })
    }

    /// Begins a range: accumulators that have met nothing, and signals of their vertices where
    /// edges look at these.
    pub(super) fn begin(
        &mut self,
        pass: &Pass<'_, 'g>,
        stripes: &[StripeSlice<'_>],
    ) -> Result<(), EngineError> {
        let graph = pass.context.graph;
        let shape = *pass.edges.kernel.kernel().shape();
        let bits = graph.layout.stripe_bits;
        if let AnyKernel::Extended(_) = pass.edges.kernel {
            let signals = &mut self.io.signals;
            signals.turn(pass.now.signals)?;
            for (place, &StripeSlice { number: stripe, .. }) in stripes.iter().enumerate() {
                signals.fetch(stripe)?;
                let column = signals.take(stripe)?;
                let bytes = graph.stripes[stripe].width() * shape.signal;
                let first = (place << bits) * shape.signal;
                self.targets[first..first + bytes].copy_from_slice(&column[..bytes]);
                signals.done(column);
            }
            signals.turn(pass.next.signals)?;
        }
        for (place, &StripeSlice { number: stripe, .. }) in stripes.iter().enumerate() {
            let accums = &mut self.accums[(place << bits) * shape.accum..];
            let accums = &mut accums[..graph.stripes[stripe].width() * shape.accum];
            match pass.edges.kernel {
                AnyKernel::Fold(kernel) if shape.capabilities.knows_target => {
                    self.io.values.fetch(stripe)?;
                    let values = self.io.values.take(stripe)?;
                    kernel.begin(&values, accums);
                    self.io.values.done(values);
                }
                kernel => kernel.kernel().clear(accums),
            }
        }
        match stripes.first() {
            Some(first) => self.io.values.fetch(first.number),
            None => Ok(()),
        }
    }

    /// Makes new values of the stripes of a range, which have met all windows.
    pub(super) fn apply(
        &mut self,
        pass: &Pass<'_, 'g>,
        stripes: Vec<StripeSlice<'_>>,
    ) -> Result<(), EngineError> {
        let (graph, kernel) = (pass.context.graph, pass.edges.kernel.kernel());
        let width = kernel.shape().accum << graph.layout.stripe_bits;
        let mut stripes = stripes.into_iter().enumerate().peekable();
        while let Some((place, part)) = stripes.next() {
            let values = self.io.values.take(part.number)?;
            self.apply_stripe(graph, (part, values), &pass.active, |accums, values, columns| {
                columns.apply((graph, kernel), (&accums[place * width..], pass.last), values);
            })?;
            if let Some((_, next)) = stripes.peek() {
                self.io.values.fetch(next.number)?;
            }
        }
        Ok(())
    }

    /// Makes the new values of a stripe, and writes them with all that follows from them.
    pub(super) fn apply_stripe(
        &mut self,
        graph: &Graph,
        (StripeSlice { number, totals }, mut values): (StripeSlice<'_>, Buffer<u8>),
        masks: &Mutex<Masks>,
        applied: impl Fn(&[u8], &mut [u8], &mut StripeColumns<'_>),
    ) -> Result<(), EngineError> {
        let stripe = &graph.stripes[number];
        let Self { accums, flags, active, io, .. } = self;
        let mut signals = io.signals.blank()?;
        let mut columns = StripeColumns {
            stripe,
            signals: &mut signals,
            active: &mut *flags,
            totals,
            active_count: stripe.width() as u64,
        };
        applied(accums, &mut values, &mut columns);
        *active += columns.active_count;
        if !flags.is_empty() {
            let own = &flags[..stripe.width()];
            lock(masks).add(graph, stripe.vertices.start, own);
        }
        if let Some(io) = &mut io.active {
            let mut column = io.blank()?;
            column.copy_from_slice(flags);
            io.put(number, column)?;
        }
        io.signals.put(number, signals)?;
        io.values.put(number, values)
    }

    /// Folds the edges of a task into the accumulators at a place. `at`: its number, and those of
    /// the tasks that the worker will fold then.
    pub(super) fn fold(
        &mut self,
        pass: &Pass<'_, '_>,
        (at, place): ((usize, &mut UpcomingTasks<'_>), usize),
        window: &SignalWindow,
        lane: Option<&mut Lane<'_, '_>>,
    ) -> Result<(), EngineError> {
        let shape = *pass.edges.kernel.kernel().shape();
        let first = place << pass.edges.graph.layout.stripe_bits;
        let targets = Targets {
            accums: &mut self.accums[first * shape.accum..],
            signals: self.targets.get(first * shape.signal..).unwrap_or_default(),
        };
        self.reader.fold(&pass.edges, at, window.sources(shape.signal), targets, lane)
    }
}
