//! No machine, and no message but for bulk bytes, holds what grows with the whole graph.
//!
//! ```text
//! decision of a program, total of a partition      <= 256 bytes, however large the graph is
//! a vertex set that a program is handed            <= w * bytes of a vertex      w = ceil(V / P)
//! edges with new ends that wait in bins            <= max(b, P) * edges of a chunk
//! degrees of a partition, as one machine tells     <= max(4 w, 8)
//! degrees that a program is handed                 <= m * max(4 w, 8)
//! accumulators that a program hands over           <= w (4 + bytes of one), head and padding
//! updates that wait in bins                        <= P * records of a chunk
//! updates that are kept until they are applied     <= those that the chunks of one partition which
//!                                                     the machine streamed make, and those that
//!                                                     were handed over to it; in memory as many
//!                                                     as the configuration says
//! records of what who helps has streamed, of a program that keeps updates
//!                                                  <= its part of these + those of one chunk
//! ```
//!
//! Chunks are streamed once ([`super::exactly_once`]), so what all machines keep of a partition, of
//! programs whose updates nothing merges (groups), are its edges at most. Where their number in
//! memory is bounded, others are in the scratch place of the worker.
//!
//! A program has two vertex sets at a time, the open one and that of the cell at work. `b`: bins
//! that may be open.
//!
//! Not checked: vertex sets with rows of neighbours ([`super::rows`]); degrees of all partitions
//! together, which a machine counts while it reads for programs that look at them; and which ranges
//! have active vertices, a word a partition.

use std::collections::BTreeMap;

use welter_protocol::config::Config;
use welter_protocol::ids::Phase;
use welter_protocol::messages::{Effect, Message};
use welter_protocol::work::{Filled, Rewritten};
use welter_protocol::{Outcome, Payload, Rank, Work};

use super::scene::Scene;
use crate::job::BufferedUpdates;

/// Bytes of a decision or a total, at most.
const CONTROL_BYTES_MAX: usize = 256;

/// Bytes of the head of a chunk of updates, and of what fills up its two sections, at most.
const CHUNK_BYTES_MORE: u64 = 256;

/// Bytes of a target in such a chunk.
const ID_BYTES: u64 = 4;

/// Bounds, and what waits at each process.
pub struct Shares {
    set_bytes: u64,
    degree_bytes: u64,
    accums_bytes: u64,
    machines: u64,
    edges: u64,
    /// Records that may wait in bins.
    binned: u64,
    /// Updates that each process may keep of the partition that it took up.
    kept: BTreeMap<usize, u64>,
    /// Updates that a machine may have in memory while it gathers.
    kept_max: u64,
    /// Records that a machine which helps may have streamed.
    helped_max: u64,
    /// Edges that were kept since a partition was taken up, and not handed out.
    waiting: BTreeMap<usize, i64>,
}

impl Shares {
    /// The shares of a cluster with these settings, vertices and accumulators of these widths where
    /// they are known, and chunks of `chunk_records` edges; of a program that looks at degrees, or
    /// at none, of which a number a partition is told.
    pub fn new(
        config: &Config,
        [vertex_bytes, accumulator_bytes]: [Option<u64>; 2],
        chunk_records: u32,
        looks_at_degrees: bool,
    ) -> Self {
        let width = config.partitions.width();
        let accums = |bytes: u64| CHUNK_BYTES_MORE + width * (ID_BYTES + bytes);
        let open = config.bins_open_max.max(config.partitions.count().into());
        Self {
            set_bytes: vertex_bytes.map_or(u64::MAX, |bytes| width * bytes),
            degree_bytes: if looks_at_degrees { (4 * width).max(8) } else { 8 },
            accums_bytes: accumulator_bytes.map_or(u64::MAX, accums),
            machines: config.machines() as u64,
            edges: open.saturating_mul(chunk_records.into()),
            binned: u64::from(config.partitions.count()) * u64::from(chunk_records),
            kept: BTreeMap::new(),
            kept_max: config.kept_updates_max,
            // Chunks of updates of edges that are rewritten may be twice as long.
            helped_max: config.helped_updates_max().saturating_add(2 * u64::from(chunk_records)),
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
        self.degrees(rank, work, outcome)?;
        self.accumulators(rank, outcome)?;
        let (Work::Open { vertices, .. } | Work::Turn { vertices, .. }) = work else {
            return Ok(());
        };
        let bytes: u64 = vertices.iter().map(|chunk: &Payload| chunk.len() as u64).sum();
        if bytes <= self.set_bytes {
            return Ok(());
        }
        Err(format!("{rank} loads a vertex set of {bytes} bytes, more than {}", self.set_bytes))
    }

    /// A program that has done something has these updates in memory.
    ///
    /// # Errors
    /// When they are more than the partition at work can have or than may be in memory, than who
    /// helps may hand over, or than bins have room for.
    pub fn held(&mut self, scene: Scene, work: &Work, held: BufferedUpdates) -> Result<(), String> {
        let may = self.kept.entry(scene.process).or_default();
        match work {
            Work::Open { .. } | Work::Ingest { first: true } => *may = 0,
            Work::Stream { block, .. } => *may += u64::from(block.records),
            Work::Merge(payload) => *may += payload.len() as u64 / held.bytes.max(1),
            _ => {}
        }
        let rank = scene.rank;
        if held.kept > *may {
            return Err(format!("{rank} keeps {} updates of a partition, not {may}", held.kept));
        }
        if matches!(work, Work::HandOver) && *may > self.helped_max {
            let most = self.helped_max;
            return Err(format!("{rank} has helped with {may} records, more than {most}"));
        }
        let phase = scene.step.map(|step| step.phase);
        let gathers = matches!(phase, Some(Phase::Gather | Phase::Fold));
        if gathers && held.kept > self.kept_max {
            let most = self.kept_max;
            return Err(format!("{rank} has {} updates in memory, more than {most}", held.kept));
        }
        if held.binned > self.binned {
            let most = self.binned;
            return Err(format!("{} updates wait in bins of {rank}, not {most}", held.binned));
        }
        Ok(())
    }

    /// Accumulators that are handed over are one a vertex of a partition.
    fn accumulators(&self, rank: Rank, outcome: &Outcome) -> Result<(), String> {
        let Outcome::HandedOver(payload) = outcome else { return Ok(()) };
        let (bytes, most) = (payload.len() as u64, self.accums_bytes);
        if bytes <= most {
            return Ok(());
        }
        Err(format!("{rank} hands over {bytes} bytes of accumulators, more than {most}"))
    }

    /// Degrees are of one partition where they are sent, and where first values are made.
    fn degrees(&self, rank: Rank, work: &Work, outcome: &Outcome) -> Result<(), String> {
        let bytes = match outcome {
            Outcome::Ingested { degrees: Some(degrees), .. } => {
                degrees.iter().map(|one| one.len()).max()
            }
            _ => None,
        };
        let bytes = bytes.unwrap_or(0) as u64;
        if bytes > self.degree_bytes {
            let most = self.degree_bytes;
            return Err(format!(
                "{rank} tells {bytes} bytes of degrees of a partition, not {most}"
            ));
        }
        let Work::Init { degrees, .. } = work else { return Ok(()) };
        let handed: u64 = degrees.iter().map(|one| one.len() as u64).sum();
        let most = self.machines * self.degree_bytes;
        if handed <= most {
            return Ok(());
        }
        Err(format!("{rank} is handed {handed} bytes of degrees of a partition, more than {most}"))
    }
}

fn edges(filled: &[Filled]) -> i64 {
    filled.iter().map(|filled| i64::from(filled.records)).sum()
}

#[cfg(test)]
mod tests {
    use welter_protocol::ids::{Block, BlockName, Bytes, Epoch, Kind, Role, Step};

    use super::*;

    /// Of two machines, and partitions of two vertices.
    fn shares() -> Shares {
        Shares {
            set_bytes: u64::MAX,
            degree_bytes: 8,
            accums_bytes: 24,
            machines: 2,
            edges: 0,
            binned: 10,
            kept: BTreeMap::new(),
            kept_max: u64::MAX,
            helped_max: u64::MAX,
            waiting: BTreeMap::new(),
        }
    }

    #[test]
    fn updates_of_more_than_may_be_in_memory_are_found() {
        let mut shares = Shares { kept_max: 4, helped_max: 16, ..shares() };
        let mut held = |phase, work: Work, kept| {
            let (epoch, step) = (Epoch::default(), Some(Step { iteration: 0, phase }));
            let scene = Scene { now: 0, process: 0, rank: 3, epoch, step };
            shares.held(scene, &work, BufferedUpdates { binned: 0, kept, bytes: 12 })
        };
        assert_eq!(held(Phase::Gather, Work::Merge(payload(8 * 12)), 4), Ok(()));
        let found = held(Phase::Gather, Work::Merge(payload(8 * 12)), 5);
        assert!(found.is_err_and(|error| error.contains("5 updates in memory")));
        assert_eq!(held(Phase::Scatter, Work::Flush, 5), Ok(()), "those wait in a bin");
        assert_eq!(held(Phase::Fold, Work::HandOver, 0), Ok(()), "sixteen are few enough");
        assert_eq!(held(Phase::Fold, Work::Merge(payload(12)), 0), Ok(()));
        let found = held(Phase::Fold, Work::HandOver, 0);
        assert!(found.is_err_and(|error| error.contains("helped with 17 records")));
    }

    #[test]
    fn updates_of_more_than_was_streamed_are_found() {
        let mut shares = shares();
        let (step, epoch) = (None, Epoch::default());
        let scene = |process| Scene { now: 0, process, rank: 3, epoch, step };
        let mut held = |process, work: &Work, kept, binned| {
            shares.held(scene(process), work, BufferedUpdates { binned, kept, bytes: 12 })
        };
        let name = BlockName {
            kind: Kind::Edges,
            role: Role::Primary,
            epoch,
            iteration: 0,
            partition: 0,
            source: None,
            number: 0,
        };
        let of = |records| {
            let block = Block::of(name, records, 1, &Payload::default());
            Work::Stream { block, payload: Payload::default() }
        };
        assert_eq!(held(0, &of(5), 5, 0), Ok(()));
        assert!(held(1, &of(5), 6, 0).is_err_and(|error| error.contains("keeps 6 updates")));
        assert_eq!(held(0, &of(2), 7, 10), Ok(()), "of both chunks");
        // Three updates were handed over, behind a head that is no fourth.
        let merged = Work::Merge(payload(3 * 12 + 11));
        assert_eq!(held(0, &merged, 10, 0), Ok(()));
        assert!(held(0, &Work::Flush, 11, 0).is_err());
        assert!(held(0, &Work::Flush, 0, 11).is_err_and(|error| error.contains("wait in bins")));
        let step = Step { iteration: 0, phase: Phase::Gather };
        let (vertices, control) = (Vec::new(), Bytes::from([]));
        let open = Work::Open { step, partition: 0, vertices, control };
        assert_eq!(held(0, &open, 0, 0), Ok(()));
        assert!(held(0, &of(1), 2, 0).is_err(), "what was there before counts no more");
    }

    fn payload(bytes: usize) -> Payload {
        Payload::from(&vec![0; bytes][..])
    }

    #[test]
    fn degrees_of_more_than_a_partition_are_found() {
        let shares = shares();
        let of_ingest = |bytes: usize| {
            let degrees = Some(vec![payload(8), payload(bytes)]);
            let outcome = Outcome::Ingested { read: 0, filled: Vec::new(), degrees };
            shares.degrees(0, &Work::Flush, &outcome)
        };
        assert_eq!(of_ingest(8), Ok(()));
        assert!(of_ingest(9).is_err_and(|error| error.contains("tells 9 bytes")));
        let handed = |bytes: usize| {
            let work = Work::Init { partition: 0, degrees: vec![payload(8), payload(bytes)] };
            shares.degrees(0, &work, &Outcome::Merged)
        };
        assert_eq!(handed(8), Ok(()));
        assert!(handed(9).is_err_and(|error| error.contains("handed 17 bytes")));
    }

    #[test]
    fn accumulators_of_more_than_a_partition_are_found() {
        let shares = shares();
        let handed = |bytes| shares.accumulators(1, &Outcome::HandedOver(payload(bytes)));
        assert_eq!((handed(0), handed(24)), (Ok(()), Ok(())));
        assert!(handed(25).is_err_and(|error| error.contains("hands over 25 bytes")));
    }
}
