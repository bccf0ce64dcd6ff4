//! Number of messages that a core makes a second (Figure 7): the apply and scatter stages of
//! PageRank on a random graph, into rings of several machines and sub-ranges, from which no thread
//! sends.

use welter_transport::{Bucket, Destination, LaneError, Layout, RingGroup, TxLane};

use crate::measure::processor_nanos;
use crate::pipe::message;

/// Buckets are empty again as soon as they are full.
struct Discarded(Vec<Bucket>);

impl TxLane for Discarded {
    fn bucket(&mut self, _: usize) -> Option<Bucket> {
        self.0.pop()
    }

    fn commit(&mut self, _: usize, bucket: Bucket) -> Result<(), LaneError> {
        self.0.push(bucket);
        Ok(())
    }

    fn poll(&mut self) -> Result<(), LaneError> {
        Ok(())
    }

    fn is_idle(&self) -> bool {
        true
    }
}

const VERTICES: u32 = 1 << 20;
const DEGREE: usize = 16;

/// Millions of messages a second and core: one at a time as the paper's `SendMsg`, and in the runs
/// that tiles give, whose edges lead to one sub-range.
pub(crate) fn rates(destinations: u16, layout: Layout) -> Result<(f64, f64), LaneError> {
    let buckets = (0..2 * destinations).map(|_| Bucket::new(layout)).collect();
    let to: Vec<Destination> =
        (0..destinations).map(|sub_range| Destination { rank: 1, sub_range }).collect();
    let mut group = RingGroup::new(Discarded(buckets), &to, 8);
    let mut state = 1_u64;
    let targets: Vec<u32> = (0..VERTICES as usize * DEGREE)
        .map(|_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 44) as u32 % VERTICES
        })
        .collect();
    let ranks: Vec<f32> = (0..VERTICES).map(|vertex| vertex as f32).collect();
    let shift = (VERTICES / u32::from(destinations)).trailing_zeros();
    let mut best = (f64::MAX, f64::MAX);
    for _ in 0..5 {
        let begin = processor_nanos();
        for (rank, neighbours) in ranks.iter().zip(targets.chunks_exact(DEGREE)) {
            let value = rank * 0.85 + 0.15;
            for &target in neighbours {
                group.send((target >> shift) as usize, &message(target, value))?;
            }
        }
        let between = processor_nanos();
        for (tile, edges) in targets.chunks(1 << 14).enumerate() {
            by_runs(&mut group, tile % to.len(), edges, &ranks)?;
        }
        let end = processor_nanos();
        best.0 = best.0.min((between - begin) as f64);
        best.1 = best.1.min((end - between) as f64);
    }
    let messages = targets.len() as f64;
    Ok((messages / best.0 * 1e3, messages / best.1 * 1e3))
}

/// Messages of a tile, written into the room of one ring.
fn by_runs(
    group: &mut RingGroup<Discarded>,
    to: usize,
    edges: &[u32],
    ranks: &[f32],
) -> Result<(), LaneError> {
    let mut left = edges;
    while !left.is_empty() {
        let room = group.room(to)?.as_chunks_mut::<8>().0;
        let count = room.len().min(left.len());
        let (now, later) = left.split_at(count);
        for (slot, &target) in room.iter_mut().zip(now) {
            // Sources of a tile are side by side, so their values are in the cache.
            let value = ranks[target as usize % 4096];
            *slot = message(target, value);
        }
        group.filled(to, 8 * count, count as u64);
        left = later;
    }
    Ok(())
}
