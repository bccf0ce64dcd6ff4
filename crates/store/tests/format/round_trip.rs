//! Edges that go into a builder come out of both readers.

use bytemuck::cast_slice;
use proptest::prelude::*;
use proptest::sample::select;
use welter_store::ChunkBuilder;
use welter_store::chunk::{Chunk, Tile};
use welter_store::codec::{Decoder, SimdLevel};
use welter_store::header::{ALIGN, CellId, Encoding, Label};
use welter_store::weights::WeightKind;

use crate::plain;
use crate::samples::{Aligned, KINDS, Sample, groups, small};

fn keys(tile: &Tile<'_>, label: &Label, level: SimdLevel) -> Vec<u32> {
    let Label { encoding, target_bits, .. } = *label;
    let decoder = Decoder::new(encoding, target_bits, tile.keys, tile.edges, level);
    let Some(mut decoder) = decoder else {
        return tile.packed().to_vec();
    };
    let (mut keys, mut buffer) = (Vec::new(), [0; 256]);
    while keys.len() < tile.edges {
        let count = decoder.fill(&mut buffer);
        keys.extend_from_slice(&buffer[..count]);
    }
    keys
}

/// Weights as bits, so that -0 is not 0.
fn bits(weights: &[f64]) -> Vec<u64> {
    cast_slice(weights).to_vec()
}

/// Compares a chunk with what went into it.
pub(crate) fn check(sample: &Sample, bytes: &[u8]) {
    let Sample { label, tiles } = sample;
    let all: Vec<f64> = tiles.iter().flat_map(|(_, _, weights)| weights.clone()).collect();
    let weights = match label.weights {
        WeightKind::None => WeightKind::None,
        _ => WeightKind::narrowest(&all),
    };
    let label = Label { weights, ..*label };

    let aligned = Aligned::new(bytes);
    let chunk = Chunk::open(aligned.bytes()).unwrap();
    chunk.verify().unwrap();
    assert_eq!(*chunk.label(), label);
    assert_eq!(chunk.edges(), tiles.iter().map(|(_, keys, _)| keys.len() as u64).sum::<u64>());
    assert_eq!(chunk.tiles().count(), tiles.len());
    for (found, (source, expected, weights)) in chunk.tiles().zip(tiles) {
        assert_eq!(found.source, label.source_base + u64::from(*source));
        for level in SimdLevel::available() {
            assert_eq!(keys(&found, &label, level), *expected, "{level:?}");
        }
        let mut decoded = vec![f64::NAN; weights.len()];
        label.weights.decode(found.weights, &mut decoded);
        assert_eq!(bits(&decoded), bits(weights));
    }

    check_parts(&chunk);

    let plain = plain::read(&bytes[..chunk.bytes()]);
    let expected = plain::Plain {
        version: 1,
        encoding: label.encoding as u64,
        weight_type: label.weights as u64,
        target_bits: label.target_bits.into(),
        graph: label.graph,
        generation: label.generation.into(),
        source_partition: label.cell.source_partition.into(),
        stripe: label.cell.stripe.into(),
        number: label.number.into(),
        source_base: label.source_base,
        target_base: label.target_base,
        bytes: chunk.bytes() as u64,
        tiles: tiles
            .iter()
            .map(|(source, keys, weights)| (u64::from(*source), keys.clone(), bits(weights)))
            .collect(),
    };
    assert_eq!(plain, expected);
}

/// Compares the parts of a chunk with the whole.
fn check_parts(chunk: &Chunk<'_>) {
    let parts: Vec<Chunk<'_>> = chunk.verified().collect::<Result<_, _>>().unwrap();
    let mut tiles = chunk.tiles();
    for part in &parts {
        part.verify().unwrap();
        assert_eq!((part.label(), part.bytes()), (chunk.label(), chunk.bytes()));
        assert!(part.sources_end() <= chunk.sources_end());
        assert_eq!(part.edges(), part.tiles().map(|tile| tile.edges as u64).sum::<u64>());
        for (found, expected) in part.tiles().zip(tiles.by_ref().take(part.tile_count())) {
            assert_eq!((found.source, found.edges), (expected.source, expected.edges));
            assert!(std::ptr::eq(found.keys, expected.keys));
            assert!(std::ptr::eq(found.weights, expected.weights));
        }
    }
    assert!(tiles.next().is_none());
    assert_eq!(parts.iter().map(Chunk::edges).sum::<u64>(), chunk.edges());
}

fn labels() -> impl Strategy<Value = Label> {
    let encodings = select(Encoding::ALL.to_vec());
    let kinds = select(KINDS.map(|(_, kind, _)| kind).to_vec());
    let names = (any::<u64>(), any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>());
    let bases = (0..u64::MAX / 2, any::<u64>(), 0_u32..32);
    (encodings, kinds, names, bases).prop_map(|(encoding, weights, names, bases)| {
        let (graph, generation, source_partition, stripe, number) = names;
        let (source_base, target_base, target_bits) = bases;
        Label {
            graph,
            generation,
            cell: CellId { source_partition, stripe },
            number,
            source_base,
            target_base,
            target_bits,
            encoding,
            weights,
        }
    })
}

/// Ascending keys with differences of all lengths, up to `2^bits`.
fn tile(bits: u32) -> impl Strategy<Value = (u32, Vec<u32>)> {
    let deltas = prop::collection::vec((0..=bits).prop_map(|bits| (1_u64 << bits) / 3), 0..200);
    (any::<u32>(), deltas).prop_map(|(source, deltas)| {
        let ascending = deltas.iter().scan(0_u32, |key, delta| {
            *key = key.saturating_add(*delta as u32);
            Some(*key)
        });
        (source, ascending.collect())
    })
}

fn samples(tiles_max: usize) -> impl Strategy<Value = Sample> {
    let tiles = prop::collection::vec((0_u32..33).prop_flat_map(tile), 0..tiles_max);
    (labels(), tiles, any::<u64>()).prop_map(|(label, tiles, seed)| {
        let (_, _, weights) = KINDS.iter().find(|(_, kind, _)| *kind == label.weights).unwrap();
        // Not always all of them, so that a narrower type may do.
        let choice = &weights[..weights.len().min(1 + seed as usize % 4)];
        let mut cycle = choice.iter().copied().cycle();
        let tiles = tiles.into_iter().map(|(source, keys)| {
            let weights = cycle.by_ref().take(if choice.is_empty() { 0 } else { keys.len() });
            let weights = weights.collect();
            (source, keys, weights)
        });
        Sample { label, tiles: tiles.collect() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_goes_in_comes_out(sample in samples(20)) {
        check(&sample, sample.build().bytes());
    }

    /// One builder makes one chunk after the other, in one buffer.
    #[test]
    fn chunks_lie_one_after_the_other(samples in prop::collection::vec(samples(6), 1..4)) {
        let mut builders = [ChunkBuilder::new(false), ChunkBuilder::new(true)];
        let (mut out, mut ends) = (Vec::new(), vec![0]);
        for sample in &samples {
            let builder = &mut builders[usize::from(sample.label.weights != WeightKind::None)];
            prop_assert!(builder.is_empty());
            sample.push_to(builder);
            prop_assert_eq!(builder.is_empty(), sample.tiles.is_empty());
            builder.finish(&sample.label, &mut out);
            prop_assert_eq!(out.len() % ALIGN, 0);
            ends.push(out.len());
        }
        for (sample, ends) in samples.iter().zip(ends.windows(2)) {
            let aligned = Aligned::new(&out[ends[0]..]);
            prop_assert_eq!(Chunk::open(aligned.bytes()).unwrap().bytes(), ends[1] - ends[0]);
            // The bytes that follow a chunk are none of its business.
            check(sample, &out[ends[0]..]);
        }
    }
}

#[test]
fn more_than_one_group_of_checksums() {
    let sample = groups();
    let built = sample.build();
    assert_eq!(u32::from_le_bytes(built.bytes()[76..80].try_into().unwrap()), 2);
    check(&sample, built.bytes());
}

#[test]
fn a_builder_says_how_large_a_chunk_will_be_at_most() {
    let mut samples: Vec<Sample> = small().into_iter().map(|(_, sample)| sample).collect();
    samples.push(groups());
    for sample in samples {
        let mut builder = ChunkBuilder::new(sample.label.weights != WeightKind::None);
        sample.push_to(&mut builder);
        // Header, checksums of groups, and what sections are padded with.
        let room = builder.bytes() + 1024;
        let mut out = Vec::new();
        builder.finish(&sample.label, &mut out);
        assert!(out.len() <= room, "{} bytes, not {room}", out.len());
    }
}
