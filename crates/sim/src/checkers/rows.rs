//! Rows of neighbours that a machine has in memory take no more than was allowed, and are there
//! only between the iteration that makes them and the one that they meet.
//!
//! ```text
//! rows(p)  =  bytes(vertex set of p)  -  vertices of p * bytes of a vertex
//! after the gather that made rows:       rows(p) <= 4 |p| + share of the room that is for them
//! after any other:                       rows(p) = 0
//! ```
//!
//! Not checked: what a worker has in memory besides, before its keys are rows (it refuses to keep
//! more than there is room for), and rows that come by.

use std::collections::BTreeMap;

use welter_protocol::ids::Step;
use welter_protocol::partitions::Partitions;
use welter_protocol::{Outcome, Work};

use super::scene::Scene;

/// Room for rows, in a job that has any.
pub struct Rows {
    partitions: Partitions,
    vertex_bytes: u64,
    room_bytes: Option<u64>,
    opened: BTreeMap<usize, (Step, u32)>,
}

/// Bytes that are allowed for each entry of a row that is held, which has four of them.
const ENTRY_SHARE: u64 = 24 / 4;

/// Iterations of a round, of which the second makes rows.
const ROUND: u32 = 4;

impl Rows {
    /// The rows of machines that may have `room_bytes` bytes of them.
    pub fn new(partitions: Partitions, vertex_bytes: u64, room_bytes: Option<u64>) -> Self {
        Self { partitions, vertex_bytes, room_bytes, opened: BTreeMap::new() }
    }

    /// A program has done something.
    ///
    /// # Errors
    /// When it has made more rows than there is room for, or has not let them go.
    pub fn work(&mut self, scene: Scene, work: &Work, outcome: &Outcome) -> Result<(), String> {
        let Some(room) = self.room_bytes else { return Ok(()) };
        if let Work::Open { step, partition, .. } = work {
            self.opened.insert(scene.process, (*step, *partition));
        }
        let (Work::Apply, Outcome::Made { vertices, .. }) = (work, outcome) else { return Ok(()) };
        let Some((step, partition)) = self.opened.get(&scene.process) else { return Ok(()) };
        let range = self.partitions.range(*partition);
        let count = range.end - range.start;
        let bytes: u64 = vertices.iter().map(|chunk| chunk.len() as u64).sum();
        let rows = bytes.saturating_sub(count * self.vertex_bytes);
        let is_made = step.iteration % ROUND == 2;
        let most = if is_made { 4 * count + room / ENTRY_SHARE } else { 0 };
        if rows <= most {
            return Ok(());
        }
        let rank = scene.rank;
        Err(format!("{rank} has {rows} bytes of rows of {partition} after {step}, of {most}"))
    }
}
