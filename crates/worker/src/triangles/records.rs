//! Records that a worker of programs over triangles streams: edges, and records that others have
//! sent.

use bytemuck::{cast_slice, pod_read_unaligned};
use welter_engine::EngineError;
use welter_engine::chunks::{Records, open_updates, write_updates};
use welter_protocol::ids::{Cell, Phase};
use welter_protocol::work::{Filled, Rewritten};
use welter_protocol::{Outcome, Payload};

use super::TriangleWorker;
use super::stage::Stage;
use super::update_bins::{Record, bytes_of, each_row};
use crate::other;

impl TriangleWorker {
    pub(super) fn stream(&mut self, payload: &[u8]) -> Result<Outcome, EngineError> {
        let gathered = match self.step.phase {
            Phase::Scatter => self.scatter(payload).map(|()| 0)?,
            _ => self.gather(payload)?,
        };
        let (made, filled) = self.bins.take();
        Ok(Outcome::Streamed { made, gathered, rewritten: Rewritten::Not, filled })
    }

    /// Makes the updates of edges.
    fn scatter(&mut self, payload: &[u8]) -> Result<(), EngineError> {
        let cell = self.cut.chunk_cell(self.graph, Cell::all(self.partition), 0);
        let pulled = cell.open(payload)?;
        let mut scratch = std::mem::take(&mut self.scratch);
        let first = cell.sources.start as u32;
        let one = 1_u64.to_ne_bytes();
        let done = pulled.pairs(&mut scratch, |place, target| {
            let source = first + place;
            if source == target {
                return;
            }
            let (partition, at) = self.place(target);
            if self.stage == Stage::Degrees {
                self.bins.push(partition, &[&[2 * at]], &one);
                self.bins.push(self.partition, &[&[2 * place]], &one);
            } else if self.has_part(place) || self.has_part(at) {
                let degree = self.own.degrees[place as usize];
                self.bins.push(partition, &[&[at]], bytes_of(&[source, degree]));
            }
        });
        self.scratch = scratch;
        self.looked_at = pulled.edges();
        done
    }

    /// Gathers a chunk of updates, and returns how many it stands for.
    fn gather(&mut self, payload: &[u8]) -> Result<u64, EngineError> {
        let at = self.at(self.step.iteration);
        let width = match self.stage {
            Stage::Degrees | Stage::Show | Stage::Count => 8,
            Stage::Rows => Record::Entries.width(),
            Stage::Meet => Record::Rows.width(),
        };
        let records = open_updates(width, at, payload)?;
        self.looked_at = records.targets.len() as u64;
        match self.stage {
            Stage::Degrees | Stage::Count => self.add(&records)?,
            Stage::Show => self.show(&records)?,
            Stage::Rows => self.keep(&records)?,
            Stage::Meet => self.close(&records)?,
        }
        Ok(records.updates)
    }

    /// Adds counts up.
    fn add(&mut self, records: &Records<'_>) -> Result<(), EngineError> {
        let counts = records.accums.chunks_exact(8).map(pod_read_unaligned::<u64>);
        for (&place, count) in records.targets.iter().zip(counts) {
            let sum = self.counts.get_mut(place as usize);
            let sum = sum.ok_or_else(|| other(format!("a count for place {place}")))?;
            *sum = sum.saturating_add(count);
        }
        Ok(())
    }

    /// Sends the upper end of edges to the lower one.
    fn show(&mut self, records: &Records<'_>) -> Result<(), EngineError> {
        let first = self.cut.partitions.range(self.partition).start as u32;
        let shown = records.accums.chunks_exact(8).map(pod_read_unaligned::<[u32; 2]>);
        for (&place, [source, of_source]) in records.targets.iter().zip(shown) {
            let degree = self.own.degrees.get(place as usize);
            let known = degree.filter(|_| u64::from(source) < self.cut.partitions.vertices());
            let Some(&degree) = known else {
                return Err(other(format!("an edge from {source} to place {place}")));
            };
            let (target, (partition, of)) = (first + place, self.place(source));
            if (of_source, source) < (degree, target) {
                if self.has_part(of) {
                    self.bins.push(partition, &[&[of]], bytes_of(&[target << 1]));
                }
            } else if self.has_part(place) {
                let down = u32::from(self.kernel.is_directed());
                self.bins.push(self.partition, &[&[place]], bytes_of(&[source << 1 | down]));
            }
        }
        Ok(())
    }

    /// Keeps entries of rows.
    fn keep(&mut self, records: &Records<'_>) -> Result<(), EngineError> {
        let vertices = self.cut.partitions.vertices();
        for (&place, &entry) in records.targets.iter().zip(cast_slice::<u8, u32>(records.accums)) {
            if place as usize >= self.own.degrees.len() || u64::from(entry >> 1) >= vertices {
                return Err(other(format!("entry {entry} of place {place}")));
            }
            self.keys.push(place, entry)?;
        }
        Ok(())
    }

    /// Lets rows that come by meet those that are kept.
    fn close(&mut self, records: &Records<'_>) -> Result<(), EngineError> {
        let partitions = &self.cut.partitions;
        let (base, is_directed) =
            (partitions.range(self.partition).start, self.kernel.is_directed());
        let rows = (records.targets, records.updates);
        each_row(rows, partitions.vertices(), |vertex, row| {
            let Self { corners, held, counts, .. } = &mut *self;
            let middles = corners.count(row, (held, base), is_directed, |place, closed| {
                counts[2 * place as usize] += closed;
                counts[2 * place as usize + 1] += 1;
            });
            if middles == 0 {
                return Err(other(format!("a row of {vertex} meets none of a range")));
            }
            let corners = std::mem::take(&mut self.corners);
            let highest = row.iter().map(|entry| entry >> 1).zip(&corners.highest);
            for (corner, &closed) in highest.chain([(vertex, &corners.lowest)]) {
                if closed > 0 {
                    let (partition, place) = self.place(corner);
                    self.bins.push(partition, &[&[2 * place]], &closed.to_ne_bytes());
                }
            }
            self.corners = corners;
            Ok(())
        })
    }

    /// Updates that a stealer has gathered, which its master gathers.
    pub(super) fn hand_over(&mut self) -> Result<Payload, EngineError> {
        let at = self.at(self.step.iteration);
        if self.stage == Stage::Rows {
            self.keys.compact()?;
            let (targets, entries): (Vec<u32>, Vec<u32>) = self.keys.all().unzip();
            let count = targets.len() as u64;
            let bytes = write_updates(4, at, (&targets, cast_slice(&entries)), count);
            return Ok(bytes.into());
        }
        let touched = (0_u32..).zip(&self.counts).filter(|(_, count)| **count > 0);
        let (targets, counts): (Vec<u32>, Vec<u64>) = touched.unzip();
        let updates = targets.len() as u64;
        Ok(write_updates(8, at, (&targets, cast_slice(&counts)), updates).into())
    }

    pub(super) fn merge(&mut self, payload: &[u8]) -> Result<Outcome, EngineError> {
        let (at, vertices) = (self.at(self.step.iteration), self.own.degrees.len() as u64);
        if self.stage == Stage::Rows {
            self.keep(&open_updates(4, at, payload)?)?;
        } else {
            self.add(&open_updates(8, at, payload)?)?;
        }
        self.looked_at = vertices;
        Ok(Outcome::Merged)
    }

    pub(super) fn flush(&mut self) -> Vec<Filled> {
        // Rows are sent when all of them are known.
        self.bins.flush();
        self.bins.take().1
    }
}
