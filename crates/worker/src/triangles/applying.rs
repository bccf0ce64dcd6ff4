//! Applying what a worker of programs over triangles has gathered: vertex sets, and rows for
//! others.

use welter_engine::EngineError;
use welter_protocol::Outcome;
use welter_protocol::ids::Phase;

use super::TriangleWorker;
use super::rows::Rows;
use super::stage::{Round, Stage, needs, row_most};
use super::vertices::VertexSet;

impl TriangleWorker {
    pub(super) fn apply(&mut self) -> Result<Outcome, EngineError> {
        self.looked_at = self.own.degrees.len() as u64;
        match self.stage {
            Stage::Rows => return self.send_rows(),
            Stage::Degrees => {
                let degrees = self.counts.chunks_exact(2);
                let degrees = degrees.map(|counts| u32::try_from(counts[0]).unwrap_or(u32::MAX));
                self.own.degrees = degrees.collect();
                let ways = 1 + u64::from(self.kernel.is_directed());
                let rows = self.own.degrees.iter().map(|&d| row_most(d, self.edges, ways));
                let total = needs(self.ranges.width, &rows.collect::<Vec<_>>());
                let total: Vec<u8> = total.iter().flat_map(|need| need.to_le_bytes()).collect();
                return Ok(self.made(&total, true));
            }
            Stage::Show => {}
            Stage::Meet | Stage::Count => {
                let VertexSet { neighbours, closed, .. } = &mut self.own;
                let vertices = neighbours.iter_mut().zip(closed);
                for ((neighbours, closed), counts) in vertices.zip(self.counts.chunks_exact(2)) {
                    *closed += counts[0];
                    *neighbours += counts[1] as u32;
                }
            }
        }
        let is_last = self.stage == Stage::Count;
        if is_last {
            let VertexSet { neighbours, closed, values, .. } = &mut self.own;
            self.kernel.values(neighbours, closed, values);
        }
        Ok(self.made(&[], is_last))
    }

    /// Sends rows to the partitions of their entries, until chunks of them are full; after the last
    /// one hands out the vertex set, with the rows that are kept.
    fn send_rows(&mut self) -> Result<Outcome, EngineError> {
        let (mut rows, mut next) = match self.sending.take() {
            Some(sending) => sending,
            None => self.begin_rows()?,
        };
        let first = self.cut.partitions.range(self.partition).start;
        let end = rows.vertices().end;
        while next < end && !self.bins.is_filled() {
            self.send_row(((first + next) as u32, rows.of(next)));
            next += 1;
        }
        if next == end {
            self.bins.flush();
            rows = Rows::default();
        }
        let (made, filled) = self.bins.take();
        if !filled.is_empty() {
            // There are none left when it is asked for again.
            let next = if next == end { 0 } else { next };
            self.sending = Some((rows, next));
            return Ok(Outcome::Applied { made, filled });
        }
        Ok(self.made(&[], false))
    }

    /// Makes rows of the keys that were gathered: those that pass, from the first on.
    fn begin_rows(&mut self) -> Result<(Rows, u64), EngineError> {
        self.keys.compact()?;
        let Round { passing, held } = self.round;
        self.held = self.keys.rows(self.range(held));
        let rows = self.keys.rows(self.range(passing));
        if passing == held {
            for vertex in self.held.vertices() {
                self.own.neighbours[vertex as usize] += self.held.of(vertex).len() as u32;
            }
        }
        let first = rows.vertices().start;
        Ok((rows, first))
    }

    /// Sends a row to each partition in which rows of its entries are kept.
    fn send_row(&mut self, (vertex, row): (u32, &[u32])) {
        let held = self.ranges.of(self.round.held);
        let mut last = None;
        for entry in row {
            let (partition, place) = self.place(entry >> 1);
            if last != Some(partition) && held.contains(&place.into()) {
                last = Some(partition);
                self.bins.push(partition, &[&[vertex, row.len() as u32], row], &[]);
            }
        }
    }

    /// The vertex set in memory, with the rows that are kept after they were made. All vertices are
    /// active, or none is.
    pub(super) fn made(&self, total: &[u8], are_active: bool) -> Outcome {
        let Self { own, cut, stage, step, .. } = self;
        let has_rows = *stage == Stage::Rows && step.phase == Phase::Gather;
        let count = own.degrees.len() as u64;
        let chunks = count.div_ceil(cut.chunk_vertices).max(1);
        let chunk = |chunk: u64| {
            let first = chunk * cut.chunk_vertices;
            let vertices = first..(first + cut.chunk_vertices).min(count);
            let mut bytes = own.bytes(vertices.clone(), self.kernel.value_bytes());
            if has_rows {
                self.held.put(vertices, &mut bytes);
            }
            bytes.into()
        };
        let vertices = (0..chunks).map(chunk).collect();
        let active = if are_active && count > 0 { u64::MAX } else { 0 };
        Outcome::Made { vertices, total: total.into(), active }
    }
}
