//! The computation thread of a sub-range of a fold program: it reads its share of the input, and
//! then applies and scatters, iteration by iteration.
//!
//! ```text
//! iteration 0    its share of the edges is sent to the owners of their sources; those that came
//!                here get degrees, and vertices their first values, or those of a checkpoint
//! iteration i    scatter: signals along edges, into buckets; a last bucket to each sub-range when
//!                nothing more goes there
//!                order: all machines have met the barrier of i - 1
//!                the accumulator thread hands over a whole set
//!                apply: values of it; totals go to the barrier    the empty set goes back
//! ```
//!
//! The set of a sub-range is whole when all threads have sent their last bucket *there*, so
//! vertices are applied while other machines still send to others. Where a sub-range has two sets,
//! the next scatter begins then, before the barrier is met: it needs signals alone, and totals of
//! an iteration are wanted by the next `apply`, which waits for the order. So a thread is ahead of
//! the others by one scatter at most. Messages of a run that turns out to be at its end are folded
//! by accumulator threads into a set that is never applied, and are in no count. Accumulators that
//! begin from values, and updates that are grouped, have one set, which is not empty before it was
//! applied: there the scatter waits for the order (docs/decisions/158).
//!
//! **Invariant:** a set of accumulators is given back before the thread sends anything of the next
//! iteration, so there is one at each accumulator thread when messages of an iteration come.
//! Checked in `Set::gathered`. **Invariant:** no iteration is applied that the barrier before
//! it did not decide on. Checked in `Computing::run`, by its order. Tested by
//! `the_next_iteration_is_sent_before_its_order_and_applied_after_it`.

use std::time::{Duration, Instant};

use welter_engine::chunks::{Column, FoldKernel, Kernel, VertexTotals, Vertices, apply, init};
use welter_transport::TxLane;
use welter_worker::Input;

use super::checkpoint::{Checkpoints, Due};
use super::cutting::bounds_of;
use super::edges::OwnedEnd;
use super::error::Stop;
use super::folding::Count;
use super::gathered::{FoldSet, IncomingUpdates};
use super::messages::Sent;
use super::scattering::Scattering;
use super::turns::{Order, Turn, Turns};

/// The thread.
pub(super) struct Computing<L> {
    kernel: FoldKernel,
    turns: Turns<L, FoldSet>,
    scattering: Scattering,
    values: Column,
    signals: Column,
    active: Vec<u8>,
    /// Accumulators that come of groups.
    grouped: Column,
    /// Bytes of updates that wait for their group, at most.
    room_bytes: u64,
    checkpoints: Checkpoints,
    kept: (u64, Duration),
}

impl<L: TxLane> Computing<L> {
    /// A thread with these turns.
    pub(super) fn new(
        kernel: FoldKernel,
        turns: Turns<L, FoldSet>,
        (scattering, checkpoints, room_bytes): (Scattering, Checkpoints, u64),
    ) -> Self {
        Self {
            kernel,
            turns,
            scattering,
            values: Column::default(),
            signals: Column::default(),
            active: Vec::new(),
            grouped: Column::default(),
            room_bytes,
            checkpoints,
            kept: Default::default(),
        }
    }

    /// Works until there is a result, from the checkpoint of an iteration where there is one.
    pub(super) fn run(mut self, input: Box<dyn Input>, from: Option<u64>) -> Result<(), Stop> {
        self.begin(input, from)?;
        // Counts of the next iteration, where that was sent.
        let mut ahead: Option<Sent> = None;
        loop {
            match self.turns.order()? {
                Order::Iterate(iteration, last, due) => {
                    self.keep(due.as_ref())?;
                    let sent = ahead.take().map_or_else(|| self.scatter(), Ok)?;
                    self.iterate((iteration, &last), sent)?;
                    if self.kernel.shape().capabilities.combines {
                        ahead = Some(self.scatter()?);
                    }
                }
                Order::End => {
                    let edges = self.scattering.edges.count;
                    return self.turns.end(self.ended(), edges);
                }
            }
        }
    }

    /// Sends the edges of its share to their owners, takes its own, and makes first values.
    fn begin(&mut self, input: Box<dyn Input>, from: Option<u64>) -> Result<(), Stop> {
        let weighted = self.kernel.shape().capabilities.weighted;
        let (sent, edges, folded) = self.turns.edges(input, (OwnedEnd::Source, weighted))?;
        self.turns.messages.set_record_bytes(self.kernel.shape().record());
        let came = edges.count;
        self.scattering.edges = edges;
        let first = self.turns.first();
        let degrees = std::mem::take(&mut self.scattering.edges.degrees);
        let count = degrees.len();
        let kernel = Kernel::Fold(self.kernel.clone());
        let made = match from {
            None => init(&kernel, first, &degrees, self.vertices(count)),
            Some(iteration) => self.restored(iteration, count)?,
        };
        for updates in IncomingUpdates::sets(&self.kernel, &self.values, self.room_bytes) {
            self.turns.give(FoldSet { kernel: self.kernel.clone(), updates });
        }
        self.done(made, (sent, folded), came)
    }

    /// Vertices as they are in the checkpoint of an iteration, whose bounds are those of the epoch,
    /// or its file was left by an epoch that was cut otherwise. Totals are those of its barrier,
    /// which all machines have heard.
    fn restored(&mut self, iteration: u64, count: usize) -> Result<VertexTotals, Stop> {
        let shape = *self.kernel.shape();
        let expected = [count * shape.value, count * shape.signal, count];
        let most = expected.iter().sum::<usize>() as u64;
        let sub_range = self.turns.place.0;
        let kept = self.checkpoints.read(iteration, sub_range, most)?;
        if kept.due.bounds != bounds_of(&self.turns.cut) {
            return Err(self.checkpoints.cut_otherwise(iteration, sub_range));
        }
        if kept.columns.each_ref().map(Vec::len) != expected {
            return Err(Stop::broken("a checkpoint of other vertices"));
        }
        let [values, signals, active] = kept.columns;
        let vertices = self.vertices(count);
        vertices.values.copy_from_slice(&values);
        vertices.signals.copy_from_slice(&signals);
        self.active = active;
        let active = self.active.iter().filter(|active| **active != 0).count() as u64;
        Ok(VertexTotals { total: vec![0; shape.total], active })
    }

    /// Writes the checkpoint that is due.
    fn keep(&mut self, due: Option<&Due>) -> Result<(), Stop> {
        let Some(due) = due else { return Ok(()) };
        let since = Instant::now();
        let columns = [&self.values[..], &self.signals[..], &self.active[..]];
        let bytes = self.checkpoints.write(self.turns.place.0, due, columns)?;
        self.kept = (bytes, since.elapsed());
        Ok(())
    }

    /// Columns of its vertices, of which all are active until a kernel says otherwise.
    fn vertices(&mut self, count: usize) -> Vertices<'_> {
        let shape = *self.kernel.shape();
        self.values.resize(count * shape.value);
        self.signals.resize(count * shape.signal);
        self.active.clear();
        self.active.resize(count, 1);
        let frontier = shape.capabilities.frontier;
        let active = if frontier { &mut self.active[..] } else { &mut [] };
        Vertices { values: &mut self.values, signals: &mut self.signals, active }
    }

    /// Sends all messages of the next iteration, unless the run is at its end.
    fn scatter(&mut self) -> Result<Sent, Stop> {
        let Turns { messages, orders, .. } = &mut self.turns;
        let of_vertices = (&self.signals[..], &self.active[..]);
        self.scattering.scatter(of_vertices, messages, || orders.is_end())?;
        let sent = messages.end_iteration()?;
        Ok(sent)
    }

    /// Applies what has been sent to the sub-range in the iteration after this number of them.
    fn iterate(&mut self, (iteration, last): (u64, &[u8]), sent: Sent) -> Result<(), Stop> {
        let (mut set, folded) = self.turns.gathered()?;
        let kernel = Kernel::Fold(self.kernel.clone());
        let (count, at) = (self.active.len(), (iteration, self.turns.place.1));
        let mut grouped = std::mem::take(&mut self.grouped);
        let accums = set.updates.accumulators(&self.kernel, at, &self.values, &mut grouped)?;
        let made = apply(&kernel, last, accums, self.vertices(count));
        self.grouped = grouped;
        set.updates.clear(&self.kernel, &self.values);
        self.turns.give(set);
        self.done(made, (sent, folded), 0)
    }

    /// Says what an iteration came to. `edges`: the number of those that came in it.
    fn done(
        &mut self,
        made: VertexTotals,
        (sent, folded): (Sent, Count),
        edges: u64,
    ) -> Result<(), Stop> {
        let frontier = self.kernel.shape().capabilities.frontier;
        let active = if frontier { made.active } else { self.active.len() as u64 };
        let kept = std::mem::take(&mut self.kept);
        let (total, combined) = (made.total, self.scattering.take_combined());
        let turn = Turn { total, active, edges, sent, folded, combined, kept, ..Turn::default() };
        self.turns.done(turn.with_edges(&self.scattering.edges))
    }

    /// Vertices of the sub-range, as machines hand out results.
    fn ended(&self) -> Vec<u8> {
        let width = self.kernel.shape().value;
        let mut vertices = Vec::with_capacity(self.active.len() * (width + 1));
        for (value, active) in self.values.chunks_exact(width).zip(&self.active) {
            vertices.extend_from_slice(value);
            vertices.push(*active);
        }
        vertices
    }
}
