//! The computation thread of a sub-range of an extended program: edges have states, and look at
//! both their ends.
//!
//! ```text
//! iteration 0    its share of the edges is sent to the owners of their targets; each sub-range
//!                says which sources it has edges of, its ghosts, and vertices get first values
//! iteration i    signals of own vertices to sub-ranges where they are ghosts    last buckets
//!                the accumulator thread hands over the signals of ghosts
//!                show: edges see both their ends and change; their updates meet accumulators here
//!                apply; totals go to the barrier                   the set goes back
//! ```
//!
//! So a vertex that has a thousand edges into a sub-range sends one message there, and no update
//! travels at all. States of edges are of one epoch: machines that are replaced begin anew.
//!
//! **Invariant:** the set is given back before the totals of its iteration are said, and edges see
//! what was said in the iteration before at both their ends. Checked in `Extending::iterate`, by
//! its order.

use welter_engine::EngineError;
use welter_engine::chunks::{
    Column, DecodeBuffers, ExtendedKernel, Kernel, Outgoing, UpdateKey, VertexTotals, Vertices,
    apply, gather_extended, init,
};
use welter_transport::TxLane;
use welter_worker::Input;

use super::edges::{Edges, OwnedEnd, whole_cell};
use super::error::Stop;
use super::folding::Count;
use super::messages::Sent;
use super::signals::{Ghosts, SUBSCRIPTION_BYTES, SignalSet, subscription};
use super::turns::{Order, Turn, Turns};

/// The thread.
pub(super) struct Extending<L> {
    kernel: ExtendedKernel,
    turns: Turns<L, SignalSet>,
    edges: Edges,
    /// Vertices of others that it has edges of, by their sub-range.
    ghosts: Vec<Ghosts>,
    /// Own vertices that are ghosts elsewhere, by the sub-range where.
    boundary: Vec<Ghosts>,
    values: Column,
    signals: Column,
    accums: Column,
    buffers: Buffers,
}

/// Buffers that are filled for one sub-range or one chunk after the other.
#[derive(Default)]
struct Buffers {
    /// Signals of the sources of a sub-range, at their places.
    sources: Column,
    /// A chunk that was read, and states that were.
    chunk: Column,
    states: Column,
    scratch: DecodeBuffers,
}

impl<L: TxLane> Extending<L> {
    /// A thread with these turns.
    pub(super) fn new(kernel: ExtendedKernel, turns: Turns<L, SignalSet>) -> Self {
        Self {
            kernel,
            turns,
            edges: Edges::default(),
            ghosts: Vec::new(),
            boundary: Vec::new(),
            values: Column::default(),
            signals: Column::default(),
            accums: Column::default(),
            buffers: Buffers::default(),
        }
    }

    /// Works until there is a result.
    pub(super) fn run(mut self, input: Box<dyn Input>) -> Result<(), Stop> {
        let own = self.turns.cut.range(self.turns.place.1);
        let vertices = (own.end - own.start) as u32;
        // Others may have all their edges, and subscribe, before this one has.
        self.turns.give(SignalSet::subscriptions(self.turns.cut.count(), vertices));
        self.begin(input)?;
        loop {
            match self.turns.order()? {
                Order::Iterate(iteration, last, _) => self.iterate(iteration, &last)?,
                Order::End => {
                    let edges = self.edges.count;
                    return self.turns.end(self.values.to_vec(), edges);
                }
            }
        }
    }

    /// Sends the edges of its share to their owners, subscribes to signals, and makes first values.
    fn begin(&mut self, input: Box<dyn Input>) -> Result<(), Stop> {
        let shape = *self.kernel.shape();
        let weighted = shape.capabilities.weighted;
        let (sent, edges, folded) = self.turns.edges(input, (OwnedEnd::Target, weighted))?;
        self.edges = edges;
        let degrees = std::mem::take(&mut self.edges.degrees);
        let (subscribed, subscriptions) = self.subscribe()?;
        let first = self.turns.first();
        let kernel = Kernel::Extended(self.kernel.clone());
        let made = init(&kernel, first, &degrees, self.vertices(degrees.len()));
        self.turns.messages.set_record_bytes(shape.signal);
        let count: usize = self.ghosts.iter().map(|ghosts| ghosts.places.len()).sum();
        self.turns.give(SignalSet::signals(count, shape.signal));
        let folded = Count {
            updates: folded.updates + subscriptions.updates,
            messages: folded.messages + subscriptions.messages,
            processor: folded.processor + subscriptions.processor,
        };
        self.done(made, (sent.and(&subscribed), folded), self.edges.count)
    }

    /// Subscribes to the signals of its ghosts, and receives the subscriptions of others.
    fn subscribe(&mut self) -> Result<(Sent, Count), Stop> {
        self.ghosts = self.sources()?;
        let Self { turns, ghosts, .. } = self;
        turns.messages.set_record_bytes(SUBSCRIPTION_BYTES);
        let own = turns.place.1;
        for (to, Ghosts { first, places }) in ghosts.iter().enumerate() {
            for (number, &place) in (*first..).zip(places) {
                let sent = turns.messages.send(to, place, &subscription(own, number));
                sent.map_err(|error| turns.messages.stop(error))?;
            }
        }
        let sent = turns.messages.end_iteration()?;
        let (subscriptions, came) = turns.gathered()?;
        self.boundary = subscriptions.subscribers()?;
        Ok((sent, came))
    }

    /// Sources of its edges, by their sub-range.
    fn sources(&mut self) -> Result<Vec<Ghosts>, Stop> {
        let Self { turns, edges, buffers, .. } = self;
        let Buffers { chunk: read, scratch, .. } = buffers;
        let (mut all, mut first) = (Vec::new(), 0);
        let mut chunks = edges.chunks.iter().peekable();
        for other in 0..turns.cut.count() {
            let cell = whole_cell(&turns.cut, other, turns.place.1);
            let mut marks = Vec::new();
            while let Some(chunk) = chunks.next_if(|chunk| chunk.other == other) {
                marks.resize((cell.sources.end - cell.sources.start).div_ceil(64) as usize, 0_u64);
                let pulled = edges.open(chunk, &cell, read)?;
                pulled.pairs(scratch, |source, _| {
                    if let Some(marks) = marks.get_mut(source as usize / 64) {
                        *marks |= 1 << (source % 64);
                    }
                })?;
            }
            let places = places(&marks);
            let next = first + places.len() as u32;
            all.push(Ghosts { first, places });
            first = next;
        }
        Ok(all)
    }

    /// Columns of its vertices.
    fn vertices(&mut self, count: usize) -> Vertices<'_> {
        let shape = *self.kernel.shape();
        self.values.resize(count * shape.value);
        self.signals.resize(count * shape.signal);
        Vertices { values: &mut self.values, signals: &mut self.signals, active: &mut [] }
    }

    fn iterate(&mut self, iteration: u64, last: &[u8]) -> Result<(), Stop> {
        self.tell()?;
        let sent = self.turns.messages.end_iteration()?;
        let (set, folded) = self.turns.gathered()?;
        self.show(iteration, set.column()?)?;
        let kernel = Kernel::Extended(self.kernel.clone());
        let accums = std::mem::take(&mut self.accums);
        let count = self.values.len() / kernel.shape().value;
        let made = apply(&kernel, last, &accums, self.vertices(count));
        self.accums = accums;
        self.turns.give(set);
        self.done(made, (sent, folded), 0)
    }

    /// Sends the signals of its vertices to where they are ghosts.
    fn tell(&mut self) -> Result<(), Stop> {
        let Self { kernel, turns, boundary, signals, .. } = self;
        let width = kernel.shape().signal;
        // Each begins with another sub-range, so that not all send to one.
        let own = turns.place.1 as usize;
        let (early, late) = boundary.split_at(own);
        let all = (own..).zip(late).chain((0..).zip(early));
        for (to, Ghosts { first, places }) in all {
            let (mut rest, mut next) = (&places[..], *first);
            while !rest.is_empty() {
                let of = (&signals[..], width);
                let wrote = write(&mut turns.messages.to(to), (rest, next), of);
                let count = wrote.map_err(|error| turns.messages.stop(error))?;
                (rest, next) = (&rest[count..], next + count as u32);
            }
        }
        Ok(())
    }

    /// Shows all edges what their ends say, and gathers what they make of that. `of_ghosts`: the
    /// signals of all ghosts.
    fn show(&mut self, iteration: u64, of_ghosts: &[u8]) -> Result<(), Stop> {
        let Self { kernel, turns, edges, ghosts, signals, accums, buffers, .. } = self;
        let Buffers { sources, chunk: read, states, scratch } = buffers;
        let (shape, own) = (*kernel.shape(), turns.place.1);
        accums.resize(signals.len() / shape.signal * shape.accum);
        Kernel::Extended(kernel.clone()).clear(accums);
        let at = UpdateKey::new(iteration, own, own);
        let (kernel, turns) = (&*kernel, &*turns);
        let mut chunks = std::mem::take(&mut edges.chunks);
        let mut groups = chunks.chunk_by_mut(|one, next| one.other == next.other);
        let shown = groups.try_for_each(|chunks| -> Result<(), Stop> {
            let Some(other) = chunks.first().map(|chunk| chunk.other) else { return Ok(()) };
            let cell = whole_cell(&turns.cut, other, own);
            let vertices = (cell.sources.end - cell.sources.start) as usize;
            ghosts[other as usize].spread((of_ghosts, shape.signal), vertices, sources);
            for chunk in chunks {
                let kept = chunk.states.take();
                let mut kept = kept.ok_or_else(|| Stop::broken("an edge without a state"))?;
                let changed = edges.change_states(&mut kept, states, |states| {
                    let pulled = edges.open(chunk, &cell, read)?;
                    let (ends, mut met) = ([&sources[..], &signals[..]], Ok(()));
                    pulled.extend(kernel, ends, states, scratch, |targets, updates| {
                        if met.is_ok() {
                            met = gather_extended(kernel, (at, targets, updates), accums);
                        }
                    })?;
                    met.map_err(Stop::from)
                });
                chunk.states = Some(kept);
                changed?;
            }
            Ok(())
        });
        edges.chunks = chunks;
        shown
    }

    /// Says what an iteration came to. `edges`: the number of those that came in it.
    fn done(
        &mut self,
        made: VertexTotals,
        (sent, folded): (Sent, Count),
        edges: u64,
    ) -> Result<(), Stop> {
        let active = (self.values.len() / self.kernel.shape().value) as u64;
        let turn = Turn { total: made.total, active, edges, sent, folded, ..Turn::default() };
        self.turns.done(turn.with_edges(&self.edges))
    }
}

/// Writes messages with signals, of `width` bytes, of vertices at these places, which have
/// consecutive numbers from the first one: as many as there is room for, and at least one.
fn write(
    ring: &mut dyn Outgoing,
    (places, first): (&[u32], u32),
    (signals, width): (&[u8], usize),
) -> Result<usize, EngineError> {
    let (targets, records) = ring.room(places.len())?;
    let count = targets.len();
    let records = records.chunks_exact_mut(width);
    let messages = targets.iter_mut().zip(records).zip(places).zip(first..);
    for (((target, record), &place), number) in messages {
        *target = number;
        record.copy_from_slice(&signals[place as usize * width..][..width]);
    }
    ring.keep(count)?;
    Ok(count)
}

/// Places whose bits are set.
fn places(marks: &[u64]) -> Vec<u32> {
    let mut places = Vec::with_capacity(marks.iter().map(|it| it.count_ones() as usize).sum());
    for (word, &marks) in (0..).zip(marks) {
        let mut left = marks;
        while left != 0 {
            places.push(word * 64 + left.trailing_zeros());
            left &= left - 1;
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_bits() {
        assert_eq!(places(&[1 << 63 | 5, 0, 2]), [0, 2, 63, 129]);
        assert_eq!(places(&[]), [0; 0]);
    }
}
