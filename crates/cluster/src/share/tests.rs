//! Shares of machines together, begun anew, and of streams that are cut otherwise.

use welter_model::edges::{Duplicates, EdgeList};
use welter_model::stream_wrapper::StreamWrapper;

use super::*;
use crate::own_edges::OwnEdges;

fn all(share: &mut Share, edges_max: usize) -> Vec<[u32; 2]> {
    share.begin();
    let mut edges = Vec::new();
    loop {
        let (piece, is_last) = share.piece(edges_max).unwrap();
        assert!(piece.len() <= edges_max);
        edges.extend(piece.iter().map(|edge| [edge.source, edge.target].map(|end| end as u32)));
        if is_last {
            return edges;
        }
    }
}

/// Edges that a share hands to a visitor, and how many of them it wants.
fn visited(share: &mut Share, edges_max: usize) -> Vec<[u32; 2]> {
    let mut edges = Vec::new();
    let visit = &mut |piece: &[InputEdge]| {
        assert!(piece.len() <= edges_max.max(2));
        edges.extend(piece.iter().map(|edge| [edge.source, edge.target].map(|end| end as u32)));
        true
    };
    share.each(edges_max, visit).unwrap();
    edges
}

/// The edges of all parts of a stream.
fn pairs_of(stream: &dyn EdgeStream) -> Vec<[u32; 2]> {
    let mut found = Vec::new();
    for part in 0..stream.parts() {
        let visit = &mut |batch: Batch<'_>| {
            found.extend_from_slice(batch.pairs);
            true
        };
        stream.read(part, visit).unwrap();
    }
    found
}

/// A list whose parts do not know how many edges they have, of a graph of a hundred times as many.
struct Unknown(EdgeList);

impl EdgeStream for Unknown {
    fn parts(&self) -> usize {
        self.0.parts()
    }

    fn edges(&self) -> u64 {
        100 * self.0.edges()
    }

    fn held_edges(&self) -> u64 {
        self.0.edges()
    }

    fn weighted(&self) -> bool {
        self.0.weighted()
    }

    fn slots(&self) -> Option<u64> {
        self.0.slots()
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        self.0.read(part, visit)
    }
}

/// A list that calls again after its visitor had enough.
struct Insistent(EdgeList);

impl StreamWrapper for Insistent {
    type Inner = EdgeList;

    fn inner(&self) -> &EdgeList {
        &self.0
    }

    fn read_through(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        (0..3).try_for_each(|_| self.0.read(part, visit))
    }

    fn sample_through(
        &self,
        part: usize,
        of: (Sample, usize),
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        (0..3).try_for_each(|_| self.0.sample(part, of, visit))
    }
}

#[test]
fn a_visitor_that_has_enough_is_not_called_again() {
    let stream: Arc<dyn EdgeStream> = Arc::new(Insistent(EdgeList::from_pairs(vec![[0, 1]; 9])));
    let mut share = Share::new(stream, Reading::default(), (0, 1));
    assert_eq!(calls(|visit| share.each(100, visit).unwrap()), 2);
    let mut each = 0;
    assert_eq!(calls(|visit| each = share.sample(100, visit).unwrap()), 2);
    assert_eq!(each, 1);
}

/// Calls of a visitor that has enough the second time.
fn calls(visits: impl FnOnce(&mut dyn FnMut(&[InputEdge]) -> bool)) -> u32 {
    let mut calls = 0;
    visits(&mut |_: &[InputEdge]| {
        calls += 1;
        calls < 2
    });
    calls
}

#[test]
fn edges_of_a_machine_are_counted_where_parts_do_not_know_them() {
    let mut list = EdgeList::new(Some(9), true);
    for size in [3, 1, 4, 1, 5] {
        list.push(vec![[size, 1]; size as usize], vec![f64::from(size); size as usize]);
    }
    let expected: Vec<[u32; 2]> = list.pairs().collect();
    let stream: Arc<dyn EdgeStream> = Arc::new(Unknown(list));
    for machines in 1..7 {
        let own = |rank| OwnEdges::new(stream.clone(), (rank, machines)).unwrap();
        let shares: Vec<_> = (0..machines).map(|rank| pairs_of(&own(rank))).collect();
        assert_eq!(shares.concat(), expected);
        let counts = (0..machines).map(|rank| own(rank).edges() as usize);
        assert!(counts.eq(shares.iter().map(Vec::len)));
        assert!(own(0).weighted() && own(0).slots() == Some(9));
    }
}

#[test]
fn weights_may_say_which_way_edges_lead() {
    let duplicates = Duplicates::Directions;
    let directed = Reading { duplicates, ..Reading::default() };
    let weights = |reading| {
        let stream = Arc::new(EdgeList::from_pairs(vec![[0, 1], [0, 1], [2, 1]]));
        let mut share = Share::new(stream, reading, (0, 1));
        let (edges, _) = share.piece(100).unwrap();
        edges.iter().map(|edge| edge.weight).collect::<Vec<_>>()
    };
    assert_eq!(weights(directed), [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
    assert_eq!(weights(Reading { undirected: true, ..directed }), [3.0; 6]);
}

#[test]
fn weights_may_be_left() {
    let mut list = EdgeList::new(Some(2), true);
    list.push(vec![[0, 1]], vec![2.5]);
    let stream: Arc<dyn EdgeStream> = Arc::new(list);
    for (is_wanted, expected) in [(true, 2.5), (false, 1.0)] {
        let share = Share::new(stream.clone(), Reading::default(), (0, 1));
        let mut share = share.weighted(is_wanted);
        let (edges, _) = share.piece(1).unwrap();
        assert_eq!(edges[0].weight.to_bits(), f64::to_bits(expected));
    }
}

#[test]
fn weights_stay_with_their_edges_in_pieces_of_any_size() {
    let mut list = EdgeList::new(Some(40), true);
    for first in [0_u32, 7, 30] {
        let pairs: Vec<[u32; 2]> = (first..first + 7).map(|edge| [edge, edge / 2]).collect();
        let weights = pairs.iter().map(|[source, _]| f64::from(*source) + 0.5).collect();
        list.push(pairs, weights);
    }
    let stream: Arc<dyn EdgeStream> = Arc::new(list);
    let both = Reading { undirected: true, ..Reading::default() };
    // One edge is a loop.
    for (reading, machines, expected) in [(Reading::default(), 1, 21), (both, 1, 41), (both, 3, 41)]
    {
        for edges_max in [1, 2, 5, 100] {
            let mut edges = 0;
            for rank in 0..machines {
                let mut share = Share::new(stream.clone(), reading, (rank, machines));
                loop {
                    let (piece, is_last) = share.piece(edges_max).unwrap();
                    edges += piece.len();
                    for edge in piece {
                        let weight = edge.source.max(edge.target) as f64 + 0.5;
                        assert_eq!(edge.weight.to_bits(), weight.to_bits(), "{edge:?}");
                    }
                    if is_last {
                        break;
                    }
                }
            }
            assert_eq!(edges, expected, "{machines} machines, {edges_max} at a time");
        }
    }
}

#[test]
fn shares_are_all_edges_once_and_again() {
    let pairs: Vec<[u32; 2]> = (0..50).map(|edge| [edge % 7, edge % 5]).collect();
    let mut list = EdgeList::new(Some(7), false);
    pairs.chunks(8).for_each(|pairs| list.push(pairs.to_vec(), Vec::new()));
    let stream: Arc<dyn EdgeStream> = Arc::new(list);
    let both = Reading { undirected: true, drop_self_loops: true, ..Reading::default() };
    let back = Reading { reversed: true, ..Reading::default() };
    let turned = |&[source, target]: &[u32; 2]| [target, source];
    for machines in 1..10 {
        for (reading, members) in [(Reading::default(), 0), (back, 0), (both, 7)] {
            let mut found = Vec::new();
            for rank in 0..machines {
                let me = (rank, machines);
                let share = Share::new(stream.clone(), reading, me);
                let mut share = share.with_members(members, me);
                let edges = all(&mut share, 3);
                assert_eq!(all(&mut share, 1000), edges);
                assert_eq!(visited(&mut share, 3), edges, "a visitor is shown them too");
                found.extend(edges);
            }
            let mut expected = match (reading.reversed, reading.undirected) {
                (true, _) => pairs.iter().map(turned).collect(),
                (_, true) => {
                    let some = pairs.iter().filter(|[source, target]| source != target);
                    some.flat_map(|pair| [*pair, turned(pair)]).collect()
                }
                _ => pairs.clone(),
            };
            expected.extend((0..members as u32).map(|vertex| [vertex; 2]));
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, expected, "{machines} machines");
        }
    }
}

#[test]
fn a_sample_stands_for_all_edges_of_a_share() {
    let (parts, each) = (64, 1 << 16);
    let mut list = EdgeList::new(Some(9), false);
    (0..parts).for_each(|_| list.push(vec![[1, 2]; each], Vec::new()));
    let stream: Arc<dyn EdgeStream> = Arc::new(list);
    let (mut sampled, mut stands_for) = (0, 0);
    for rank in 0..2 {
        let mut share = Share::new(stream.clone(), Reading::default(), (rank, 2));
        let mut found = 0;
        let count = &mut |edges: &[InputEdge]| {
            found += edges.len() as u64;
            true
        };
        stands_for += share.sample(1000, count).unwrap() * found;
        sampled += found;
    }
    let edges = (parts * each) as u64;
    assert!(sampled < edges / 2, "{sampled} of {edges}");
    assert!(stands_for.abs_diff(edges) < edges / 4, "{stands_for} for {edges}");
    let mut one = Share::new(stream, Reading::default(), (0, 2));
    let mut visits = 0;
    let stop = &mut |_: &[InputEdge]| {
        visits += 1;
        false
    };
    one.sample(1000, stop).unwrap();
    assert_eq!(visits, 1, "a visitor that has enough is shown no more");
}

/// Edges that a share visits of a sample, and how many each stands for.
fn sampled(share: &mut Share) -> (u64, u64) {
    let mut found = 0;
    let count = &mut |edges: &[InputEdge]| {
        found += edges.len() as u64;
        true
    };
    let each = share.sample(1000, count).unwrap();
    (found, each)
}

#[test]
fn a_sample_stands_for_the_edges_of_its_share_whatever_the_parts_are() {
    // The share has 2^18 of 2^21 edges, in one part of many: others have few edges. Every other
    // piece is looked at.
    let long = 1 << 18;
    let mut list = EdgeList::new(Some(9), false);
    list.push(vec![[1, 2]; long], Vec::new());
    (0..7 * 64).for_each(|_| list.push(vec![[3, 4]; long / 64], Vec::new()));
    let mut share = Share::new(Arc::new(list), Reading::default(), (0, 8));
    assert_eq!(share.expected_edges(), long as u64);
    let (found, each) = sampled(&mut share);
    assert_eq!((found, each), (long as u64 / 2, 2));
    // The stream holds a hundredth of the graph, in parts that do not know their edges.
    let (parts, part) = (128, 1 << 14);
    let mut list = EdgeList::new(Some(9), false);
    (0..parts).for_each(|_| list.push(vec![[1, 2]; part], Vec::new()));
    let stream: Arc<dyn EdgeStream> = Arc::new(Unknown(list));
    let mut stands_for = 0;
    for rank in 0..2 {
        let mut share = Share::new(stream.clone(), Reading::default(), (rank, 2));
        assert_eq!(share.expected_edges(), (parts / 2 * part) as u64);
        let (found, each) = sampled(&mut share);
        stands_for += found * each;
    }
    let edges = (parts * part) as u64;
    assert!(stands_for.abs_diff(edges) <= edges / 8, "{stands_for} for {edges}");
    // Shares of 1.6 and 1.4 times as many edges as are looked at.
    let list = Arc::new(EdgeList::from_pairs(vec![[1, 2]; 10_000]));
    let mut share = Share::new(list, Reading::default(), (0, 1));
    (share.own, share.parts) = (0..16_000, 0..1);
    assert_eq!(sampled(&mut share), (10_000, 2));
    share.own = 0..14_000;
    assert_eq!(sampled(&mut share), (10_000, 1));
}

#[test]
fn shares_do_not_depend_on_how_a_stream_is_cut() {
    let pairs: Vec<[u32; 2]> = (0..50).map(|edge| [edge, edge % 5]).collect();
    for machines in 1..8 {
        let shares = [1, 3, 8, 50].map(|size| {
            let mut list = EdgeList::new(Some(50), false);
            pairs.chunks(size).for_each(|pairs| list.push(pairs.to_vec(), Vec::new()));
            let stream: Arc<dyn EdgeStream> = Arc::new(list);
            let share = |rank| Share::new(stream.clone(), Reading::default(), (rank, machines));
            let shares: Vec<_> = (0..machines).map(|rank| all(&mut share(rank), 7)).collect();
            for (rank, share) in shares.iter().enumerate() {
                let own = own_edges(&*stream, (rank, machines)).unwrap();
                assert_eq!(own.pairs().collect::<Vec<_>>(), *share);
                let own = OwnEdges::new(stream.clone(), (rank, machines)).unwrap();
                assert_eq!((pairs_of(&own), own.edges()), (share.clone(), share.len() as u64));
            }
            shares
        });
        assert_eq!(shares[0].concat(), pairs);
        assert!(shares.iter().all(|share| *share == shares[0]), "{machines} machines");
    }
}
