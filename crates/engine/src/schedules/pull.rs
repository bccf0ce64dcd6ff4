//! A pull iteration: vertices that an update could change look for an active neighbour.
//!
//! When most vertices are about to be updated, pushing to them reads every edge, but each of them
//! needs one update only. So a vertex goes through its row of sources and stops at the first that
//! is active: on R-MAT most find one at once. (Beamer, Asanovic and Patterson,
//! "Direction-optimizing breadth-first search", 2012.)
//!
//! Invariant: a range's vertices belong to one thread at a time, and sources are asked what they
//! said when the iteration began. Checked in `updated::with`, which takes a range as a slice of
//! its own. Tested by `depths` and `trees`.

use std::ops::ControlFlow;

use welter_model::program::Program;

use crate::EngineError;
use crate::columns::levels::{IterationStats, Mode};
use crate::columns::state::Elements;
use crate::edges::rows::View;
use crate::schedules::context::Context;
use crate::schedules::frontier::Frontier;
use crate::schedules::updated::{UpdatedList, UpdatedRange, ranges, with};

/// Vertices that a worker takes at a time.
const RANGE: usize = 1 << 12;

pub(crate) fn iterate<P: Program>(
    (context, program): (&Context<'_>, &P),
    rows: View<'_>,
    state: &mut Elements<'_, P>,
    frontier: &mut Frontier,
    last: &P::Total,
) -> Result<(P::Total, IterationStats), EngineError> {
    let Context { workers, progress, .. } = *context;
    let active = *state.active_count;
    let Elements { values, signals: [signals, _], active: [flags, _], .. } = state;
    let count = values.len();
    let bits = bits(&flags[..count]);
    let tasks = count.div_ceil(RANGE);
    let mut lists: Vec<UpdatedList<P>> = (0..tasks).map(|_| UpdatedList::default()).collect();
    let parts = ranges(values, RANGE, &mut lists);
    let mut lookers = workers.per_worker(|| Ok(Looker::default()))?;
    workers.for_each(parts, progress, &mut lookers, |looker, part| {
        with(part, |range| {
            looker.gather(range, |value| !program.settled(value, last), rows, &bits);
            let Looker { waiting, seen } = looker;
            for &Waiting { vertex, active } in &*waiting {
                let row = rows.range(vertex);
                // The others are looked through from their second source on.
                let row = if active { row.start..row.start + 1 } else { row.start + 1..row.end };
                *seen += u64::from(!active);
                rows.visit(row, P::WEIGHTED, |source, weight| {
                    *seen += 1;
                    if !is_set(&bits, source) {
                        return ControlFlow::Continue(());
                    }
                    match program.scatter(signals[source as usize], weight) {
                        None => ControlFlow::Continue(()),
                        Some(update) => {
                            range.receive(program, vertex as usize - range.base, update, last);
                            ControlFlow::Break(())
                        }
                    }
                });
            }
        });
        Ok(())
    })?;
    // Signals of vertices are overwritten only now that no other one asks for them.
    let parts = signals.chunks_mut(RANGE).zip(flags.chunks_mut(RANGE)).zip(&lists);
    let mut idle = workers.per_worker(|| Ok(()))?;
    workers.for_each(parts, progress, &mut idle, |(), ((signals, flags), list)| {
        flags.fill(0);
        for &vertex in &list.changed {
            let place = vertex as usize % RANGE;
            signals[place] = program.signal(&values[vertex as usize]);
            flags[place] = 1;
        }
        Ok(())
    })?;
    let (total, found) = UpdatedList::concat(&lists);
    *state.active_count = found.len() as u64;
    frontier.replace(found);
    let edges = lookers.iter().map(|looker| looker.seen).sum();
    Ok((total, IterationStats::of(Mode::Pull, active, edges)))
}

/// A vertex that looks for an active source.
#[derive(Clone, Copy, Default)]
struct Waiting {
    vertex: u32,
    /// Whether the first of its row is one.
    active: bool,
}

/// Tools that a worker looks with.
#[derive(Default)]
struct Looker {
    waiting: Vec<Waiting>,
    /// Edges that were looked at.
    seen: u64,
}

impl Looker {
    /// Collects the vertices of a range that look, and asks the first source of each. Nothing here
    /// waits for an answer before it asks the next, so that many rows come from memory at a time:
    /// a loop that went through row after row spent its time waiting for the first edge of each.
    fn gather<P: Program>(
        &mut self,
        range: &UpdatedRange<'_, P>,
        looks: impl Fn(&P::Value) -> bool,
        rows: View<'_>,
        bits: &[u64],
    ) {
        self.waiting.resize(RANGE, Waiting::default());
        let mut count = 0;
        for (vertex, value) in (range.base as u32..).zip(&*range.values) {
            self.waiting[count].vertex = vertex;
            count += usize::from(looks(value) && !rows.range(vertex).is_empty());
        }
        self.waiting.truncate(count);
        for waiting in &mut self.waiting {
            waiting.active = is_set(bits, rows.first(waiting.vertex));
        }
    }
}

fn is_set(bits: &[u64], vertex: u32) -> bool {
    bits[vertex as usize / 64] >> (vertex % 64) & 1 == 1
}

/// Flags of active vertices, a bit each: a column of bits stays in the cache where one of bytes
/// does not.
fn bits(flags: &[u8]) -> Vec<u64> {
    let word = |flags: &[u8]| flags.iter().rev().fold(0, |word, &flag| word << 1 | u64::from(flag));
    flags.chunks(64).map(word).collect()
}
