//! Work of the program on its host, and its outcome: the seam between protocol and kernels.
//!
//! ```text
//! ingest, init                          the input, and first values
//! open, (turn, stream*)*, flush         scatter; turns where there are cells
//! open, stream*, (merge*, apply | hand over)           with a flush before, on route `fold`, where
//!                                                      edges are binned anew
//! open, stream*, flush, (merge*, apply+ | hand over)    of programs that carry
//! decide                                on rank 0, at the barrier
//! ```
//!
//! **Invariant:** the program does one thing at a time, or streams several chunks of one cell. An
//! epoch may end in the middle; work of the next one begins when all that was asked has ended, and
//! the outcome of that counts for nothing:
//!
//! ```text
//! begins(w) at t   =>   for all w' before w: ended(w') <= t, or both stream chunks of one cell
//! streams at a time <= Config::streams
//! ```
//!
//! Tested by `work_of_a_new_epoch_waits_for_that_of_the_one_before` and
//! `as_many_chunks_are_streamed_at_a_time_as_there_are_cores_for`; checked by the simulator in
//! `Works::effect`.
//!
//! The checksum of what the program makes comes with it ([`Payload::hash`]): none is made in a step
//! of the machine, which would take most of its time.
//!
//! **Invariant:** `made = sum of records of what was filled`, over a scatter phase: records that
//! stand for several updates, because these were combined, say for how many. Checked in `audit`,
//! and by the simulator in `Mass::work`.

use std::collections::BTreeSet;

use crate::ids::{Block, Bytes, Step};
use crate::payload::Payload;

/// Records that the program made, to be stored as a chunk.
#[derive(Clone, Debug)]
pub struct Filled {
    /// Partition of the destinations (edges of route spill: of the sources).
    pub partition: u32,
    /// Partition of the sources, of edges on route fold.
    pub source: Option<u32>,
    /// Edges, or updates that these stand for.
    pub records: u32,
    /// Records that were merged into the records of others.
    pub combined: u32,
    /// Ranges of sources that it has edges of, a bit each.
    pub sources: u64,
    /// The bytes.
    pub payload: Payload,
}

/// Edges of a chunk that was streamed, as they are now.
#[derive(Clone, Debug, Default)]
pub enum Rewritten {
    /// Edges that stay as they are.
    #[default]
    Not,
    /// Edges of the chunk with what they hold now.
    InPlace(Payload),
    /// Edges that were binned anew, or dropped.
    Moved {
        /// Number of edges that were binned.
        kept: u64,
        /// Number of edges that were dropped.
        dropped: u64,
        /// Buffers that are full.
        filled: Vec<Filled>,
    },
}

/// Piece of work for the program on its host, one at a time, but for chunks: several streams of one
/// cell may be under way ([`crate::Config::streams`]).
#[derive(Clone, Debug)]
pub enum Work {
    /// Read a piece of this machine's share of the input; the first where `first`.
    Ingest {
        /// Whether the input is read from its beginning.
        first: bool,
    },
    /// Make the first values of a partition from the degrees that all machines counted.
    Init {
        /// Partition of the vertices.
        partition: u32,
        /// Counts, one a machine.
        degrees: Vec<Payload>,
    },
    /// Take up a partition: make signals (but on route `fold`) and empty accumulators.
    Open {
        /// Step that the work is of.
        step: Step,
        /// Partition of the vertices.
        partition: u32,
        /// Chunks of its vertex set, in order; none for a stealer on route `fold`, who does not
        /// apply, unless edges see both their ends.
        vertices: Vec<Payload>,
        /// Decision of the program after the last iteration.
        control: Bytes,
    },
    /// Make signals of a source partition: edges of this cell of the open partition come next
    /// (route `fold`, or where edges see both their ends).
    Turn {
        /// Partition of the sources.
        source: u32,
        /// Chunks of its vertex set, in order.
        vertices: Vec<Payload>,
    },
    /// Scatter, gather or fold a chunk.
    Stream {
        /// Name and sums of the chunk.
        block: Block,
        /// Bytes of the chunk.
        payload: Payload,
    },
    /// Hand out what is left in buffers.
    Flush,
    /// Hand out the accumulators.
    HandOver,
    /// Merge the accumulators of a stealer into one's own.
    Merge(Payload),
    /// Apply accumulators to vertices; again, after [`Outcome::Applied`].
    Apply,
    /// Decision that follows this many iterations, the last of which had these totals.
    Decide {
        /// Number of iterations; 0 after the ingest.
        iterations: u32,
        /// Decision before.
        control: Bytes,
        /// Totals.
        totals: Vec<(u32, Bytes)>,
    },
}

/// Result of a [`Work`].
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Edges that were read. With the last piece come the degrees, one for each partition.
    Ingested {
        /// Edges that were read.
        read: u64,
        /// Full chunks.
        filled: Vec<Filled>,
        /// Degrees, when this was the last piece.
        degrees: Option<Vec<Payload>>,
    },
    /// Values of a partition, by chunks, and their total.
    Made {
        /// Chunks of the vertex set.
        vertices: Vec<Payload>,
        /// The total.
        total: Bytes,
        /// Ranges, of 64 of these vertices, that have active ones.
        active: u64,
    },
    /// Ready to stream.
    Opened,
    /// Ready to stream a cell.
    Turned,
    /// A chunk was streamed.
    Streamed {
        /// Updates that were made, to be stored. None on route `fold`, where they wait nowhere; in
        /// a gather those of the next iteration.
        made: u64,
        /// Updates that were gathered, from where they were stored.
        gathered: u64,
        /// Edges of the chunk as they are now.
        rewritten: Rewritten,
        /// Buffers of updates, or of edges that are split, that are full.
        filled: Vec<Filled>,
    },
    /// Chunks of all that was left in buffers.
    Flushed {
        /// Updates, or edges that are split.
        filled: Vec<Filled>,
        /// Edges that were rewritten.
        rewritten: Vec<Filled>,
    },
    /// Accumulators.
    HandedOver(Payload),
    /// Accumulators were merged.
    Merged,
    /// A part of what applying sends to others ([`crate::carrying`]): it is to be asked for again.
    Applied {
        /// Updates that were made, to be stored.
        made: u64,
        /// Buffers that are full.
        filled: Vec<Filled>,
    },
    /// Decision on the next iteration.
    Decided {
        /// Whether there is another iteration.
        goes_on: bool,
        /// State of the program that all machines must know.
        control: Bytes,
        /// Whether the next iteration rewrites edges, of a program that may
        /// ([`crate::rewriting`]).
        rewrites: bool,
    },
}

/// Work that the program has not ended, by tokens.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    now: BTreeSet<u64>,
    /// Of epochs that have ended.
    before: BTreeSet<u64>,
}

impl UnderWay {
    pub(crate) fn begin(&mut self, token: u64) {
        self.now.insert(token);
    }

    pub(crate) fn ended(&mut self, token: u64) {
        self.now.remove(&token);
        self.before.remove(&token);
    }

    /// Another epoch begins.
    pub(crate) fn leave_epoch(&mut self) {
        self.before.append(&mut self.now);
    }

    pub(crate) fn none_before(&self) -> bool {
        self.before.is_empty()
    }
}
