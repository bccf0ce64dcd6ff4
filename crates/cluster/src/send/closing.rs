//! The computation thread of a sub-range of a program over triangles: rows of neighbours travel to
//! the owners of those neighbours, and counts back.
//!
//! ```text
//! iteration 0    edges, both ways, are sent to the owners of their sources, which count them
//! show           a vertex tells each neighbour its degree, which keeps those above itself: its row
//! meet           the row of a vertex is sent once to each sub-range that has entries of it; there
//!                it meets the rows of these, in the buffer that it arrived in (`corners`)
//! count          what a row has closed goes to its vertex, and after all rows to the highest
//!                corners
//! ```
//!
//! Rows travel in bundles, long ones in linked buckets (`bundles`), and in as many rounds as there
//! must be so that answers have room where they wait (`rounds`). Edges are gone when they were
//! shown. Nothing is kept at barriers: machines that are replaced begin anew.
//!
//! **Invariant:** the set is given back before the totals of its iteration are said. Checked in
//! `Closing::iterate`, by its order.

use std::sync::Arc;

use welter_engine::chunks::{Column, DecodeBuffers, IntersectKernel};
use welter_model::stream::Edge;
use welter_transport::TxLane;
use welter_worker::{Input, Rows};

use super::bundles::Bundles;
use super::corners::{COUNT_BYTES, CornerSet, Kind, shown_bytes};
use super::edges::{Edges, OwnedEnd};
use super::error::Stop;
use super::folding::Count;
use super::kernel::CORNER_BYTES;
use super::messages::Sent;
use super::rounds::{Rounds, Stage, places};
use super::turns::{Order, Turn, Turns};

/// The thread.
pub(super) struct Closing<L> {
    kernel: IntersectKernel,
    turns: Turns<L, CornerSet>,
    rounds: Rounds,
    /// Bytes of rows of the sub-range, at most.
    room_bytes: u64,
    edges: Edges,
    /// Number of the edges that came.
    count: u64,
    degrees: Arc<[u32]>,
    rows: Arc<Rows>,
    bundles: Bundles,
    /// Counts that are to be sent: by vertex, and by entry of all rows.
    lowest: Vec<(u32, u64)>,
    highest: Vec<u32>,
    /// The set, when it is whole.
    ended: Option<CornerSet>,
}

impl<L: TxLane> Closing<L> {
    /// A thread with these turns.
    pub(super) fn new(
        kernel: IntersectKernel,
        turns: Turns<L, CornerSet>,
        (rounds, room_bytes): (Rounds, u64),
    ) -> Self {
        let bundles = Bundles::new(turns.cut.count() as usize);
        Self {
            kernel,
            turns,
            rounds,
            room_bytes,
            edges: Edges::default(),
            count: 0,
            degrees: Arc::default(),
            rows: Arc::default(),
            bundles,
            lowest: Vec::new(),
            highest: Vec::new(),
            ended: None,
        }
    }

    /// Works until there is a result.
    pub(super) fn run(mut self, input: Box<dyn Input>) -> Result<(), Stop> {
        self.begin(input)?;
        loop {
            match self.turns.order()? {
                Order::Iterate(before, ..) => self.iterate(before + 1)?,
                Order::End => {
                    let vertices = self.vertices()?;
                    return self.turns.end(vertices, self.count);
                }
            }
        }
    }

    /// Sends the edges of its share to their owners, and takes its own.
    fn begin(&mut self, input: Box<dyn Input>) -> Result<(), Stop> {
        let is_directed = self.kernel.is_directed();
        let (sent, mut edges, folded) = self.turns.edges(input, (OwnedEnd::Source, is_directed))?;
        self.degrees = std::mem::take(&mut edges.degrees).into();
        self.count = edges.count;
        self.edges = edges;
        let own = (self.turns.first(), self.degrees.clone());
        let vertices = self.turns.cut.vertices();
        let set = CornerSet::new(own, vertices, is_directed, self.room_bytes);
        self.turns.messages.set_record_bytes(shown_bytes(is_directed));
        self.turns.give(set);
        self.done((sent, folded), self.count)
    }

    fn iterate(&mut self, iteration: u64) -> Result<(), Stop> {
        let stage = self.rounds.stage(iteration);
        match stage {
            Stage::Show => self.show()?,
            Stage::Meet(start, end) => self.pass((start, end))?,
            Stage::Count { .. } => self.tell()?,
        }
        let sent = self.turns.messages.end_iteration()?;
        let (mut set, folded) = self.turns.gathered()?;
        match stage {
            Stage::Show => {
                self.rows = set.make_rows()?;
                set.kind = Kind::Bundles;
            }
            Stage::Meet(..) => {
                self.lowest = set.take_lowest();
                set.kind = Kind::Counts;
                if self.rounds.stage(iteration + 1) == (Stage::Count { is_last: true }) {
                    self.highest = set.take_highest();
                }
            }
            Stage::Count { .. } => set.kind = Kind::Bundles,
        }
        self.turns.messages.set_record_bytes(match set.kind {
            Kind::Shown => shown_bytes(self.kernel.is_directed()),
            Kind::Bundles => 0,
            Kind::Counts => COUNT_BYTES,
        });
        if stage == (Stage::Count { is_last: true }) {
            self.ended = Some(set);
        } else {
            self.turns.give(set);
        }
        self.done((sent, folded), 0)?;
        if stage == Stage::Show {
            self.edges = Edges::default();
        }
        Ok(())
    }

    /// Sends the degrees of sources along all edges.
    fn show(&mut self) -> Result<(), Stop> {
        let Self { kernel, turns, edges, degrees, .. } = self;
        let (is_directed, first) = (kernel.is_directed(), turns.first());
        let (mut scratch, mut read) = (DecodeBuffers::default(), Column::default());
        let own = turns.place.1;
        // Each begins with another sub-range, so that not all send to one.
        let begin = edges.chunks.partition_point(|chunk| chunk.other <= own);
        let (early, late) = edges.chunks.split_at(begin);
        for chunk in late.iter().chain(early) {
            let cell = chunk.cell(&turns.cut, own);
            let pulled = edges.open(chunk, &cell, &mut read)?;
            let (to, messages) = (chunk.other as usize, &mut turns.messages);
            let mut sent = Ok(());
            pulled.show(is_directed, &mut scratch, |edge: Edge| {
                if edge.source == edge.target || sent.is_err() {
                    return;
                }
                let degree = degrees[(u64::from(edge.source) - first) as usize];
                let ways = if is_directed { edge.weight as u32 } else { 1 };
                let words = [edge.source, degree, ways];
                let record = &bytemuck::bytes_of(&words)[..shown_bytes(is_directed)];
                let place = u64::from(edge.target) - cell.targets.start;
                sent = messages.send(to, place as u32, record);
            })?;
            sent.map_err(|error| messages.stop(error))?;
        }
        Ok(())
    }

    /// Sends the rows of vertices at these places to the owners of their entries.
    fn pass(&mut self, range: (u64, u64)) -> Result<(), Stop> {
        let Self { turns, rows, bundles, degrees, .. } = self;
        let first = turns.first();
        for place in places(range, degrees.len() as u64) {
            let (row, vertex) = (rows.of(place), (first + place) as u32);
            let mut rest = row;
            while let Some(entry) = rest.first() {
                let to = turns.cut.of(u64::from(entry >> 1));
                let end = turns.cut.range(to).end;
                let own = rest.partition_point(|entry| u64::from(entry >> 1) < end);
                bundles.push(to as usize, (vertex, row), &mut turns.messages)?;
                rest = &rest[own..];
            }
        }
        bundles.flush(&mut turns.messages)
    }

    /// Sends what rows have closed to the vertices that hear of it.
    fn tell(&mut self) -> Result<(), Stop> {
        let lowest = std::mem::take(&mut self.lowest);
        for (vertex, closed) in lowest {
            self.answer(vertex, closed)?;
        }
        let (rows, highest) = (self.rows.clone(), std::mem::take(&mut self.highest));
        for (entry, closed) in rows.entries().iter().zip(highest) {
            if closed > 0 {
                self.answer(entry >> 1, closed.into())?;
            }
        }
        Ok(())
    }

    fn answer(&mut self, vertex: u32, closed: u64) -> Result<(), Stop> {
        let (to, place) = self.turns.cut.place(vertex.into());
        let messages = &mut self.turns.messages;
        let sent = messages.send(to as usize, place as u32, &closed.to_ne_bytes());
        sent.map_err(|error| messages.stop(error))
    }

    /// Says what an iteration came to. `edges`: the number of those that came in it.
    fn done(&mut self, (sent, folded): (Sent, Count), edges: u64) -> Result<(), Stop> {
        let active = self.degrees.len() as u64;
        let turn = Turn { active, edges, sent, folded, ..Turn::default() };
        self.turns.done(turn.with_edges(&self.edges))
    }

    /// Vertices of the sub-range, as machines hand out results.
    fn vertices(&self) -> Result<Vec<u8>, Stop> {
        let ended = self.ended.as_ref();
        let CornerSet { neighbours, closed, .. } =
            ended.ok_or_else(|| Stop::broken("an end before all rows have passed"))?;
        let width = self.kernel.value_bytes();
        let mut values = Column::zeroed(self.degrees.len() * width);
        self.kernel.values(neighbours, closed, &mut values);
        let mut vertices = Vec::with_capacity(self.degrees.len() * (CORNER_BYTES + width));
        let corners = self.degrees.iter().zip(neighbours).zip(closed);
        for (((degree, neighbours), closed), value) in corners.zip(values.chunks_exact(width)) {
            vertices.extend(degree.to_le_bytes());
            vertices.extend(neighbours.to_le_bytes());
            vertices.extend(closed.to_le_bytes());
            vertices.extend_from_slice(value);
        }
        Ok(vertices)
    }
}
