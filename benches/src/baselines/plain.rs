//! COST for the other algorithms: each as a good programmer writes it down in one thread.
//!
//! Rows hold ids as they come; an id that no edge names is an empty row. Nothing here is clever
//! beyond the textbook: an order by degree where that is what makes an algorithm linear, no more.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Ends of edges that a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowEnds {
    /// Targets by source.
    Out,
    /// Sources by target.
    In,
    /// Both; a loop is in its row once.
    Both,
}

/// A graph by rows.
#[derive(Clone, Debug)]
pub(crate) struct Adjacency {
    offsets: Vec<usize>,
    ends: Vec<u32>,
    weights: Vec<f32>,
}

impl Adjacency {
    /// The rows of the ids `0..ids`; `weights` is empty, or holds one for each pair.
    pub(crate) fn new(ids: usize, pairs: &[[u32; 2]], weights: &[f32], way: RowEnds) -> Self {
        let arcs = |[source, target]: [u32; 2]| {
            let (out, back) = ([source, target], [target, source]);
            let second = (way == RowEnds::Both && source != target).then_some(back);
            std::iter::once(if way == RowEnds::In { back } else { out }).chain(second)
        };
        let mut offsets = vec![0; ids + 1];
        for [from, _] in pairs.iter().flat_map(|&pair| arcs(pair)) {
            offsets[from as usize + 1] += 1;
        }
        for id in 0..ids {
            offsets[id + 1] += offsets[id];
        }
        let mut next = offsets.clone();
        let mut rows = Self { ends: vec![0; offsets[ids]], weights: Vec::new(), offsets };
        rows.weights = vec![0.0; if weights.is_empty() { 0 } else { rows.ends.len() }];
        for (index, &pair) in pairs.iter().enumerate() {
            for [from, to] in arcs(pair) {
                let place = &mut next[from as usize];
                rows.ends[*place] = to;
                if !weights.is_empty() {
                    rows.weights[*place] = weights[index];
                }
                *place += 1;
            }
        }
        rows
    }

    /// Neighbours, whichever way the edges point, ascending: no loops, no parallel edges.
    pub(crate) fn simple(ids: usize, pairs: &[[u32; 2]]) -> Self {
        let all = Self::new(ids, pairs, &[], RowEnds::Both);
        let mut offsets = vec![0];
        let mut ends = Vec::with_capacity(all.ends.len());
        let mut row = Vec::new();
        for id in 0..ids as u32 {
            row.clear();
            row.extend(all.row(id).iter().filter(|&&end| end != id));
            row.sort_unstable();
            row.dedup();
            ends.extend_from_slice(&row);
            offsets.push(ends.len());
        }
        Self { offsets, ends, weights: Vec::new() }
    }

    /// Number of ids.
    pub(crate) fn ids(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(crate) fn row(&self, id: u32) -> &[u32] {
        &self.ends[self.offsets[id as usize]..self.offsets[id as usize + 1]]
    }

    pub(crate) fn degree(&self, id: u32) -> usize {
        self.row(id).len()
    }

    fn weighted(&self, id: u32) -> impl Iterator<Item = (u32, f32)> {
        let range = self.offsets[id as usize]..self.offsets[id as usize + 1];
        self.ends[range.clone()].iter().copied().zip(self.weights[range].iter().copied())
    }
}

/// Strongly connected components: Tarjan's search, with a stack of its own. A number of each id's
/// component.
pub(crate) fn tarjan(out: &Adjacency) -> Vec<u32> {
    const UNSEEN: u32 = u32::MAX;
    let ids = out.ids();
    let (mut order, mut low) = (vec![UNSEEN; ids], vec![0; ids]);
    let mut component = vec![UNSEEN; ids];
    let (mut open, mut path) = (Vec::new(), Vec::new());
    let (mut seen, mut components) = (0, 0);
    for root in 0..ids as u32 {
        if order[root as usize] == UNSEEN {
            path.push((root, 0));
        }
        while let Some((id, next)) = path.pop() {
            let at = id as usize;
            if next == 0 {
                (order[at], low[at]) = (seen, seen);
                seen += 1;
                open.push(id);
            } else {
                // Back from the end before.
                let end = out.row(id)[next - 1] as usize;
                if component[end] == UNSEEN {
                    low[at] = low[at].min(low[end]);
                }
            }
            let mut rest = (next..).zip(&out.row(id)[next..]);
            let down = rest.find(|&(_, &end)| {
                if order[end as usize] != UNSEEN && component[end as usize] == UNSEEN {
                    low[at] = low[at].min(order[end as usize]);
                }
                order[end as usize] == UNSEEN
            });
            if let Some((index, &end)) = down {
                path.extend([(id, index + 1), (end, 0)]);
            } else if low[at] == order[at] {
                while let Some(member) = open.pop() {
                    component[member as usize] = components;
                    if member == id {
                        break;
                    }
                }
                components += 1;
            }
        }
    }
    component
}

/// Trees that are joined: union-find, paths halved.
struct Forest(Vec<u32>);

impl Forest {
    fn new(ids: usize) -> Self {
        Self((0..ids as u32).collect())
    }

    fn root(&mut self, mut id: u32) -> u32 {
        while self.0[id as usize] != id {
            self.0[id as usize] = self.0[self.0[id as usize] as usize];
            id = self.0[id as usize];
        }
        id
    }

    /// Whether the ends were in different trees.
    fn join(&mut self, [one, other]: [u32; 2]) -> bool {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other) as usize] = one.min(other);
        one != other
    }
}

/// Components: the smallest id of each id's.
pub(crate) fn components(ids: usize, pairs: &[[u32; 2]]) -> Vec<u32> {
    let mut forest = Forest::new(ids);
    for &pair in pairs {
        forest.join(pair);
    }
    (0..ids as u32).map(|id| forest.root(id)).collect()
}

/// A spanning forest of the least weight: Kruskal's. The weights of its edges.
pub(crate) fn kruskal(ids: usize, pairs: &[[u32; 2]], weights: &[f32]) -> Vec<f32> {
    let mut order: Vec<u32> = (0..pairs.len() as u32).collect();
    order.sort_by(|&one, &other| weights[one as usize].total_cmp(&weights[other as usize]));
    let mut forest = Forest::new(ids);
    order.retain(|&edge| forest.join(pairs[edge as usize]));
    order.into_iter().map(|edge| weights[edge as usize]).collect()
}

/// Each id's weights of incoming edges, added up: the product with ones.
pub(crate) fn product(ids: usize, pairs: &[[u32; 2]], weights: &[f32]) -> Vec<f64> {
    let mut sums = vec![0.0; ids];
    for (&[_, target], &weight) in pairs.iter().zip(weights) {
        sums[target as usize] += f64::from(weight);
    }
    sums
}

/// Edges between even and odd ids, and the volumes of the even and of the odd ones.
pub(crate) fn cut(pairs: &[[u32; 2]]) -> [u64; 3] {
    let mut found = [0; 3];
    for &[source, target] in pairs {
        found[0] += u64::from((source ^ target) & 1);
        found[1 + (source & 1) as usize] += 1;
        found[1 + (target & 1) as usize] += u64::from(source != target);
    }
    found
}

/// Depth of what was not reached.
pub(crate) const UNREACHED: u32 = u32::MAX;

/// Breadth-first search with a queue.
pub(crate) fn queue(out: &Adjacency, source: u32) -> Vec<u32> {
    let mut depths = vec![UNREACHED; out.ids()];
    depths[source as usize] = 0;
    let mut queue = vec![source];
    let mut first = 0;
    while let Some(&id) = queue.get(first) {
        first += 1;
        for &end in out.row(id) {
            if depths[end as usize] == UNREACHED {
                depths[end as usize] = depths[id as usize] + 1;
                queue.push(end);
            }
        }
    }
    depths
}

/// Shortest paths with a heap, as lengths of f64.
pub(crate) fn dijkstra(out: &Adjacency, source: u32) -> Vec<f64> {
    let mut distances = vec![f64::INFINITY; out.ids()];
    distances[source as usize] = 0.0;
    // Numbers that are not negative are in the order of its bits.
    let mut heap = BinaryHeap::from([Reverse((0, source))]);
    while let Some(Reverse((bits, id))) = heap.pop() {
        let distance = f64::from_bits(bits);
        if distance > distances[id as usize] {
            continue;
        }
        for (end, weight) in out.weighted(id) {
            let through = distance + f64::from(weight);
            if through < distances[end as usize] {
                distances[end as usize] = through;
                heap.push(Reverse((through.to_bits(), end)));
            }
        }
    }
    distances
}

/// Core numbers by buckets of degrees (Batagelj and Zaversnik, 2003).
pub(crate) fn cores(simple: &Adjacency) -> Vec<u32> {
    let ids = simple.ids();
    let mut degrees: Vec<usize> = (0..ids as u32).map(|id| simple.degree(id)).collect();
    let most = degrees.iter().copied().max().unwrap_or(0);
    let mut starts = vec![0; most + 2];
    for &degree in &degrees {
        starts[degree + 1] += 1;
    }
    for degree in 0..=most {
        starts[degree + 1] += starts[degree];
    }
    let (mut order, mut places, mut next) = (vec![0_u32; ids], vec![0; ids], starts.clone());
    for (id, &degree) in degrees.iter().enumerate() {
        (order[next[degree]], places[id]) = (id as u32, next[degree]);
        next[degree] += 1;
    }
    for place in 0..ids {
        let id = order[place];
        for &end in simple.row(id) {
            let degree = degrees[end as usize];
            if degree > degrees[id as usize] {
                // To the front of its bucket, which then begins behind it.
                let (here, front) = (places[end as usize], starts[degree]);
                let first = order[front];
                order.swap(here, front);
                (places[end as usize], places[first as usize]) = (front, here);
                starts[degree] += 1;
                degrees[end as usize] -= 1;
            }
        }
    }
    degrees.into_iter().map(|degree| degree as u32).collect()
}

/// Triangles of each id: rows of those that come later by degree, met with each other.
pub(crate) fn triangles(simple: &Adjacency) -> Vec<u64> {
    let ids = simple.ids();
    let rank = |id: u32| (simple.degree(id), id);
    let mut later = Adjacency { offsets: vec![0], ends: Vec::new(), weights: Vec::new() };
    for id in 0..ids as u32 {
        later.ends.extend(simple.row(id).iter().filter(|&&end| rank(end) > rank(id)));
        later.offsets.push(later.ends.len());
    }
    let mut counts = vec![0; ids];
    let mut marked = vec![false; ids];
    for id in 0..ids as u32 {
        later.row(id).iter().for_each(|&end| marked[end as usize] = true);
        for &middle in later.row(id) {
            for &end in later.row(middle) {
                if marked[end as usize] {
                    for corner in [id, middle, end] {
                        counts[corner as usize] += 1;
                    }
                }
            }
        }
        later.row(id).iter().for_each(|&end| marked[end as usize] = false);
    }
    counts
}

/// Of each id's pairs of neighbours, the share that is joined.
pub(crate) fn clustering(simple: &Adjacency) -> Vec<f64> {
    let share = |(id, count)| match simple.degree(id) as f64 {
        degree if degree < 2.0 => 0.0,
        degree => 2.0 * count as f64 / (degree * (degree - 1.0)),
    };
    (0..).zip(triangles(simple)).map(share).collect()
}

/// Labels of Graphalytics: the most frequent one among the neighbours, the smallest of several.
pub(crate) fn labels(both: &Adjacency, iterations: u64) -> Vec<u32> {
    let ids = both.ids();
    let mut labels: Vec<u32> = (0..ids as u32).collect();
    let mut counts = vec![0_u32; ids];
    for _ in 0..iterations {
        let choose = |id: u32| {
            let mut best = (0, Reverse(labels[id as usize]));
            for &end in both.row(id) {
                let label = labels[end as usize];
                counts[label as usize] += 1;
                best = best.max((counts[label as usize], Reverse(label)));
            }
            both.row(id).iter().for_each(|&end| counts[labels[end as usize] as usize] = 0);
            best.1.0
        };
        labels = (0..ids as u32).map(choose).collect();
    }
    labels
}

/// A maximal independent set: who comes first and has no member beside.
pub(crate) fn greedy_set(both: &Adjacency) -> Vec<bool> {
    let mut members = vec![false; both.ids()];
    for id in 0..both.ids() as u32 {
        members[id as usize] = both.row(id).iter().all(|&end| !members[end as usize]);
    }
    members
}

/// PageRank over the ids that are `named`, with the rank of sinks spread over all of them.
pub(crate) fn pagerank(incoming: &Adjacency, named: &[bool], iterations: u64) -> Vec<f64> {
    const DAMPING: f64 = crate::engine::DAMPING;
    let ids = incoming.ids();
    let mut degrees = vec![0_u32; ids];
    incoming.ends.iter().for_each(|&source| degrees[source as usize] += 1);
    let vertices = named.iter().filter(|&&named| named).count() as f64;
    let mut ranks: Vec<f64> =
        named.iter().map(|&named| if named { 1.0 / vertices } else { 0.0 }).collect();
    let mut signals = vec![0.0; ids];
    for _ in 0..iterations {
        let mut lost = 0.0;
        for id in 0..ids {
            if degrees[id] == 0 {
                lost += ranks[id];
            } else {
                signals[id] = DAMPING * ranks[id] / f64::from(degrees[id]);
            }
        }
        let base = (1.0 - DAMPING + DAMPING * lost) / vertices;
        for id in 0..ids as u32 {
            if named[id as usize] {
                let sum: f64 = incoming.row(id).iter().map(|&end| signals[end as usize]).sum();
                ranks[id as usize] = base + sum;
            }
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A triangle 0, 1, 2 and a tail 2, 3, a loop at 3, an edge twice; 4 is named by no edge.
    const PAIRS: [[u32; 2]; 6] = [[0, 1], [1, 2], [2, 0], [0, 1], [2, 3], [3, 3]];

    #[test]
    fn rows_hold_what_their_way_says() {
        let rows = |way| Adjacency::new(5, &PAIRS, &[], way);
        assert_eq!(rows(RowEnds::Out).row(0), [1, 1]);
        assert_eq!(rows(RowEnds::In).row(3), [2, 3]);
        assert_eq!(rows(RowEnds::Both).row(3), [2, 3]);
        assert_eq!(Adjacency::simple(5, &PAIRS).row(2), [0, 1, 3]);
        assert_eq!(Adjacency::simple(5, &PAIRS).degree(4), 0);
    }

    #[test]
    fn cores_and_triangles_are_those_of_the_simple_graph() {
        let simple = Adjacency::simple(5, &PAIRS);
        assert_eq!(cores(&simple), [2, 2, 2, 1, 0]);
        assert_eq!(triangles(&simple), [1, 1, 1, 0, 0]);
    }

    #[test]
    fn a_cycle_is_one_component_and_what_hangs_on_it_others() {
        let component = tarjan(&Adjacency::new(5, &PAIRS, &[], RowEnds::Out));
        assert_eq!(component[0], component[1]);
        assert_eq!(component[0], component[2]);
        assert_eq!(component.iter().collect::<std::collections::BTreeSet<_>>().len(), 3);
        // Two cycles that share a vertex, met from the middle.
        let pairs = [[1, 0], [0, 1], [1, 2], [2, 3], [3, 1]];
        assert_eq!(tarjan(&Adjacency::new(4, &pairs, &[], RowEnds::Out)), [0; 4]);
    }

    #[test]
    fn the_forest_leaves_out_the_heaviest_of_a_cycle() {
        let weights = [3.0, 1.0, 2.0, 9.0, 5.0, 0.5];
        assert_eq!(kruskal(5, &PAIRS, &weights), [1.0, 2.0, 5.0]);
        let out = Adjacency::new(5, &PAIRS, &weights, RowEnds::Out);
        assert_eq!(dijkstra(&out, 0), [0.0, 3.0, 4.0, 9.0, f64::INFINITY]);
    }

    #[test]
    fn labels_are_the_most_frequent_and_the_smallest_of_several() {
        let both = Adjacency::new(5, &PAIRS, &[], RowEnds::Both);
        // 0 hears 1, 1, 2; 1 hears 0, 0, 2; 2 hears 0, 1, 3; 3 hears 2 and itself.
        assert_eq!(labels(&both, 1), [1, 0, 0, 2, 4]);
    }

    #[test]
    fn sets_are_independent_and_ranks_sum_to_one() {
        let simple = Adjacency::simple(5, &PAIRS);
        assert_eq!(greedy_set(&simple), [true, false, false, true, true]);
        let incoming = Adjacency::new(5, &PAIRS[..5], &[], RowEnds::In);
        let ranks = pagerank(&incoming, &[true, true, true, true, false], 1);
        assert!((ranks.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let base = 0.15 / 4.0 + 0.85 / 16.0;
        assert!((ranks[1] - (base + 0.85 / 4.0)).abs() < 1e-12);
        assert!(ranks[4].abs() < 1e-12);
    }
}
