//! The first look at an edge list: about where edges begin and end, and how many vertices there
//! may be.
//!
//! Before edges can be binned it must be known about how many begin and end in each segment of
//! slots, and how many vertices a range of slots has at most. A sample of the edges tells both, and
//! the maker of the stream may have looked at one already; which slots are vertices is known for
//! certain when all edges have been binned ([`crate::ingest::marks`]).

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use welter_model::edge_sample::{EdgeSample, ROUNDS, SEGMENT_BITS, Sample};
use welter_model::edges::{Batch, EdgeStream, Reading};
use welter_progress::{Progress, Unit};

use crate::EngineError;
use crate::edges::bins::Grid;
use crate::kernels::cuts::{BinGroups, Cuts};
use crate::kernels::vertices::Vertices;
use crate::machine::dispatch::dispatched;
use crate::machine::workers::Workers;
use crate::plan::Plan;

/// Segments whose vertices are estimated together: few are guessed badly.
const BLOCK: usize = 16;

/// Vertices of which nothing follows for the number of all.
const FEW: f64 = 100.0;

/// The share of an estimate that is added to it.
const MARGIN: u64 = 32;

/// A survey: vertices and degrees, before edges are sorted.
#[derive(Debug)]
pub(crate) struct Survey {
    /// Slots that there are at most.
    pub(crate) slots: u64,
    /// Sampled number of edges that begin in each segment.
    pub(crate) sources: Vec<u64>,
    /// Sampled number of edges that end in each segment.
    pub(crate) targets: Vec<u64>,
    /// Vertices before each segment, and of all, most likely at most.
    pub(crate) starts: Vec<u64>,
    /// The vertices, once they are known.
    pub(crate) vertices: Option<Vertices>,
}

impl Survey {
    /// The survey with the vertices that there are.
    pub(crate) fn of(self, vertices: Vertices) -> Self {
        let segments = self.slots.div_ceil(1 << SEGMENT_BITS) as usize;
        let starts = (0..=segments).map(|segment| vertices.segment_start(segment)).collect();
        Self { starts, vertices: Some(vertices), ..self }
    }

    /// The grid of bins that it advises.
    ///
    /// # Errors
    /// When there would be more stripes than can be counted.
    pub(crate) fn grid(&self, plan: &Plan) -> Result<Grid, EngineError> {
        let Self { slots, sources, targets, starts, .. } = self;
        let stripes = Cuts::stripes(
            starts,
            targets,
            plan.premises.edges.stripe_bits,
            plan.premises.stripes_least(),
        )?;
        let groups = Cuts::groups(sources, plan.groups(stripes.len()));
        let bin_groups = BinGroups::new((&groups, sources), (&stripes, targets), plan.bin_groups());
        Ok(Grid { slots: *slots, groups, stripes, bin_groups })
    }

    /// Edges as they are read: by where they begin, and by where they end.
    pub(crate) fn read_as(&mut self, reading: Reading) {
        if reading.both_ways() {
            for (source, target) in self.sources.iter_mut().zip(&mut self.targets) {
                *source += *target;
                *target = *source;
            }
        } else if reading.reversed {
            std::mem::swap(&mut self.sources, &mut self.targets);
        }
    }
}

/// Largest slot of a stream, plus one, or more.
pub(crate) fn slots(
    stream: &dyn EdgeStream,
    workers: &Workers,
    progress: &Progress,
) -> Result<u64, EngineError> {
    if let Some(slots) = stream.slots() {
        return Ok(slots);
    }
    let slots = AtomicU64::new(0);
    let mut idle = workers.per_worker(|| Ok(()))?;
    workers.for_each(0..stream.parts(), progress, &mut idle, |(), part| {
        let mut largest = None;
        stream.read(part, &mut |batch| {
            let batch_max = batch.pairs.iter().map(|pair| pair[0].max(pair[1])).max();
            largest = largest.max(batch_max);
            true
        })?;
        slots.fetch_max(largest.map_or(0, |slot| u64::from(slot) + 1), Ordering::Relaxed);
        Ok(())
    })?;
    Ok(slots.into_inner())
}

/// Looks at a sample of a stream. `all_present`: every slot is a vertex.
pub(crate) fn survey(
    stream: &dyn EdgeStream,
    slots: u64,
    all_present: bool,
    workers: &Workers,
    progress: &Progress,
) -> Result<Survey, EngineError> {
    let look = match stream.known_sample() {
        Some(look) if look.slots() == slots => Cow::Borrowed(look),
        _ => Cow::Owned(look_at(stream, slots, all_present, workers, progress)?),
    };
    let (sources, targets) = look.histograms();
    let (sources, targets) = (sources.to_vec(), targets.to_vec());
    let starts = if all_present { Vec::new() } else { estimate(&look, stream.edges()) };
    let survey = Survey { slots, sources, targets, starts, vertices: None };
    Ok(if all_present { survey.of(Vertices::all(slots)) } else { survey })
}

fn look_at(
    stream: &dyn EdgeStream,
    slots: u64,
    all_present: bool,
    workers: &Workers,
    progress: &Progress,
) -> Result<EdgeSample, EngineError> {
    let sample = Sample::of(stream.edges());
    let phase = progress.phase("survey", Unit::Edges, Some(sample.share(stream.edges())));
    let mut all = EdgeSample::new(!all_present);
    for round in 0..ROUNDS {
        let mut looks = workers.per_worker(|| Ok(EdgeSample::new(!all_present)))?;
        workers.for_each(0..stream.parts(), progress, &mut looks, |look, part| {
            let mut wrong = None;
            stream.sample(part, (sample, round), &mut |batch| {
                wrong = look.add(batch.pairs, slots).err();
                phase.add(batch.pairs.len() as u64);
                wrong.is_none()
            })?;
            let beyond = |slot| EngineError::Vertex { vertex: u64::from(slot), slots };
            wrong.map_or(Ok(()), |slot| Err(beyond(slot)))
        })?;
        for look in looks {
            all.merge(look);
        }
        all.end_round();
    }
    Ok(all.of_slots(slots))
}

/// Vertices before each segment, and of all, by a sample of `edges` edges. More than there will be,
/// most likely, and never more than there are slots.
fn estimate(look: &EdgeSample, edges: u64) -> Vec<u64> {
    let slots = look.slots();
    let segments = slots.div_ceil(1 << SEGMENT_BITS) as usize;
    let factor = edges as f64 / look.edges().max(1) as f64;
    let of_round = |round: usize, segments: std::ops::Range<usize>| {
        let seen = look.rounds().get(round).map_or(&[][..], |round| &round.vertices);
        let some = seen.get(segments.start.min(seen.len())..segments.end.min(seen.len()));
        some.into_iter().flatten().map(|n| f64::from(*n)).sum::<f64>()
    };
    let counted = look.rounds().last().is_some_and(|round| !round.vertices.is_empty());
    let (mut starts, mut before) = (vec![0], 0);
    for first in (0..segments).step_by(BLOCK) {
        let block = first..segments.min(first + BLOCK);
        let seen = [0, 1, 2].map(|round| of_round(round, block.clone()));
        for segment in block {
            let start = (segment as u64) << SEGMENT_BITS;
            let width = slots.min(start + (1 << SEGMENT_BITS)) - start;
            let vertices = if factor <= 1.0 && counted {
                of_round(2, segment..segment + 1) as u64
            } else if counted {
                // One that was not seen may have as many edges as one that was looked at.
                let share = of_round(2, segment..segment + 1) / seen[2].max(1.0);
                let likely = (grown(seen, factor) * share).max(factor) as u64;
                likely + likely / MARGIN
            } else {
                width
            };
            before += vertices.min(width);
            starts.push(before);
        }
    }
    starts
}

/// Vertices that will have been seen in `factor` times as many edges, when a quarter, a half and
/// all of those that were looked at had shown these numbers.
///
/// In R-MAT scrambled 24 a sixteenth of all edges has 3.49 M of 8.87 M vertices, its half 2.53 M
/// and its quarter 1.76 M: 0.46 and 0.52 of a doubling for each doubling of edges. Continuing with
/// the last would come to 12.6 M, with a slope that falls as it fell to 8.7 M; half of that fall
/// comes to 10.5 M, and what is wanted is rather more than less.
fn grown([quarter, half, all]: [f64; 3], factor: f64) -> f64 {
    if quarter < FEW {
        return all * factor;
    }
    let (earlier, mut slope) = ((half / quarter).log2(), (all / half).log2());
    let fall = (earlier - slope).max(0.0) / 2.0;
    let (mut doublings, mut left) = (0.0, factor.log2());
    while left > 0.0 && slope > 0.0 {
        slope = (slope - fall).max(0.0);
        doublings += slope * left.min(1.0);
        left -= 1.0;
    }
    all * doublings.exp2()
}

/// A slot that does not exist. The maximum is found first, because that runs over vectors.
pub(crate) fn first_beyond(batch: &Batch<'_>, slots: u64) -> Option<u64> {
    let largest = dispatched(
        #[inline(always)]
        || batch.pairs.iter().fold(0, |largest, pair| pair[0].max(pair[1]).max(largest)),
    );
    (!batch.pairs.is_empty() && u64::from(largest) >= slots).then_some(largest.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_are_estimated_from_how_fast_they_appear() {
        let near = |expected: f64, sample: [f64; 3]| {
            let found = grown(sample.map(|millions| millions * 1e6), 16.0) / 1e6;
            assert!((1.0..1.25).contains(&(found / expected)), "{sample:?}: {found}");
        };
        // R-MAT scrambled 24, as it was counted.
        near(8.87, [1.76, 2.53, 3.49]);
        // All seen already, and all seen once.
        near(5.0, [5.0, 5.0, 5.0]);
        near(16.0 * 4.0, [1.0, 2.0, 4.0]);
        assert!(grown([0.0, 0.0, 3.0], 16.0) >= 48.0);
    }

    #[test]
    fn estimates_are_no_more_than_slots_and_exact_where_all_was_seen() {
        let mut look = EdgeSample::new(true);
        for pair in [[0, 4096], [1, 4097], [2, 9000]] {
            look.add(&[pair; 2], 10_000).unwrap();
            look.end_round();
        }
        let look = look.of_slots(10_000);
        assert_eq!(estimate(&look, 6), [0, 3, 5, 6]);
        let more = estimate(&look, 6 << 20);
        assert_eq!(more, [0, 4096, 8192, 10_000]);
        let uncounted = EdgeSample::new(false).of_slots(10_000);
        assert_eq!(estimate(&uncounted, 10), [0, 4096, 8192, 10_000]);
    }
}
