//! Traversals over compressed sparse rows of outgoing (and incoming) edges.
//!
//! Three plain single-threaded loops, which every parallel system has to beat (a queue, a heap, a
//! forest), and the parallel breadth-first search that most systems have inside, which changes
//! direction: while few vertices are in the frontier their edges are followed, while many are the
//! vertices that were not reached look for one of them among their sources (Beamer, Asanovic and
//! Patterson, "Direction-optimizing breadth-first search", 2012, with its alpha of 15 and beta of
//! 18).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use anyhow::Result;
use rayon::ThreadPool;
use rayon::prelude::*;

use super::pairs::PairFile;

/// Depth of what was not reached.
pub(crate) const UNREACHED: u32 = u32::MAX;

/// The weight of an edge, 1 to 255, from its ends.
pub(crate) fn weight([source, target]: [u32; 2]) -> u8 {
    let key = u64::from(source) << 32 | u64::from(target);
    // Any odd constant with bits everywhere will do; the upper bits of the product are mixed best.
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as u8 % 255 + 1
}

/// One direction of a graph.
pub(crate) struct Rows {
    offsets: Vec<u32>,
    ends: Vec<u32>,
    weights: Vec<u8>,
}

impl Rows {
    /// The rows of the ids `0..ids` from a file of pairs: targets by source, or the other way
    /// round when `incoming`; with weights when `weighted`.
    pub(crate) fn build(path: &Path, ids: usize, incoming: bool, weighted: bool) -> Result<Self> {
        let file = PairFile::open(path)?;
        let turned = |&[source, target]: &[u32; 2]| {
            if incoming { [target, source] } else { [source, target] }
        };
        let mut offsets = vec![0_u32; ids + 1];
        file.visit(|pairs| {
            pairs.iter().map(turned).for_each(|[from, _]| offsets[from as usize + 1] += 1);
        })?;
        for id in 0..ids {
            offsets[id + 1] += offsets[id];
        }
        let mut next = offsets[..ids].to_vec();
        let mut ends = vec![0; file.pairs];
        let mut weights = vec![0; if weighted { file.pairs } else { 0 }];
        file.visit(|pairs| {
            for pair in pairs {
                let [from, to] = turned(pair);
                let place = &mut next[from as usize];
                ends[*place as usize] = to;
                if weighted {
                    weights[*place as usize] = weight(*pair);
                }
                *place += 1;
            }
        })?;
        Ok(Self { offsets, ends, weights })
    }

    /// Number of ids.
    pub(crate) fn ids(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of edges.
    pub(crate) fn edges(&self) -> usize {
        self.ends.len()
    }

    /// The id with the longest row, the smallest of several.
    pub(crate) fn longest(&self) -> u32 {
        let length = |id: &usize| (self.offsets[id + 1] - self.offsets[*id], Reverse(*id));
        (0..self.ids()).max_by_key(length).unwrap_or(0) as u32
    }

    #[inline(always)]
    fn row(&self, id: u32) -> &[u32] {
        &self.ends[self.offsets[id as usize] as usize..self.offsets[id as usize + 1] as usize]
    }

    #[inline(always)]
    fn degree(&self, id: u32) -> u64 {
        u64::from(self.offsets[id as usize + 1] - self.offsets[id as usize])
    }
}

/// Breadth-first search with a queue.
pub(crate) fn queue_bfs(out: &Rows, source: u32) -> Vec<u32> {
    let mut depths = vec![UNREACHED; out.ids()];
    depths[source as usize] = 0;
    let mut queue = vec![source];
    let mut first = 0;
    while let Some(&vertex) = queue.get(first) {
        first += 1;
        let next = depths[vertex as usize] + 1;
        for &end in out.row(vertex) {
            let depth = &mut depths[end as usize];
            if *depth == UNREACHED {
                *depth = next;
                queue.push(end);
            }
        }
    }
    depths
}

/// Shortest paths with a heap.
pub(crate) fn heap_sssp(out: &Rows, source: u32) -> Vec<u64> {
    let mut distances = vec![u64::MAX; out.ids()];
    distances[source as usize] = 0;
    let mut heap = BinaryHeap::from([Reverse((0, source))]);
    while let Some(Reverse((distance, vertex))) = heap.pop() {
        if distance > distances[vertex as usize] {
            continue;
        }
        let range =
            out.offsets[vertex as usize] as usize..out.offsets[vertex as usize + 1] as usize;
        for (&end, &weight) in out.ends[range.clone()].iter().zip(&out.weights[range]) {
            let through = distance + u64::from(weight);
            if through < distances[end as usize] {
                distances[end as usize] = through;
                heap.push(Reverse((through, end)));
            }
        }
    }
    distances
}

/// Components with a forest: the smallest id of each.
pub(crate) fn forest_wcc(out: &Rows) -> Vec<u32> {
    fn root(parents: &mut [u32], mut id: u32) -> u32 {
        while parents[id as usize] != id {
            parents[id as usize] = parents[parents[id as usize] as usize];
            id = parents[id as usize];
        }
        id
    }
    let mut parents: Vec<u32> = (0..out.ids() as u32).collect();
    for id in 0..out.ids() as u32 {
        for &end in out.row(id) {
            let (one, other) = (root(&mut parents, id), root(&mut parents, end));
            parents[one.max(other) as usize] = one.min(other);
        }
    }
    for id in 0..out.ids() as u32 {
        parents[id as usize] = root(&mut parents, id);
    }
    parents
}

/// Breadth-first search that changes direction, on the threads of a pool.
pub(crate) fn hybrid_bfs(out: &Rows, incoming: &Rows, source: u32, pool: &ThreadPool) -> Vec<u32> {
    const ALPHA: u64 = 15;
    const BETA: u64 = 18;
    pool.install(|| {
        let ids = out.ids();
        let depths: Vec<AtomicU32> =
            (0..ids).into_par_iter().map(|_| AtomicU32::new(UNREACHED)).collect();
        depths[source as usize].store(0, Ordering::Relaxed);
        let mut queue = vec![source];
        let mut unexplored = out.edges() as u64;
        let mut depth = 0;
        while !queue.is_empty() {
            let leaving: u64 = queue.par_iter().map(|&id| out.degree(id)).sum();
            if leaving > unexplored / ALPHA {
                let mut front = bits_of(&queue, ids);
                let mut count = queue.len() as u64;
                loop {
                    depth += 1;
                    let before = count;
                    (front, count) = upwards(incoming, &depths, &front, depth);
                    if count == 0 || (count < before && count <= ids as u64 / BETA) {
                        break;
                    }
                }
                queue = ids_of(&front);
            } else {
                unexplored = unexplored.saturating_sub(leaving);
                depth += 1;
                queue = downwards(out, &depths, &queue, depth);
            }
        }
        depths.into_par_iter().map(AtomicU32::into_inner).collect()
    })
}

fn downwards(out: &Rows, depths: &[AtomicU32], queue: &[u32], depth: u32) -> Vec<u32> {
    let found = queue.par_chunks(64).fold(Vec::new, |mut found, ids| {
        for &id in ids {
            for &end in out.row(id) {
                let place = &depths[end as usize];
                let (relaxed, new) = (Ordering::Relaxed, depth);
                if place.load(relaxed) == UNREACHED
                    && place.compare_exchange(UNREACHED, new, relaxed, relaxed).is_ok()
                {
                    found.push(end);
                }
            }
        }
        found
    });
    found.reduce(Vec::new, |mut left, right| {
        left.extend_from_slice(&right);
        left
    })
}

fn upwards(
    incoming: &Rows,
    depths: &[AtomicU32],
    front: &[AtomicU64],
    depth: u32,
) -> (Vec<AtomicU64>, u64) {
    let in_front =
        |&id: &u32| front[id as usize / 64].load(Ordering::Relaxed) >> (id % 64) & 1 == 1;
    let words: Vec<u64> = (0..front.len())
        .into_par_iter()
        .with_min_len(16)
        .map(|word| {
            let mut bits = 0;
            let end = ((word + 1) * 64).min(depths.len());
            for (bit, place) in depths[word * 64..end].iter().enumerate() {
                let id = (word * 64 + bit) as u32;
                if place.load(Ordering::Relaxed) == UNREACHED
                    && incoming.row(id).iter().any(in_front)
                {
                    place.store(depth, Ordering::Relaxed);
                    bits |= 1 << bit;
                }
            }
            bits
        })
        .collect();
    let count = words.par_iter().map(|word| u64::from(word.count_ones())).sum();
    (words.into_iter().map(AtomicU64::new).collect(), count)
}

fn bits_of(queue: &[u32], ids: usize) -> Vec<AtomicU64> {
    let words: Vec<AtomicU64> = (0..ids.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
    queue.par_iter().for_each(|&id| {
        words[id as usize / 64].fetch_or(1 << (id % 64), Ordering::Relaxed);
    });
    words
}

fn ids_of(words: &[AtomicU64]) -> Vec<u32> {
    let ids = words.par_iter().enumerate().flat_map_iter(|(word, bits)| {
        let bits = bits.load(Ordering::Relaxed);
        (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word as u32 * 64 + bit)
    });
    ids.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_searches_agree() {
        let path = std::env::temp_dir().join(format!("welter-bench-search-{}", std::process::id()));
        let mut state = 3_u64;
        let mut id = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 40) % 3000) as u32
        };
        let pairs: Vec<[u32; 2]> = (0..9000).map(|_| [id(), id()]).collect();
        std::fs::write(&path, bytemuck::cast_slice(&pairs)).unwrap();
        let out = Rows::build(&path, 3000, false, true).unwrap();
        let incoming = Rows::build(&path, 3000, true, false).unwrap();
        std::fs::remove_file(&path).unwrap();
        let source = out.longest();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let depths = queue_bfs(&out, source);
        assert_eq!(depths, hybrid_bfs(&out, &incoming, source, &pool));
        let distances = heap_sssp(&out, source);
        let labels = forest_wcc(&out);
        for [from, to] in pairs {
            let (from_at, to_at) = (from as usize, to as usize);
            assert_eq!(labels[from_at], labels[to_at]);
            assert!(depths[from_at] == UNREACHED || depths[to_at] <= depths[from_at] + 1);
            let through = distances[from_at].saturating_add(weight([from, to]).into());
            assert!(distances[to_at] <= through);
        }
    }
}
