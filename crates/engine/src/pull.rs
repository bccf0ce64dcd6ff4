//! A pull iteration: vertices that an update could change look for an active neighbour.
//!
//! When most vertices are about to be told, telling them reads every edge, but each of them needs
//! one update only. In a graph whose edges run both ways the tiles that begin in a block of sources
//! are the incoming edges of that block, so a worker takes a block, goes through its tiles and
//! skips whoever has found somebody: on R-MAT, most do in their first stripes. (Beamer, Asanovic
//! and Patterson, "Direction-optimizing breadth-first search", 2012.)
//!
//! Invariant: a block's vertices belong to one thread at a time.

use std::sync::Mutex;

use welter_model::program::{Program, Total};

use crate::EngineError;
use crate::frontier::runs;
use crate::graph::Graph;
use crate::index::{BANDS, IndexedTiles, band_bits};
use crate::iterate::{Driver, Level, Mode};
use crate::kernel::Scratch;
use crate::plan::FrontierMode;
use crate::state::{Column, State};
use crate::workers::lock;

/// Blocks that a worker takes at a time.
const RUN: usize = 4;

/// Whether an iteration that would be dense is better done this way.
pub(crate) fn pays<P: Program>(graph: &Graph) -> bool {
    P::ONE_IS_ENOUGH && graph.symmetric && graph.plan.frontier_mode != FrontierMode::Dense
}

pub(crate) fn iterate<P: Program>(
    driver: &Driver<'_, P>,
    tiles: &IndexedTiles<'_>,
    state: &mut State<P>,
    last: &P::Total,
) -> Result<(P::Total, Level), EngineError> {
    let Driver { graph, program, workers, progress, .. } = *driver;
    let scattering = state.active_count;
    let State { values, signals, active, .. } = state;
    let [signals_now, signals_next] = signals;
    let [active_now, active_next] = active;
    let front = Front { bits: &bits(&active_now[..values.len()]), signals: signals_now };

    let width = 1_usize << graph.plan.block_bits;
    let mut rest =
        (Column(&mut values[..]), Column(&mut signals_next[..]), Column(&mut active_next[..]));
    let runs: Vec<_> = (0..tiles.blocks().div_ceil(RUN))
        .map(|run| {
            let count = (RUN * width).min(rest.0.0.len());
            let columns = (rest.0.take(count), rest.1.take(count), rest.2.take(count));
            Mutex::new(Run { first: run * RUN, columns, total: P::Total::default(), found: 0 })
        })
        .collect();
    let benches = workers.states(|| Ok(Bench::<P>::new(width)))?;
    workers.tasks(runs.len(), progress, &benches, |bench, task| {
        let run: &mut Run<'_, P> = &mut lock(&runs[task]);
        let (values, signals, active) = &mut run.columns;
        for start in (0..values.len()).step_by(width) {
            let end = values.len().min(start + width);
            let block = run.first + start / width;
            bench.look(graph, program, tiles, block, &values[start..end], front);
            for place in start..end {
                let accum = bench.accums[place - start];
                if accum == program.identity() {
                    active[place] = 0;
                } else {
                    let applied = program.apply(values[place], accum, last);
                    values[place] = applied.value;
                    active[place] = applied.active.into();
                    run.found += u64::from(applied.active);
                    run.total = run.total.merge(applied.total);
                }
                signals[place] = program.signal(&values[place]);
            }
        }
        Ok(())
    })?;
    let edges = benches.iter().map(|bench| lock(bench).edges).sum();
    let mut total = P::Total::default();
    let mut found = 0;
    for run in &runs {
        let run = lock(run);
        total = total.merge(run.total);
        found += run.found;
    }
    drop(runs);
    state.active_count = found;
    state.signals.swap(0, 1);
    state.active.swap(0, 1);
    Ok((total, Level { mode: Mode::Pull, active: scattering, edges }))
}

/// Some blocks of vertices, and what came of them.
struct Run<'a, P: Program> {
    /// Number of the first block.
    first: usize,
    /// Values, and the columns of signals and flags that the next iteration reads.
    columns: (&'a mut [P::Value], &'a mut [P::Signal], &'a mut [u8]),
    total: P::Total,
    /// Vertices that are active now.
    found: u64,
}

/// Who is active, a bit a vertex, and what they say.
struct Front<'a, S> {
    bits: &'a [u64],
    signals: &'a [S],
}

impl<S> Clone for Front<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Front<'_, S> {}

fn bits(flags: &[u8]) -> Vec<u64> {
    let word = |flags: &[u8]| flags.iter().rev().fold(0, |word, &flag| word << 1 | u64::from(flag));
    flags.chunks(64).map(word).collect()
}

/// What a worker needs for a block.
struct Bench<P: Program> {
    accums: Vec<P::Accum>,
    /// Whether a vertex of the block looks no further.
    done: Vec<u8>,
    scratch: Scratch,
    /// Edges that were looked at.
    edges: u64,
}

impl<P: Program> Bench<P> {
    fn new(width: usize) -> Self {
        Self { accums: Vec::new(), done: vec![0; width], scratch: Scratch::new(), edges: 0 }
    }

    /// Fills the accumulators of a block.
    fn look(
        &mut self,
        graph: &Graph,
        program: &P,
        tiles: &IndexedTiles<'_>,
        block: usize,
        values: &[P::Value],
        front: Front<'_, P::Signal>,
    ) {
        let Self { accums, done, scratch, edges } = self;
        accums.clear();
        accums.resize(values.len(), program.identity());
        done.fill(1);
        let band_bits = band_bits(graph);
        // Vertices of each band that are still looking, and the bands that have any.
        let mut waiting = [0_u32; BANDS];
        let mut open = 0_u64;
        let degrees = &graph.degrees[block << graph.plan.block_bits..];
        for (place, (value, &degree)) in values.iter().zip(degrees).enumerate() {
            let looks = degree > 0 && !program.settled(value);
            done[place] = (!looks).into();
            waiting[place >> band_bits] += u32::from(looks);
            open |= u64::from(looks) << (place >> band_bits);
        }
        for indexed in tiles.of_block(block) {
            if open == 0 {
                return;
            }
            let coding = indexed.coding(graph);
            let mask = (1_u32 << coding.target_bits) - 1;
            for bands in runs(open, coding.encoding) {
                let range = indexed.edges(bands);
                *edges += range.len() as u64;
                coding.keys(&indexed.tile, range, scratch, |keys, weights| {
                    for (edge, &key) in keys.iter().enumerate() {
                        let place = (key >> coding.target_bits) as usize;
                        let other = indexed.target_base + (key & mask);
                        let active = front.bits[other as usize / 64] >> (other % 64) & 1;
                        // One branch that is taken once a vertex, and not two that are as good as
                        // random.
                        if active & u64::from(done[place] ^ 1) == 0 {
                            continue;
                        }
                        let weight = weights.map_or(1.0, |weights| weights[edge]);
                        let signal = front.signals[other as usize];
                        if let Some(update) = program.scatter(signal, weight) {
                            accums[place] = program.gather(accums[place], update);
                            done[place] = 1;
                            let band = place >> band_bits;
                            waiting[band] -= 1;
                            open &= !(u64::from(waiting[band] == 0) << band);
                        }
                    }
                });
            }
        }
    }
}
