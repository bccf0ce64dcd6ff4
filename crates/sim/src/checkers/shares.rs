//! No machine, and no message but for bulk bytes, holds what grows with the whole graph.
//!
//! ```text
//! decision of a program, total of a partition      <= 256 bytes, however large the graph is
//! a vertex set that a program is handed            <= w * bytes of a vertex      w = ceil(V / P)
//! edges with new ends that wait in bins            <= max(b, P) * edges of a chunk
//! ```
//!
//! A program has two vertex sets at a time, the open one and that of the cell at work. `b`: bins
//! that may be open.
//!
//! Not checked: vertex sets with rows of neighbours ([`super::rows`]); accumulators and updates
//! that a program keeps; degrees, which a machine counts of all vertices while it reads; and which
//! ranges have active vertices, a word a partition.

use std::collections::BTreeMap;

use welter_protocol::config::Config;
use welter_protocol::messages::{Effect, Message};
use welter_protocol::work::{Filled, Rewritten};
use welter_protocol::{Outcome, Payload, Work};

use super::scene::Scene;

/// Bytes of a decision or a total, at most.
const CONTROL_BYTES_MAX: usize = 256;

/// Bounds, and what waits at each process.
pub struct Shares {
    set_bytes: u64,
    edges: u64,
    /// Edges that were kept since a partition was taken up, and not handed out.
    waiting: BTreeMap<usize, i64>,
}

impl Shares {
    /// Of a cluster with these settings, vertices of so many bytes where that is known, and chunks
    /// of so many edges.
    pub fn new(config: &Config, vertex_bytes: Option<u64>, chunk_records: u32) -> Self {
        let open = config.bins_open_max.max(config.partitions.count().into());
        Self {
            set_bytes: vertex_bytes.map_or(u64::MAX, |bytes| config.partitions.width() * bytes),
            edges: open.saturating_mul(chunk_records.into()),
            waiting: BTreeMap::new(),
        }
    }

    /// A machine wants something done.
    ///
    /// # Errors
    /// When a message is larger than its bound.
    pub fn effect(scene: Scene, effect: &Effect) -> Result<(), String> {
        let Effect::Send(envelope) = effect else { return Ok(()) };
        let bytes = match &envelope.message {
            Message::Begin(begin) => begin.control.len(),
            Message::Arrive { made, .. } => {
                made.iter().map(|one| one.total.len()).max().unwrap_or(0)
            }
            _ => 0,
        };
        if bytes <= CONTROL_BYTES_MAX {
            return Ok(());
        }
        Err(format!("{} sends a decision or total of {bytes} bytes", scene.rank))
    }

    /// A program has done something.
    ///
    /// # Errors
    /// When it has more in memory than it may.
    pub fn work(&mut self, scene: Scene, work: &Work, outcome: &Outcome) -> Result<(), String> {
        let waiting = self.waiting.entry(scene.process).or_default();
        if let Work::Open { .. } = work {
            *waiting = 0;
        }
        match outcome {
            Outcome::Streamed { rewritten: Rewritten::Moved { kept, filled, .. }, .. } => {
                *waiting += *kept as i64 - edges(filled);
            }
            Outcome::Flushed { rewritten, .. } => *waiting -= edges(rewritten),
            _ => {}
        }
        let rank = scene.rank;
        if *waiting > i64::try_from(self.edges).unwrap_or(i64::MAX) {
            return Err(format!(
                "{waiting} edges wait in bins of {rank}, more than {}",
                self.edges
            ));
        }
        if matches!(outcome, Outcome::Flushed { .. }) && *waiting != 0 {
            return Err(format!("{waiting} edges are left in bins of {rank} after a flush"));
        }
        let (Work::Open { vertices, .. } | Work::Turn { vertices, .. }) = work else {
            return Ok(());
        };
        let bytes: u64 = vertices.iter().map(|chunk: &Payload| chunk.len() as u64).sum();
        if bytes <= self.set_bytes {
            return Ok(());
        }
        Err(format!("{rank} loads a vertex set of {bytes} bytes, more than {}", self.set_bytes))
    }
}

fn edges(filled: &[Filled]) -> i64 {
    filled.iter().map(|filled| i64::from(filled.records)).sum()
}
