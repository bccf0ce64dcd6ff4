//! Edges that are rewritten while they stream (Chaos, footnote 2: an extended model).
//!
//! ```text
//! generation 0       the edges of the ingest
//! generation i + 1   of each chunk that iteration i streams, and rewrites, a chunk with the same
//!                    edges, and what they hold now; placed anew, like any chunk
//!                    or, of a program that contracts, the edges that are kept, in chunks of the
//!                    cells that they are in now
//! ```
//!
//! The program decides with each iteration whether the next one rewrites
//! ([`crate::Outcome::Decided`]). One that does not streams the generation that there is, and
//! leaves out what has no active source; one that does streams all of it, since what is left out
//! would be in no generation any more.
//!
//! The machine that streams a chunk stores the new one, master or stealer, and arrives at the
//! barrier only when it is stored. A checkpoint names the generation that comes next, and makes it
//! durable with the vertices if none before it did; generations that no kept manifest names go when
//! an iteration begins that does not stream them. What edges hold cannot be read from the input
//! again, so edges of a later generation than 0 that are lost, and have no copies, are as bad as
//! lost vertices: the run goes back one manifest more.
//!
//! A checkpoint after a scatter would hold updates of one iteration with edges of the next, and
//! without its updates be good for nothing, so there is none.
//!
//! Such a program looks at both ends of an edge. So edges are binned by both, and streamed by
//! cells, on route `spill` too: who streams has the vertices of the partition that they lead to,
//! and turns from one partition of sources to the next.
//!
//! **Invariant:** in a step edges of one generation are handed out, and only edges of the next one
//! are stored. Asserted in `ComputationEngine::store_rewritten`. **Invariant:** when the step ends
//! the edges of the new generation are those of the one before, but for what the program dropped,
//! which it has counted. Checked in `audit_rewritten`.
//!
//! A program that contracts bins edges by both their new ends, and [`crate::Work::Flush`] hands out
//! what is left of a partition, on route `fold` too. Its bins hold as many edges as those of an
//! ingest may, however many cells there are: the fullest goes when they hold more.

use crate::config::Config;
use crate::context::Context;
use crate::ids::{Cell, ChunkSetKey, Generation, Kind, Phase, Step};

/// Whether edges are streamed by cells, of a partition that they lead to and one of their sources.
pub fn by_cells(config: &Config, phase: Phase) -> bool {
    match phase {
        Phase::Fold => true,
        Phase::Scatter => config.rewrites(),
        Phase::Ingest | Phase::Split | Phase::Gather => false,
    }
}

/// Where the chunks are looked for that a step streams for a cell: of edges those of a generation,
/// which that many iterations made.
pub(crate) fn streamed(step: Step, generation: u32, cell: Cell) -> ChunkSetKey {
    match step.phase {
        Phase::Split => (Kind::Rough, 0, cell),
        Phase::Gather => (Kind::Updates, step.iteration, cell),
        _ => (Kind::Edges, generation, cell),
    }
}

/// The edges that there are when a step has ended: those that it stored, if it stores any, or those
/// of before.
pub(crate) fn after(cx: &Context, step: Step, rewrites: bool, before: Generation) -> Generation {
    let epoch = cx.epoch;
    match step.phase {
        Phase::Ingest | Phase::Split => Generation { epoch, iteration: 0 },
        Phase::Scatter | Phase::Fold if rewrites => {
            Generation { epoch, iteration: step.iteration + 1 }
        }
        Phase::Scatter | Phase::Gather | Phase::Fold => before,
    }
}
