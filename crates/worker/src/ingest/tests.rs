//! Edges as they are read and as they come back from chunks, wherever numbers of vertices lie.

use std::ops::Range;

use welter_engine::chunks::DecodeBuffers;
use welter_protocol::Payload;
use welter_protocol::config::Route;
use welter_protocol::ids::{Cell, Step};
use welter_protocol::partitions::Partitions;
use welter_protocol::random::Random;
use welter_protocol::work::Filled;
use welter_store::header::Encoding;

use super::*;
use crate::Listed;
use crate::input::InputEdge;

fn cut(ranges: &[Range<u64>], route: Route, bins_open_max: u64) -> Partitioning {
    Partitioning {
        partitions: Partitions::of_ranges(1, ranges).unwrap(),
        route,
        encoding: Encoding::Compressed,
        chunk_records: 5,
        bin_chunks: 1,
        chunk_vertices: 4,
        piece_edges: 1000,
        bins_open_max,
        source_parts: 1,
        stripe_bits: 63,
        combines: false,
    }
}

/// The chunks of all edges, after they were read and split, and the edges that were counted.
fn filled(
    cut: &Partitioning,
    edges: &[InputEdge],
    is_striped: bool,
) -> (Vec<Filled>, Vec<Payload>) {
    let listed = Box::new(Listed::new(edges));
    let ingest = Ingest::new(listed, cut.clone(), (7, true), (false, None));
    let mut ingest = ingest.striped(is_striped);
    let read = ingest.piece(true, &mut 0).unwrap();
    let Outcome::Ingested { filled, degrees: Some(degrees), .. } = read else {
        panic!("all edges are read")
    };
    let is_rough = |chunk: &Filled| chunk.source.is_none() && cut.route == Route::Fold;
    let (rough, mut chunks): (Vec<_>, Vec<_>) = filled.into_iter().partition(is_rough);
    for partition in 0..cut.partitions.count() {
        let step = Step { iteration: 0, phase: Phase::Split };
        let (vertices, control) = (Vec::new(), [].into());
        let open = Work::Open { step, partition, vertices, control };
        ingest.splits(&open, &mut 0).unwrap().unwrap();
        for chunk in rough.iter().filter(|chunk| chunk.partition == partition) {
            assert!(chunk.records <= cut.chunk_records);
            let split = ingest.split(partition, &chunk.payload, &mut 0).unwrap();
            let Outcome::Streamed { filled, .. } = split else { panic!("edges are split") };
            chunks.extend(filled);
        }
        chunks.extend(ingest.binning.rest(None).unwrap());
    }
    (chunks, degrees)
}

/// The ends of all edges that chunks have, after they were read and split.
fn written(cut: &Partitioning, edges: &[InputEdge]) -> Vec<[u64; 2]> {
    let (chunks, _) = filled(cut, edges, false);
    let mut ends = Vec::new();
    for Filled { partition, source, payload, records, .. } in chunks {
        let cell = cut.pulled_cell(7, Cell { partition, source }, &payload).unwrap();
        let pulled = cell.open(&payload).unwrap();
        assert_eq!(pulled.edges(), u64::from(records));
        let [sources, targets] = [cell.sources.start, cell.targets.start];
        let show = |source, target| {
            ends.push([sources + u64::from(source), targets + u64::from(target)]);
        };
        pulled.pairs(&mut DecodeBuffers::default(), show).unwrap();
    }
    ends.sort_unstable();
    ends
}

/// A route, and bins that may be open.
const WAYS: [(Route, u64); 3] =
    [(Route::Spill, u64::MAX), (Route::Fold, u64::MAX), (Route::Fold, 1)];

#[test]
fn ends_beyond_32_bits_come_back_from_chunks() {
    let random = &mut Random::new(6);
    for _ in 0..60 {
        // Bounds near those of zones, and of 32 bits.
        let mut next = 0;
        let ranges: Vec<Range<u64>> = (0..=random.below(6))
            .map(|_| {
                let near = (random.below(6) << 31).saturating_sub(random.below(5));
                let start = next.max(near);
                next = start + 1 + random.below(9);
                start..next
            })
            .collect();
        let numbers: Vec<u64> = ranges.iter().cloned().flatten().collect();
        let mut end = || *random.pick(&numbers);
        let edges: Vec<InputEdge> =
            (0..70).map(|_| InputEdge { source: end(), target: end(), weight: 1.0 }).collect();
        let mut expected: Vec<[u64; 2]> =
            edges.iter().map(|edge| [edge.source, edge.target]).collect();
        expected.sort_unstable();
        for (route, bins_open_max) in WAYS {
            let cut = cut(&ranges, route, bins_open_max);
            assert_eq!(written(&cut, &edges), expected, "{ranges:?}, {route:?}");
        }
    }
}

#[test]
fn first_and_last_vertices_of_partitions_are_told_apart() {
    for first in [(1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 1 << 61] {
        let ranges = [
            0..1,
            first..first + 1,
            first + 1..first + (1 << 31),
            first + (1 << 31)..first + (1 << 31) + 2,
        ];
        let ends: Vec<u64> = ranges.iter().flat_map(|range| [range.start, range.end - 1]).collect();
        let all = ends.iter().flat_map(|&source| ends.iter().map(move |&target| [source, target]));
        let mut expected: Vec<[u64; 2]> = all.collect();
        let edge = |&[source, target]: &[u64; 2]| InputEdge { source, target, weight: 1.0 };
        let edges: Vec<InputEdge> = expected.iter().map(edge).collect();
        expected.sort_unstable();
        for (route, bins_open_max) in WAYS {
            // Counts of this many vertices would be the most that there is here.
            let mut cut = cut(&ranges, route, bins_open_max);
            assert!(cut.numbers_fit("any", true).is_ok());
            assert_eq!(cut.numbers_fit("some", false).is_ok(), cut.partitions.end() < 1 << 32);
            assert_eq!(written(&cut, &edges), expected, "{first}, {route:?}");
            cut.partitions =
                Partitions::of_ranges(1, std::slice::from_ref(&(first..first + (1 << 31) + 1)))
                    .unwrap();
            assert!(cut.numbers_fit("any", true).is_err(), "a partition that no key can tell");
        }
    }
}

#[test]
fn edges_of_no_vertex_are_errors_wherever_they_come_from() {
    let ranges = [0..4, (1 << 32)..(1 << 32) + 4];
    let cut = cut(&ranges, Route::Fold, 1);
    let ingest =
        || Ingest::new(Box::new(Listed::new(Vec::new())), cut.clone(), (7, false), (false, None));
    let split = |partition, numbers: &[u32]| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        ingest().split(partition, &bytes, &mut 0).is_ok()
    };
    // A zone, then a source there, and the low bits of a target.
    assert!(split(0, &[0, 3, 3]) && split(1, &[2, 3, 3]) && split(1, &[]));
    for (partition, numbers) in [(0, [0, 3, 4]), (0, [1, 3, 3]), (1, [2, 4, 3]), (1, [2, 3, 4])] {
        assert!(!split(partition, &numbers), "{partition}, {numbers:?}");
    }
    for edge in [[4, 0], [0, 4], [(1 << 32) - 1, 0], [0, (1 << 32) + 4]] {
        let [source, target] = edge;
        let one = ingest().binning.ends(&InputEdge { source, target, weight: 1.0 });
        assert!(one.is_err(), "{edge:?}");
    }
}

/// Chunks that were cut by stripes: ends of their edges, chunks of the store in them, and bytes of
/// the longest.
fn striped(cut: &Partitioning, chunks: &[Filled]) -> (Vec<[u64; 2]>, usize, usize) {
    let (mut ends, mut stripes, mut bytes) = (Vec::new(), 0, 0);
    for Filled { partition, source, payload, records, sources: ranges, .. } in chunks {
        assert!(*records <= cut.chunk_records, "{records} edges");
        let cell = Cell { partition: *partition, source: *source };
        let (mut edges, mut expected) = (0, 0);
        for (stripe, chunk) in cut.striped_chunks(7, cell, payload).unwrap() {
            let of = cut.striped_cell(7, cell, stripe as u64);
            let [sources, targets] = [of.sources.start, of.targets.start];
            let pulled = of.open(chunk).unwrap();
            edges += pulled.edges();
            let show = |source, target| {
                ends.push([sources + u64::from(source), targets + u64::from(target)]);
                expected |= cut.range_at((cell.sources(), u64::from(source)));
            };
            pulled.pairs(&mut DecodeBuffers::default(), show).unwrap();
            stripes += 1;
        }
        assert_eq!((edges, expected), (u64::from(*records), *ranges));
        bytes = bytes.max(payload.len());
    }
    ends.sort_unstable();
    (ends, stripes, bytes)
}

#[test]
fn bins_of_several_chunks_have_edges_of_few_stripes_in_each() {
    let random = &mut Random::new(3);
    let edges: Vec<InputEdge> = (0..2 * RUN_EDGES)
        .map(|_| {
            // Few targets have many edges.
            let most = 1 + random.below(300);
            InputEdge { source: random.below(300), target: random.below(most), weight: 1.0 }
        })
        .collect();
    let mut expected: Vec<[u64; 2]> = edges.iter().map(|edge| [edge.source, edge.target]).collect();
    expected.sort_unstable();
    for bins_open_max in [u64::MAX, 1] {
        let of = |bin_chunks| {
            let cut = Partitioning {
                chunk_records: 64,
                bin_chunks,
                piece_edges: 3 * RUN_EDGES,
                stripe_bits: 5,
                ..cut(&[0..200, 200..300], Route::Fold, bins_open_max)
            };
            let (chunks, degrees) = filled(&cut, &edges, true);
            (striped(&cut, &chunks), degrees)
        };
        let ((ends, stripes, bytes), degrees) = of(1);
        assert_eq!(ends, expected);
        for bin_chunks in [2, 3, 8] {
            let ((ends, fewer, most), counted) = of(bin_chunks);
            assert_eq!(ends, expected, "{bin_chunks} chunks");
            assert!(counted == degrees, "edges are counted once");
            assert!(most <= bytes, "{most} bytes of a chunk, not {bytes}");
            assert!(fewer < stripes, "{fewer} runs of edges to a stripe, and {stripes}");
            assert!(bin_chunks < 8 || 2 * fewer < stripes, "{fewer} and {stripes}");
        }
    }
}
