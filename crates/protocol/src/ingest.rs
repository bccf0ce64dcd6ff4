//! Ingest (Chaos, section 3): one pass over the input, split evenly over the machines.
//!
//! ```text
//! each machine   reads its share; an edge goes to a chunk of its partition, a full chunk to
//! storage
//!                degrees(p) of what it read  ->  master of p
//! master of p    degrees of all m machines   ->  first values of p
//! ```
//!
//! Where there are more cells than bins may be open, and edges are binned by both their ends, that
//! takes two passes. An edge goes to a *rough* chunk of the partition that it leads to, and then
//! each partition is *split*: its rough chunks are streamed, by its master and who helps, into bins
//! by the partition of their sources.
//!
//! ```text
//! bins open at a time  <=  max(bins_open_max, P)          P partitions, P^2 cells
//! checkpointed         =   what was split
//! ```
//!
//! When edges alone were lost, the same pass makes a new generation of them, and values stay.
//!
//! **Invariant:** every edge of the input is in one chunk of one generation, and every vertex has
//! its first value when the barrier opens:
//!
//! ```text
//! opens(b)  =>  sum over chunks of the generation of records = edges of the input, each time
//!               |{ values of v }| = 1 for all v < V
//! ```
//!
//! Checked in `audit_ingest`; asserted in `Ingest::degrees` and `Barrier::partitions`.

use std::collections::BTreeMap;

use crate::context::Context;
use crate::ids::Rank;
use crate::messages::Message;
use crate::payload::Payload;
use crate::work::Work;

/// The ingest of one machine in one epoch.
#[derive(Default)]
pub(crate) struct Ingest {
    /// Degrees by partition and machine. Others may be ahead, so these may come before the step.
    degrees: BTreeMap<u32, BTreeMap<Rank, Payload>>,
    pub(crate) edges_only: bool,
    /// Whether the first piece of the input was asked for, and the last one read.
    pub(crate) begun: bool,
    pub(crate) read: bool,
    /// Own partitions without values.
    pub(crate) without_values: usize,
}

impl Ingest {
    pub(crate) fn begin(&mut self, cx: &Context, edges_only: bool) {
        self.edges_only = edges_only;
        self.begun = false;
        self.read = false;
        let own = cx.config.partitions.of_master(cx.rank).count();
        self.without_values = if edges_only { 0 } else { own };
    }

    /// The last piece of the input was read: sends the masters how many edges leave their vertices.
    pub(crate) fn read(&mut self, cx: &mut Context, degrees: Vec<Payload>) {
        self.read = true;
        if self.edges_only {
            return;
        }
        for (partition, payload) in degrees.into_iter().enumerate() {
            let partition = partition as u32;
            let master = cx.config.partitions.master(partition);
            cx.send(master, Message::Degrees { partition, payload });
        }
    }

    pub(crate) fn degrees(&mut self, from: Rank, partition: u32, payload: Payload) {
        let before = self.degrees.entry(partition).or_default().insert(from, payload);
        assert!(before.is_none(), "a machine counts the edges of a partition once");
    }

    /// The next partition whose degrees are all known.
    pub(crate) fn next(&mut self, cx: &Context) -> Option<(u32, Work)> {
        let machines = cx.machines();
        let (&partition, _) = self.degrees.iter().find(|(_, counts)| counts.len() == machines)?;
        let degrees = self.degrees.remove(&partition)?.into_values().collect();
        Some((partition, Work::Init { partition, degrees }))
    }

    pub(crate) fn ended(&self) -> bool {
        self.read && self.without_values == 0
    }
}
